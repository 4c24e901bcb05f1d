/* output.c - see output.h. */
#include "filters/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void frames_clear(struct frame *frames, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        frame_fini(&frames[i]);
    *count = 0;
}

void loader_output_drop(struct loader_output *output)
{
    frames_clear(output->up, &output->up_count);
    frames_clear(output->down, &output->down_count);
}

void loader_output_clear(struct loader_output *output)
{
    loader_output_drop(output);
    output->text[0] = '\0';
}

void loader_output_fini(struct loader_output *output)
{
    loader_output_clear(output);
    free(output->up);
    free(output->down);
    memset(output, 0, sizeof(*output));
}

/* Append `frame`, which is taken, also on error. */
static int frames_add(struct frame **frames,
                      size_t *count,
                      size_t *room,
                      struct frame frame)
{
    struct frame *grown;
    size_t wanted;

    if (*count == *room) {
        wanted = *room ? 2 * *room : 4;
        grown = reallocarray(*frames, wanted, sizeof(**frames));
        if (!grown) {
            frame_fini(&frame);
            return -ENOMEM;
        }
        *frames = grown;
        *room = wanted;
    }
    (*frames)[(*count)++] = frame;
    return 0;
}

int loader_output_add(struct loader_output *output,
                      bool upward,
                      struct frame frame)
{
    if (upward)
        return frames_add(&output->up, &output->up_count, &output->up_room,
                          frame);
    return frames_add(&output->down, &output->down_count, &output->down_room,
                      frame);
}

int loader_output_fail(struct loader_output *output,
                       const struct cop_filter *filter,
                       int code)
{
    if (output->text[0] == '\0')
        snprintf(output->text, sizeof(output->text), "%s: %s", filter->name,
                 strerror(-code));
    return code;
}
