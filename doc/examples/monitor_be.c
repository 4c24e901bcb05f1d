/* monitor_be.c - the back-end of monitor: answers each question with the first
 * number of a file. */
#include <coppice/coppice.h>
#include <err.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "/proc/loadavg";
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;

    if (cop_network_join(&network, NULL, &error) < 0)
        errx(1, "%s", error.text);
    while (cop_network_receive(network, &stream, &packet, COP_FOREVER) == 0) {
        uint32_t bins[5] = {0}, bin = 0;
        double load = 0;
        FILE *file = fopen(path, "re");

        if (!file || fscanf(file, "%lf", &load) != 1)
            errx(1, "%s: cannot read a number", path);
        fclose(file);
        while (bin < 4 && load >= 1 << bin)
            bin++;
        bins[bin] = 1;
        cop_stream_send(stream, cop_packet_tag(packet),
                        "%lf %lf %lf %aud %lf %ud", load, load, load, bins,
                        (uint32_t)5, load, cop_network_rank(network));
        cop_packet_free(packet);
    }
    cop_network_free(network);
    return 0;
}
