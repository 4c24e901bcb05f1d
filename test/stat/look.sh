# shellcheck shell=sh
# look.sh - for tests that source it: coppice-stat run on real processes.
LC_ALL=C
export LC_ALL
build=${BUILD:?run by make check: BUILD is the top of the build tree}
stat=$build/stat/coppice-stat
COPPICE_STATD=$build/run/coppice-statd
export COPPICE_STATD
unset NO_COLOR COLUMNS || :
work=$(mktemp -d)
: >"$work/out"
: >"$work/err"
pid=
tool=
failures=0

# A test that has more to end redefines this, and calls end_look last.
finish() {
    end_program
    end_look
}
end_look() {
    [ -z "$tool" ] || kill "$tool" 2>/dev/null || :
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

# end_program - end the program of a test, process $pid, if there is one.
end_program() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || :
    [ -z "$pid" ] || wait "$pid" 2>/dev/null || :
    pid=
}

# await_sleep THREADS - wait until process $pid has THREADS threads, and all of
# them sleep at three looks; at most two minutes.
await_sleep() {
    looks=0
    tries=0
    while [ "$looks" -lt 3 ] && [ "$tries" -lt 2400 ]; do
        looks=$((looks + 1))
        [ "$(cat "/proc/$pid"/task/*/status | grep -c '^State:.S')" = "$1" ] ||
            looks=0
        tries=$((tries + 1))
        sleep 0.05
    done
}

skip() {
    echo "skipped: $*"
    exit 77
}

# Skip the test if the last look says that it may not trace processes here.
skip_if_not_permitted() {
    case $(cat "$work/err") in
    *"not permitted"*) skip "this user may not trace processes here" ;;
    esac
}

fail() {
    echo "FAIL: $*"
    sed 's/^/    out: /' "$work/out"
    sed 's/^/    err: /' "$work/err"
    failures=$((failures + 1))
}

# observe ARGS... - run coppice-stat, with long time-outs unless ARGS set
# others. Sets what and status. Does not pass on descriptors 8 and 9 of the
# test.
observe() {
    what="coppice-stat $*"
    status=0
    timeout 600 "$stat" --timeout 120 --max-stop 60000 "$@" \
        >"$work/out" 2>"$work/err" 8>&- 9>&- || status=$?
}

# run STATUS ARGS... - the same, and check the exit status.
run() {
    wanted=$1
    shift
    observe "$@"
    [ "$status" = "$wanted" ] || fail "$what: status $status, not $wanted"
}

# same_again STATUS ARGS... - take a look, and check that a look read from its
# JSON file writes the same files.
same_again() {
    mkdir -p "$work/first" "$work/again"
    run "$@" --json "$work/first/json" --html "$work/first/html" \
        --svg "$work/first/svg" --dot "$work/first/dot" \
        --folded "$work/first/folded" --speedscope "$work/first/speedscope"
    mv "$work/out" "$work/first/out"
    run 0 --replay "$work/first/json" \
        --json "$work/again/json" --html "$work/again/html" \
        --svg "$work/again/svg" --dot "$work/again/dot" \
        --folded "$work/again/folded" --speedscope "$work/again/speedscope"
    tail -n +2 "$work/out" >"$work/again/out"
    for format in out json html svg dot folded speedscope; do
        cmp "$work/first/$format" "$work/again/$format" ||
            fail "$what: $format is not as in the look"
    done
}

# has FILE TEXT - check that a line of FILE, out or err, contains the text.
has() {
    grep -qF -- "$2" "$work/$1" || fail "$what: no \"$2\" in $1"
}

# lacks FILE TEXT - check that no line of $work/FILE has TEXT.
lacks() {
    ! grep -qF -- "$2" "$work/$1" || fail "$what: \"$2\" in its $1"
}

# matches FILE PATTERN - check that a line of FILE, out or err, matches.
matches() {
    grep -Eq -- "$2" "$work/$1" || fail "$what: no \"$2\" in $1"
}

# await PATTERN FILE [COUNT] - wait until COUNT lines of the file match, at most
# two minutes. Returns whether they do.
await() {
    tries=0
    until [ "$(grep -Ecs -- "$1" "$2")" -ge "${3:-1}" ] 2>/dev/null; do
        case $2 in
        /proc/*) [ -e "$2" ] || return 1 ;; # that process has ended
        esac
        tries=$((tries + 1))
        [ "$tries" -lt 2400 ] || return 1
        sleep 0.05
    done
}

# below PID NAME - the descendants of process PID whose program is NAME, or the
# libtool variant of NAME. The kernel keeps 15 bytes of a name. One call of ps
# finds them all, as they may not live long. If a process and its descendant
# both have that name, only the process counts: the descendant may be a fork
# that is about to run another program.
below() {
    ps -eo pid=,ppid=,comm= | awk -v top="$1" -v name="$2" '
        function runs(pid) {
            return program[pid] == substr(name, 1, 15) ||
                program[pid] == substr("lt-" name, 1, 15)
        }
        { parent[$1] = $2; program[$1] = $3 }
        END {
            for (pid in parent) {
                if (!runs(pid))
                    continue
                for (at = pid; at in parent; at = parent[at])
                    if (parent[at] == top) {
                        print pid
                        break
                    } else if (runs(parent[at]))
                        break
            }
        }'
}

# strike SIGNAL PROGRAM PATTERN ARGS... - take samples with ARGS, send SIGNAL to
# a node of the tree that runs PROGRAM, and end coppice-stat with SIGINT when it
# has printed PATTERN and two more samples have arrived. Sets status.
strike() {
    signal=$1
    program=$2
    pattern=$3
    shift 3
    what="SIG$signal for $program"
    : >"$work/err"
    # (Without --foreground, timeout would send a second SIGINT to the tool.)
    timeout --foreground 600 "$stat" --samples 10000 --interval 100 --max-stop 60000 "$@" \
        >"$work/out" 2>"$work/err" 8>&- 9>&- &
    tool=$!
    await "sample 1 of" "$work/err" || fail "$what: no sample"
    victim=$(below "$tool" "$program" | sort -n | head -n 1)
    if [ -z "$victim" ] || ! kill "-$signal" "$victim"; then
        fail "$what: there is none"
    fi
    await "$pattern" "$work/err" || fail "$what: no \"$pattern\""
    await "sample [0-9]+ of" "$work/err" \
        "$(($(grep -c "sample [0-9]* of" "$work/err") + 2))" ||
        fail "$what: the samples have ended"
    kill -INT "$tool"
    status=0
    wait "$tool" || status=$?
    tool=
    if [ -n "$victim" ] && kill -0 "$victim" 2>/dev/null; then
        fail "$what: it is left behind"
        kill -KILL "$victim"
    fi
}
