/* news.h - events queued for the application: at most LIMIT_EVENTS; beyond that
 * the oldest are dropped. Of the events that a node can cause without limit, at
 * most LIMIT_EVENTS_OF_NODE are queued for each rank, so that no node displaces
 * the events of other nodes. */
#pragma once

#include <coppice/coppice.h>

struct news_item;
struct news_node;

/* Caller's storage; all zero is empty. */
struct news {
    struct news_item *first;
    struct news_node *nodes; /* with queued events of that kind, by rank */
    uint32_t count;
    bool wanted; /* the application has asked for an event before */
    bool passed; /* a receive returned -EAGAIN since the last event */
};

/* Whether events make the descriptor of cop_network_fd() readable: an
 * application that only receives is woken once for each event. */
bool news_calls(const struct news *news);

/* Append a copy of `event`, with `text`, which may be NULL, and with the full
 * size. Returns 0 or -ENOMEM. */
int news_add(struct news *news,
             const struct cop_event *event,
             const char *text);

/* Take the oldest event into `out`, writing only `out->size` bytes. Returns 0,
 * -EINVAL if that size is invalid, or -EAGAIN if there is no event. */
int news_take(struct news *news, struct cop_event *out);

/* Free the queue. */
void news_fini(struct news *news);
