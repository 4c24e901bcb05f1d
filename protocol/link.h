/* link.h - the life of one tree edge, as seen from one end.
 *
 *        greeting            end, breach
 *   WAIT ---------> UP -----------------> CLOSED
 *     |              |                       ^
 *     +--- silence --+---- silence ----------+
 *
 * A link begins when both sides have proved the key. It is WAIT until the
 * other end has said which window it grants. Silence for `silence_ms` is a
 * failure; heartbeats go on links that were idle in our direction
 * (PROTOCOL 6.1). Pure: time comes in, decisions go out. */
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

/* From now on it has failed when it was silent for `silence_ms`, at least 1,
 * counted from now at the earliest. */
void link_limit(struct link *link, uint32_t silence_ms, uint64_t now_ms);

/* Something came from the other end at `at_ms`; it may be read later. */
void link_heard(struct link *link, uint64_t at_ms);

/* Something was sent to it. */
void link_sent(struct link *link, uint64_t now_ms);

/* Its greeting came: the link is up. A second one changes nothing. */
void link_greet(struct link *link);

/* It ended, whichever way. */
void link_close(struct link *link);

/* Whether it has been silent for too long. */
bool link_is_silent(const struct link *link, uint64_t now_ms);

/* Whether it is our turn to say that we live. */
bool link_wants_heartbeat(const struct link *link, uint64_t now_ms);

/* When one of these two becomes true; UINT64_MAX when closed. */
uint64_t link_deadline_ms(const struct link *link);

/* We stood still for the last `stall_ms`: they are no silence, and before there
 * is one what has come meanwhile is read, within a heartbeat (PROTOCOL 6.2). */
void link_forgive(struct link *link, uint64_t stall_ms, uint64_t now_ms);
