/* packet.h - packets as the machine and its shells see them: frames.
 *
 * The public half is in coppice/packet.h. Control payloads (claims, openings,
 * readiness and so on) are packets too: one way to pack, one to validate. */
#pragma once

#include <coppice/packet.h>

#include "wire/frame.h"

/* Bits of a sequence upwards: epoch above, wave below (PROTOCOL 4.1). */
#define PACKET_WAVE_BITS 36
#define PACKET_WAVE_MASK ((UINT64_C(1) << PACKET_WAVE_BITS) - 1)

/* Make a packet of `frame`, whose payload reference is taken, also on error.
 * The values are decoded on first use. Returns 0 or -ENOMEM. */
int packet_from_frame(struct cop_packet **out, struct frame *frame);

/* The packet's frame: type FRAME_DATA, tag, count, payload and, where it came
 * from a link, stream, sequence and flags. Borrowed from `packet`. */
const struct frame *packet_frame(const struct cop_packet *packet);

/* Pack values straight to a payload, as cop_packet_new(); NULL in `out` where
 * there are no values. Results as cop_packet_new(). */
int packet_pack(struct payload **out, const char *format, ...);
int packet_pack_va(struct payload **out, const char *format, va_list list);

/* A packet around a payload that came from the network, to be read with
 * cop_packet_unpack(); it takes a reference of its own and is the caller's.
 * `payload` may be NULL. Returns 0 or -ENOMEM. */
int packet_open(struct cop_packet **out, struct payload *payload);
