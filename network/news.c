/* news.c - events that wait for the application. */
#include "network/news.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "protocol/limits.h"

/* What an event was when it was first published: it may be taken so. */
#define SIZE_MIN offsetof(struct cop_event, parent)

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

int news_add(struct news *news, const struct cop_event *event, const char *text)
{
    struct news_item *item = malloc(sizeof(*item));

    if (!item)
        return -ENOMEM;
    item->event = *event;
    item->event.size = sizeof(item->event);
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

    if (size < SIZE_MIN)
        return -EINVAL;
    if (!news->first)
        return -EAGAIN;
    memset(out, 0, size);
    memcpy(out, &news->first->event, size < sizeof(*out) ? size : sizeof(*out));
    out->size = size;
    drop_first(news);
    return 0;
}

void news_fini(struct news *news)
{
    while (news->first)
        drop_first(news);
}
