/* each_host.c - a parallel shell: runs a command on each host of a list, and
 * prints equal outputs once. Commnodes may die meanwhile.
 *
 *     each_host LAUNCHER HOSTS BACK-END COMMAND
 *     each_host ssh 'n[1-64]' /usr/local/bin/each_host_be uptime */
#include <coppice/coppice.h>
#include <coppice/status.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Print the hosts of some ranks in short form: n[1-3]. */
static void print_hosts(struct cop_network *network,
                        const uint32_t *ranks,
                        uint32_t count)
{
    const char **hosts = calloc(count, sizeof(*hosts));
    char *text = NULL;

    for (uint32_t i = 0; hosts && i < count; i++) {
        struct cop_status_node node = COP_STATUS_NODE_INIT;

        cop_network_node(network, ranks[i], &node);
        hosts[i] = node.host ? node.host : "?";
    }
    if (!hosts || cop_hosts_text(&text, hosts, count) < 0)
        errx(1, "out of memory");
    printf("%s", text);
    free(text);
    free(hosts);
}

/* Print the classes of answers: exit status, output, members. There should be
 * `expected` of them. */
static void print_classes(struct cop_network *network,
                          const struct cop_packet *answer,
                          size_t expected)
{
    const uint32_t *sizes, *ranks;
    const char *const *outputs;
    const int32_t *statuses;
    uint32_t count, rank_count;

    if (cop_packet_unpack(answer, "%ad %as %aud %aud", &statuses, &count,
                          &outputs, &count, &sizes, &count, &ranks,
                          &rank_count) < 0)
        errx(1, "an answer of another format");
    if (cop_packet_contributors(answer) < expected)
        warnx("only %u of %zu hosts have answered",
              cop_packet_contributors(answer), expected);
    for (uint32_t i = 0; i < count; ranks += sizes[i++]) {
        print_hosts(network, ranks, sizes[i]);
        printf(" (%u), exit status %d\n%s", sizes[i], statuses[i], outputs[i]);
    }
}

int main(int argc, char **argv)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *answer;
    struct cop_error error;
    size_t hosts;
    int r;

    if (argc != 5)
        errx(2, "usage: each_host LAUNCHER HOSTS BACK-END COMMAND");
    launch.launcher = argv[1];
    launch.hosts = argv[2];
    launch.topology_shape = "each:16"; /* a back-end on each host */
    launch.backend_argv = (char *[]){argv[3], NULL};
    launch.missing = COP_MISSING_SKIP;
    if (cop_network_launch(&network, &launch, &error) < 0)
        errx(1, "%s", error.text);
    for (size_t i = 0;; i++) {
        struct cop_absentee absentee = COP_ABSENTEE_INIT;

        if (cop_network_missing(network, i, &absentee) < 0)
            break;
        warnx("%s is missing: %s", absentee.host, absentee.reason);
    }
    hosts = cop_communicator_size(cop_network_everyone(network));
    options.up_filter = "classes";
    options.guarantee = COP_GUARANTEE_WAVES;
    if (cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0)
        errx(1, "%s", error.text);
    r = cop_stream_send(stream, COP_TAG_FIRST, "%s", argv[4]);
    if (r == 0)
        r = cop_stream_receive(stream, &answer, COP_FOREVER);
    if (r < 0)
        errx(1, "no answer: %s", strerror(-r));
    print_classes(network, answer, hosts);
    cop_packet_free(answer);
    cop_network_free(network);
    return 0;
}
