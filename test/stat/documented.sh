# shellcheck shell=sh
# documented.sh - for tests that source it: compares an output with the one that
# doc/my-job-hangs.md shows, or another $document in doc.
document=my-job-hangs.md

# as_documented NAME FILE - check that FILE has each place with its line, each
# MPI call and each class of the block after <!-- output NAME -->. (Addresses,
# times and frames inside libraries differ between machines.) Prints what is
# missing, and then fails.
as_documented() {
    awk -v mark="<!-- output $1 -->" '
    $0 == mark { armed = 1; next }
    armed && /^```/ { if (inside) exit; inside = 1; next }
    armed && inside' "${SOURCE:?}/doc/$document" |
        grep -oE '[A-Za-z_]+ \(([a-z_]+\.c|(pipeline|train)\.py)(:[0-9]+)?\)|MPI_[A-Z][a-z]+( \(from [a-z_]+\.c:[0-9]+\))?|^class [0-9]+: [0-9]+ (task|rank)s?: [-0-9,]*[0-9]' \
            >"$2.documented"
    if [ ! -s "$2.documented" ]; then
        echo "doc/$document has no block $1"
        return 1
    fi
    missing=0
    while IFS= read -r text; do
        if ! grep -qF -- "$text" "$2"; then
            echo "doc/$document shows \"$text\", coppice-stat does not"
            missing=1
        fi
    done <"$2.documented"
    return "$missing"
}
