/* format.h - formats such as "%d %alf": lists of types and shapes.
 *
 * The grammar is in coppice/packet.h. */
#pragma once

#include <coppice/packet.h>

/* The longest item is "%Auhd"; with its space or the final NUL. */
#define FORMAT_ITEM_MAX 6

struct format_item {
    uint8_t type;  /* enum cop_type */
    uint8_t shape; /* enum cop_shape */
};

struct format {
    uint32_t count;
    struct format_item items[COP_VALUES_MAX];
};

/* Bytes of one element of `type`; for a string, of its pointer. */
size_t format_element_len(enum cop_type type);

/* Read `text`. Returns 0, -EINVAL if it is malformed, or -EMSGSIZE if it has
 * more than COP_VALUES_MAX items. */
int format_parse(struct format *out, const char *text);

/* Write the item of `type` and `shape` in its usual spelling to `out`, of at
 * least FORMAT_ITEM_MAX bytes. Returns its length. */
size_t format_item_write(char *out, enum cop_type type, enum cop_shape shape);
