/* each_host_be.c - the back-end of each_host: runs each command that it gets,
 * and sends its exit status and its output. */
#include <coppice/coppice.h>
#include <err.h>
#include <stdio.h>
#include <string.h>
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
        static const char cut[] = "\n[cut]\n";
        static char output[65536];
        const char *command;
        size_t len;
        int status = -1;
        FILE *pipe;

        cop_packet_unpack(packet, "%s", &command);
        output[0] = '\0';
        pipe = popen(command, "re");
        if (pipe) {
            len = fread(output, 1, sizeof(output) - sizeof(cut), pipe);
            for (size_t i = 0; i < len; i++)
                if (!output[i])
                    output[i] = '?'; /* in a string it would be the end */
            memcpy(output + len, cut, sizeof(cut));
            if (getc(pipe) == EOF)
                output[len] = '\0';
            status = pclose(pipe);
        }
        cop_stream_send(stream, cop_packet_tag(packet), "%d %s",
                        WIFEXITED(status) ? WEXITSTATUS(status) : 255, output);
        cop_packet_free(packet);
    }
    cop_network_free(network);
    return 0;
}
