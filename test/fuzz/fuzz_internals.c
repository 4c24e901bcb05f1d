/* fuzz_internals.c - packed internal nodes of READY and TABLE. Accepted nodes
 * are within the limits, and are the same when written and read again. */
#include "protocol/launch/internals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/launch/roster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Read all nodes. Returns whether all bytes were valid. */
static bool read_all(struct roster *out, const uint8_t *data, size_t len)
{
    struct internals_reader reader;
    struct roster_internal node;
    int r = internals_begin(&reader, data, len);

    must(r == 0 || r == -EBADMSG);
    if (r < 0)
        return false;
    while ((r = internals_next(&reader, &node)) > 0) {
        must(node.rank < LIMIT_NODES);
        must(strlen(node.address) < INTERNALS_ADDRESS);
        must(out->internal_count < len); /* a node takes at least a byte */
        must(roster_add_internal(out, node.rank, node.parent, node.fan_out,
                                 node.address) == 0);
    }
    must(r == 0 || r == -EBADMSG);
    return r == 0;
}

static void write_and_read(const struct roster *roster)
{
    struct roster back = {0};
    unsigned char *bytes = NULL;
    size_t len;

    must(internals_write(roster->internals, roster->internal_count, &bytes,
                         &len) == 0);
    must(read_all(&back, bytes, len));
    must(back.internal_count == roster->internal_count);
    for (uint32_t i = 0; i < back.internal_count; i++) {
        const struct roster_internal *a = &roster->internals[i];
        const struct roster_internal *b = &back.internals[i];

        must(a->rank == b->rank && a->parent == b->parent);
        must(a->fan_out == b->fan_out && strcmp(a->address, b->address) == 0);
    }
    roster_fini(&back);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct roster roster = {0};

    if (read_all(&roster, data, len))
        write_and_read(&roster);
    roster_fini(&roster);
    return 0;
}
