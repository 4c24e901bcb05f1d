# shellcheck shell=sh
# mpi-ring.sh - for test-openmpi and test-mpich, which source it: the ring of
# figure 5.3 under a real MPI, 16 ranks, hung; seen by coppice-stat, also while
# a commnode and a daemon of its tree are killed; and the job as it was.
LC_ALL=C
export LC_ALL
build=${BUILD:?run by make check: BUILD is the top of the build tree}
source=${SOURCE:?run by make check}
# shellcheck source=test/stat/documented.sh
. "$source/test/stat/documented.sh"
stat=$build/stat/coppice-stat
COPPICE_STATD=$build/run/coppice-statd
COLUMNS=160
export COPPICE_STATD COLUMNS
deadline_s=600
work=$(mktemp -d)
launcher=
failures=0

skip() {
    echo "skipped: $*"
    exit 77
}

finish() {
    if [ -n "$launcher" ]; then
        kill "$launcher" 2>/dev/null || :
        wait "$launcher" 2>/dev/null || :
    fi
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "FAIL: $*"
    sed 's/^/    out: /' "$work/out"
    sed 's/^/    err: /' "$work/err"
    failures=$((failures + 1))
}

# has FILE PATTERN - one line of out or err must match.
has() {
    grep -Eq -- "$2" "$work/$1" || fail "$what: no \"$2\" in $1"
}

# run STATUS ARGS... - run coppice-stat; it must end with that status.
run() {
    wanted=$1
    shift
    what="coppice-stat $*"
    status=0
    timeout "$deadline_s" "$stat" --timeout 120 --max-stop 60000 "$@" \
        >"$work/out" 2>"$work/err" || status=$?
    [ "$status" = "$wanted" ] || fail "$what: status $status, not $wanted"
}

# Figure 5.3: who stalls, who waits for it, and the 14 others, by rank.
three_classes() {
    has out "^16 tasks on 1 host, 3 classes"
    has out "^class 1: 1 task: 1 "
    has out "^class 2: 1 task: 2 "
    has out "^class 3: 14 tasks: 0,3-15"
    has out "do_SendOrStall \(ring_mpi.c:[0-9]+\).* 1  1 "
    has out "MPI_Waitall.* 1  2 "
    has out "MPI_Barrier.* 14  0,3-15"
}

# start_job MPICC VARIABLE MPIRUN... - start the ring; VARIABLE is that of a
# process's rank. Sets launcher, and pids, in the order of the ranks.
start_job() {
    cc=$1
    variable=$2
    shift 2
    for program in "$cc" "$1"; do
        command -v "$program" >/dev/null || skip "there is no $program"
    done
    "$cc" -g -Wall -Werror -o "$work/ring" "$source/doc/examples/ring_mpi.c"
    # MPICH's ranks spin while they wait: other tests need the processors too.
    nice -n 19 "$@" -np 16 "$work/ring" >"$work/job.log" 2>&1 &
    launcher=$!
    looks=0
    until hung; do
        looks=$((looks + 1))
        if ! kill -0 "$launcher" 2>/dev/null; then
            cat "$work/job.log"
            skip "this MPI starts no 16 processes here"
        fi
        if [ "$looks" = 1500 ]; then
            cat "$work/job.log" "$work/out" "$work/err"
            echo "FAIL: the job does not come to hang"
            exit 1
        fi
        sleep 0.2
    done
    pids=
    for rank in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        pid=
        for one in $(pgrep -x -f "$work/ring"); do
            if tr '\0' '\n' <"/proc/$one/environ" | grep -qx "$variable=$rank"
            then
                pid=$one
            fi
        done
        pids="$pids ${pid:-none}"
    done
}

# Whether all have come to where they stay; coppice-stat itself is asked, for
# who spins in a barrier looks busy to everybody else.
hung() {
    status=0
    timeout "$deadline_s" "$stat" --timeout 120 --max-stop 60000 --mpir \
        "$launcher" >"$work/out" 2>"$work/err" || status=$?
    case $(cat "$work/err") in
    *"not permitted"*) skip "this user may not trace processes here" ;;
    esac
    [ "$status" = 1 ] && grep -q "^class 3: 14 tasks: 0,3-15" "$work/out"
}

# The children of process $1, all the way down, whose program is $2, or what
# libtool makes of it. 15 bytes of its name are what the kernel keeps.
below() {
    for child in $(pgrep -P "$1"); do
        case $(cat "/proc/$child/comm" 2>/dev/null) in
        "$2" | "$(printf '%.15s' "lt-$2")") echo "$child" ;;
        esac
        below "$child" "$2"
    done
}

# sample_and_kill PROGRAM - while 20 samples are taken, kill a node of the tree
# that runs PROGRAM. Sets status.
sample_and_kill() {
    what="a $1 is killed"
    : >"$work/err"
    "$stat" --shape 2x2 --samples 20 --interval 200 --mpir "$launcher" \
        --timeout 120 --max-stop 60000 \
        --svg "$work/svg" --html "$work/page.html" \
        >"$work/out" 2>"$work/err" &
    tool=$!
    until grep -q "sample 1 of 20" "$work/err"; do
        kill -0 "$tool" 2>/dev/null || break
        sleep 0.05
    done
    victim=$(below "$tool" "$1" | head -n 1)
    if [ -n "$victim" ]; then
        kill -KILL "$victim"
    else
        fail "$what: there is none"
    fi
    status=0
    wait "$tool" || status=$?
    for file in svg page.html; do
        grep -q "MPI_Barrier" "$work/$file" || fail "$what: $file shows nothing"
    done
}

# Each rank runs, stopped by nobody and traced by nobody.
job_runs() {
    for pid in $pids; do
        if ! grep -q "^State:[[:space:]]*[RS]" "/proc/$pid/status" ||
            ! grep -qx "TracerPid:[[:space:]]*0" "/proc/$pid/status"; then
            fail "$what: process $pid of the job is not as it was"
        fi
    done
}

# The whole of it, once the job hangs.
check_job() {
    begin=$(date +%s%N)
    run 1 --mpir "$launcher"
    end=$(date +%s%N)
    three_classes
    cat "$work/out"
    as_documented ring "$work/out" || fail "$what: not as documented"
    echo "--mpir took $(((end - begin) / 1000000)) ms"
    # The ranks are those that MPI has given.
    # shellcheck disable=SC2086 # the pids are words
    set -- $pids
    has out "^class 1: 1 task: 1 .*$2"
    has out "^class 2: 1 task: 2 .*$3"
    run 1 --children-of "$launcher" --json "$work/children.json"
    three_classes
    run 1 --mpir "$launcher" --json "$work/mpir.json"
    # Both know the ranks, and nothing has moved.
    for file in children mpir; do
        grep -q '"ranks":true' "$work/$file.json" ||
            fail "$what: $file.json says nothing of ranks"
    done
    run 0 --diff "$work/mpir.json" "$work/children.json"
    has out "^unchanged: 16 of 16 tasks"
    run 1 --full --mpir "$launcher"
    has out "^16 tasks on 1 host, "

    sample_and_kill coppice-commnod
    [ "$status" = 1 ] || fail "$what: status $status, not 1"
    has err "was lost"
    has err "was adopted"
    three_classes
    job_runs

    sample_and_kill coppice-statd
    [ "$status" = 2 ] || fail "$what: status $status, not 2"
    has err "was lost"
    has err "last seen in sample [0-9]+ of 20: tasks [0-9].*was lost"
    has out "MPI_Barrier.*0,3-"
    job_runs

    if command -v gdb >/dev/null; then
        what="gdb afterwards"
        timeout "$deadline_s" gdb -nx -batch -p "$2" -ex bt \
            </dev/null >"$work/out" 2>"$work/err" || :
        has out "do_SendOrStall"
        timeout "$deadline_s" gdb -nx -batch -p "$2" \
            -ex 'frame function do_SendOrStall' -ex 'info args' \
            </dev/null >"$work/out" 2>"$work/err" || :
        has out "^stalls = 1"
        job_runs
    else
        echo "there is no gdb: it was not asked whether it attaches"
    fi
    run 1 --mpir "$launcher"
    three_classes
    [ "$failures" = 0 ]
}
