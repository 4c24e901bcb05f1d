/* counter.c - a tool that may crash: whoever starts it again goes on counting.
 *
 *     counter JOURNAL SHAPE ROUNDS
 *
 * In each round every back-end (this program, too) sends its rank once. The total
 * must be that of whole rounds, in each life of the tool. With JOURNAL "-" the tool
 * does not survive; then commnodes that are lost are replaced, the tree gets its
 * shape back, the file SESSION in the environment is the session file, and HOSTS may
 * name hosts, which are all this machine. */
#include <coppice/coppice.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SURVIVE_MS 60000

static int be_backend(void)
{
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *round;
    struct cop_error error;

    if (cop_network_join(&network, NULL, &error) < 0)
        errx(1, "%s", error.text);
    while (cop_network_receive(network, &stream, &round, COP_FOREVER) == 0) {
        cop_packet_free(round);
        cop_stream_send(stream, COP_TAG_FIRST, "%uld",
                        (uint64_t)cop_network_rank(network));
    }
    cop_network_free(network);
    return 0;
}

static struct cop_network *launch_tree(char **argv, const char *journal)
{
    char word[] = "back-end", *backend[] = {argv[0], word, NULL};
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_error error;

    launch.topology_shape = argv[2];
    launch.backend_argv = backend;
    if (journal) {
        launch.survive_ms = SURVIVE_MS;
        launch.journal_path = journal;
    } else {
        launch.replace = 3;
        launch.keep_shape = true;
        launch.session_path = getenv("SESSION");
        launch.allow_administration = true;
        launch.hosts = getenv("HOSTS");
        launch.launcher = "local";
    }
    if (cop_network_launch(&network, &launch, &error) < 0)
        errx(1, "%s", error.text);
    return network;
}

/* The tree that another life of this tool has left, or a new one. */
static struct cop_network *begin(char **argv)
{
    const char *journal = strcmp(argv[1], "-") == 0 ? NULL : argv[1];
    struct cop_resume resume = COP_RESUME_INIT;
    struct cop_network *network;
    struct cop_error error;
    int r;

    resume.journal_path = journal;
    r = journal ? cop_network_resume(&network, &resume, &error) : -ENOENT;
    if (r == -ENOENT)
        return launch_tree(argv, journal);
    if (r < 0)
        errx(1, "%s", error.text);
    printf("took over the tree of a tool that had crashed\n");
    return network;
}

static struct cop_stream *counting(struct cop_network *network)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_stream *stream = cop_network_next_stream(network, NULL);
    struct cop_error error;

    options.up_filter = "sum";
    options.guarantee = COP_GUARANTEE_TOTAL;
    if (!stream &&
        cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0)
        errx(1, "%s", error.text);
    return stream;
}

/* The rounds that are in the total; all of them are whole after a sync. */
static uint64_t count_rounds(struct cop_network *network,
                             struct cop_stream *stream)
{
    const struct cop_communicator *all = cop_network_everyone(network);
    struct cop_packet *packet = NULL;
    uint64_t total = 0, round = 0;
    int r;

    for (size_t i = 0; i < cop_communicator_size(all); i++)
        round += cop_communicator_rank(all, i);
    do {
        cop_packet_free(packet);
        packet = NULL;
        if (cop_stream_sync(stream, COP_FOREVER, NULL) != 0)
            errx(1, "no back-end is left");
        r = cop_stream_state(stream, &packet, COP_FOREVER);
    } while (r == 1);           /* a node has moved or died since the sync */
    if (r < 0 && r != -ENODATA) /* no round has begun */
        errx(1, "the total cannot be read");
    if (packet && cop_packet_unpack(packet, "%uld", &total) < 0)
        errx(1, "a total of another format");
    cop_packet_free(packet);
    if (total % round != 0)
        errx(1, "the total %llu is not of whole rounds",
             (unsigned long long)total);
    return total / round;
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    struct cop_network *network;
    struct cop_stream *stream;
    uint64_t rounds, wanted;

    if (argc == 2 && strcmp(argv[1], "back-end") == 0)
        return be_backend();
    if (argc != 4)
        errx(2, "usage: counter JOURNAL SHAPE ROUNDS");
    setvbuf(stdout, NULL, _IOLBF, 0);
    wanted = strtoull(argv[3], NULL, 10);
    network = begin(argv);
    stream = counting(network);
    while ((rounds = count_rounds(network, stream)) < wanted) {
        printf("%llu rounds\n", (unsigned long long)rounds);
        nanosleep(&pause, NULL);
        if (cop_stream_send(stream, COP_TAG_FIRST, "%uld", rounds + 1) < 0)
            errx(1, "the stream has no member");
    }
    printf("the total is that of %llu rounds\n", (unsigned long long)rounds);
    cop_network_shutdown(network, COP_FOREVER);
    cop_network_free(network);
    return 0;
}
