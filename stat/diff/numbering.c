/* numbering.c - see numbering.h. */
#include "stat/diff/numbering.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

/* A process of a look. */
struct process {
    uint32_t host; /* number of the host in A; NOBODY: not in A */
    int32_t pid;
    uint32_t task;
};

static int by_process(const void *a, const void *b)
{
    const struct process *x = a;
    const struct process *y = b;

    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Find the number in `a` of each host of `look`. */
static int host_numbers(uint32_t **out,
                        const struct look *look,
                        const struct look *a)
{
    uint32_t *numbers =
        calloc((size_t)look->targets.host_count + 1, sizeof(*numbers));

    if (!numbers)
        return -ENOMEM;
    for (uint32_t host = 0; host < look->targets.host_count; host++) {
        const char *name = targets_host_name(&look->targets, host);

        numbers[host] = NOBODY;
        for (uint32_t other = 0; other < a->targets.host_count; other++)
            if (strcmp(name, targets_host_name(&a->targets, other)) == 0)
                numbers[host] = other;
    }
    *out = numbers;
    return 0;
}

/* Make the sorted processes of `look`. Returns 0, -ENOMEM, or -EEXIST if two
 * tasks are one process. */
static int processes_sorted(struct process **out,
                            const struct look *look,
                            const struct look *a)
{
    uint32_t count = look->targets.count, i;
    struct process *list = calloc((size_t)count + 1, sizeof(*list));
    uint32_t *hosts = NULL;
    int r;

    r = list ? host_numbers(&hosts, look, a) : -ENOMEM;
    for (i = 0; r == 0 && i < count; i++)
        list[i] =
            (struct process){hosts[look->targets.hosts[i]],
                             look->targets.pids[i], look->targets.tasks[i]};
    if (r == 0)
        qsort(list, count, sizeof(*list), by_process);
    for (i = 1; r == 0 && i < count; i++)
        if (list[i].host != NOBODY && by_process(&list[i - 1], &list[i]) == 0)
            r = -EEXIST;
    free(hosts);
    if (r < 0) {
        free(list);
        return r;
    }
    *out = list;
    return 0;
}

/* Number the tasks of B by their processes; `to_b` is by task of B. Returns how
 * many tasks are in both looks, or a negative errno. */
static long number_processes(uint32_t *to_b, const struct diff *diff)
{
    const struct look *a = diff->looks[DIFF_A];
    const struct look *b = diff->looks[DIFF_B];
    struct process *of_a = NULL;
    struct process *of_b = NULL;
    long both = 0;
    int r;

    r = processes_sorted(&of_a, a, a);
    if (r == 0)
        r = processes_sorted(&of_b, b, a);
    for (uint32_t i = 0; r == 0 && i < b->targets.count; i++) {
        const struct process *found = bsearch(&of_b[i], of_a, a->targets.count,
                                              sizeof(*of_a), by_process);

        to_b[of_b[i].task] = found ? found->task : NOBODY;
        both += found != NULL;
    }
    free(of_a);
    free(of_b);
    return r < 0 ? r : both;
}

/* Whether each look of the job gives tasks the same numbers. */
static bool is_numbered(const struct look *look)
{
    return look->targets.count == 0 || look->targets.ranked;
}

int numbering_make(struct diff *diff, struct cop_error *error)
{
    const struct look *a = diff->looks[DIFF_A];
    const struct look *b = diff->looks[DIFF_B];
    bool numbered = is_numbered(a) && is_numbered(b);
    uint32_t *to_b = calloc((size_t)b->tasks + 1, sizeof(*to_b));
    uint32_t count = a->tasks;
    long both = 1;
    int r = -ENOMEM;

    if (!to_b)
        goto out;
    for (uint32_t i = 0; i < b->tasks; i++)
        to_b[i] = numbered ? i : NOBODY;
    if (!numbered)
        both = number_processes(to_b, diff);
    r = both < 0 ? (int)both : 0;
    diff->noun = numbered && a->targets.ranked && b->targets.ranked
                     ? targets_noun(&a->targets)
                     : "task";
    if (r == -EEXIST)
        r = cop_error_set(error, -EINVAL,
                          "a process stands in a look twice: its tasks cannot "
                          "be told apart");
    if (both == 0)
        r = cop_error_set(error, -EINVAL,
                          "no process is in both looks: they are of different "
                          "runs, which are compared by ranks of MPI: look "
                          "with --mpir");
    for (uint32_t i = 0; r == 0 && i < b->tasks; i++) {
        if (to_b[i] == NOBODY)
            to_b[i] = count++;
        else if (to_b[i] >= count)
            count = to_b[i] + 1;
    }
    if (r == 0 && count > TASKS_MAX / 2)
        r = cop_error_set(error, -EINVAL, "more than %u tasks", TASKS_MAX / 2);
    diff->numbers[DIFF_A] = calloc((size_t)count + 1, sizeof(uint32_t));
    diff->numbers[DIFF_B] = calloc((size_t)count + 1, sizeof(uint32_t));
    if (r == 0 && (!diff->numbers[DIFF_A] || !diff->numbers[DIFF_B]))
        r = -ENOMEM;
    if (r < 0)
        goto out;
    diff->count = count;
    for (uint32_t i = 0; i < count; i++) {
        diff->numbers[DIFF_A][i] = i < a->tasks ? i : NOBODY;
        diff->numbers[DIFF_B][i] = NOBODY;
    }
    for (uint32_t i = 0; i < b->tasks; i++)
        diff->numbers[DIFF_B][to_b[i]] = i;
out:
    free(to_b);
    return r;
}

int numbering_invert(uint32_t **out,
                     const struct diff *diff,
                     enum diff_side side)
{
    const uint32_t *numbers = diff->numbers[side];
    uint32_t *tasks =
        calloc((size_t)diff->looks[side]->tasks + 1, sizeof(*tasks));

    if (!tasks)
        return -ENOMEM;
    for (uint32_t i = 0; i < diff->count; i++)
        if (numbers[i] != NOBODY)
            tasks[numbers[i]] = i;
    *out = tasks;
    return 0;
}
