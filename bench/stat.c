/* stat.c - the stack-trace tool: the cost of merging, in one process and in a
 * tree of real ones, and the cost for the processes under observation.
 *
 * Each result has the machine's own limit from the same run: a copy of the same
 * bytes, or a round trip through a bare tree of sockets. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/duel.h"
#include "bench/machine.h"
#include "bench/merging.h"
#include "bench/sample.h"
#include "bench/side.h"
#include "bench/synthetic.h"
#include "stat/request.h"
#include "stat/tree/build.h"
#include "stat/tree/tree.h"
#include "stat/walk/traces.h"
#include "stat/walk/walk.h"

/* Nodes of each of two trees that are merged, and tasks of each. */
#define MERGE_NODES 8000
#define MERGE_TASKS 1024

/* Bytes of a frame's header on a link. */
#define HEADER_LEN 32

/* The process to observe. */
#define THREADS 8

/* Of 66 frames, those of descend(): the others are what called it, and pause(). */
#define FRAMES_DOWN ((uintptr_t)60)

#define WALKS   101
#define SAMPLES 100

struct bench {
    uint32_t rounds;
    bool csv;
    bool headed;
    bool small; /* for the benchmark's own test */
};

/* Print a row: the median, and the median of the limit. */
static void print_row(struct bench *bench,
                      const char *what,
                      const char *metric,
                      const struct sample *ours,
                      const struct sample *limit,
                      const char *unit)
{
    double mine = sample_quantile(ours, 0.5);
    double theirs = limit ? sample_quantile(limit, 0.5) : NAN;

    if (!bench->headed && bench->csv)
        puts("benchmark,case,metric,ours,limit,unit");
    else if (!bench->headed)
        machine_print();
    if (!bench->headed && !bench->csv)
        printf("%-30s %-10s %12s %12s %7s  %-5s %s\n", "stat", "", "ours",
               "limit", "ratio", "", "from - to");
    bench->headed = true;
    if (bench->csv && limit)
        printf("stat,%s,%s,%g,%g,%s\n", what, metric, mine, theirs, unit);
    else if (bench->csv)
        printf("stat,%s,%s,%g,,%s\n", what, metric, mine, unit);
    else if (limit)
        printf("%-30s %-10s %12.3f %12.3f %7.1f  %-5s %.3f - %.3f\n", what,
               metric, mine, theirs, mine / theirs, unit,
               sample_quantile(ours, 0), sample_quantile(ours, 1));
    else
        printf("%-30s %-10s %12.3f %12s %7s  %-5s %.3f - %.3f\n", what, metric,
               mine, "", "", unit, sample_quantile(ours, 0),
               sample_quantile(ours, 1));
    fflush(stdout);
}

/* Make a tree of MERGE_NODES nodes: a ladder of shared frames, then branches.
 * Every second branch is in this tree only. `which` is 0 or 1. */
static int big_tree(struct tree **out, uint32_t which)
{
    struct tasks_range everyone = {which * MERGE_TASKS,
                                   (which + 1) * MERGE_TASKS - 1};
    struct tree_progress progress = {.moved = 1, .seen = 1};
    struct build *build = NULL;
    uint32_t nodes = 0, branch = 0;
    int r;

    r = build_new(&build, true);
    if (r == 0)
        r = tasks_new(&progress.tasks, &everyone, 1);
    if (r == 0)
        r = build_progress(build, &progress);
    while (r == 0 && nodes < MERGE_NODES) {
        struct tree_end end = {.samples = 1, .threads = 1, .current = true};
        struct tasks_range one = {which * MERGE_TASKS + branch % MERGE_TASKS,
                                  which * MERGE_TASKS + branch % MERGE_TASKS};
        uint32_t node = BUILD_TOP, depth;
        char text[64];

        for (depth = 0; r == 0 && depth < 20; depth++) {
            if (depth < 10)
                snprintf(text, sizeof(text), "step_%u", depth);
            else
                snprintf(text, sizeof(text), "work_%u_%u_%u", depth, branch,
                         branch % 2 ? which : 0);
            r = build_node(build, &node, node,
                           &(struct frame){text, "job.c", depth, "", 0, false});
        }
        nodes += branch == 0 ? 20 : 10;
        branch++;
        end.node = node;
        if (r == 0)
            r = tasks_new(&end.tasks, &one, 1);
        if (r == 0)
            r = build_end(build, &end);
        tasks_free(end.tasks);
    }
    if (r == 0)
        r = build_tree(out, build, 0);
    tasks_free(progress.tasks);
    build_free(build);
    return r;
}

/* The size of a tree in bytes, about, as if it were copied. */
static size_t tree_bytes(const struct tree *tree)
{
    return tree->node_count * sizeof(*tree->nodes) +
           tree->frame_count * sizeof(*tree->frames) +
           tree->end_count * sizeof(*tree->ends) + tree->string_count * 24;
}

static int bench_merge(struct bench *bench)
{
    struct sample ours = {NULL, 0, 0}, limit = {NULL, 0, 0};
    struct tree *a = NULL, *b = NULL, *both;
    char *from = NULL, *to = NULL;
    size_t bytes = 0;
    int r;

    r = big_tree(&a, 0);
    if (r == 0)
        r = big_tree(&b, 1);
    if (r == 0) {
        bytes = tree_bytes(a) + tree_bytes(b);
        from = calloc(1, bytes);
        to = malloc(bytes);
        r = from && to ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; r == 0 && i < 10 * bench->rounds; i++) {
        double start = duel_now_s();

        r = tree_join(&both, a, b);
        if (r < 0)
            break;
        r = sample_add(&ours, (duel_now_s() - start) * 1e3);
        tree_free(both);
        start = duel_now_s();
        memcpy(to, from, bytes);
        __asm__ volatile("" ::"r"(to) : "memory");
        if (r == 0)
            r = sample_add(&limit, (duel_now_s() - start) * 1e3);
    }
    if (r == 0)
        print_row(bench, "merge 8000+8000 nodes", "median", &ours, &limit,
                  "ms");
    free(from);
    free(to);
    tree_free(a);
    tree_free(b);
    sample_fini(&ours);
    sample_fini(&limit);
    return r;
}

/* Measure the round trip of an empty question in a bare tree of sockets. */
static int bare_trip(struct sample *limit, const struct shape *shape)
{
    void *tree = NULL;
    double start;
    int r;

    r = bare_side.start(&tree, shape);
    if (r == 0)
        r = bare_side.prepare_ping(tree);
    if (r == 0)
        r = bare_side.ping(tree);
    start = duel_now_s();
    if (r == 0)
        r = bare_side.ping(tree);
    if (r == 0)
        r = sample_add(limit, (duel_now_s() - start) * 1e3);
    if (tree)
        bare_side.end(tree);
    return r;
}

/* Launch a tree of back-ends, and merge the synthetic job once. */
static int merge_in_tree(const char *shape,
                         const char *keys,
                         const struct synthetic *job,
                         struct sample *merge,
                         struct sample *bytes)
{
    struct merging merging;
    int r = merging_start(&merging, shape, keys);

    if (r == 0)
        r = merging_run(&merging, job, merge, bytes);
    merging_end(&merging, r);
    return r;
}

/* Measure a synthetic job, merged by a tree of real processes, in rounds. */
static int bench_job(struct bench *bench, const char *tree, const char *keys)
{
    struct sample merge = {NULL, 0, 0}, bytes = {NULL, 0, 0};
    struct sample limit = {NULL, 0, 0};
    struct cop_error error = {""};
    struct synthetic job;
    struct shape shape;
    const char *why = "";
    char what[64];
    int r;

    r = synthetic_parse(&job, keys, &error);
    if (r == 0)
        r = shape_read(&shape, tree, &why);
    if (r == 0 && shape_leaves(&shape) != job.daemons) {
        r = -EINVAL;
        why = "its leaves are not the daemons of the job";
    }
    if (r < 0)
        fprintf(stderr, "stat: %s: %s: %s%s\n", tree, keys, error.text, why);
    for (uint32_t i = 0; r == 0 && i < bench->rounds; i++) {
        r = merge_in_tree(tree, keys, &job, &merge, &bytes);
        if (r == 0)
            r = bare_trip(&limit, &shape);
    }
    snprintf(what, sizeof(what), "%u %s%s%s", job.tasks, tree,
             job.cyclic ? " cyclic" : "", job.scattered ? " scattered" : "");
    if (r == 0)
        print_row(bench, what, "merge", &merge, &limit, "ms");
    if (r == 0)
        print_row(bench, what, "at root", &bytes, NULL, "B");
    sample_fini(&merge);
    sample_fini(&bytes);
    sample_fini(&limit);
    return r;
}

/* Measure the bytes on a link of a sample in which nothing moves. */
static int bench_unmoved(struct bench *bench, uint32_t tasks)
{
    struct frame frames[] = {{"main", "job.c", 1, "", 0, false},
                             {"wait", "job.c", 2, "", 0, false}};
    struct sample ours = {NULL, 0, 0};
    struct traces *traces = NULL;
    struct cop_packet *packet;
    struct tree *tree;
    char what[64];
    int r;

    r = traces_new(&traces);
    for (uint32_t i = 0; r == 0 && i < SAMPLES; i++) {
        for (uint32_t task = 0; r == 0 && task < tasks; task++)
            r = traces_add(traces, task, frames, 2);
        if (r == 0)
            r = traces_sample(&tree, traces, 0);
        if (r < 0)
            break;
        r = tree_pack(&packet, STAT_TAG_TREE, tree);
        tree_free(tree);
        if (r == 0 && i > 0)
            r = sample_add(&ours,
                           (double)(cop_packet_size(packet) + HEADER_LEN));
        if (r == 0)
            cop_packet_free(packet);
    }
    snprintf(what, sizeof(what), "%u tasks unmoved", tasks);
    if (r == 0)
        print_row(bench, what, "a sample", &ours, NULL, "B");
    traces_free(traces);
    sample_fini(&ours);
    return r;
}

/* Never changes: the process is killed. */
static volatile bool done;

static void wait_for_ever(void)
{
    while (!done)
        pause();
}

/* Call `left` more frames, and stay there. */
__attribute__((noinline)) static void descend(uintptr_t left)
{
    if (left > 0)
        descend(left - 1);
    else
        wait_for_ever();
    __asm__ volatile("" ::: "memory");
}

static void *run_thread(void *arg)
{
    descend((uintptr_t)arg);
    return NULL;
}

/* A process of THREADS threads, each some 66 frames deep. */
static pid_t start_target(void)
{
    int ready[2];
    char byte = 0;
    pid_t pid;

    if (pipe(ready) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        pthread_t thread;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 1; i < THREADS; i++)
            pthread_create(&thread, NULL, run_thread, (void *)FRAMES_DOWN);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        descend(FRAMES_DOWN);
    }
    close(ready[1]);
    if (pid > 0 && read(ready[0], &byte, 1) != 1)
        pid = -1;
    close(ready[0]);
    return pid;
}

static int count_stack(void *arg,
                       pid_t tid,
                       const struct frame *frames,
                       size_t count)
{
    size_t *total = arg;

    (void)tid;
    (void)frames;
    *total += count;
    return 0;
}

static int bench_walk(struct bench *bench)
{
    struct sample ours = {NULL, 0, 0};
    struct walker *walker = NULL;
    struct walk_options options = WALK_OPTIONS_INIT;
    struct cop_error error = {""};
    uint64_t stop_ns = 0;
    size_t total = 0;
    pid_t pid = start_target();
    int r;

    if (pid < 0)
        return -ECHILD;
    r = walker_new(&walker);
    /* until all stacks have their full depth */
    for (int i = 0; r == 0 && i < 1000 && total < (size_t)THREADS * FRAMES_DOWN;
         i++) {
        total = 0;
        r = walk_process(walker, pid, &options, &stop_ns, count_stack, &total,
                         &error);
    }
    for (int i = 0; r == 0 && i < WALKS; i++) {
        r = walk_process(walker, pid, &options, &stop_ns, count_stack, &total,
                         &error);
        if (r == 0)
            r = sample_add(&ours, (double)stop_ns / 1e6);
    }
    if (r == 0)
        print_row(bench, "8 threads of 66 frames", "stopped", &ours, NULL,
                  "ms");
    else
        fprintf(stderr, "stat: %s\n", error.text);
    walker_free(walker);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    sample_fini(&ours);
    return r;
}

static int run_all(struct bench *bench)
{
    static const char *const large[][2] = {
        {"52x32", "tasks=212992,daemons=1664"},
        {"8x8x26", "tasks=212992,daemons=1664"},
        {"flat:1664", "tasks=212992,daemons=1664"},
        {"52x32", "tasks=212992,daemons=1664,placement=cyclic,mix=scattered"},
        {"16x8", "tasks=1048576,daemons=128"},
        {"16x8", "tasks=1048576,daemons=128,placement=cyclic"},
        {"16x8", "tasks=1048576,daemons=128,placement=cyclic,mix=scattered"},
        {NULL, NULL},
    };
    static const char *const small[][2] = {
        {"3x4", "tasks=1024,daemons=12,placement=cyclic"},
        {"3x4", "tasks=1003,daemons=12,classes=5,outliers=2"},
        {"3x4", "tasks=1003,daemons=12,placement=cyclic,mix=scattered"},
        {"2x2x3", "tasks=1000,daemons=12,classes=1,outliers=0"},
        {NULL, NULL},
    };
    const char *const(*jobs)[2] = bench->small ? small : large;
    int r;

    r = bench_merge(bench);
    if (r == 0)
        r = bench_walk(bench);
    if (r == 0)
        r = bench_unmoved(bench, 128);
    if (r == 0)
        r = bench_unmoved(bench, bench->small ? 1024 : 212992);
    for (; r == 0 && (*jobs)[0]; jobs++)
        r = bench_job(bench, (*jobs)[0], (*jobs)[1]);
    return r;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"rounds", required_argument, NULL, 'r'},
        {"csv", no_argument, NULL, 'c'},
        {"small", no_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct bench bench = {.rounds = 3};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        switch (option) {
        case 'r':
            if (options_number("--rounds", optarg, 1, OPTIONS_ROUNDS_MAX,
                               &bench.rounds) < 0)
                return 2;
            break;
        case 'c':
            bench.csv = true;
            break;
        case 's':
            bench.small = true;
            break;
        case 'h':
            puts("usage: stat [--rounds N] [--csv] [--small]\n"
                 "What the stack-trace tool costs: merging two trees, stopping "
                 "a process, a sample in\nwhich nothing moves, and "
                 "synthetic jobs\nmerged by trees of real processes.\n"
                 "--small: jobs of about 1000 tasks only");
            return 0;
        default:
            return 2;
        }
    }
    return run_all(&bench) < 0 || duel_written() < 0 ? EXIT_FAILURE
                                                     : EXIT_SUCCESS;
}
