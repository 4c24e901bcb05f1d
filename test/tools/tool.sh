# tool.sh - for the tests of the tools: run $tool, and look at what it prints.
set -eu
LC_ALL=C
export LC_ALL
build=${BUILD:?run by make check: BUILD is the top of the build tree}
examples=$build/doc/examples
work=$(mktemp -d)
network= # pid of the program whose network is watched
failures=0

finish() {
    [ -z "$network" ] || kill "$network" 2>"$work/gone" || :
    [ -z "$network" ] || wait "$network" || :
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM
: >"$work/out"
: >"$work/err"

fail() {
    echo "FAIL: $*"
    sed 's/^/    out: /' "$work/out"
    sed 's/^/    err: /' "$work/err"
    failures=$((failures + 1))
}

# run STATUS ARGS... - run $tool; it must end with that status.
run() {
    wanted=$1
    shift
    what="$tool $*"
    status=0
    timeout 600 "$build/tools/$tool" "$@" >"$work/out" 2>"$work/err" ||
        status=$?
    [ "$status" = "$wanted" ] || fail "$what: status $status, not $wanted"
}

# has FILE TEXT - one line of out or err must have the text.
has() {
    grep -qF -- "$2" "$work/$1" || fail "$what: no \"$2\" in $1"
}
