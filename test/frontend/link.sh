# shellcheck shell=sh
# link.sh - for tests that compile programs with libcoppice, which source it.

# link_with COMPILER... - run it with what libcoppice needs: the headers, the
# library, and of CFLAGS only what it cannot be linked without.
link_with() {
    for flag in ${CFLAGS:-}; do
        case $flag in
        -fsanitize=* | --coverage) set -- "$@" "$flag" ;;
        esac
    done
    "$@" -I"$SOURCE/include" -I"$SOURCE" -L"$BUILD/.libs" \
        -Wl,-rpath,"$BUILD/.libs" -lcoppice
}
