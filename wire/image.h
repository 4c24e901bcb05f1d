/* image.h - the bytes of a packet's values: one tpl image.
 *
 * Its fields are fixed-length arrays. The first, `c#`, is the signature: one
 * byte for each value, which says type and shape, then zeros up to a multiple
 * of eight bytes from the image's start. The values follow, those of the
 * largest elements first, so that each is aligned in the payload and is read in
 * place, without a copy:
 *
 *     "%d %alf"   c#f#i#   |signature|0..|double, double, ...|int|
 *
 * Strings are `c#` with their NULs, floats `u#` (tpl has none); an array of
 * no elements is a mark in the signature and has no field. */
#pragma once

#include <coppice/packet.h>
#include <stdbool.h>

#include "wire/payload.h"

/* The values of an image. */
struct image_view {
    uint32_t count;
    bool in_room;            /* it is in the caller's storage */
    const char *format;      /* in its usual spelling */
    struct payload *foreign; /* the converted image; NULL: it was native */
    struct cop_value values[];
};

/* Pack `count` values into a new payload; NULL in `out` if there are none.
 *
 * Returns 0, or:
 *   -EINVAL    unknown type or shape, a scalar whose count is not 1, or a
 *              string or array that is NULL
 *   -EMSGSIZE  more than COP_PACKET_MAX bytes or COP_VALUES_MAX values
 *   -ENOMEM    out of memory */
int image_pack(struct payload **out,
               const struct cop_value *values,
               size_t count);

/* Read the values of `payload`, which may be NULL (no values) and may come from
 * any peer. The view borrows from `payload`; only an image of the other byte
 * order is converted to a native one, which the view owns.
 *
 * room   `room_len` bytes, aligned for any type, where a view that is small
 *        enough is made; they must outlive it. NULL: it is allocated
 *
 * Returns 0, -EBADMSG if it is damaged, or -ENOMEM. */
int image_view_new(struct image_view **out,
                   struct payload *payload,
                   void *room,
                   size_t room_len);

/* Free `view`. NULL is fine. */
void image_view_free(struct image_view *view);
