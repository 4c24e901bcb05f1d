/* wholeness.h - the traffic of exact streams (PROTOCOL 16): part of traffic.c.
 */
#pragma once

#include "sim/swarm/traffic.h"

/* A packet from `rank` with a value of its own, and `weight` bytes of ballast. */
struct payload *exact_pack(struct traffic_stream *stream,
                           uint32_t rank,
                           uint32_t weight);

/* A back-end's packet has been accepted by its node. */
void exact_sent_up(struct traffic_stream *stream,
                   struct sim *sim,
                   uint32_t index,
                   const struct frame *frame);

/* The front-end took a packet. */
void exact_taken(struct traffic_stream *stream,
                 struct sim *sim,
                 const struct frame *frame);

/* A redo has begun: it has a cause, and none comes without one (PROTOCOL
 * 16.14). */
void exact_told_redo(const struct traffic *traffic,
                     struct traffic_stream *stream,
                     struct sim *sim);

/* Whether a back-end's send may wait: until more is final (PROTOCOL 16.6), or
 * for credit, which half a window left never does (PROTOCOL 3.4). A member that waits in a send settles no marker, so that a sync of another stream
 * waits for this one, and this one for members that send nothing before the next
 * sync. */
bool exact_is_full(const struct traffic_stream *stream,
                   struct sim *sim,
                   uint32_t index);

/* What a back-end keeps is bounded (PROTOCOL 16.6): one packet, of at most
 * `most` bytes, in excess. */
void exact_look(const struct traffic_stream *stream,
                struct sim *sim,
                uint32_t index,
                uint64_t most);
