/* backend.c - the back-end of the launch tests.
 *
 *   backend echo          join, send back what comes, until the end
 *   backend loud          the same, with a megabyte on standard error for each
 *   backend attach FILE   the same, with a session file
 *   backend exit STATUS   end at once
 *   backend signal N      be ended by a signal at once
 *   backend hang          never join
 *   backend deaf          join, and never call again
 *   backend stay          join, and stay after the end */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/net/shell.h"

static struct shell shell;

/* Returns when something has taken it all. */
static void shout(void)
{
    static char line[1024];

    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\n';
    for (int i = 0; i < 1024; i++)
        fwrite(line, 1, sizeof(line), stderr);
}

static int echo(bool loud)
{
    struct frame frame;
    uint32_t stream;
    int r;

    for (;;) {
        r = shell_receive(&shell, &stream, &frame, COP_FOREVER);
        if (r < 0)
            return r == -ENOTCONN ? 0 : r;
        if (loud)
            shout();
        r = shell_post(&shell, stream, frame.tag, frame.payload);
        frame_fini(&frame);
        if (r < 0 && r != -ENOTCONN)
            return r;
    }
}

static void sleep_for_ever(void)
{
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    int r;

    if (strcmp(mode, "exit") == 0)
        return number;
    if (strcmp(mode, "signal") == 0)
        raise(number);
    if (strcmp(mode, "hang") == 0)
        sleep_for_ever();
    r = shell_join(&shell, strcmp(mode, "attach") == 0 ? argv[2] : NULL);
    if (r < 0) {
        if (r != -EPIPE && r != -ENOTCONN)
            fprintf(stderr, "backend: %s\n", shell.text);
        shell_fini(&shell);
        return EXIT_FAILURE;
    }
    if (strcmp(mode, "deaf") == 0)
        sleep_for_ever();
    r = echo(strcmp(mode, "loud") == 0);
    if (strcmp(mode, "stay") == 0)
        sleep_for_ever();
    shell_fini(&shell);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
