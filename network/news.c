/* news.c - events that wait for the application. */
#include "network/news.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "protocol/limits.h"

struct news_item {
    struct cop_event event;
    struct news_item *prev;
    struct news_item *next;
};

static void drop_first(struct news *news)
{
    struct news_item *item = news->first;

    DL_DELETE(news->first, item);
    news->count--;
    free(item);
}

int news_add(struct news *news,
             enum cop_event_type type,
             uint32_t rank,
             uint32_t stream_id,
             const char *text)
{
    struct news_item *item = malloc(sizeof(*item));

    if (!item)
        return -ENOMEM;
    item->event = (struct cop_event){
        .size = sizeof(item->event),
        .type = type,
        .rank = rank,
        .stream_id = stream_id,
    };
    snprintf(item->event.text, sizeof(item->event.text), "%s",
             text ? text : "");
    DL_APPEND(news->first, item);
    if (++news->count > LIMIT_EVENTS)
        drop_first(news);
    return 0;
}

int news_take(struct news *news, struct cop_event *out)
{
    size_t size = out->size;

    if (size < sizeof(struct cop_event))
        return -EINVAL;
    if (!news->first)
        return -EAGAIN;
    *out = news->first->event;
    out->size = size;
    drop_first(news);
    return 0;
}

void news_fini(struct news *news)
{
    while (news->first)
        drop_first(news);
}
