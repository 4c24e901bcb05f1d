# shellcheck shell=sh
# hung-ring.sh - for tests that source it: starts doc/examples/ring with 16
# processes, which hangs, and runs coppice-stat on it.
# shellcheck source=test/stat/look.sh
. "${SOURCE:?run by make check}/test/stat/look.sh"
ring_pid=

finish() {
    end_ring
}
end_ring() {
    exec 9>&-
    [ -z "$ring_pid" ] || wait "$ring_pid" || :
    end_look
}

# three_classes [HOSTS] - check that the picture is that of the hung ring.
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

# Start the ring and wait until it hangs; sets ring_pid and pids. Closing 9 ends
# it. Its name $name is unique, because other jobs may be called ring.
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
    skip_if_not_permitted
    three_classes
}

# Check that the ring ends normally, and that none of its processes is left.
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
