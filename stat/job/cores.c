/* cores.c - see cores.h. */
#include "stat/job/cores.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "stat/job/corefile.h"
#include "stat/walk/modules.h"
#include "stat/walk/traces.h"
#include "stat/walk/walk.h"

/* The destination of the stacks of one core file. */
struct sink {
    struct traces *traces;
    uint32_t task;
};

static int add_stack(void *arg,
                     pid_t tid,
                     const struct frame *frames,
                     size_t count)
{
    const struct sink *sink = arg;

    return traces_add_thread(
        sink->traces, sink->task, tid, frames, count,
        &(struct evidence){.decisive = count, .weight = WEIGHT_NATIVE});
}

static bool ends_in(const char *text, const char *end)
{
    size_t len = strlen(text);

    return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

/* Read one file. A file that cannot be read is still a task. */
static int read_core(struct targets *targets,
                     struct sink *sink,
                     struct walker *walker,
                     const char *path,
                     gather_say_fn say)
{
    char program[WALK_PROGRAM_SIZE], text[sizeof(struct cop_error) + 64];
    char flaw[COREFILE_FLAW_SIZE];
    struct cop_error error = {""};
    struct frame frame = FRAME_NOT_WALKED(error.text);
    pid_t pid = 0;
    int r;

    r = walk_core(walker, path, &pid, program, add_stack, sink, &error);
    if (r == -ENOMEM)
        return r;
    corefile_flaw(flaw, path);
    if (r == -ENOEXEC && flaw[0])
        cop_error_set(&error, r, "%s: %s", path, flaw);
    if (r < 0) {
        r = traces_add(sink->traces, sink->task, &frame, 1);
    } else {
        snprintf(text, sizeof(text), "task %u: pid %d of %s: %s", sink->task,
                 (int)pid, program[0] ? program : "an unknown program", path);
        say(text);
        if (!flaw[0] && ends_in(program, MODULES_REPLACED))
            snprintf(flaw, sizeof(flaw),
                     "its program was replaced after it was written: places "
                     "in it have no names");
        snprintf(text, sizeof(text), "task %u: %s", sink->task, flaw);
        if (flaw[0])
            say(text);
    }
    return r < 0 ? r : targets_append(targets, sink->task, 0, pid);
}

/* Replace `*tree` by one with names. */
static int name_tree(struct tree **tree,
                     struct walker *walker,
                     enum naming_detail detail,
                     bool full)
{
    struct naming *naming = NULL;
    struct tree *named = NULL;
    int r;

    r = naming_new(&naming, *tree, NULL);
    if (r == 0)
        r = naming_fill(naming, walker_names(walker));
    if (r == 0)
        r = naming_resolve(&named, naming, detail, full);
    naming_free(naming);
    if (r < 0)
        return r;
    tree_free(*tree);
    *tree = named;
    return 0;
}

int cores_tree(struct tree **out,
               struct targets *targets,
               char *const *paths,
               size_t count,
               enum naming_detail detail,
               bool full,
               gather_say_fn say,
               struct cop_error *error)
{
    struct sink sink = {NULL, 0};
    struct walker *walker = NULL;
    struct tree *tree = NULL;
    int r;

    r = traces_new(&sink.traces);
    if (r == 0)
        r = walker_new(&walker);
    for (; r == 0 && sink.task < count; sink.task++)
        r = read_core(targets, &sink, walker, paths[sink.task], say);
    if (r == 0)
        r = traces_sample(&tree, sink.traces, 0);
    if (r == 0)
        r = name_tree(&tree, walker, detail, full);
    if (r == 0)
        r = tree_settle(out, tree);
    if (r < 0)
        cop_error_set(error, r, "cannot read the core files: %s", strerror(-r));
    tree_free(tree);
    walker_free(walker);
    traces_free(sink.traces);
    return r;
}
