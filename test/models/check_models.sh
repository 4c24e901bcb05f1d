#!/bin/sh
# The searches of the protocol's rules: all rules clean, each removal found.
# usage: check_models.sh quick|full     (quick: under 20 s; full: under 6 min)
set -u
cd "$(dirname "$0")" || exit 1
python=${PYTHON:-python3}
command -v "$python" >/dev/null || {
    echo "SKIP: no $python: install python3 to search the protocol's rules"
    exit 77
}
# A compiled copy must not be left in a read-only source tree.
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
bad=0

clean() { # clean NAME ARGS...: the search must find nothing
    "$python" "$@" || { echo "FAIL: $*: expected no violation"; bad=1; }
}

broken() { # broken NAME ARGS...: the search must find a violation
    out=$("$python" "$@" 2>&1)
    status=$?
    if [ "$status" -ne 1 ] || ! echo "$out" | grep -Eq 'CYCLE|violations: [1-9]|->'; then
        echo "FAIL: $*: expected a violation, got:"
        echo "$out" | tail -3
        bad=1
    else
        echo "found, as it must be: $*"
    fi
}

case ${1:-quick} in
quick)
    clean exact.py random 100
    clean exact.py exhaust 0 joins=1 crashes=1 sends=1
    clean exact.py exhaust 0 joins=1 marks=1 data=1 sends=0
    broken exact.py random 200 0 -m stampearly
    broken exact.py random 60 0 -m endfinal
    broken exact.py random 30 0 -m askcross
    broken exact.py exhaust 0,1,2,3 poison=1 limit=1 sends=1 beats=0 -m nolimit
    broken exact.py exhaust 0 joins=1 marks=1 data=1 sends=0 -m syncearly
    broken exact.py exhaust 0 joins=1 marks=1 data=1 sends=0 -m syncnamed
    clean cumulative.py random 300
    clean cumulative.py exhaust 0,0 marks=2 sends=1
    broken cumulative.py random 60 0 -m callvoid
    broken cumulative.py random 60 0 -m claimowed
    broken cumulative.py exhaust 0,1,0 crashes=1 sends=1 marks=1 -m overlap
    ;;
full)
    clean exact.py random 3000
    clean exact.py exhaust 0,1 crashes=1 sends=1 giveups=1
    clean exact.py exhaust 0,0,1 crashes=1 sends=1
    clean exact.py exhaust 0,1 leaves=1 crashes=1 sends=1 marks=1
    clean exact.py exhaust 0,1,2,3 poison=1 limit=1 sends=1 beats=0
    clean exact.py table 1500
    clean cumulative.py random 5000
    clean cumulative.py exhaust 0,1,0 crashes=1 sends=1 marks=1
    clean cumulative.py table 1500
    ;;
*)
    echo "usage: $0 quick|full" >&2
    exit 2
    ;;
esac
[ "$bad" -eq 0 ] && echo "models: as expected"
exit "$bad"
