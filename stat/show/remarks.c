/* remarks.c - see remarks.h. */
#include "stat/show/remarks.h"

#include <stdio.h>
#include <string.h>

#include "stat/tree/frame.h"

/* Whether the note has no place, because the kernel does not tell it. */
static bool has_no_place(const char *function)
{
    return strcmp(function, FRAME_STUCK FRAME_STUCK_SOMEWHERE "]") == 0 ||
           strcmp(function, "[sleeping]") == 0 ||
           strcmp(function, "[uninterruptible]") == 0;
}

static bool is_given_up(const char *function)
{
    return strncmp(function, FRAME_GIVEN_UP, strlen(FRAME_GIVEN_UP)) == 0 ||
           (function[0] == '[' && strstr(function, FRAME_LEFT_OUT "]"));
}

/* Find the tasks at and under the nodes whose function `is` holds for. */
static int find_tasks(struct tasks **out,
                      const struct tree *tree,
                      bool (*is)(const char *))
{
    struct tasks *found = NULL;
    uint32_t end = 0, node;
    int r;

    r = tasks_new(&found, NULL, 0);
    for (node = 0; r == 0 && node < tree->node_count; node++) {
        uint32_t behind = node + tree->nodes[node].size;

        if (!is(tree_function(tree, node)))
            continue;
        while (end < tree->end_count && tree->ends[end].node < node)
            end++;
        for (; r == 0 && end < tree->end_count && tree->ends[end].node < behind;
             end++)
            r = tasks_change(&found, TASKS_UNION, tree->ends[end].tasks);
    }
    if (r < 0) {
        tasks_free(found);
        return r;
    }
    *out = found;
    return 0;
}

int remarks_find(const struct tree *tree, gather_say_fn say, bool *partial)
{
    struct tasks *given_up = NULL, *nowhere = NULL;
    char ranks[128];
    char line[384];
    int r;

    r = find_tasks(&given_up, tree, is_given_up);
    if (r == 0)
        r = find_tasks(&nowhere, tree, has_no_place);
    if (r == 0 && tasks_count(given_up) > 0) {
        *partial = true;
        snprintf(line, sizeof(line),
                 "stacks are cut, because --max-stop had passed; give it more "
                 "time to see all of them: tasks %s",
                 tasks_text(given_up, ranks, sizeof(ranks)));
        say(line);
    }
    if (r == 0 && tasks_count(nowhere) > 0) {
        snprintf(line, sizeof(line),
                 "the place of threads in the kernel is not known: on this "
                 "system only root may read /proc/PID/wchan: tasks %s",
                 tasks_text(nowhere, ranks, sizeof(ranks)));
        say(line);
    }
    tasks_free(given_up);
    tasks_free(nowhere);
    return r;
}
