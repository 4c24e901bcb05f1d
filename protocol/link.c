/* link.c - the life of one tree edge, as seen from one end. */
#include "protocol/link.h"

#include <assert.h>

/* may[from][to]: every legal move. */
static const bool may[][3] = {
    [LINK_WAIT] = {[LINK_UP] = true, [LINK_CLOSED] = true},
    [LINK_UP] = {[LINK_CLOSED] = true},
    [LINK_CLOSED] = {false},
};

static void link_become(struct link *link, enum link_state to)
{
    assert(may[link->state][to]);
    link->state = to;
}

void link_init(struct link *link,
               uint32_t heartbeat_ms,
               uint32_t silence_ms,
               uint64_t now_ms)
{
    assert(heartbeat_ms > 0 && silence_ms > 0);
    link->state = LINK_WAIT;
    link->heartbeat_ms = heartbeat_ms;
    link->silence_ms = silence_ms;
    link->heard_ms = now_ms;
    link->sent_ms = now_ms;
}

void link_limit(struct link *link, uint32_t silence_ms, uint64_t now_ms)
{
    assert(silence_ms > 0);
    link->silence_ms = silence_ms;
    link->heard_ms = now_ms;
}

void link_heard(struct link *link, uint64_t at_ms)
{
    if (at_ms > link->heard_ms)
        link->heard_ms = at_ms;
}

void link_sent(struct link *link, uint64_t now_ms)
{
    link->sent_ms = now_ms;
}

void link_greet(struct link *link)
{
    if (link->state == LINK_WAIT)
        link_become(link, LINK_UP);
}

void link_close(struct link *link)
{
    if (link->state != LINK_CLOSED)
        link_become(link, LINK_CLOSED);
}

bool link_is_silent(const struct link *link, uint64_t now_ms)
{
    return link->state != LINK_CLOSED &&
           now_ms >= link->heard_ms + link->silence_ms;
}

bool link_wants_heartbeat(const struct link *link, uint64_t now_ms)
{
    return link->state != LINK_CLOSED &&
           now_ms >= link->sent_ms + link->heartbeat_ms;
}

uint64_t link_deadline_ms(const struct link *link)
{
    uint64_t silence = link->heard_ms + link->silence_ms;
    uint64_t heartbeat = link->sent_ms + link->heartbeat_ms;

    if (link->state == LINK_CLOSED)
        return UINT64_MAX;
    return silence < heartbeat ? silence : heartbeat;
}

void link_forgive(struct link *link, uint64_t stall_ms, uint64_t now_ms)
{
    link->heard_ms += stall_ms;
    if (link->heard_ms + link->silence_ms < now_ms + link->heartbeat_ms)
        link->heard_ms = now_ms + link->heartbeat_ms - link->silence_ms;
    if (link->heard_ms > now_ms)
        link->heard_ms = now_ms;
}
