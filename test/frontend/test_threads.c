/* test_threads.c - several threads on one network, several networks in one
 * process. Threads return their problems, as CUnit supports one thread only. */
#include <pthread.h>

#include "test/frontend/tree.h"

/* ThreadSanitizer has a thread of its own, which wakes at any time. */
#ifdef __SANITIZE_THREAD__
#define OWN_THREADS_ONLY false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OWN_THREADS_ONLY false
#endif
#endif
#ifndef OWN_THREADS_ONLY
#define OWN_THREADS_ONLY true
#endif

#define THREADS 4
#define WAVES   50

struct worker {
    pthread_t thread;
    struct cop_network *network;
    struct cop_stream *stream;
    const char *shape;
    int number;
    int count;    /* packets: to receive, or received */
    int problems; /* the number of errors */
};

static void begin(struct worker *worker, void *(*body)(void *))
{
    CU_ASSERT_EQUAL_FATAL(pthread_create(&worker->thread, NULL, body, worker),
                          0);
}

static void finish(struct worker *worker)
{
    CU_ASSERT_EQUAL(pthread_join(worker->thread, NULL), 0);
    CU_ASSERT_EQUAL(worker->problems, 0);
}

/* Receive one number from `stream`; -1 on failure. */
static int next_number(struct cop_stream *stream)
{
    struct cop_packet *packet;
    int number;

    if (cop_stream_receive(stream, &packet, TREE_PATIENCE_MS) < 0)
        return -1;
    if (cop_packet_unpack(packet, "%d", &number) < 0)
        number = -1;
    cop_packet_free(packet);
    return number;
}

/* Open a stream, use it, close it. */
static void *own_stream(void *arg)
{
    struct worker *worker = arg;
    const struct cop_communicator *all = cop_network_everyone(worker->network);
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_stream *stream;
    struct cop_error error;
    int count = (int)cop_communicator_size(all), wave;

    options.up_filter = "sum";
    if (cop_stream_open(&stream, worker->network, all, &options, &error) < 0) {
        worker->problems++;
        return NULL;
    }
    for (wave = 0; wave < WAVES; wave++) {
        int number = worker->number * 1000 + wave;

        worker->problems += cop_stream_send(stream, TAG_ECHO, "%d", number) < 0;
        worker->problems += next_number(stream) != number * count;
    }
    worker->problems += cop_stream_sync(stream, TREE_PATIENCE_MS, &error) != 0;
    cop_stream_close(stream);
    return NULL;
}

/* Threads, each with its own stream, do not disturb each other. */
TEST_OF_TREES(a_stream_for_each_thread)
{
    struct worker workers[THREADS] = {{0}};

    for (size_t k = 0; k < THREADS; k++) {
        workers[k].network = network;
        workers[k].number = (int)k + 1;
        begin(&workers[k], own_stream);
    }
    for (size_t k = 0; k < THREADS; k++)
        finish(&workers[k]);
}

static void *only_send(void *arg)
{
    struct worker *worker = arg;

    for (int i = 0; i < WAVES; i++)
        worker->problems += cop_stream_send(worker->stream, TAG_ECHO, "%d",
                                            worker->number * 1000 + i) < 0;
    return NULL;
}

/* Receive until the network ends: `count` packets in all. */
static void *only_receive(void *arg)
{
    struct worker *worker = arg;
    struct cop_packet *packet;
    int r;

    for (;;) {
        r = cop_network_receive(worker->network, NULL, &packet, COP_FOREVER);
        if (r < 0)
            break;
        worker->problems += cop_packet_tag(packet) != TAG_ECHO;
        worker->count++;
        cop_packet_free(packet);
    }
    worker->problems += r != -ENOTCONN;
    return NULL;
}

/* One stream, used by all threads: each packet goes whole to one receiver. A
 * receiver that waits without time-out returns when the network ends. */
TEST(one_stream_for_all_threads)
{
    for (size_t i = 0; i < TREE_SHAPES; i++) {
        struct cop_network *network = tree_launch(tree_shapes[i]);
        struct cop_stream *stream = tree_open(network, COP_DO_NOT_WAIT, NULL);
        struct worker senders[THREADS] = {{0}}, receivers[THREADS] = {{0}};
        int received = 0, count = (int)cop_stream_size(stream);

        for (size_t k = 0; k < THREADS; k++) {
            senders[k].stream = stream;
            senders[k].number = (int)k;
            receivers[k].network = network;
            begin(&receivers[k], only_receive);
            begin(&senders[k], only_send);
        }
        for (size_t k = 0; k < THREADS; k++)
            finish(&senders[k]);
        CHECK_IS(cop_network_shutdown(network, TREE_PATIENCE_MS), 0);
        for (size_t k = 0; k < THREADS; k++) {
            finish(&receivers[k]);
            received += receivers[k].count;
        }
        CU_ASSERT_EQUAL(received, THREADS * WAVES * count);
        tree_free(network);
    }
}

/* Packets of each sender stay in order when several threads send. */
TEST(each_threads_order_is_kept)
{
    struct cop_network *network = tree_launch("2x2x2");
    uint32_t rank = tree_rank(network, 5);
    struct cop_stream *stream = tree_open_one(network, rank);
    struct worker senders[THREADS] = {{0}};
    int next[THREADS] = {0}, number;

    for (size_t k = 0; k < THREADS; k++) {
        senders[k].stream = stream;
        senders[k].number = (int)k;
        begin(&senders[k], only_send);
    }
    for (size_t k = 0; k < (size_t)THREADS * WAVES; k++) {
        number = tree_receive(stream, NULL);
        CU_ASSERT_FATAL(number >= 0 && number / 1000 < THREADS);
        CU_ASSERT_EQUAL(number % 1000, next[number / 1000]++);
    }
    for (size_t k = 0; k < THREADS; k++)
        finish(&senders[k]);
    tree_end(network);
}

/* Launch, use and end a network. */
static void *own_network(void *arg)
{
    struct worker *worker = arg;
    char program[4096], *argv[] = {program, NULL};
    const char *build = getenv("BUILD");
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_error error = {""};

    snprintf(program, sizeof(program), "%s/test/frontend/member",
             build ? build : ".");
    launch.topology_shape = worker->shape;
    launch.backend_argv = argv;
    be_patient(&launch);
    if (cop_network_launch(&worker->network, &launch, &error) < 0) {
        printf("\n%s: %s\n", worker->shape, error.text);
        worker->problems++;
        return NULL;
    }
    own_stream(worker);
    worker->problems +=
        cop_network_shutdown(worker->network, TREE_PATIENCE_MS) != 0;
    cop_network_free(worker->network);
    return NULL;
}

/* Networks that live in threads of one process do not see each other. */
TEST(a_network_for_each_thread)
{
    struct worker workers[TREE_SHAPES] = {{0}};

    for (size_t k = 0; k < TREE_SHAPES; k++) {
        workers[k].shape = tree_shapes[k];
        workers[k].number = (int)k + 1;
        begin(&workers[k], own_network);
    }
    for (size_t k = 0; k < TREE_SHAPES; k++)
        finish(&workers[k]);
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

/* Nor do networks of one thread disturb each other; the end of one does not
 * affect the others. */
TEST(several_networks_in_one_thread)
{
    struct cop_network *networks[TREE_SHAPES];
    struct cop_stream *streams[TREE_SHAPES];

    for (size_t k = 0; k < TREE_SHAPES; k++) {
        networks[k] = tree_launch(tree_shapes[k]);
        streams[k] = tree_open(networks[k], COP_WAIT_FOR_ALL, "sum");
    }
    for (size_t ended = 0; ended < TREE_SHAPES; ended++) {
        for (size_t k = ended; k < TREE_SHAPES; k++)
            CHECK_OK(cop_stream_send(streams[k], TAG_ECHO, "%d", (int)k + 1));
        for (size_t k = TREE_SHAPES; k-- > ended;)
            CU_ASSERT_EQUAL(tree_receive(streams[k], NULL),
                            (int)((k + 1) * cop_stream_size(streams[k])));
        CHECK_IS(cop_network_shutdown(networks[ended], TREE_PATIENCE_MS), 0);
        cop_network_free(networks[ended]);
    }
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

/* How often the other threads of this process have slept. */
static unsigned long other_switches(void)
{
    DIR *dir = opendir("/proc/self/task");
    struct dirent *entry;
    unsigned long total = 0;
    unsigned long number;
    char line[128];
    char path[300];
    FILE *file;

    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%s/status",
                 entry->d_name);
        file = fopen(path, "r");
        while (file && fgets(line, sizeof(line), file))
            if (sscanf(line, "voluntary_ctxt_switches: %lu", &number) == 1)
                total += number;
        if (file)
            fclose(file);
    }
    if (dir)
        closedir(dir);
    return total;
}

static size_t thread_count(void)
{
    DIR *dir = opendir("/proc/self/task");
    size_t count = 0;

    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count - 2;
}

/* While a thread waits, only timers set earlier wake the background thread.
 * There is only one such thread. */
TEST(the_background_sleeps_while_a_thread_waits)
{
    struct cop_network *network = tree_launch("flat:2");
    struct cop_stream *sum = tree_open(network, COP_WAIT_FOR_ALL, "sum");
    struct cop_packet *packet;
    unsigned long before, switches = 4;

    /* If this thread is late, the background thread rightly works: one passing
     * attempt of five is enough. */
    for (int i = 0; i < 5 && switches > 3; i++) {
        tree_check_sum(sum, 1, 2);
        before = other_switches();
        CHECK_IS(cop_stream_receive(sum, &packet, 1500), -EAGAIN);
        switches = other_switches() - before;
    }
    if (OWN_THREADS_ONLY) {
        CU_ASSERT(switches <= 3);
        CU_ASSERT(thread_count() <= 2);
    }
    tree_end(network);
}
