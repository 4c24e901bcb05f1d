/* filtering.c - the filters of all streams at one node. */
#include "api/filtering.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* Filters that never take long, and need no second thread standing by. */
static const char *const quick[] = {
    "", "avg", "concat", "count", "int_union", "max", "min", "sum",
};

struct filtered_stream {
    uint32_t id;
    struct loader *loader;
    struct loader_node node;
    UT_hash_handle hh;
};

struct filtering {
    pthread_mutex_t lock; /* of the table: calls may run during loads */
    struct filtered_stream *streams;
    struct loader_output output;
};

int filtering_new(struct filtering **out)
{
    struct filtering *filtering = calloc(1, sizeof(*filtering));

    if (!filtering)
        return -ENOMEM;
    pthread_mutex_init(&filtering->lock, NULL);
    *out = filtering;
    return 0;
}

void filtering_free(struct filtering *filtering)
{
    struct filtered_stream *stream, *next;

    if (!filtering)
        return;
    HASH_ITER (hh, filtering->streams, stream, next) {
        HASH_DEL(filtering->streams, stream);
        loader_free(stream->loader);
        free(stream);
    }
    loader_output_fini(&filtering->output);
    pthread_mutex_destroy(&filtering->lock);
    free(filtering);
}

static struct filtered_stream *filtering_find(struct filtering *filtering,
                                              uint32_t id)
{
    struct filtered_stream *stream;

    pthread_mutex_lock(&filtering->lock);
    HASH_FIND(hh, filtering->streams, &id, sizeof(id), stream);
    pthread_mutex_unlock(&filtering->lock);
    return stream;
}

static bool is_quick(const char *name)
{
    for (size_t i = 0; i < sizeof(quick) / sizeof(*quick); i++)
        if (strcmp(name, quick[i]) == 0)
            return true;
    return false;
}

int filtering_load(struct filtering *filtering,
                   const struct stream_definition *definition,
                   const struct loader_node *node,
                   const char *directories,
                   struct stream_filters *filters,
                   bool *slow,
                   char *text,
                   size_t text_len)
{
    struct filtered_stream *stream = calloc(1, sizeof(*stream));
    struct cop_error error;
    int r;

    if (!stream) {
        snprintf(text, text_len, "out of memory");
        return -ENOMEM;
    }
    r = loader_new(&stream->loader, definition, node->role, directories,
                   &error);
    if (r < 0) {
        snprintf(text, text_len, "%s", error.text);
        free(stream);
        return r;
    }
    stream->id = definition->id;
    stream->node = *node;
    *filters = loader_facts(stream->loader);
    *slow = !is_quick(loader_up_name(definition, node->role)) ||
            !is_quick(definition->down_filter);
    pthread_mutex_lock(&filtering->lock);
    HASH_ADD(hh, filtering->streams, id, sizeof(stream->id), stream);
    pthread_mutex_unlock(&filtering->lock);
    return 0;
}

void filtering_unload(struct filtering *filtering, uint32_t id)
{
    struct filtered_stream *stream = filtering_find(filtering, id);

    if (!stream)
        return;
    pthread_mutex_lock(&filtering->lock);
    HASH_DEL(filtering->streams, stream);
    pthread_mutex_unlock(&filtering->lock);
    loader_free(stream->loader);
    free(stream);
}

void filtering_call(struct filtering *filtering,
                    const struct node_call *call,
                    struct event *answer)
{
    struct filtered_stream *stream = filtering_find(filtering, call->stream);
    struct loader_output *output = &filtering->output;

    if (stream) {
        loader_call(stream->loader, call, &stream->node, output);
    } else {
        loader_output_clear(output);
        snprintf(output->text, sizeof(output->text),
                 "stream %u has no filters here", call->stream);
    }
    answer->up = output->up;
    answer->up_count = output->up_count;
    answer->down = output->down;
    answer->down_count = output->down_count;
    answer->text = output->text[0] ? output->text : NULL;
}

const char *filtering_why_not(struct filtering *filtering, uint32_t id)
{
    struct filtered_stream *stream = filtering_find(filtering, id);

    return stream ? loader_why_not_recoverable(stream->loader)
                  : "it has no upstream filter that is loaded here";
}
