/* remarks.c - see remarks.h. */
#include "stat/show/remarks.h"

#include <stdio.h>
#include <string.h>

#include "stat/walk/runtime.h"

/* Most lines about tasks of asyncio. */
#define SUSPENDED_LINES 8

/* Say once that a program in Go has more to show. */
static void say_go(const struct report *report, gather_say_fn say)
{
    const struct tree *tree = report->tree;
    uint32_t node = 0;

    while (node < tree->node_count && runtime_role(tree, node) != ROLE_GO)
        node++;
    if (node < tree->node_count)
        say("a program is in Go: goroutines that wait are not shown, only "
            "threads; its handler /debug/pprof/goroutine?debug=2 shows them, "
            "and SIGQUIT makes it print them and end");
}

/* Say which tasks of asyncio are suspended: the picture may hide what is below a
 * call. */
static void say_suspended(const struct report *report, gather_say_fn say)
{
    const struct tree *tree = report->tree;
    unsigned lines = 0;

    for (uint32_t node = 0; node < tree->node_count; node++) {
        const struct tree_frame *frame = &tree->frames[tree->nodes[node].frame];
        const char *note = tree->strings[frame->function];
        char ranks[128], line[512];

        if (frame->note.kind != NOTE_SUSPENDED || lines++ >= SUSPENDED_LINES)
            continue;
        snprintf(line, sizeof(line), "asyncio in %s%s %s: %.*s",
                 report_noun(report),
                 tasks_count(report->under[node]) == 1 ? "" : "s",
                 tasks_text(report->under[node], ranks, sizeof(ranks)),
                 (int)strlen(note) - 2, note + 1);
        say(line);
    }
    if (lines > SUSPENDED_LINES) {
        char line[96];

        snprintf(line, sizeof(line),
                 "asyncio: %u more places of suspended tasks: see --json",
                 lines - SUSPENDED_LINES);
        say(line);
    }
}

int remarks_find(const struct report *report, gather_say_fn say)
{
    struct tasks *nowhere = NULL;
    char ranks[128];
    char line[384];
    int r;

    r = report_tasks(&nowhere, report->tree, NOTE_NOWHERE);
    if (r == 0 && tasks_count(report->cut) > 0) {
        snprintf(line, sizeof(line),
                 "stacks are cut, because --max-stop had passed; give it more "
                 "time to see all of them: %ss %s",
                 report_noun(report),
                 tasks_text(report->cut, ranks, sizeof(ranks)));
        say(line);
    }
    if (r == 0 && tasks_count(nowhere) > 0) {
        snprintf(line, sizeof(line),
                 "the place of threads in the kernel is not known: on this "
                 "system only root may read /proc/PID/wchan: %ss %s",
                 report_noun(report),
                 tasks_text(nowhere, ranks, sizeof(ranks)));
        say(line);
    }
    if (r == 0) {
        say_go(report, say);
        say_suspended(report, say);
    }
    tasks_free(nowhere);
    return r;
}
