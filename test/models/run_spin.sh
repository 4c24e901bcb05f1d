#!/bin/sh
# adoption.pml searched by Spin: no cycle among the parents, each rule that is
# taken away makes one, and in the end every orphan is adopted.
# usage: run_spin.sh small|large PML    (small: complete searches of 3 and 4
#   nodes, and two trees of 5, a minute; large: all trees of 5 nodes, and 5 to
#   7 by bitstate hashing)
# environment, for large: TIME, seconds of each search (120); MEM, megabytes
#   for the table of bits (512); SEED of the order in which it searches (1);
#   NODES (5 6 7)
# Ends with a table (lines: how many of the model's were reached); exit 1 if
# something is not as it must be, 77 without Spin.
set -u
mode=${1:-}
case $mode in
small|large) ;;
*) echo "usage: $0 small|large [PML]" >&2; exit 2 ;;
esac
model=${2:-$(dirname "$0")/adoption.pml}
model=$(cd "$(dirname "$model")" && pwd)/$(basename "$model")
trails=$(dirname "$model")/adoption.trails
TIME=${TIME:-120}
MEM=${MEM:-512}
SEED=${SEED:-1}
NODES=${NODES:-5 6 7}
for tool in spin gcc; do
    command -v "$tool" >/dev/null || {
        echo "SKIP: no $tool: install spin and gcc to search adoption.pml"
        exit 77
    }
done
work=$(mktemp -d) || exit 1
cp "$model" "$work/adoption.pml" || exit 1
cp "$(dirname "$model")/symmetry.inc" "$work" || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
bad=0

fail() {
    echo "FAIL: $*"
    bad=1
}

build() { # build "SPIN OPTIONS" "COMPILER OPTIONS": $work/pan
    rm -f "$work"/pan* "$work"/*.trail
    nodes_given=$(echo "$1" | sed 's/.*-DN=\([0-9]*\).*/\1/')
    # shellcheck disable=SC2086
    (cd "$work" && spin $1 -a adoption.pml >spin.out 2>&1 &&
        gcc -O2 -w -DNOREDUCE -DNODES="$nodes_given" -DASKS=2 $2 \
            -o pan pan.c) ||
        { cat "$work/spin.out"; fail "cannot build: $1"; return 1; }
}

# search NAME LIMIT_S PAN ARGS...: runs it; sets states, steps, depth, factor,
# seconds and whole, from what it prints, and adds the row to the table
search() {
    name=$1
    limit_s=$2
    shift 2
    (cd "$work" && timeout -s INT "$limit_s" ./pan "$@" >pan.out 2>&1)
    status=$?
    states=$(awk '/states, stored/ { print $1; exit }' "$work/pan.out")
    steps=$(awk '/ transitions \(/ { print $1; exit }' "$work/pan.out")
    depth=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' "$work/pan.out")
    factor=$(sed -n 's/^hash factor: \([0-9.e+]*\).*/\1/p' "$work/pan.out")
    seconds=$(sed -n 's/.*elapsed time \([0-9.e+]*\).*/\1/p' "$work/pan.out")
    errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$work/pan.out")
    reached=$(sed -n 's/.*(\([0-9]*\) of \([0-9]*\) states).*/\1 \2/p' \
        "$work/pan.out" | awk '{ not += $1; all += $2 }
            END { if (all) print all - not "/" all; else print "-" }')
    whole=complete
    if [ "${errors:-0}" != 0 ]; then
        whole=violated
    elif grep -q "^error: max search depth too small" "$work/pan.out"; then
        whole="too deep"
    elif [ "$status" -eq 124 ] || [ "$status" -eq 130 ] ||
        grep -qi "interrupted\|out of memory\|memory exceeded" \
            "$work/pan.out"; then
        whole="cut short"
    elif [ -n "$factor" ]; then
        whole=bitstate
    fi
    if [ -z "$errors" ]; then
        cat "$work/pan.out"
        fail "$name: no result"
        errors=-
    fi
    printf '%s|%s|%s|%s|%s|%s|%s|%s|%s\n' "$name" "${states:--}" \
        "${steps:--}" "${depth:--}" "${factor:--}" "${seconds:--}" \
        "$reached" "$whole" "$errors" |
        tee -a "$work/table" | tr '|' ' '
}

clean() { # clean NAME LIMIT_S ARGS...: nothing is violated
    search "$@"
    if [ "$errors" != 0 ]; then
        fail "$name: violated"
        (cd "$work" && ./pan -r 2>&1 | grep -v '^$' | tail -60)
    fi
}

complete() { # as clean, and to the end
    clean "$@"
    [ "$whole" = complete ] || fail "$name: $whole"
}

tree() { # tree LIST: an option for spin
    echo "-DTREE={NONE,$1}"
}

# mutant RULE NODES TREE FAULTS TRIES: the shortest way to a cycle has as many
# events as the one in adoption.trails
mutant() {
    options="-D$1 -DN=$2 $(tree "$3") -DFAULTS=$4 -DTRIES=$5"
    build "$options" "-DSAFETY -DBFS -DMEMLIM=4000" || return
    search "$2 nodes ($3), $4 faults, $1" 300 -m10000
    if [ "$errors" != 1 ]; then
        fail "$name: no cycle was found"
        return
    fi
    # shellcheck disable=SC2086
    (cd "$work" && spin -T -t $options adoption.pml |
        awk '/^spin:/ { next } /^[\t#]/ { exit } { print }' >events)
    expected=$(awk -v rule="$1" '
        /^# / { on = index($0 " ", " " rule " "); next }
        on && NF { count++ }
        END { print count + 0 }' "$trails")
    found=$(wc -l <"$work/events")
    if [ "$found" -ne "$expected" ]; then
        fail "$name: a cycle after $found events, expected $expected:"
        cat "$work/events"
    fi
    if [ -n "${SHOW:-}" ]; then
        echo "# $1"
        cat "$work/events"
    fi
}

live() { # live NODES TREE FAULTS [RULE]: each orphan is adopted in the end
    build "-DLIVE ${4:+-D$4} -DN=$1 $(tree "$2") -DFAULTS=$3 -DTRIES=2" \
        "-DNFAIR=5 -DCOLLAPSE -DMEMLIM=4000" || return
    if [ -z "${4:-}" ]; then
        complete "$1 nodes ($2), $3 faults, liveness" 300 -a -f -m1000000
    else
        search "$1 nodes ($2), $3 faults, liveness, $4" 300 -a -f \
            -m1000000
        [ "$errors" = 1 ] || fail "$name: nobody asks for ever"
    fi
}

five() { # five TREE...: of 5 nodes, to the end
    for shape in "$@"; do
        build "-DLEAN -DSYMMETRY -DN=5 $(tree "$shape") -DFAULTS=3" \
            "-DSAFETY -DCOLLAPSE -DMEMLIM=4000" || return
        complete "5 nodes ($shape), 3 faults, lean, symmetric" 600 -m10000
    done
}

small() {
    for shape in 0,0 0,1; do
        build "-DN=3 $(tree $shape) -DFAULTS=3" "-DSAFETY -DCOLLAPSE" || return
        complete "3 nodes ($shape), 3 faults" 300 -m10000
    done
    build "-DN=3 $(tree 0,1) -DFAULTS=2 -DTRIES=3" "-DSAFETY -DCOLLAPSE" ||
        return
    complete "3 nodes (0,1), 2 faults, 3 attempts" 300 -m10000
    build "-DN=4 $(tree 0,1,2) -DFAULTS=2" \
        "-DSAFETY -DCOLLAPSE -DMEMLIM=4000" || return
    complete "4 nodes (0,1,2), 2 faults" 300 -m10000
    for shape in 0,0,0 0,0,1 0,1,1 0,1,2; do
        build "-DLEAN -DN=4 $(tree $shape) -DFAULTS=3" \
            "-DSAFETY -DCOLLAPSE -DMEMLIM=4000" || return
        complete "4 nodes ($shape), 3 faults, lean" 300 -m10000
    done
    five 0,0,0,0 0,1,2,3 || return
    for rule in NOPROBE NOFAIL; do
        build "-DLEAN -DSYMMETRY -D$rule -DN=4 $(tree 0,1,2) -DFAULTS=3" \
            "-DSAFETY" || return
        search "4 nodes (0,1,2), 3 faults, $rule, lean, symmetric" 300 -m10000
        [ "$errors" = 1 ] || fail "$name: no cycle was found"
    done
    mutant NOPROBE 3 0,1 1 2
    mutant NOFAIL 3 0,1 1 2
    mutant LATE 3 0,1 2 2
    mutant ANEW 3 0,1 2 3
    mutant STALE 3 0,1 2 3
    live 3 0,1 2
    live 3 0,0 2
    live 4 0,1,2 1
    live 3 0,1 1 NORESORT
}

# broken RULE NODES TREE [lean]: bitstate hashing finds a cycle too
broken() {
    build "${4:+-DLEAN} -DSYMMETRY -D$1 -DN=$2 $(tree "$3") -DFAULTS=3" \
        "-DSAFETY -DBITSTATE -DT_RAND -DP_RAND" || return
    search "$2 nodes ($3), 3 faults, $1${4:+, lean}" "$TIME" -m10000 \
        -w"$(bits)" -k3 -RS"$SEED"
    [ "$errors" = 1 ] || fail "$name: no cycle was found"
}

shapes() { # the trees of so many nodes that are searched
    case $1 in
    5) echo 0,1,2,3 0,0,1,1 0,0,0,0 ;;
    6) echo 0,1,2,3,4 0,0,1,1,2 0,0,0,0,0 ;;
    7) echo 0,1,2,3,4,5 0,0,1,1,2,2 0,0,0,0,0,0 ;;
    *) echo "$0: NODES: 5 to 7" >&2 ;;
    esac
}

# The greatest table of bits in MEM, as an exponent of two.
bits() {
    awk -v mem="$MEM" 'BEGIN {
        for (w = 23; 2 ^ (w + 1) <= mem * 8 * 1048576; w++)
            ;
        print w
    }'
}

large() {
    five 0,0,0,0 0,0,0,1 0,0,1,1 0,0,1,2 0,1,1,1 0,0,1,3 0,1,1,2 0,1,2,2 \
        0,1,2,3 || return
    for nodes in $NODES; do
        for shape in $(shapes "$nodes"); do
            for lean in "" -DLEAN; do
                build "$lean -DSYMMETRY -DN=$nodes $(tree "$shape") -DFAULTS=3" \
                    "-DSAFETY -DBITSTATE -DT_RAND -DP_RAND" || return
                clean "$nodes nodes ($shape), 3 faults${lean:+, lean}" \
                    "$TIME" -m10000 -w"$(bits)" -k3 -RS"$SEED"
            done
        done
        broken NOPROBE "$nodes" "$shape"
        broken NOFAIL "$nodes" "$shape" lean
    done
}

$mode
echo
awk -F'|' 'BEGIN {
    form = "%-46s %10s %11s %5s %9s %8s %-8s %-9s %s\n"
    printf form, "search", "states", "steps", "depth", "hash f.", "s", \
        "lines", "how far", "errors"
} { printf form, $1, $2, $3, $4, $5, $6, $7, $8, $9 }' "$work/table"
[ "$bad" -eq 0 ] && echo "spin: as expected"
exit "$bad"
