/* each_host_be.c - the back-end of each_host: runs each command that it gets,
 * and sends its exit status and its output. */
#include <coppice/coppice.h>
#include <err.h>
#include <stdio.h>
#include <sys/wait.h>

int main(void)
{
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;

    if (cop_network_join(&network, NULL, &error) < 0)
        errx(1, "%s", error.text);
    while (cop_network_receive(network, &stream, &packet, COP_FOREVER) == 0) {
        static char output[65536];
        const char *command;
        size_t len = 0;
        int status = -1;
        FILE *pipe;

        cop_packet_unpack(packet, "%s", &command);
        pipe = popen(command, "re");
        if (pipe) {
            len = fread(output, 1, sizeof(output) - 1, pipe);
            status = pclose(pipe);
        }
        output[len] = '\0';
        cop_stream_send(stream, cop_packet_tag(packet), "%d %s",
                        WIFEXITED(status) ? WEXITSTATUS(status) : 255, output);
        cop_packet_free(packet);
    }
    cop_network_free(network);
    return 0;
}
