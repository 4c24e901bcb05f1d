/* frozen.c - a daemon of coppice-stat that stops itself: `frozen joined` as
 * soon as it has joined, `frozen asked` at the first request. `frozen mute`
 * runs, but answers no request. */
#include <coppice/coppice.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct cop_join join = COP_JOIN_INIT;
    struct cop_network *network;
    struct cop_packet *packet;
    struct cop_error error;
    int r;

    if (argc != 2 ||
        (strcmp(argv[1], "joined") != 0 && strcmp(argv[1], "asked") != 0 &&
         strcmp(argv[1], "mute") != 0)) {
        fputs("Usage: frozen joined | asked | mute\n", stderr);
        return 2;
    }
    r = cop_network_join(&network, &join, &error);
    if (r < 0) {
        fprintf(stderr, "frozen: %s\n", error.text);
        return EXIT_FAILURE;
    }
    if (strcmp(argv[1], "asked") == 0 &&
        cop_network_receive(network, NULL, &packet, COP_FOREVER) == 0)
        cop_packet_free(packet);
    while (strcmp(argv[1], "mute") == 0 &&
           cop_network_receive(network, NULL, &packet, COP_FOREVER) == 0)
        cop_packet_free(packet);
    if (strcmp(argv[1], "mute") != 0)
        raise(SIGSTOP);
    cop_network_free(network);
    return EXIT_SUCCESS;
}
