/* wholeness.h - traffic on streams of whole waves (PROTOCOL 16): part of
 * traffic.c. */
#pragma once

#include "sim/swarm/traffic.h"

/* A redo has begun: check that it has a cause (PROTOCOL 16.14). */
void exact_told_redo(const struct traffic *traffic,
                     struct traffic_stream *stream,
                     struct sim *sim);

/* Whether a back-end's send may wait: until more is final (PROTOCOL 16.6), or
 * for credit, but never while half a window is left (PROTOCOL 3.4). A member
 * that waits in a send settles no marker: a sync of another stream waits for
 * this one, and this one for members that send nothing before the next sync. */
bool exact_is_full(const struct traffic_stream *stream,
                   struct sim *sim,
                   uint32_t index);

/* Check the bytes that a back-end keeps (PROTOCOL 16.6): the limit may be
 * exceeded by one packet of at most `most` bytes. */
void exact_look(const struct traffic_stream *stream,
                struct sim *sim,
                uint32_t index,
                uint64_t most);
