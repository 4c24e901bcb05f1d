/* first_fe.c - the front-end: asks all, prints the one answer. */
#include <coppice/coppice.h>
#include <err.h>
#include <stdio.h>

int main(void)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *answer;
    struct cop_error error;
    char back_end[] = "./first_be";
    size_t asked;
    int highest;

    launch.topology_shape = "2x2"; /* 2 commnodes with 2 back-ends each */
    launch.backend_argv = (char *[]){back_end, NULL};
    if (cop_network_launch(&network, &launch, &error) < 0)
        errx(1, "%s", error.text);
    options.up_filter = "max";
    if (cop_stream_open(&stream, network, cop_network_everyone(network),
                        &options, &error) < 0)
        errx(1, "%s", error.text);

    asked = cop_stream_size(stream); /* one that dies is no member any more */
    cop_stream_send(stream, COP_TAG_FIRST, "%s", "what is your rank?");
    if (cop_stream_receive(stream, &answer, 5000 /* ms */) < 0 ||
        cop_packet_unpack(answer, "%d", &highest) < 0)
        errx(1, "no answer");
    if (cop_packet_contributors(answer) < asked)
        warnx("some back-ends are not in the answer");
    printf("%u back-ends answered; the highest rank is %d\n",
           cop_packet_contributors(answer), highest);
    cop_packet_free(answer);
    cop_network_free(network); /* ends every node */
    return 0;
}
