/* peek.h - an image as tpl reads it: one of an unknown signature is inspected,
 * and one of the other byte order is converted. */
#pragma once

#include <coppice/packet.h>
#include <stddef.h>

#include "wire/payload.h"

#define IMAGE_FIELDS_MAX (COP_VALUES_MAX + 1)
#define IMAGE_FORMAT_AT  8
#define IMAGE_FORMAT_MAX (2 * IMAGE_FIELDS_MAX) /* without NUL */
#define IMAGE_ALIGNMENT  8

/* The length of an element whose type has this letter of tpl; 0: none has. */
static inline size_t letter_len(char letter)
{
    switch (letter) {
    case 'c':
        return 1;
    case 'j':
    case 'v':
        return 2;
    case 'i':
    case 'u':
        return 4;
    case 'I':
    case 'U':
    case 'f':
        return 8;
    default:
        return 0;
    }
}

/* What tpl_peek() says of an image. */
struct peek {
    struct payload *payload; /* borrowed */
    char *format;
    uint32_t count; /* of fields */
    uint32_t *counts;
    size_t data_at;
};

/* Inspect an image, whose bytes are not trusted. Returns 0, -EBADMSG if it is
 * none of image_pack(), or -ENOMEM. */
int peek_init(struct peek *out, struct payload *payload);

/* Free what `peek` has. */
void peek_fini(struct peek *peek);

/* Convert an image of the other byte order to a new one of this machine's.
 * Returns 0, -EBADMSG if it is none, or -ENOMEM. */
int peek_turn(struct payload **out, struct payload *payload);
