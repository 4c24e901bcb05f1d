/* synthetic.c - writes the files that coppice-stat writes, for a synthetic job:
 * synthetic KEYS FOLDER writes FOLDER/json, FOLDER/svg and so on. It merges the
 * trees of the job's daemons itself, without processes. */
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/synthetic.h"
#include "stat/write/output.h"

/* Join the trees of all daemons. Returns 0, -EBADE if the result is not the
 * tree of all tasks, or -ENOMEM. */
static int merge(struct tree **out, const struct synthetic *job)
{
    struct tree **parts = calloc(job->daemons, sizeof(struct tree *));
    struct tree *merged = NULL, *expected = NULL;
    uint32_t *numbers = NULL;
    int r = parts ? synthetic_numbers(&numbers, job) : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < job->daemons; i++)
        r = synthetic_tree(&parts[i], job, i);
    if (r == 0)
        r = tree_join_all(&merged, parts, job->daemons);
    if (r == 0 && numbers)
        r = tree_renumber(merged, numbers, job->tasks);
    if (r == 0)
        r = synthetic_tree(&expected, job, SYNTHETIC_ALL);
    if (r == 0)
        r = tree_equal(merged, expected) ? tree_settle(out, merged) : -EBADE;
    for (uint32_t i = 0; parts && i < job->daemons; i++)
        tree_free(parts[i]);
    free(parts);
    free(numbers);
    tree_free(merged);
    tree_free(expected);
    return r;
}

int main(int argc, char **argv)
{
    static const char *const names[OUTPUT_KINDS] = {
#define OUTPUT_NAME(kind, name, help) #name,
        OUTPUT_FORMATS(OUTPUT_NAME)
#undef OUTPUT_NAME
    };
    struct report_source source = {.hosts = 1,
                                   .samples = 1,
                                   .taken_s = 1,
                                   .job = "./made-up --steps 3",
                                   .command = "coppice-stat --mpir 7"};
    char paths[OUTPUT_KINDS][4096];
    struct outputs outputs;
    struct cop_error error = {""};
    struct report *report;
    struct synthetic job;
    struct tree *tree;
    int r;

    if (argc != 3)
        errx(2, "usage: synthetic KEYS FOLDER");
    for (int kind = 0; kind < OUTPUT_KINDS; kind++) {
        snprintf(paths[kind], sizeof(paths[kind]), "%s/%s", argv[2],
                 names[kind]);
        outputs.paths[kind] = paths[kind];
    }
    r = synthetic_parse(&job, argv[1], &error);
    if (r == 0)
        r = merge(&tree, &job);
    if (r == 0)
        r = report_new(&report, tree, &source);
    if (r == 0)
        r = outputs_write(&outputs, report, &error);
    if (r < 0)
        errx(1, "%s: %s", argv[1], error.text[0] ? error.text : strerror(-r));
    report_free(report);
    tree_free(tree);
    return 0;
}
