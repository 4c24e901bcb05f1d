/* test_resume.c - a tool is killed, and another one takes its network over
 * (PROTOCOL 23). */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "test/frontend/tree.h"

/* The count of numbers that each back-end sends, and how many a second. */
#define NUMBERS 40
#define RATE    400

#define SURVIVE_MS 300000

struct place {
    char folder[32];
    char path[64];
};

static void make_place(struct place *place)
{
    snprintf(place->folder, sizeof(place->folder), "/tmp/coppice-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(place->folder));
    snprintf(place->path, sizeof(place->path), "%s/journal", place->folder);
}

/* Check that no file is left. */
static void drop_place(const struct place *place)
{
    CHECK_OK(rmdir(place->folder));
}

static struct cop_network *launch(const struct place *place, const char *shape)
{
    struct cop_launch options = COP_LAUNCH_INIT;

    options.survive_ms = SURVIVE_MS;
    options.journal_path = place->path;
    return tree_launch_as(options, shape, NULL);
}

/* Take over the network of `place`; a failure ends the test. */
static struct cop_network *resume(const struct place *place)
{
    struct cop_resume options = COP_RESUME_INIT;
    struct cop_network *network = NULL;
    struct cop_error error = {""};
    int r;

    options.journal_path = place->path;
    options.timeout_ms = TREE_PATIENCE_MS;
    r = cop_network_resume(&network, &options, &error);
    if (r < 0)
        printf("\nresume: %s\n", error.text);
    CHECK_OK(r);
    return network;
}

/* Check that the network of `place` cannot be taken over: the code, and words of
 * the sentence. */
static void check_refused(const struct place *place, int code, const char *say)
{
    struct cop_resume options = COP_RESUME_INIT;
    struct cop_network *network = NULL;
    struct cop_error error = {""};
    int r;

    options.journal_path = place->path;
    do { /* a child that a killed tool had just forked has its lock until exec() */
        r = cop_network_resume(&network, &options, &error);
    } while (r == -EBUSY && code != -EBUSY);
    CHECK_IS(r, code);
    tree_check_says(error.text, say);
}

/* ---- the tool that is killed ---- */

typedef void tool_fn(struct cop_network *network, int shape);

/* Start a tool, a process of its own, that does `work` in a network of its own
 * and then waits. Returns its process when it has done that. */
static pid_t start_tool(const struct place *place, tool_fn *work, int shape)
{
    int done[2];
    char byte = 0;
    pid_t pid;

    CHECK_OK(pipe2(done, O_CLOEXEC));
    pid = fork();
    if (pid == 0) {
        work(launch(place, tree_shapes[shape]), shape);
        if (CU_get_number_of_failures() > 0 || write(done[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    CU_ASSERT_FATAL(pid > 0);
    close(done[1]);
    CU_ASSERT_EQUAL_FATAL(read(done[0], &byte, 1), 1);
    close(done[0]);
    return pid;
}

static void kill_tool(pid_t pid)
{
    CHECK_OK(kill(pid, SIGKILL));
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
}

/* ---- totals ---- */

/* The sum of what each back-end sends for one TAG_FEED. */
static int truth(struct cop_network *network)
{
    const struct cop_communicator *all = cop_network_everyone(network);
    int total = 0;

    for (size_t m = 0; m < cop_communicator_size(all); m++)
        for (int i = 0; i < NUMBERS; i++)
            total += member_number(cop_communicator_rank(all, m), i);
    return total;
}

/* The total now, which must be exact. */
static int total_of(struct cop_stream *stream)
{
    struct cop_packet *packet = NULL;
    const int32_t *numbers;
    uint32_t count = 0;
    int total;

    CHECK_OK(cop_stream_state(stream, &packet, TREE_PATIENCE_MS));
    CU_ASSERT_PTR_NOT_NULL_FATAL(packet);
    CHECK_OK(cop_packet_unpack(packet, "%ad", &numbers, &count));
    CU_ASSERT_EQUAL_FATAL(count, 1);
    total = numbers[0];
    cop_packet_free(packet);
    return total;
}

static void feed_total(struct cop_network *network, int shape)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_stream *stream;

    (void)shape;
    options.guarantee = COP_GUARANTEE_TOTAL;
    options.sync = COP_DO_NOT_WAIT;
    options.up_filter = "sum";
    stream = tree_open_with(network, &options);
    CHECK_OK(cop_stream_send(stream, TAG_FEED, "%d %d", NUMBERS, RATE));
    CHECK_OK(cop_stream_flush(stream));
}

/* The tool is killed while the back-ends send. The total has every number once,
 * also of those that were sent while nobody led; and it goes on. */
TEST(a_total_outlives_its_tool)
{
    for (int shape = 0; shape < TREE_SHAPES; shape++) {
        struct cop_network *network;
        struct cop_stream *stream;
        struct place place;
        uint64_t sent = 0;
        int once;

        make_place(&place);
        kill_tool(start_tool(&place, feed_total, shape));
        network = resume(&place);
        stream = cop_network_next_stream(network, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
        CU_ASSERT_PTR_NULL(cop_network_next_stream(network, stream));
        CHECK_OK(cop_stream_sent(stream, &sent));
        CU_ASSERT_EQUAL(sent, 1);
        CHECK_IS(cop_stream_guarantee(stream, NULL), COP_GUARANTEE_TOTAL);
        once = truth(network);
        CHECK_IS(tree_sync(stream), 0);
        CU_ASSERT_EQUAL(total_of(stream), once);
        CHECK_OK(cop_stream_send(stream, TAG_FEED, "%d %d", NUMBERS, RATE));
        CHECK_IS(tree_sync(stream), 0);
        CU_ASSERT_EQUAL(total_of(stream), 2 * once);
        tree_end(network);
        drop_place(&place);
    }
}

/* ---- whole waves ---- */

/* The waves that a tool has taken, for the next one. */
static uint64_t *taken_before;

/* Check a wave: it is `n`, and has each back-end's number. Returns the next one. */
static uint64_t check_wave(struct cop_network *network,
                           struct cop_packet *packet,
                           uint64_t n)
{
    const struct cop_communicator *all = cop_network_everyone(network);
    const int32_t *numbers;
    uint32_t count = 0;
    int sum = 0;

    for (size_t m = 0; m < cop_communicator_size(all); m++)
        sum += member_number(cop_communicator_rank(all, m), (int)n - 1);
    CU_ASSERT_EQUAL(cop_packet_wave(packet), n);
    CHECK_OK(cop_packet_unpack(packet, "%ad", &numbers, &count));
    CU_ASSERT_EQUAL_FATAL(count, 1);
    CU_ASSERT_EQUAL(numbers[0], sum);
    cop_packet_free(packet);
    return n + 1;
}

static void take_waves(struct cop_network *network, int shape)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_packet *packet = NULL;
    struct cop_stream *stream;
    uint64_t next = 1;

    (void)shape;
    options.guarantee = COP_GUARANTEE_WAVES;
    options.up_filter = "sum";
    stream = tree_open_with(network, &options);
    CHECK_OK(cop_stream_send(stream, TAG_FEED, "%d %d", NUMBERS, RATE));
    while (next <= NUMBERS / 2) {
        CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
        next = check_wave(network, packet, next);
        *taken_before = next - 1;
    }
}

/* PROTOCOL 23.8: the tool is killed while waves come. The next one gets the
 * others, each once, whole and in order. What the first one had been given and
 * had not taken is lost with it. */
TEST(waves_stay_whole)
{
    taken_before = mmap(NULL, sizeof(*taken_before), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(taken_before != MAP_FAILED);
    for (int shape = 0; shape < TREE_SHAPES; shape++) {
        struct cop_packet *packet = NULL;
        struct cop_network *network;
        struct cop_stream *stream;
        struct place place;
        uint64_t next;

        make_place(&place);
        kill_tool(start_tool(&place, take_waves, shape));
        network = resume(&place);
        stream = cop_network_next_stream(network, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
        CHECK_IS(cop_stream_guarantee(stream, NULL), COP_GUARANTEE_WAVES);
        CHECK_IS(tree_sync(stream), 0);
        next = NUMBERS + 1;
        while (cop_stream_receive(stream, &packet, 0) == 0) {
            if (next > NUMBERS)
                next = cop_packet_wave(packet);
            CU_ASSERT(next > *taken_before);
            next = check_wave(network, packet, next);
        }
        CU_ASSERT_EQUAL(next, NUMBERS + 1);
        tree_end(network);
        drop_place(&place);
    }
    munmap(taken_before, sizeof(*taken_before));
}

/* ---- ordinary streams ---- */

static void echo_once(struct cop_network *network, int shape)
{
    struct cop_stream *stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    const struct cop_communicator *all = cop_network_everyone(network);

    (void)shape;
    tree_check_sum(stream, 3, cop_communicator_size(all));
}

/* Three tools in a row are killed, and each goes on where the last one was; new
 * streams can be opened. */
TEST(one_tool_after_the_other)
{
    for (int shape = 0; shape < TREE_SHAPES; shape++) {
        struct cop_network *network = NULL;
        struct cop_stream *stream;
        struct place place;
        size_t members;

        make_place(&place);
        kill_tool(start_tool(&place, echo_once, shape));
        for (int life = 0; life < 3; life++) {
            network = resume(&place);
            members = cop_communicator_size(cop_network_everyone(network));
            stream = cop_network_next_stream(network, NULL);
            CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
            tree_check_sum(stream, 10 + life, members);
            CU_ASSERT(tree_sync(stream) >= 0);
            CHECK_IS(tree_sync(stream), 0);
            stream = tree_open(network, COP_WAIT_FOR_ALL, "sum");
            tree_check_sum(stream, 5, members);
            cop_stream_close(stream);
            if (life < 2)
                CHECK_OK(cop_network_detach(network));
        }
        tree_end(network);
        drop_place(&place);
    }
}

/* ---- who may not ---- */

/* PROTOCOL 23.4: a tool that runs, or is stopped, keeps its network. */
TEST(a_living_tool_is_not_replaced)
{
    struct place place;
    char says[64];
    pid_t pid;

    make_place(&place);
    pid = start_tool(&place, echo_once, 1);
    snprintf(says, sizeof(says), "process %d|still runs", (int)pid);
    check_refused(&place, -EBUSY, says);
    tree_stop(pid);
    check_refused(&place, -EBUSY, says);
    kill_tool(pid);
    tree_end(resume(&place));
    drop_place(&place);
}

/* A tool is killed in its launch, while a back-end has not connected. Its nodes
 * end, and the next tool launches. */
TEST(a_launch_that_was_killed_is_none)
{
    char shell[] = "/bin/sh", run[] = "-c",
         wait[] = "exec tail --pid=$PPID -f /dev/null";
    char *backend[] = {shell, run, wait, NULL};
    struct cop_launch options = COP_LAUNCH_INIT;
    struct cop_network *network = NULL;
    struct place place;
    pid_t pid;

    make_place(&place);
    options.topology_shape = "2x2";
    options.backend_argv = backend;
    options.survive_ms = SURVIVE_MS;
    options.journal_path = place.path;
    pid = fork();
    if (pid == 0)
        _exit(cop_network_launch(&network, &options, NULL) < 0);
    while (access(place.path, F_OK) < 0) {
        CU_ASSERT_EQUAL_FATAL(waitpid(pid, NULL, WNOHANG), 0);
        tree_pause();
    }
    kill_tool(pid);
    check_refused(&place, -ENOENT, "launch was not finished");
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
    tree_end(launch(&place, "2x2"));
    drop_place(&place);
}

/* Wait for the event of a journal that failed. */
static void await_failure(struct cop_network *network, const char *say)
{
    struct cop_event event;

    CHECK_OK(tree_await(network, COP_EVENT_JOURNAL_FAILED, &event));
    tree_check_says(event.text, say);
}

/* The file is removed, or shortened, under a tool that runs: an event, and the
 * network goes on. */
TEST(a_journal_that_was_lost)
{
    for (int cut = 0; cut < 2; cut++) {
        struct cop_network *network;
        struct place place;

        make_place(&place);
        network = launch(&place, "2x2");
        CHECK_OK(cut ? truncate(place.path, 100) : unlink(place.path));
        echo_once(network, 0);
        await_failure(network, "cannot be written|resume");
        echo_once(network, 0);
        tree_end(network);
        drop_place(&place);
    }
}

/* What is not there yet is refused, in words. */
TEST(what_is_not_built_is_refused)
{
    struct cop_stream_options exact = COP_STREAM_OPTIONS_INIT;
    struct cop_launch options = COP_LAUNCH_INIT;
    char *argv[] = {tree_program("member"), NULL};
    struct cop_network *network = NULL, *other = NULL;
    struct cop_stream *stream = NULL;
    struct cop_error error = {""};
    struct place place;

    make_place(&place);
    check_refused(&place, -ENOENT, "cannot open the journal");
    options.topology_shape = "flat:2";
    options.backend_argv = argv;
    options.survive_ms = SURVIVE_MS;
    CHECK_IS(cop_network_launch(&other, &options, &error), -EINVAL);
    tree_check_says(error.text, "survive_ms and journal_path");
    options.journal_path = place.path;
    options.views = true;
    CHECK_IS(cop_network_launch(&other, &options, &error), -EOPNOTSUPP);
    tree_check_says(error.text, "views, replace or keep_shape");
    options.views = false;
    network = launch(&place, "flat:2");
    CHECK_IS(cop_network_launch(&other, &options, &error), -EBUSY);
    tree_check_says(error.text, "still runs");
    exact.guarantee = COP_GUARANTEE_WAVES;
    exact.up_filter = "sum";
    exact.up_filter_frontend = "int_union";
    CHECK_IS(cop_stream_open(&stream, network, cop_network_everyone(network),
                             &exact, &error),
             -EINVAL);
    tree_check_says(error.text, "COP_STATELESS|survive_ms");
    tree_end(network);
    drop_place(&place);
    network = tree_launch("flat:2");
    CHECK_IS(cop_network_detach(network), -EPERM);
    tree_end(network);
}
