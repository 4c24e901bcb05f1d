/* count.c - the cost of each operation at each node of a tree: system calls,
 * context switches, page faults, bytes copied by the kernel. */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/counting.h"
#include "bench/duel.h"
#include "bench/merging.h"
#include "bench/rescue.h"

#define WARM   20  /* round trips before counting */
#define TRIPS  100 /* in one round */
#define ARRAYS 8
#define IDLE_S 5

/* Tasks of one daemon of bench/stat. */
#define TASKS 128

/* Most system calls printed by name, and the least share of each. */
#define NAMES_MAX  8
#define NAME_SHARE 0.02

enum op {
    OP_LAUNCH,
    OP_TRIP,
    OP_IDLE,
    OP_ARRAY,
    OP_ANSWER,
    OP_RECOVERY,
    OP_COUNT, /* how many there are */
};

static const struct {
    const char *name;
    const char *what;
    double times; /* in one round */
} ops[OP_COUNT] = {
    [OP_LAUNCH] = {"launch", "a launch", 1},
    [OP_TRIP] = {"trip", "a round trip", TRIPS},
    [OP_IDLE] = {"idle", "an idle second", IDLE_S},
    [OP_ARRAY] = {"array", "an array of 1 MiB from each back-end", ARRAYS},
    [OP_ANSWER] = {"answer", "the first answer of bench/stat", 1},
    [OP_RECOVERY] = {"recovery", "a recovery", 1},
};

static const char *const role_names[COUNTING_ROLES] = {
    [COUNTING_FRONT_END] = "front-end",
    [COUNTING_COMMNODE] = "commnode",
    [COUNTING_BACK_END] = "back-end",
};

static const char *const what_names[COUNTING_WHATS] = {
    [COUNTING_CALLS] = "calls",         [COUNTING_BLOCKED] = "blocked",
    [COUNTING_PREEMPTED] = "preempted", [COUNTING_FAULTS] = "faults",
    [COUNTING_CODE] = "code",           [COUNTING_DATA] = "data",
    [COUNTING_HEAP] = "heap",           [COUNTING_STACK] = "stack",
    [COUNTING_READ] = "bytes in",       [COUNTING_WRITTEN] = "bytes out",
    [COUNTING_CPU_US] = "cpu us",
};

/* The system calls of a tree; others are printed by number. */
static const struct {
    long number;
    const char *name;
} call_names[] = {
#define CALL(name)                                                             \
    {                                                                          \
        SYS_##name, #name                                                      \
    }
    CALL(accept4),
    CALL(bind),
    CALL(brk),
    CALL(clock_gettime),
    CALL(clone),
    CALL(clone3),
    CALL(close),
    CALL(connect),
    CALL(dup3),
    CALL(epoll_create1),
    CALL(epoll_ctl),
    CALL(epoll_pwait),
    CALL(eventfd2),
    CALL(execve),
    CALL(fcntl),
    CALL(fstat),
    CALL(futex),
    CALL(getdents64),
    CALL(getpid),
    CALL(getrandom),
    CALL(getsockname),
    CALL(getsockopt),
    CALL(ioctl),
    CALL(kill),
    CALL(listen),
    CALL(lseek),
    CALL(madvise),
    CALL(mmap),
    CALL(mprotect),
    CALL(mremap),
    CALL(munmap),
    CALL(nanosleep),
    CALL(clock_nanosleep),
    CALL(newfstatat),
    CALL(openat),
    CALL(pipe2),
    CALL(ppoll),
    CALL(prctl),
    CALL(pread64),
    CALL(prlimit64),
    CALL(read),
    CALL(readlinkat),
    CALL(readv),
    CALL(recvfrom),
    CALL(recvmsg),
    CALL(rseq),
    CALL(rt_sigaction),
    CALL(rt_sigprocmask),
    CALL(sendmsg),
    CALL(sendto),
    CALL(set_robust_list),
    CALL(set_tid_address),
    CALL(setsockopt),
    CALL(shutdown),
    CALL(sigaltstack),
    CALL(socket),
    CALL(socketpair),
    CALL(timerfd_settime),
    CALL(wait4),
    CALL(waitid),
    CALL(write),
    CALL(writev),
#ifdef SYS_epoll_wait /* older calls, which some systems lack */
    CALL(access),
    CALL(arch_prctl),
    CALL(epoll_wait),
    CALL(poll),
    CALL(readlink),
    CALL(unlink),
    CALL(vfork),
#endif
#undef CALL
};

/* One case. */
struct work {
    struct duel *duel;
    const struct shape *shape;
    struct counting *counting;
    struct counts counts[OP_COUNT][DUEL_SIDES_MAX][COUNTING_ROLES];
    bool counted[OP_COUNT];
};

static bool is_wanted(const struct work *work, enum op op)
{
    const char *metrics = work->duel->options->metrics;

    if (op == OP_RECOVERY && work->shape->depth != 1)
        return false;
    return !metrics || options_lists(metrics, ops[op].name);
}

/* ---- the operations -------------------------------------------------------- */

static int trips(const struct side *side, void *tree, int count)
{
    int r = 0;

    for (int i = 0; r == 0 && i < count; i++)
        r = side->ping(tree);
    return r;
}

static int finish(struct work *work, enum op op, size_t i, int r)
{
    int counted = r < 0 ? 0 : counting_end(work->counting, work->counts[op][i]);

    if (counted == -EOVERFLOW)
        warnx("%s: more events than can be recorded; take a smaller tree",
              ops[op].what);
    work->counted[op] = true;
    return r < 0 ? r : counted;
}

static int count_trips(struct work *work, size_t i)
{
    const struct side *side = work->duel->side[i];
    void *tree = work->duel->tree[i];
    int r = side->prepare_ping(tree);

    if (r == 0)
        r = trips(side, tree, WARM);
    if (r == 0)
        r = counting_begin(work->counting, 0);
    if (r == 0)
        r = finish(work, OP_TRIP, i, trips(side, tree, TRIPS));
    return r;
}

static int count_idle(struct work *work, size_t i)
{
    int r;

    sleep(1); /* for the rest of the earlier work */
    r = counting_begin(work->counting, 0);
    if (r < 0)
        return r;
    sleep(IDLE_S);
    return finish(work, OP_IDLE, i, 0);
}

static int count_arrays(struct work *work, size_t i)
{
    const struct side *side = work->duel->side[i];
    void *tree = work->duel->tree[i];
    enum side_load load = work->shape->depth > 1 ? SIDE_SUM : SIDE_ARRAYS;
    int r = side->prepare_stream(tree, load);

    if (r == 0)
        r = side->stream(tree, 1);
    if (r == 0)
        r = counting_begin(work->counting, 0);
    if (r == 0)
        r = finish(work, OP_ARRAY, i, side->stream(tree, ARRAYS));
    return r;
}

/* Count the operations of one tree, from its launch on. */
static int count_life(struct work *work, size_t i)
{
    struct duel *duel = work->duel;
    bool launch = is_wanted(work, OP_LAUNCH);
    int r = launch ? counting_begin(work->counting, 0) : 0;

    if (r < 0)
        return r;
    r = duel->side[i]->start(&duel->tree[i], work->shape);
    if (r < 0)
        return r;
    if (launch)
        r = finish(work, OP_LAUNCH, i, r);
    if (r == 0 && is_wanted(work, OP_TRIP))
        r = count_trips(work, i);
    if (r == 0 && is_wanted(work, OP_IDLE))
        r = count_idle(work, i);
    if (r == 0 && is_wanted(work, OP_ARRAY))
        r = count_arrays(work, i);
    duel->side[i]->end(duel->tree[i]);
    duel->tree[i] = NULL;
    return r;
}

/* Count the first round trip of a tree, as the limit of bench/stat. */
static int count_bare_answer(struct work *work, size_t i)
{
    void *tree;
    int r = bare_side.start(&tree, work->shape);

    if (r < 0)
        return r;
    r = counting_begin(work->counting, 0);
    if (r == 0)
        r = finish(work, OP_ANSWER, i, bare_side.ping(tree));
    bare_side.end(tree);
    return r;
}

static int count_our_answer(struct work *work, size_t i)
{
    uint32_t daemons = shape_leaves(work->shape);
    struct sample merge = {.values = NULL}, bytes = {.values = NULL};
    struct cop_error error;
    struct synthetic job;
    struct merging merging;
    char keys[64];
    int r;

    snprintf(keys, sizeof(keys), "tasks=%u,daemons=%u", daemons * TASKS,
             daemons);
    r = synthetic_parse(&job, keys, &error);
    if (r < 0)
        return r;
    r = merging_start(&merging, work->shape->text, keys);
    if (r == 0)
        r = counting_begin(work->counting, 0);
    if (r == 0)
        r = finish(work, OP_ANSWER, i,
                   merging_run(&merging, &job, &merge, &bytes));
    merging_end(&merging, r);
    sample_fini(&merge);
    sample_fini(&bytes);
    return r;
}

static int count_recovery(struct work *work, size_t i)
{
    const struct rescue *rescue =
        work->duel->side[i] == &bare_side ? &rescue_bare : &rescue_ours;
    uint32_t orphans = work->shape->fanout[0];
    struct rescue_times times = {.overall.values = NULL};
    pid_t victim = 0;
    void *tree;
    int ended;
    int r = rescue->start(&tree, orphans);

    if (r < 0)
        return r;
    r = rescue_victim(orphans, &victim);
    if (r == 0)
        r = counting_begin(work->counting, victim);
    if (r == 0)
        r = finish(work, OP_RECOVERY, i, rescue->fail(tree, &times));
    ended = rescue->end(tree);
    rescue_times_fini(&times);
    if (rescue_reap() < 0 && r == 0)
        r = -ETIMEDOUT;
    return r < 0 ? r : ended;
}

static int count_round(struct work *work, size_t i)
{
    bool ours = work->duel->side[i] != &bare_side;
    int r = 0;

    if (is_wanted(work, OP_LAUNCH) || is_wanted(work, OP_TRIP) ||
        is_wanted(work, OP_IDLE) || is_wanted(work, OP_ARRAY))
        r = count_life(work, i);
    if (r == 0 && is_wanted(work, OP_ANSWER))
        r = ours ? count_our_answer(work, i) : count_bare_answer(work, i);
    if (r == 0 && is_wanted(work, OP_RECOVERY))
        r = count_recovery(work, i);
    return r;
}

/* ---- the tables ------------------------------------------------------------ */

/* A count for each process and operation. */
static double figure(
    const struct work *work, enum op op, size_t i, int role, double sum)
{
    const struct counts *counts = &work->counts[op][i][role];

    /* `processes` counts each process once per round */
    return counts->processes ? sum / counts->processes / ops[op].times : 0;
}

static const char *name_of(int call, char text[static 16])
{
    for (size_t i = 0; i < sizeof(call_names) / sizeof(*call_names); i++)
        if (call_names[i].number == call)
            return call_names[i].name;
    snprintf(text, 16, "call %d", call);
    return text;
}

/* Print the most frequent system calls of one role. */
static void print_calls(const struct work *work, enum op op, size_t i, int role)
{
    struct counts counts = work->counts[op][i][role];
    double least = counts.sum[COUNTING_CALLS] * NAME_SHARE;
    char text[16];
    char value[24];

    for (int n = 0; n < NAMES_MAX; n++) {
        int best = 0;

        for (int call = 1; call < COUNTING_CALL_MAX; call++)
            if (counts.calls[call] > counts.calls[best])
                best = call;
        if (counts.calls[best] <= least)
            break;
        duel_figure(value, figure(work, op, i, role, counts.calls[best]), "-");
        printf("%s%s %s", n ? ", " : "            ", name_of(best, text),
               value);
        counts.calls[best] = 0;
    }
    if (least > 0)
        putchar('\n');
}

static void print_row(const struct work *work, enum op op, size_t i, int role)
{
    const struct counts *counts = &work->counts[op][i][role];
    char text[24];

    printf("%-9s %-4s", role_names[role],
           work->duel->side[i] == &bare_side ? "bare" : "ours");
    for (int what = 0; what < COUNTING_WHATS; what++) {
        duel_figure(text, figure(work, op, i, role, counts->sum[what]), "-");
        printf(" %9s", counting_knows(work->counting, (enum counting_what)what)
                           ? text
                           : "-");
    }
    putchar('\n');
    print_calls(work, op, i, role);
}

static void print_op(const struct work *work, enum op op)
{
    size_t count = work->duel->count;

    printf("\n%s: %s, in each process\n%14s", work->shape->text, ops[op].what,
           "");
    for (int what = 0; what < COUNTING_WHATS; what++)
        printf(" %9s", what_names[what]);
    putchar('\n');
    for (int role = 0; role < COUNTING_ROLES; role++)
        for (size_t i = 0; i < count; i++)
            if (work->counts[op][i][role].processes)
                print_row(work, op, i, role);
}

static void print_csv(const struct work *work, enum op op, int role, int what)
{
    size_t last = work->duel->count - 1;
    char text[DUEL_SIDES_MAX][24] = {"", ""};

    for (size_t i = 0; i <= last; i++)
        if (counting_knows(work->counting, (enum counting_what)what))
            duel_figure(
                text[i == last],
                figure(work, op, i, role, work->counts[op][i][role].sum[what]),
                "");
    printf("count,%s,%s %s %s,%s,%s,\n", work->shape->text, ops[op].name,
           role_names[role], what_names[what], text[0], text[1]);
}

static void print_all(const struct work *work)
{
    for (int op = 0; op < OP_COUNT; op++) {
        if (!work->counted[op])
            continue;
        if (!work->duel->options->csv) {
            print_op(work, (enum op)op);
            continue;
        }
        for (int role = 0; role < COUNTING_ROLES; role++)
            for (int what = 0; what < COUNTING_WHATS; what++)
                if (work->counts[op][0][role].processes)
                    print_csv(work, (enum op)op, role, what);
    }
    fflush(stdout);
}

static struct counting *counting; /* from main() to each case */

static int count_case(struct duel *duel, const struct shape *shape)
{
    struct work *work = calloc(1, sizeof(*work));
    int r = 0;

    if (!work)
        return -ENOMEM;
    work->duel = duel;
    work->shape = shape;
    work->counting = counting;
    for (uint32_t k = 0; r == 0 && k < duel->options->rounds; k++)
        for (size_t i = 0; r == 0 && i < duel->count; i++)
            r = count_round(work, i);
    if (r == 0)
        print_all(work);
    free(work);
    return r;
}

int main(int argc, char **argv)
{
    static const struct options_usage usage = {
        .name = "count",
        .what = "What each process of a tree asks of the machine, by role and "
                "operation. A flat\ntree has a recovery of so many orphans, "
                "too.",
        .cases = "flat:16,8x8",
        .metrics = "launch,trip,idle,array,answer,recovery",
        .rounds = 3,
        .own_tables = true,
    };
    int r;

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        err(EXIT_FAILURE, "prctl");
    r = counting_new(&counting);
    if (r < 0)
        errx(EXIT_FAILURE, "%s", strerror(-r));
    r = duel_main(argc, argv, &usage, count_case);
    counting_free(counting);
    return r;
}
