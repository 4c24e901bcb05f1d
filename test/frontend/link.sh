# shellcheck shell=sh
# link.sh - for tests that compile programs with libcoppice, which source it.

# link_with COMPILER... - run COMPILER with the headers and the library of
# libcoppice, and with those of CFLAGS that linking needs.
link_with() {
    for flag in ${CFLAGS:-}; do
        case $flag in
        -fsanitize=* | --coverage) set -- "$@" "$flag" ;;
        esac
    done
    "$@" -I"$SOURCE/include" -I"$SOURCE" -L"$BUILD/.libs" \
        -Wl,-rpath,"$BUILD/.libs" -lcoppice
}
