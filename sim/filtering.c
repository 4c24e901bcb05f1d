/* filtering.c - the filters of one simulated node. */
#include "sim/filtering.h"

#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"

struct filtering {
    const char *path;
    enum node_role role;
    uint32_t rank;
    uint32_t depth;
};

struct filtering *filtering_new(const char *path,
                                enum node_role role,
                                uint32_t rank,
                                uint32_t depth)
{
    struct filtering *filters = memory_new(sizeof(*filters));

    filters->path = path;
    filters->role = role;
    filters->rank = rank;
    filters->depth = depth;
    return filters;
}

void filtering_free(struct filtering *filters)
{
    free(filters);
}

char *filtering_load(struct filtering *filters,
                     const struct stream_definition *definition,
                     struct stream_filters *out)
{
    (void)filters;
    memset(out, 0, sizeof(*out));
    if (*definition->up_filter || *definition->down_filter)
        return memory_text("no filters yet");
    return NULL;
}

void filtering_call(struct filtering *filters,
                    const struct node_call *call,
                    struct filtering_answer *out)
{
    (void)filters;
    (void)call;
    (void)out;
}

void filtering_unload(struct filtering *filters, uint32_t stream)
{
    (void)filters;
    (void)stream;
}

void filtering_answer_clear(struct filtering_answer *answer)
{
    for (size_t i = 0; i < answer->up_count; i++)
        frame_fini(&answer->up[i]);
    for (size_t i = 0; i < answer->down_count; i++)
        frame_fini(&answer->down[i]);
    answer->up_count = answer->down_count = 0;
    free(answer->text);
    answer->text = NULL;
}

void filtering_answer_fini(struct filtering_answer *answer)
{
    filtering_answer_clear(answer);
    free(answer->up);
    free(answer->down);
    *answer = (struct filtering_answer){0};
}
