/* news.h - events that wait for the application: at most LIMIT_EVENTS; above
 * it the oldest are dropped. Events that a node can bring about as often as it
 * likes are at most LIMIT_EVENTS_OF_NODE for each rank, so that no node pushes
 * the events of others out. */
#pragma once

#include <coppice/coppice.h>

struct news_item;
struct news_node;

/* Caller's storage; all zero is empty. */
struct news {
    struct news_item *first;
    struct news_node *nodes; /* of which such events wait, by rank */
    uint32_t count;
    bool wanted; /* the application has asked for an event before */
    bool passed; /* it has received until -EAGAIN since the last was added */
};

/* Whether the descriptor of cop_network_fd() is to be readable for events: an
 * application that only receives is woken once for each. */
bool news_calls(const struct news *news);

/* Append a copy of `event`, with `text`, which may be NULL, and with its own
 * size. Returns 0 or -ENOMEM. */
int news_add(struct news *news,
             const struct cop_event *event,
             const char *text);

/* Take the oldest into `out`, of which only `out->size` bytes are written.
 * Returns 0, -EINVAL if that is no size, or -EAGAIN if there is none. */
int news_take(struct news *news, struct cop_event *out);

/* Free what is left. */
void news_fini(struct news *news);
