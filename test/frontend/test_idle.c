/* test_idle.c - how often the processes of an idle network wake (PROTOCOL
 * 6.1e), and how much memory they keep.
 *
 * Load on the machine cannot make an idle process sleep more often. Its work
 * just before can, or a page read from the disk. So one window of several must
 * be within the bound, for all nodes at once. */
#include <poll.h>

#include "bench/footprint.h"
#include "test/frontend/tree.h"
#include "wire/limits.h"

#define WINDOW_MS 4000

#define WINDOWS 6

/* Allowed sleeps per window for other causes: at a front-end, threads pass the
 * loop to each other when a call begins and ends. */
#define OTHER_SLEEPS 2
#define CALL_SLEEPS  4

/* How often the threads of `pid` have slept: their voluntary switches. */
static long count_sleeps(pid_t pid)
{
    glob_t threads = {0};
    char text[128];
    long sum = 0, count;
    FILE *file;

    snprintf(text, sizeof(text), "/proc/%d/task/*/status", (int)pid);
    CU_ASSERT_EQUAL_FATAL(glob(text, 0, NULL, &threads), 0);
    for (size_t i = 0; i < threads.gl_pathc; i++) {
        file = fopen(threads.gl_pathv[i], "re");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        while (fgets(text, sizeof(text), file))
            if (sscanf(text, "voluntary_ctxt_switches: %ld", &count) == 1)
                sum += count;
        fclose(file);
    }
    globfree(&threads);
    return sum;
}

/* List this process, the commnodes below it and all back-ends. */
static size_t list_nodes(pid_t out[NODES_MAX])
{
    pid_t inner[NODES_MAX], leaves[NODES_MAX];
    size_t inner_count, leaf_count, count = 0;

    inner_count = nodes_all(inner);
    out[count++] = getpid();
    for (size_t i = 0; i < inner_count; i++)
        out[count++] = inner[i];
    for (size_t i = 0; i <= inner_count; i++) {
        leaf_count = nodes_called(i < inner_count ? inner[i] : getpid(),
                                  "member", leaves);
        for (size_t k = 0; k < leaf_count && count < NODES_MAX; k++)
            out[count++] = leaves[k];
    }
    return count;
}

/* The application idles for `ms`: in poll(), or, if `waits`, for an event. */
static void idle(struct cop_network *network, bool waits, int ms)
{
    struct cop_event event = COP_EVENT_INIT;

    if (waits)
        CHECK_IS(cop_network_event(network, &event, ms), -EAGAIN);
    else
        poll(NULL, 0, ms);
}

/* Whether no node slept more often than allowed in one window. */
static bool is_idle(struct cop_network *network,
                    bool waits,
                    const pid_t *nodes,
                    size_t count)
{
    long before[NODES_MAX];
    uint64_t since_ms = tree_now_ms();
    bool within = true;

    for (size_t i = 0; i < count; i++)
        before[i] = count_sleeps(nodes[i]);
    idle(network, waits, WINDOW_MS);
    for (size_t i = 0; i < count; i++) {
        long sleeps = count_sleeps(nodes[i]) - before[i];
        long most = (long)((tree_now_ms() - since_ms) / LIMIT_HEARTBEAT_MS) +
                    OTHER_SLEEPS + (i == 0 ? CALL_SLEEPS : 0);

        CU_ASSERT(sleeps > 0);
        if (sleeps > most)
            printf("\nnode %zu of %zu: %ld, not %ld", i, count, sleeps, most);
        within &= sleeps <= most;
    }
    return within;
}

static void expect_idle(const char *shape, size_t expected, bool waits)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network = tree_launch_as(launch, shape, NULL);
    pid_t nodes[NODES_MAX];
    size_t count = list_nodes(nodes);
    bool within = false;

    CU_ASSERT_EQUAL_FATAL(count, expected);
    for (int i = 0; i < WINDOWS && !within; i++)
        within = is_idle(network, waits, nodes, count);
    CU_ASSERT(within);
    tree_end(network);
}

/* A tree without commnodes: front-end and back-ends. */
TEST(a_flat_tree_wakes_with_each_heartbeat)
{
    expect_idle("flat:4", 5, true);
}

/* A commnode's children do not wake it one by one. */
TEST(many_children_wake_a_commnode_once)
{
    expect_idle("1x32", 34, true);
}

/* The background thread of the front-end drives the network. */
TEST(a_computing_application_wakes_as_rarely)
{
    expect_idle("4x4", 21, false);
}

/* A sanitizer's allocator does not reuse freed memory. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Limits of private memory: a commnode with 16 children; a back-end. Pages of 4
 * KiB. Measured: 430 and 190 KiB; 620 and 340 with the memory of the burst. */
#define COMMNODE_KIB (512 * (sysconf(_SC_PAGESIZE) / 4096))
#define BACKEND_KIB  (320 * (sysconf(_SC_PAGESIZE) / 4096))

/* The maximum of the 16 back-ends; `commnode`: that of their commnode. */
static double read_memory(double *commnode)
{
    struct sample inner[FOOTPRINT_COUNT] = {{.values = NULL}};
    struct sample leaf[FOOTPRINT_COUNT] = {{.values = NULL}};
    double most;

    CU_ASSERT_EQUAL_FATAL(footprint_below(getpid(), inner, leaf), 17);
    *commnode = sample_quantile(&inner[FOOTPRINT_PRIVATE_KIB], 1);
    most = sample_quantile(&leaf[FOOTPRINT_PRIVATE_KIB], 1);
    for (int i = 0; i < FOOTPRINT_COUNT; i++) {
        sample_fini(&inner[i]);
        sample_fini(&leaf[i]);
    }
    return most;
}

TEST(what_a_burst_needed_is_given_back)
{
    enum {
        WAVES = 10000
    };
    struct cop_network *network = tree_launch("1x16");
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    uint64_t deadline_ms;
    struct cop_packet *packet;
    double commnode, backend;
    bool within;

    CHECK_OK(cop_stream_send(stream, TAG_HASHES, "%d", WAVES));
    for (int i = 0; i < WAVES; i++) {
        CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
        cop_packet_free(packet);
    }
    deadline_ms = tree_now_ms() + TREE_PATIENCE_MS;
    do {
        idle(network, true, 100);
        backend = read_memory(&commnode);
        within = commnode <= COMMNODE_KIB && backend <= BACKEND_KIB;
    } while (!within && tree_now_ms() < deadline_ms);
    if (!within)
        printf("\ncommnode %.0f KiB, back-end %.0f KiB", commnode, backend);
    CU_ASSERT(within);
    tree_end(network);
}
#endif
