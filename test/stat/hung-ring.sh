# shellcheck shell=sh
# hung-ring.sh - for tests that source it: doc/examples/ring with 16 processes,
# hung, and coppice-stat run on it.
LC_ALL=C
export LC_ALL
build=${BUILD:?run by make check: BUILD is the top of the build tree}
stat=$build/stat/coppice-stat
COPPICE_STATD=$build/run/coppice-statd
export COPPICE_STATD
unset NO_COLOR COLUMNS || :
work=$(mktemp -d)
ring_pid=
failures=0

# A test with more to end calls this last.
end_ring() {
    exec 9>&-
    [ -z "$ring_pid" ] || wait "$ring_pid" || :
    rm -rf "$work"
}
trap end_ring EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "FAIL: $*"
    sed 's/^/    out: /' "$work/out"
    sed 's/^/    err: /' "$work/err"
    failures=$((failures + 1))
}

# run STATUS ARGS... - run coppice-stat, patiently where ARGS say nothing else;
# it must end with that status.
run() {
    wanted=$1
    shift
    what="coppice-stat $*"
    status=0
    timeout 600 "$stat" --timeout 120 --max-stop 60000 "$@" \
        >"$work/out" 2>"$work/err" 9>&- || status=$?
    [ "$status" = "$wanted" ] || fail "$what: status $status, not $wanted"
}

# has FILE TEXT - one line of out or err must have the text.
has() {
    grep -qF -- "$2" "$work/$1" || fail "$what: no \"$2\" in $1"
}

# three_classes [HOSTS] - the picture is that of the hung ring.
three_classes() {
    has out "16 tasks on ${1:-1 host}, 3 classes"
    grep -q "do_SendOrStall (ring.c:[0-9]*).* 1  1 .*outlier" "$work/out" ||
        fail "$what: task 1 does not stall"
    grep -q "ring_waitall (ring.c:[0-9]*).* 1  2 .*outlier" "$work/out" ||
        fail "$what: task 2 does not wait"
    grep -q "ring_barrier (ring.c:[0-9]*).* 14  0,3-15$" "$work/out" ||
        fail "$what: the others are not in the barrier"
    has out "class 3: 14 tasks: 0,3-15"
}

# Start the ring; sets ring_pid, and pids when it hangs. Closing 9 ends it. It
# has a name of its own, $name, for other jobs may be called ring.
start_ring() {
    mkfifo "$work/in" "$work/pids"
    name=ring$$
    cp "$build/doc/examples/ring" "$work/$name"
    "$work/$name" -n 16 <"$work/in" >"$work/pids" &
    ring_pid=$!
    exec 9>"$work/in"
    read -r pids <"$work/pids"
    # shellcheck disable=SC2086 # the pids are words
    set -- $pids
    [ $# = 16 ] || { echo "FAIL: the ring printed \"$pids\""; exit 1; }
    # shellcheck disable=SC2086
    run 1 $pids
    case $(cat "$work/err") in
    *"not permitted"*)
        echo "skipped: this user may not trace processes here"
        exit 77
        ;;
    esac
    three_classes
}

# The ring ends as it should, and nothing of it is left.
stop_ring() {
    exec 9>&-
    status=0
    wait "$ring_pid" || status=$?
    ring_pid=
    what="the ring at the end"
    [ "$status" = 0 ] || fail "$what: status $status"
    for pid in $pids; do
        if kill -0 "$pid" 2>/dev/null; then
            fail "$what: process $pid is left"
        fi
    done
}

# below PID NAME - the processes under process PID, all the way down, whose
# program is NAME, or what libtool makes of it. 15 bytes of its name are what
# the kernel keeps. In one look, for they may not live long.
below() {
    ps -eo pid=,ppid=,comm= | awk -v top="$1" -v name="$2" '
        { parent[$1] = $2; program[$1] = $3 }
        END {
            for (pid in parent) {
                if (program[pid] != substr(name, 1, 15) &&
                    program[pid] != substr("lt-" name, 1, 15))
                    continue
                for (at = pid; at in parent; at = parent[at])
                    if (parent[at] == top) {
                        print pid
                        break
                    }
            }
        }'
}
