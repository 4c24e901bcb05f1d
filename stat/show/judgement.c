/* judgement.c - see judgement.h. */
#include "stat/show/judgement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/show/collective.h"
#include "stat/show/judging.h"
#include "stat/show/movers.h"
#include "stat/show/picture.h"
#include "stat/show/threads.h"
#include "stat/walk/runtime.h"

/* Bytes of a set of tasks as text. */
#define RANKS_SIZE 64

/* Append how many places were not named. */
static char *append_more(char *text, size_t count)
{
    return columns_append(text, "; others are at %zu more place%s", count,
                          count == 1 ? "" : "s");
}

/* Append the tasks of `group`; if it has the `most`, only their number. */
static char *append_tasks(char *text,
                          const struct judging *judging,
                          const struct group *group,
                          bool most)
{
    uint32_t count = tasks_count(group->tasks);
    char ranks[RANKS_SIZE];

    if (most && count > 1 && judging->report->classes->count == 1)
        return columns_append(text, "all %u %ss", count, judging->noun);
    if (most && count > 1)
        return columns_append(text, "%u of %u %ss", count, judging->tasks,
                              judging->noun);
    return columns_append(text, "%s%s %s", judging->noun, count == 1 ? "" : "s",
                          tasks_text(group->tasks, ranks, sizeof(ranks)));
}

/* Append the tasks of `group`, or, if it is helpers of ranks that are at its
 * place, these: "rank 1, worker 10954". `*one` becomes whether that is one. NULL
 * without memory. */
static char *append_who(char *text,
                        const struct judging *judging,
                        const struct group *group,
                        bool most,
                        bool *one)
{
    const struct report *report = judging->report;
    uint32_t top = report_top(report, group->node);
    char ids[THREADS_IDS_SIZE] = "";

    *one = tasks_count(group->tasks) == 1;
    if (strcmp(tree_function(report->tree, top), FRAME_WORKER) != 0)
        return append_tasks(text, judging, group, most);
    if (tasks_count(group->tasks) > 1)
        return append_tasks(columns_append(text, "workers of "), judging, group,
                            most);
    if (threads_ids(ids, report, group->node) < 0) {
        free(text);
        return NULL;
    }
    *one = !strstr(ids, "workers");
    return columns_append(append_tasks(text, judging, group, most), ", %s",
                          ids[0] ? ids : "its worker");
}

/* Whether another group has the same place, and goes on to another function. */
static bool is_shared(const struct judging *judging, const struct group *group)
{
    const struct group *other = judging->groups;

    while (other && (other == group || strcmp(other->place, group->place) != 0))
        other = other->hh.next;
    return other != NULL;
}

/* Append the place of `group`, and where its traces end if other groups have the
 * same place. */
static char *append_group_place(char *text,
                                const struct judging *judging,
                                const struct group *group)
{
    text = columns_append(text, "%s", group->place);
    if (!is_shared(judging, group))
        return text;
    return picture_append_function(
        columns_append(text, ", down in "),
        report_function(judging->report, group->node));
}

/* Append for which process the first of `tasks` waits at `node`, if that is
 * known. */
static char *append_child(char *text,
                          const struct judging *judging,
                          const struct tasks *tasks,
                          uint32_t node)
{
    const struct tree *tree = judging->report->tree;
    struct tasks_cursor at = tasks_begin(tasks);
    size_t skipped = strlen(FRAME_CHILD);
    uint32_t first;

    if (!tasks_next(&at))
        return text;
    first = at.range.first;
    for (uint32_t i = 0; i < tree->end_count; i++) {
        const struct tree_end *end = &tree->ends[i];
        uint32_t noted = end->node;
        const char *note;

        /* The thread's state may be below it. */
        if (tree_note(tree, noted) != NOTE_CHILD)
            noted = judging->report->above[noted];
        if (!end->current || tree_note(tree, noted) != NOTE_CHILD ||
            judging->report->shown[noted] != node ||
            !tasks_has(end->tasks, first))
            continue;
        note = tree_function(tree, noted);
        if (tasks_count(tasks) > 1)
            text = columns_append(text, ", %s %u", judging->noun, first);
        return columns_append(text, " for %.*s",
                              (int)(strlen(note) - skipped - 1),
                              note + skipped);
    }
    return text;
}

/* Append what the tasks of `group` do. */
static char *append_group(char *text,
                          const struct judging *judging,
                          const struct group *group,
                          bool most)
{
    bool one;

    text = append_who(text, judging, group, most, &one);
    switch (group->doing) {
    case DOING_NOTHING:
        text = columns_append(text, " %s in ", one ? "is" : "are");
        break;
    case DOING_WAIT:
        text = columns_append(text, " wait%s in ", one ? "s" : "");
        break;
    case DOING_MOVE:
        text = columns_append(text, " move%s in ", one ? "s" : "");
        break;
    case DOING_LOOP:
        text = columns_append(text, " move%s, but %s never seen outside ",
                              one ? "s" : "", one ? "was" : "were");
        break;
    case DOING_NOTE:
    case DOING_OVER:
        text = columns_append(text, ": ");
        break;
    }
    text = append_group_place(text, judging, group);
    return group->doing == DOING_WAIT
               ? append_child(text, judging, group->tasks, group->node)
               : text;
}

/* Order by falling number of threads. */
static int by_threads(const void *a, const void *b)
{
    const struct threads_place *x = a;
    const struct threads_place *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    if (x->odd != y->odd)
        return x->odd ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Whether the only thread of each task at `place` was already mentioned, as
 * part of a cycle. */
static bool is_told(const struct judging *judging,
                    const struct group *group,
                    const struct threads_place *place)
{
    const struct report *report = judging->report;
    uint32_t behind = place->node + report->tree->nodes[place->node].size;
    uint32_t told = 0;

    for (size_t i = judging->rank_edges; i < judging->edge_count; i++)
        told += judging->edges[i].told &&
                tasks_has(group->tasks, judging->edges[i].task) &&
                judging->edges[i].node >= place->node &&
                judging->edges[i].node < behind;
    return place->count == 1 && told == tasks_count(group->tasks);
}

/* What threads at `place`, one of them or more, do there. */
static const char *verb_of(const struct judging *judging,
                           const struct group *group,
                           const struct threads_place *place)
{
    const struct report *report = judging->report;
    bool one = place->count == 1;
    uint32_t kept;

    if (report_still(report, group->tasks, place->node) > 0)
        return one ? "waits" : "wait";
    if (movers_never_left(&kept, report, group->class) > 0 &&
        place->node - kept < report->tree->nodes[kept].size)
        return one ? "moves" : "move";
    return one ? "is" : "are";
}

/* Append the places of the threads of `group`, which is one class: that of most
 * threads, then the odd ones. `all` is the number of these threads; 0: it is not
 * known, and each place may have more. */
static char *append_places(char *text,
                           const struct judging *judging,
                           const struct group *group,
                           const struct threads_place *places,
                           int count,
                           uint32_t all)
{
    const struct report *report = judging->report;
    uint32_t tasks = tasks_count(group->tasks);
    char ids[THREADS_IDS_SIZE];
    int shown = 0;

    for (int i = 0; i < count; i++) {
        bool one = places[i].count == 1;

        if (is_told(judging, group, &places[i]))
            continue;
        if (threads_ids(ids, report, places[i].node) < 0) {
            free(text);
            return NULL;
        }
        if (shown++ > OTHERS_MAX)
            continue;
        text = judging_separate(text);
        if (shown == 1 && tasks > 1)
            text = columns_append(text, "each of the %u %ss: ", tasks,
                                  judging->noun);
        else if (shown == 1)
            text =
                columns_append(append_tasks(text, judging, group, false), ": ");
        if (all == 0 && !one)
            text = columns_append(text, "at least %u threads", places[i].count);
        else if (shown == 1 && !one)
            text =
                columns_append(text, "%u of %u threads", places[i].count, all);
        else if (one && ids[0])
            text = columns_append(text, "%s", ids);
        else
            text = columns_append(text, "%u thread%s", places[i].count,
                                  one ? "" : "s");
        text = columns_append(text, " %s in ",
                              verb_of(judging, group, &places[i]));
        text = judging_append_place(text, judging, places[i].node);
        if (one)
            text = append_child(text, judging, group->tasks, places[i].node);
    }
    if (shown > OTHERS_MAX + 1)
        text = append_more(text, (size_t)shown - OTHERS_MAX - 1);
    return text;
}

/* Of `count` places of the threads of `group`, keep those that the largest class
 * does not have, if it is another one. Returns how many. */
static int keep_different(const struct judging *judging,
                          const struct group *group,
                          struct threads_place *places,
                          int count)
{
    int kept = 0;

    for (int i = 0; i < count; i++)
        if (judging_differs(judging, group->class, (uint32_t)i))
            places[kept++] = places[i];
    return kept;
}

/* Whether threads of a class are at no known place: there was no time for them,
 * or they are too many. */
static bool is_bound(const struct judging *judging,
                     const struct threads_place *places,
                     int count)
{
    const struct report *report = judging->report;
    int i = 0;

    while (i < count &&
           tree_note(report->tree, report_top(report, places[i].node)) !=
               NOTE_GIVEN_UP)
        i++;
    return i < count;
}

/* Append the places of the threads of `group`, if it is one class whose threads
 * differ: some are odd, or it is one task. `*done` becomes whether they do. NULL
 * without memory. */
static char *append_threads(char *text,
                            const struct judging *judging,
                            const struct group *group,
                            bool *done)
{
    struct threads_place *places = NULL;
    uint32_t all = 0;
    int count;

    *done = false;
    if (group->class_count != 1 ||
        (group->doing != DOING_WAIT && group->doing != DOING_NOTHING))
        return text;
    count = threads_places(&places, judging->report, group->class);
    if (count < 0) {
        free(text);
        return NULL;
    }
    for (int i = 0; i < count; i++)
        all += places[i].count;
    if (is_bound(judging, places, count))
        all = 0;
    count = keep_different(judging, group, places, count);
    for (int i = 0; i < count; i++)
        *done |= count > 1 && (places[i].odd || tasks_count(group->tasks) == 1);
    if (*done) {
        qsort(places, (size_t)count, sizeof(*places), by_threads);
        text = append_places(text, judging, group, places, count, all);
    }
    free(places);
    return text;
}

/* Append what the tasks of `group` do, or their threads. */
static char *append_any(char *text,
                        const struct judging *judging,
                        const struct group *group,
                        bool most)
{
    bool threads = false;

    if (!most || judging->report->classes->count == 1)
        text = append_threads(text, judging, group, &threads);
    return threads ? text
                   : append_group(judging_separate(text), judging, group, most);
}

/* Append that `waiting` ranks wait, directly or not, for rank `last`. */
static char *append_chain(char *text,
                          const struct judging *judging,
                          size_t waiting,
                          uint32_t last)
{
    const struct group *group = judging_group_of(judging, last);
    const struct edge *direct = NULL;
    size_t count = 0;

    for (size_t i = 0; i < judging->rank_edges; i++)
        if ((uint32_t)judging->edges[i].to == last) {
            direct = &judging->edges[i];
            count++;
        }
    if (waiting == 1 && direct && direct->tagged)
        text =
            columns_append(text, "; rank %u waits %s tag %d %s rank %u",
                           direct->task, direct->receives ? "for" : "to send",
                           direct->tag, direct->receives ? "from" : "to", last);
    else if (waiting == 1 && direct)
        text = columns_append(text, "; rank %u waits for rank %u", direct->task,
                              last);
    else
        text = columns_append(
            text, "; %zu ranks wait %sfor rank %u", waiting,
            count == waiting ? "" : "one for another, at last ", last);
    return group ? columns_append(text, ", which %s in %s",
                                  group->doing == DOING_WAIT ? "waits" : "is",
                                  group->place)
                 : text;
}

/* Append the rank that ranks wait for, if tasks are ranks, and the task with
 * another tag. NULL without memory. */
static char *append_ranks(char *text, const struct judging *judging)
{
    const struct targets *targets = judging->report->source.targets;
    const struct edge *edges = judging->edges, *odd;
    size_t count = judging->rank_edges, waiting = 0;
    int32_t others = 0;
    uint32_t last = 0;
    int r = targets && targets->ranked
                ? edges_chain(&last, &waiting, edges, count)
                : 0;

    if (r < 0) {
        free(text);
        return NULL;
    }
    if (r == 2)
        text = columns_append(text,
                              "; %zu ranks wait for each other in a "
                              "circle",
                              waiting);
    else if (r == 1)
        text = append_chain(text, judging, waiting, last);
    odd = edges_odd_tag(&others, edges, count);
    if (odd)
        text = columns_append(
            text, "; only %s %u %s tag %d (%s rank %d), the others %s %d",
            judging->noun, odd->task, odd->receives ? "waits for" : "sends",
            odd->tag, odd->receives ? "from" : "to", odd->to,
            odd->receives ? "for" : "send", others);
    return text;
}

/* Append whether a task that has not ended has moved, and in how many
 * samples. */
static char *append_evidence(char *text, const struct judging *judging)
{
    const struct report_source *source = &judging->report->source;
    struct tasks *alive = tasks_ref(judging->report->everyone);
    const struct group *group = judging->groups;
    const char *other = "";
    uint32_t still;
    int r = 0;

    for (; group && r == 0; group = group->hh.next)
        if (group->doing == DOING_OVER) {
            r = tasks_change(&alive, TASKS_MINUS, group->tasks);
            other = "other ";
        }
    still = report_unchanged(judging->report, alive);
    tasks_free(alive);
    if (r < 0) {
        free(text);
        return NULL;
    }
    if (source->samples < 2)
        return columns_append(text, " (1 sample)");
    if (still == source->samples)
        text =
            columns_append(text, "; no %s%s has moved", other, judging->noun);
    else if (still > 0)
        text = columns_append(text, "; no %s%s has moved for %.1f s", other,
                              judging->noun,
                              (double)(still - 1) * source->interval_ms / 1000);
    return columns_append(text, " (%u samples, %.1f s)", source->samples,
                          (double)(source->samples - 1) * source->interval_ms /
                              1000);
}

/* Whether all tasks wait in collective calls, and not all in the same one. */
static bool are_apart(const struct judging *judging)
{
    const struct report *report = judging->report;
    const struct group *group = judging->groups;
    char names[2][COLLECTIVE_SIZE];
    bool apart = false;

    for (size_t i = 0; group; group = group->hh.next, i++) {
        enum role role = runtime_role(report->tree, group->node);

        if (group->doing != DOING_WAIT ||
            (role != ROLE_MPI && role != ROLE_SHMEM &&
             role != ROLE_COLLECTIVE) ||
            !collective_find(names[i > 0],
                             report_function(report, group->node)))
            return false;
        apart |= i > 0 && strcmp(names[0], names[1]) != 0;
    }
    return apart;
}

/* Append what all tasks do, if they are apart: the smallest group first. */
static char *append_apart(char *text, const struct judging *judging)
{
    const struct group *group = judging->groups;

    text = columns_append(
        judging_separate(text),
        "%ss are in different collective calls: ", judging->noun);
    for (size_t i = 0; group && i <= OTHERS_MAX; i++) {
        text = append_group(i > 0 ? judging_separate(text) : text, judging,
                            group, false);
        group = group->hh.next;
    }
    return text;
}

/* Append what most tasks do, and then the others. NULL without memory. */
static char *append_groups(char *text, const struct judging *judging)
{
    size_t count = HASH_COUNT(judging->groups);
    const struct group *group = judging->groups;

    while (group->hh.next)
        group = group->hh.next;
    text = append_any(text, judging, group, true);
    group = judging->groups;
    for (size_t i = 0; i + 1 < count && i < OTHERS_MAX; i++) {
        text = append_any(text, judging, group, false);
        group = group->hh.next;
    }
    return text;
}

/* Make the sentence; NULL without memory. */
static char *judging_text(struct judging *judging)
{
    const struct targets *targets = judging->report->source.targets;
    size_t count = HASH_COUNT(judging->groups);
    char ranks[RANKS_SIZE], *text;

    if (count == 0)
        return strdup("");
    text = judging_append_locks(strdup(""), judging);
    text = are_apart(judging) ? append_apart(text, judging)
                              : append_groups(text, judging);
    if (count > OTHERS_MAX + 1)
        text = append_more(text, count - OTHERS_MAX - 1);
    if (judging->rank_edges > 0)
        text = append_ranks(text, judging);
    if (targets && targets->absent && tasks_count(targets->absent) > 0)
        text =
            columns_append(text, "; %s%s %s %s no process here", judging->noun,
                           tasks_count(targets->absent) == 1 ? "" : "s",
                           tasks_text(targets->absent, ranks, sizeof(ranks)),
                           tasks_count(targets->absent) == 1 ? "has" : "have");
    return append_evidence(text, judging);
}

int judgement_make(char **out, const struct report *report)
{
    struct judging judging = {.report = report, .noun = report_noun(report)};
    char *text = NULL;
    int r = judging_begin(&judging);

    if (r == 0)
        text = judging_text(&judging);
    judging_end(&judging);
    if (r == 0 && !text)
        r = -ENOMEM;
    if (r < 0)
        return r;
    columns_clean(text);
    *out = text;
    return 0;
}
