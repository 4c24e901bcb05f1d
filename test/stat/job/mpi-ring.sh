# shellcheck shell=sh
# mpi-ring.sh - for test-openmpi and test-mpich, which source it: runs
# coppice-stat on the hung ring of figure 5.3 under a real MPI, also while a
# commnode and a daemon are killed, and checks that the job is unchanged.
# shellcheck source=test/stat/look.sh
. "${SOURCE:?run by make check}/test/stat/look.sh"
# shellcheck source=test/stat/documented.sh
. "$SOURCE/test/stat/documented.sh"
COLUMNS=160
export COLUMNS
launcher=

finish() {
    if [ -n "$launcher" ]; then
        kill "$launcher" 2>/dev/null || :
        wait "$launcher" 2>/dev/null || :
    fi
    end_look
}

# Check the classes of figure 5.3: the rank that stalls, the rank that waits for
# it, and the others.
three_classes() {
    matches out "^$count ranks on 1 host, 3 classes"
    matches out "^class 1: 1 rank: 1 "
    matches out "^class 2: 1 rank: 2 "
    matches out "^$others"
    matches out "do_SendOrStall \(ring_mpi.c:[0-9]+\).* 1  1 "
    matches out "MPI_Waitall.* 1  2 "
    matches out "MPI_Barrier.* $((count - 2))  ${others##* }"
}

# start_job COUNT MPICC VARIABLE MPIRUN... - start a ring of COUNT ranks; VARIABLE
# has the rank of a process. Sets launcher, and pids in the order of the ranks.
start_job() {
    count=$1
    cc=$2
    variable=$3
    shift 3
    others="class 3: $((count - 2)) ranks: 0,3"
    [ "$count" = 4 ] || others=$others-$((count - 1))
    for program in "$cc" "$1"; do
        command -v "$program" >/dev/null || skip "there is no $program"
    done
    "$cc" -g -Wall -Werror -o "$work/ring" "$SOURCE/doc/examples/ring_mpi.c"
    nice -n 19 "$@" -np "$count" "$work/ring" >"$work/job.log" 2>&1 &
    launcher=$!
    looks=0
    until hung; do
        looks=$((looks + 1))
        if ! kill -0 "$launcher" 2>/dev/null; then
            cat "$work/job.log"
            skip "this MPI starts no $count processes here"
        fi
        if [ "$looks" = 1500 ]; then
            cat "$work/job.log" "$work/out" "$work/err"
            echo "FAIL: the job does not come to hang"
            exit 1
        fi
        sleep 0.2
    done
    pids=
    for rank in $(seq 0 $((count - 1))); do
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

# Whether all ranks have reached their final places, according to coppice-stat:
# a rank that spins in a barrier looks busy to other tools.
hung() {
    observe --mpir "$launcher"
    skip_if_not_permitted
    [ "$status" = 1 ] && grep -q "^$others" "$work/out" &&
        grep -q "do_SendOrStall .* 1  1 " "$work/out" &&
        grep -q "MPI_Waitall.* 1  2 " "$work/out"
}

# Check that each rank is neither stopped nor traced.
job_runs() {
    for pid in $pids; do
        if ! grep -q "^State:[[:space:]]*[RS]" "/proc/$pid/status" ||
            ! grep -qx "TracerPid:[[:space:]]*0" "/proc/$pid/status"; then
            fail "$what: process $pid of the job is not as it was"
        fi
    done
}

# lose_node PROGRAM PATTERN STATUS - kill a node that runs PROGRAM. Check that
# coppice-stat prints PATTERN, exits with STATUS, writes the files, and leaves
# the job unchanged.
lose_node() {
    strike KILL "$1" "$2" --shape 2x2 --mpir "$launcher" --timeout 120 \
        --svg "$work/svg" --html "$work/page.html"
    [ "$status" = "$3" ] || fail "$what: status $status, not $3"
    has err "was lost"
    for file in svg page.html; do
        grep -q "MPI_Barrier" "$work/$file" || fail "$what: $file shows nothing"
    done
    job_runs
}

# Run all checks on the hung job.
check_job() {
    begin=$(date +%s%N)
    run 1 --mpir "$launcher"
    end=$(date +%s%N)
    three_classes
    cat "$work/out"
    # The document shows a job of 16 ranks.
    sed "s/^$others /class 3: 14 ranks: 0,3-15 /" "$work/out" >"$work/as_of_16"
    as_documented ring "$work/as_of_16" || fail "$what: not as documented"
    echo "--mpir took $(((end - begin) / 1000000)) ms"
    # The ranks are those of MPI.
    # shellcheck disable=SC2086 # the pids are words
    set -- $pids
    matches out "^class 1: 1 rank: 1 .*$2"
    matches out "^class 2: 1 rank: 2 .*$3"
    run 1 --children-of "$launcher" --json "$work/children.json"
    three_classes
    run 1 --mpir "$launcher" --json "$work/mpir.json"
    # Both looks have the ranks, and no rank has moved.
    for file in children mpir; do
        grep -q '"ranks":true' "$work/$file.json" ||
            fail "$what: $file.json says nothing of ranks"
    done
    run 0 --diff "$work/mpir.json" "$work/children.json"
    has out "unchanged: $count of $count ranks"
    run 1 --full --mpir "$launcher"
    matches out "^$count ranks on 1 host, "

    lose_node coppice-commnode "was adopted" 1
    three_classes
    lose_node coppice-statd "not looked at any more" 2
    matches err "last seen in sample [0-9]+ of [0-9]+: ranks [0-9].*was lost"
    matches out "MPI_Barrier.*0,3"

    if command -v gdb >/dev/null; then
        what="gdb afterwards"
        timeout 600 gdb -nx -batch -p "$2" -ex bt \
            -ex 'frame function do_SendOrStall' -ex 'info args' \
            </dev/null >"$work/out" 2>"$work/err" || :
        matches out "^#.* do_SendOrStall"
        matches out "^stalls = 1"
        job_runs
    else
        echo "there is no gdb: it was not asked whether it attaches"
    fi
    run 1 --mpir "$launcher"
    three_classes
    [ "$failures" = 0 ]
}
