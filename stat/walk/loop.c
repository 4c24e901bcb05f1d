/* loop.c - see loop.h. */
#include "stat/walk/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/hash.h"

void loop_fini(struct loop *loop)
{
    free(loop->frames);
    *loop = (struct loop){.frames = NULL};
}

/* A hash of these frames; never 0. */
static uint64_t hash_frames(const struct frame *frames, size_t count)
{
    uint64_t hash = HASH_EMPTY;

    for (size_t i = 0; i < count; i++) {
        const char *const texts[] = {frames[i].function, frames[i].file,
                                     frames[i].module};

        for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
            hash = hash_bytes(hash, texts[k], strlen(texts[k]) + 1);
        hash = hash_bytes(hash, &frames[i].line, sizeof(frames[i].line));
        hash = hash_bytes(hash, &frames[i].offset, sizeof(frames[i].offset));
    }
    return hash ? hash : 1;
}

/* Copy frames and their texts into one piece of memory; NULL without memory. */
static struct frame *copy_frames(const struct frame *frames, size_t count)
{
    size_t size = count * sizeof(*frames);
    struct frame *copy;
    char *at;

    for (size_t i = 0; i < count; i++)
        size += strlen(frames[i].function) + strlen(frames[i].file) +
                strlen(frames[i].module) + 3;
    copy = malloc(size + 1);
    if (!copy)
        return NULL;
    at = (char *)(copy + count);
    for (size_t i = 0; i < count; i++) {
        const char **texts[] = {&copy[i].function, &copy[i].file,
                                &copy[i].module};

        copy[i] = frames[i];
        for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
            size_t len = strlen(*texts[k]) + 1;

            memcpy(at, *texts[k], len);
            *texts[k] = at;
            at += len;
        }
    }
    return copy;
}

static bool is_same_place(const struct frame *a, const struct frame *b)
{
    return a->offset == b->offset && a->line == b->line &&
           strcmp(a->function, b->function) == 0 &&
           strcmp(a->file, b->file) == 0 && strcmp(a->module, b->module) == 0;
}

/* Whether both frames are of one function. Returns that, or -ENOMEM. */
static int is_same_function(struct kinds *kinds,
                            const struct names *names,
                            const struct frame *a,
                            const struct frame *b)
{
    const char *one, *other;
    enum role role;
    int r;

    if (strcmp(a->function, b->function) != 0 ||
        strcmp(a->file, b->file) != 0 || strcmp(a->module, b->module) != 0)
        return 0;
    if (a->function[0] || a->offset == b->offset)
        return 1;
    r = kinds_find(&role, &one, kinds, names, a);
    if (r == 0)
        r = kinds_find(&role, &other, kinds, names, b);
    return r < 0 ? r : one[0] && strcmp(one, other) == 0;
}

/* Whether frames of two stacks, before their last, are at the same place. The
 * interpreter's own frame, which is kept for --full, is anywhere in the
 * interpreter while it runs the functions of Python that follow. */
static bool is_same_caller(const struct frame *a, const struct frame *b)
{
    return is_same_place(a, b) ||
           (!a->function[0] && a[1].function[0] && !b->function[0] &&
            strcmp(a->module, b->module) == 0);
}

/* Whether a thread outside of its call may be in the loop: it is in the function
 * that has called, below it, or in that function's caller. */
static int is_inside(const struct loop *loop,
                     struct kinds *kinds,
                     const struct names *names,
                     const struct frame *frames,
                     size_t outside)
{
    size_t common = loop->call ? loop->depth : loop->outside;

    if (loop->call && outside + 1 < loop->depth)
        return 0;
    if (common > outside)
        common = outside;
    if (common > loop->outside)
        common = loop->outside;
    if (common == 0)
        return 0;
    for (size_t i = 0; i + 1 < common; i++)
        if (!is_same_caller(&frames[i], &loop->frames[i]))
            return 0;
    return is_same_function(kinds, names, &frames[common - 1],
                            &loop->frames[common - 1]);
}

int loop_follow(struct loop *loop,
                struct kinds *kinds,
                const struct names *names,
                const struct frame *frames,
                size_t all,
                size_t count,
                size_t outside,
                bool sleeps,
                bool idle)
{
    uint64_t call = sleeps ? hash_frames(frames, outside) : 0;
    uint64_t leaf = sleeps ? hash_frames(frames + count - 1, 1) : 0;
    int r = 0;

    /* The same sleep elsewhere is another loop. With another leaf it may have woken
     * up since it was seen to sleep. */
    if (loop->frames && idle &&
        !(call && call != loop->call && leaf == loop->leaf))
        r = is_inside(loop, kinds, names, frames, outside);
    if (r == 0) {
        loop_fini(loop);
        loop->frames = copy_frames(frames, all);
        loop->count = all;
        loop->outside = outside;
        loop->call = 0;
    }
    if (call) {
        loop->call = call;
        loop->leaf = leaf;
        loop->depth = outside;
    }
    return loop->frames ? r : -ENOMEM;
}
