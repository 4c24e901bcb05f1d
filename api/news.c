/* news.c - events queued for the application. */
#include "api/news.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "wire/limits.h"

/* The size of struct cop_event in its first version: the smallest accepted. */
#define SIZE_MIN offsetof(struct cop_event, parent)

struct news_item {
    struct cop_event event;
    struct news_item *prev;
    struct news_item *next;
    struct news_node *node; /* the node it counts for; NULL: none */
    struct news_item *node_prev;
    struct news_item *node_next;
};

struct news_node {
    uint32_t rank;
    uint32_t count;
    struct news_item *first;
    UT_hash_handle hh;
};

/* Whether a node can cause any number of such events. */
static bool is_repeated(enum cop_event_type type)
{
    switch (type) {
    case COP_EVENT_NODE_SUSPECTED:
    case COP_EVENT_NODE_BACK:
    case COP_EVENT_NODE_LOST:
    case COP_EVENT_NODE_ADOPTED:
    case COP_EVENT_FILTER_ERROR:
    case COP_EVENT_NODE_REFUSED:
    case COP_EVENT_REDO:
    case COP_EVENT_VIEW:
    case COP_EVENT_REPLACE_FAILED:
    case COP_EVENT_NODE_MOVED:
    case COP_EVENT_MOVE_FAILED:
    case COP_EVENT_DRAIN_FAILED:
        return true;
    case COP_EVENT_NODE_JOINED:
    case COP_EVENT_NODE_LEFT:
    case COP_EVENT_DRAINED:
    case COP_EVENT_BACKEND_LOST:
    case COP_EVENT_BACKEND_JOINED:
    case COP_EVENT_STREAM_LOSSY:
    case COP_EVENT_STREAM_OPENED:
    case COP_EVENT_STREAM_CLOSED:
    case COP_EVENT_STREAM_FAILED:
    case COP_EVENT_JOURNAL_FAILED:
    case COP_EVENT_ENDED:
        return false;
    }
    return false;
}

static void news_drop(struct news *news, struct news_item *item)
{
    struct news_node *node = item->node;

    DL_DELETE(news->first, item);
    news->count--;
    if (node) {
        DL_DELETE2(node->first, item, node_prev, node_next);
        if (--node->count == 0) {
            HASH_DEL(news->nodes, node);
            free(node);
        }
    }
    free(item);
}

/* Count `item` for its node. Returns 0 or -ENOMEM. */
static int news_count(struct news *news, struct news_item *item)
{
    struct news_node *node;

    HASH_FIND(hh, news->nodes, &item->event.rank, sizeof(node->rank), node);
    if (!node) {
        node = calloc(1, sizeof(*node));
        if (!node)
            return -ENOMEM;
        node->rank = item->event.rank;
        HASH_ADD(hh, news->nodes, rank, sizeof(node->rank), node);
    }
    item->node = node;
    node->count++;
    DL_APPEND2(node->first, item, node_prev, node_next);
    return 0;
}

bool news_calls(const struct news *news)
{
    return news->first && (news->wanted || !news->passed);
}

int news_add(struct news *news, const struct cop_event *event, const char *text)
{
    struct news_item *item = calloc(1, sizeof(*item));

    if (!item)
        return -ENOMEM;
    item->event = *event;
    item->event.size = sizeof(item->event);
    snprintf(item->event.text, sizeof(item->event.text), "%s",
             text ? text : "");
    if (is_repeated(event->type) && news_count(news, item) < 0) {
        free(item);
        return -ENOMEM;
    }
    DL_APPEND(news->first, item);
    news->passed = false;
    news->count++;
    if (item->node && item->node->count > LIMIT_EVENTS_OF_NODE)
        news_drop(news, item->node->first);
    if (news->count > LIMIT_EVENTS)
        news_drop(news, news->first);
    return 0;
}

int news_take(struct news *news, struct cop_event *out)
{
    size_t size = out->size;

    if (size < SIZE_MIN)
        return -EINVAL;
    news->wanted = true;
    if (!news->first)
        return -EAGAIN;
    memset(out, 0, size);
    memcpy(out, &news->first->event, size < sizeof(*out) ? size : sizeof(*out));
    out->size = size;
    news_drop(news, news->first);
    return 0;
}

void news_fini(struct news *news)
{
    while (news->first)
        news_drop(news, news->first);
}
