# shellcheck shell=sh
# alone.sh - for tests that source it first: no two of them run at a time. The
# ranks of an MPI spin while they wait, so each test keeps all processors busy.
[ -n "${COPPICE_TEST_ALONE:-}" ] ||
    COPPICE_TEST_ALONE=1 exec flock -o "${BUILD:?run by make check}/mpi.lock" \
        "$0" "$@"
