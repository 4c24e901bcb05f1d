/* flow.c - bytes in flight. */
#include "sim/flow.h"

#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"

/* The room that an empty flow keeps. Worlds have a hundred thousand flows. */
#define FLOW_KEPT 1024

static uint64_t arrival(struct flow *flow, uint64_t at_ms)
{
    if (at_ms < flow->held_ms)
        at_ms = flow->held_ms;
    if (at_ms > flow->last_ms)
        flow->last_ms = at_ms;
    return flow->last_ms;
}

static void make_room(struct flow *flow, size_t len)
{
    size_t held = flow->end - flow->start;

    if (flow->end + len <= flow->room)
        return;
    if (flow->start > 0) {
        memmove(flow->bytes, flow->bytes + flow->start, held);
        flow->start = 0;
        flow->end = held;
    }
    if (held + len <= flow->room)
        return;
    flow->room = 2 * (held + len);
    flow->bytes = memory_resize(flow->bytes, flow->room);
}

uint64_t flow_write(struct flow *flow,
                    const void *bytes,
                    size_t len,
                    uint64_t at_ms)
{
    struct flow_piece piece;

    if (flow->muted || flow->ended)
        return UINT64_MAX;
    make_room(flow, len);
    memcpy(flow->bytes + flow->end, bytes, len);
    flow->end += len;
    piece.at_ms = arrival(flow, at_ms);
    piece.len = len;
    memory_grow(&flow->pieces, &flow->piece_room, flow->piece_end,
                sizeof(piece));
    flow->pieces[flow->piece_end++] = piece;
    return piece.at_ms;
}

uint64_t flow_pass_ms(struct flow *flow,
                      size_t len,
                      uint64_t now_ms,
                      uint32_t bytes_per_ms)
{
    uint64_t now_us = now_ms * 1000;

    if (flow->free_us < now_us)
        flow->free_us = now_us;
    flow->free_us += len * 1000 / bytes_per_ms;
    return (flow->free_us - now_us) / 1000;
}

uint64_t flow_end(struct flow *flow, uint64_t at_ms)
{
    if (flow->muted)
        return UINT64_MAX;
    flow->ended = true;
    return arrival(flow, at_ms);
}

void flow_cut(struct flow *flow, size_t kept)
{
    size_t left = kept;

    if (kept >= flow_len(flow))
        return;
    flow->end = flow->start + kept;
    for (size_t i = flow->piece_start; i < flow->piece_end; i++) {
        if (flow->pieces[i].len > left)
            flow->pieces[i].len = left;
        left -= flow->pieces[i].len;
    }
}

uint64_t flow_reset(struct flow *flow, uint64_t now_ms, uint64_t at_ms)
{
    size_t len;

    if (flow->muted || !flow->ended || flow->last_ms <= now_ms)
        return UINT64_MAX;
    flow_arrived(flow, now_ms, &len);
    flow_cut(flow, len);
    if (at_ms < flow->held_ms)
        at_ms = flow->held_ms;
    if (at_ms < flow->last_ms)
        flow->last_ms = at_ms;
    return flow->last_ms;
}

size_t flow_len(const struct flow *flow)
{
    return flow->end - flow->start;
}

const unsigned char *flow_arrived(const struct flow *flow,
                                  uint64_t now_ms,
                                  size_t *len)
{
    *len = 0;
    for (size_t i = flow->piece_start; i < flow->piece_end; i++) {
        if (flow->pieces[i].at_ms > now_ms)
            break;
        *len += flow->pieces[i].len;
    }
    return *len > 0 ? flow->bytes + flow->start : NULL;
}

void flow_take(struct flow *flow, size_t len)
{
    flow->start += len;
    while (flow->piece_start < flow->piece_end) {
        struct flow_piece *piece = &flow->pieces[flow->piece_start];

        if (piece->len > len) {
            piece->len -= len;
            break;
        }
        len -= piece->len;
        flow->piece_start++;
    }
    if (flow->piece_start == flow->piece_end)
        flow->piece_start = flow->piece_end = 0;
    if (flow->start < flow->end)
        return;
    flow->start = flow->end = 0;
    if (flow->room > FLOW_KEPT) {
        free(flow->bytes);
        flow->bytes = NULL;
        flow->room = 0;
    }
}

bool flow_is_over(const struct flow *flow, uint64_t now_ms)
{
    return flow->ended && flow_len(flow) == 0 && flow->last_ms <= now_ms;
}

uint64_t flow_waiting_ms(const struct flow *flow, uint64_t now_ms)
{
    uint64_t heard_ms = 0;

    for (size_t i = flow->piece_start; i < flow->piece_end; i++)
        if (flow->pieces[i].at_ms <= now_ms && flow->pieces[i].len > 0)
            heard_ms = flow->pieces[i].at_ms;
    return heard_ms;
}

void flow_fini(struct flow *flow)
{
    free(flow->bytes);
    free(flow->pieces);
    *flow = (struct flow){0};
}
