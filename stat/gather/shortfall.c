/* shortfall.c - see shortfall.h. */
#include "stat/gather/shortfall.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/tree/frame.h"
#include "stat/walk/traces.h"

/* How many daemons are named one by one. */
#define NAMED_MAX 16

struct shortfall {
    const struct shortfall_wanted *wanted;
    uint32_t count; /* of processes */
    uint32_t *seen; /* by process: number of the last sample with it; 0: none */
    uint32_t *rank; /* by process: rank of its daemon */
    bool *lacking;  /* by process: not seen up to the end */
};

static void shortfall_fini(struct shortfall *shortfall)
{
    free(shortfall->seen);
    free(shortfall->rank);
    free(shortfall->lacking);
}

/* Find the number of the last sample with each task. */
static void read_progress(struct shortfall *shortfall, const struct tree *tree)
{
    const struct targets *targets = shortfall->wanted->targets;
    uint32_t index;

    for (uint32_t i = 0; i < tree->progress_count; i++) {
        const struct tree_progress *progress = &tree->progress[i];
        struct tasks_cursor at = tasks_begin(progress->tasks);

        while (tasks_next(&at)) {
            targets_find(targets, at.range.first, &index);
            for (; index < shortfall->count &&
                   targets->tasks[index] <= at.range.last;
                 index++)
                shortfall->seen[index] = progress->seen;
        }
    }
}

/* Whether process `index` was not seen up to the last sample. With an open end
 * this includes every task of a lost daemon. */
static bool is_lacking(const struct shortfall *shortfall, uint32_t index)
{
    const struct shortfall_wanted *wanted = shortfall->wanted;

    return shortfall->seen[index] == 0 ||
           shortfall->seen[index] < wanted->samples ||
           (wanted->open_ended &&
            daemons_loss(wanted->daemons, shortfall->rank[index]));
}

/* Read the tree, and find the missing tasks. */
static int shortfall_init(struct shortfall *shortfall,
                          const struct tree *tree,
                          const struct shortfall_wanted *wanted)
{
    uint32_t count = wanted->targets->count, index;

    shortfall->wanted = wanted;
    shortfall->count = count;
    shortfall->seen = calloc((size_t)count + 1, sizeof(*shortfall->seen));
    shortfall->rank = calloc((size_t)count + 1, sizeof(*shortfall->rank));
    shortfall->lacking = calloc((size_t)count + 1, sizeof(bool));
    if (!shortfall->seen || !shortfall->rank || !shortfall->lacking)
        return -ENOMEM;
    read_progress(shortfall, tree);
    for (index = 0; index < count; index++) {
        shortfall->rank[index] = daemons_of_target(wanted->daemons, index);
        shortfall->lacking[index] = is_lacking(shortfall, index);
    }
    return 0;
}

/* Write why the daemon of process `index` did not answer. */
static void reason_of(char *text,
                      size_t size,
                      const struct shortfall *shortfall,
                      uint32_t index)
{
    const struct targets *targets = shortfall->wanted->targets;
    const struct daemons *daemons = shortfall->wanted->daemons;
    const char *host = targets_host_name(targets, targets->hosts[index]);
    const char *loss = daemons_loss(daemons, shortfall->rank[index]);

    if (shortfall->rank[index] == COP_RANK_NONE)
        snprintf(text, size, "%s has no daemon", host);
    else if (loss)
        snprintf(text, size, "the daemon on %s was lost: %s", host, loss);
    else if (shortfall->wanted->answered && shortfall->seen[index] > 0)
        snprintf(text, size,
                 "the daemon on %s lives, but has sent no later sample: is the "
                 "host overloaded, or does a process need long to stop?",
                 host);
    else if (shortfall->wanted->answered)
        snprintf(text, size,
                 "the daemon on %s has sent nothing about it: is it of the "
                 "same version as coppice-stat?",
                 host);
    else if (shortfall->wanted->timeout_ms == 0)
        snprintf(text, size,
                 "the daemon on %s is silent: is the host overloaded?", host);
    else
        snprintf(text, size,
                 "no answer from the daemon on %s in %" PRIu32
                 " s: is the host overloaded? try a longer --timeout",
                 host, shortfall->wanted->timeout_ms / 1000);
}

/* Add the tasks that are not in the tree, with the reason. */
static int add_absent(struct tree **tree, const struct shortfall *shortfall)
{
    char reason[512];
    struct frame frame = FRAME_NOT_WALKED(reason);
    struct traces *traces = NULL;
    struct tree *absent = NULL, *both = NULL;
    int r;

    r = traces_new(&traces);
    for (uint32_t index = 0; r == 0 && index < shortfall->count; index++) {
        if (shortfall->seen[index] > 0)
            continue;
        reason_of(reason, sizeof(reason), shortfall, index);
        r = traces_add(traces, shortfall->wanted->targets->tasks[index], &frame,
                       1);
    }
    if (r == 0)
        r = traces_sample(&absent, traces, 0);
    if (r == 0)
        r = tree_join(&both, *tree, absent);
    traces_free(traces);
    tree_free(absent);
    if (r < 0)
        return r;
    tree_free(*tree);
    *tree = both;
    return 0;
}

/* Make the set of the tasks for which `is` holds. */
static int collect(struct tasks **out,
                   const struct shortfall *shortfall,
                   bool (*is)(const struct shortfall *, uint32_t, uint32_t),
                   uint32_t arg)
{
    struct tasks_range *ranges =
        calloc((size_t)shortfall->count + 1, sizeof(*ranges));
    size_t count = 0;
    int r;

    if (!ranges)
        return -ENOMEM;
    for (uint32_t i = 0; i < shortfall->count; i++) {
        uint32_t task = shortfall->wanted->targets->tasks[i];

        if (!is(shortfall, i, arg))
            continue;
        if (count > 0 && ranges[count - 1].last + 1 == task)
            ranges[count - 1].last = task;
        else
            ranges[count++] = (struct tasks_range){task, task};
    }
    r = tasks_new(out, ranges, count);
    free(ranges);
    return r;
}

/* Whether the daemon of process `index` must not be asked again. */
static bool is_silent(const struct shortfall *shortfall,
                      uint32_t index,
                      uint32_t arg)
{
    (void)arg;
    return shortfall->lacking[index] ||
           daemons_loss(shortfall->wanted->daemons, shortfall->rank[index]);
}

/* Whether process `index` was seen, but not to the end, by daemon `rank`. */
static bool is_behind(const struct shortfall *shortfall,
                      uint32_t index,
                      uint32_t rank)
{
    return shortfall->lacking[index] && shortfall->seen[index] > 0 &&
           shortfall->rank[index] == rank;
}

/* Report the daemon of process `index`, which is the first of its tasks. */
static int say_behind(const struct shortfall *shortfall,
                      uint32_t index,
                      void (*say)(const char *line))
{
    char reason[512], ranks[128], line[800];
    struct tasks *behind;
    int r;

    r = collect(&behind, shortfall, is_behind, shortfall->rank[index]);
    if (r < 0)
        return r;
    reason_of(reason, sizeof(reason), shortfall, index);
    snprintf(line, sizeof(line),
             "last seen in sample %" PRIu32 " of %" PRIu32 ": %ss %s: %s",
             shortfall->seen[index], shortfall->wanted->samples,
             targets_noun(shortfall->wanted->targets),
             tasks_text(behind, ranks, sizeof(ranks)), reason);
    say(line);
    tasks_free(behind);
    return 0;
}

/* Report each daemon with tasks that were seen, the first ones by name. */
static int say_all_behind(const struct shortfall *shortfall,
                          void (*say)(const char *line))
{
    uint32_t named[NAMED_MAX], count = 0, more = 0, index, i;
    char line[96];
    int r = 0;

    for (index = 0; r == 0 && index < shortfall->count; index++) {
        if (!shortfall->lacking[index] || shortfall->seen[index] == 0)
            continue;
        for (i = 0; i < count && named[i] != shortfall->rank[index]; i++)
            ;
        if (i < count)
            continue;
        if (count == NAMED_MAX) {
            more++;
            continue;
        }
        named[count++] = shortfall->rank[index];
        r = say_behind(shortfall, index, say);
    }
    snprintf(line, sizeof(line),
             "%" PRIu32 " more %ss were not seen up to the end", more,
             targets_noun(shortfall->wanted->targets));
    if (r == 0 && more > 0)
        say(line);
    return r;
}

/* The number of missing tasks. */
static uint32_t lacking_count(const struct shortfall *shortfall)
{
    uint32_t count = 0, index;

    for (index = 0; index < shortfall->count; index++)
        count += shortfall->lacking[index];
    return count;
}

int shortfall_find(struct tree **tree,
                   struct tasks **silent,
                   struct shortfall_wanted *wanted,
                   void (*say)(const char *line))
{
    struct shortfall shortfall = {0};
    uint32_t lacking = 0;
    int r;

    r = shortfall_init(&shortfall, *tree, wanted);
    if (r == 0)
        lacking = lacking_count(&shortfall);
    if (r == 0 && lacking > 0) {
        r = add_absent(tree, &shortfall);
        if (r == 0 && say)
            r = say_all_behind(&shortfall, say);
        cop_error_set(&wanted->late, -ETIMEDOUT,
                      "the answer is not whole: %" PRIu32 " of %" PRIu32
                      " %ss were not looked at up to the end",
                      lacking, shortfall.count, targets_noun(wanted->targets));
    }
    if (r == 0)
        r = collect(silent, &shortfall, is_silent, 0);
    shortfall_fini(&shortfall);
    return r;
}
