/* link.h - the life of one tree edge, as seen from one end.
 *
 *        greeting            end, breach
 *   WAIT ---------> UP -----------------> CLOSED
 *     |              |                       ^
 *     +--- silence --+---- silence ----------+
 *
 * A link begins when both sides have proved that they have the key. It is in
 * WAIT until the other end has named its window. Silence for `silence_ms` is a
 * failure. Heartbeats are sent on links on which this end was idle (PROTOCOL
 * 6.1). Pure: time comes in, decisions go out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum link_state {
    LINK_WAIT,
    LINK_UP,
    LINK_CLOSED
};

/* Caller's storage. */
struct link {
    enum link_state state;
    uint32_t heartbeat_ms;
    uint32_t silence_ms;
    uint64_t heard_ms;
    uint64_t sent_ms;
};

/* Begin in LINK_WAIT. Both times are at least 1. */
void link_init(struct link *link,
               uint32_t heartbeat_ms,
               uint32_t silence_ms,
               uint64_t now_ms);

/* From now on the link fails after `silence_ms` of silence, at least 1, counted
 * from now at the earliest. */
void link_limit(struct link *link, uint32_t silence_ms, uint64_t now_ms);

/* Bytes from the other end arrived at `at_ms`; they may be read later. */
void link_heard(struct link *link, uint64_t at_ms);

/* A frame was sent to the other end. */
void link_sent(struct link *link, uint64_t now_ms);

/* The peer's greeting has arrived: the link is up. A second changes nothing. */
void link_greet(struct link *link);

/* The link has ended, for whatever reason. */
void link_close(struct link *link);

/* Whether the other end has been silent for too long. */
bool link_is_silent(const struct link *link, uint64_t now_ms);

/* Whether a heartbeat is due. */
bool link_wants_heartbeat(const struct link *link, uint64_t now_ms);

/* When one of these two returns true; UINT64_MAX when closed. */
uint64_t link_deadline_ms(const struct link *link);

/* This node was stopped for the last `stall_ms`, which are no silence. It has
 * one heartbeat to read what arrived in that time (PROTOCOL 6.2). */
void link_forgive(struct link *link, uint64_t stall_ms, uint64_t now_ms);
