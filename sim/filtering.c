/* filtering.c - the filters of one simulated node. */
#include "sim/filtering.h"

#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"

struct filtering_stream {
    uint32_t stream;
    struct loader *loader;
};

struct filtering {
    const char *path;
    struct loader_node node;
    struct filtering_stream *streams;
    size_t count;
    size_t room;
};

struct filtering *filtering_new(const char *path,
                                enum node_role role,
                                uint32_t rank,
                                uint32_t depth)
{
    struct filtering *filters = memory_new(sizeof(*filters));

    filters->path = path ? path : "";
    filters->node.role = role;
    filters->node.rank = rank;
    filters->node.depth = depth;
    return filters;
}

void filtering_free(struct filtering *filters)
{
    if (!filters)
        return;
    for (size_t i = 0; i < filters->count; i++)
        loader_free(filters->streams[i].loader);
    free(filters->streams);
    free(filters);
}

char *filtering_load(struct filtering *filters,
                     const struct stream_definition *definition,
                     struct stream_filters *out)
{
    struct filtering_stream added = {.stream = definition->id};
    struct cop_error error;

    *out = (struct stream_filters){0};
    if (loader_new(&added.loader, definition, filters->node.role, filters->path,
                   &error) < 0)
        return memory_text(error.text);
    *out = loader_facts(added.loader);
    memory_grow(&filters->streams, &filters->room, filters->count,
                sizeof(added));
    filters->streams[filters->count++] = added;
    return NULL;
}

void filtering_call(struct filtering *filters,
                    const struct node_call *call,
                    struct loader_output *out)
{
    for (size_t i = 0; i < filters->count; i++) {
        if (filters->streams[i].stream != call->stream)
            continue;
        loader_call(filters->streams[i].loader, call, &filters->node, out);
        return;
    }
    loader_output_clear(out);
    strcpy(out->text, "no filters are loaded for this stream");
}

void filtering_unload(struct filtering *filters, uint32_t stream)
{
    for (size_t i = 0; i < filters->count; i++) {
        if (filters->streams[i].stream != stream)
            continue;
        loader_free(filters->streams[i].loader);
        filters->streams[i] = filters->streams[--filters->count];
        return;
    }
}
