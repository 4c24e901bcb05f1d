/* frontend.c - the front-end of the launch tests that is killed.
 *
 *   frontend SHAPE BACKEND [ARGUMENT...]
 *
 * Launches, prints "launched", and waits to be killed. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/net/shell.h"

static struct shell shell;

int main(int argc, char **argv)
{
    int r;

    if (argc < 3)
        return EXIT_FAILURE;
    r = shell_launch(&shell, argv[1], argv + 2, NULL);
    if (r < 0) {
        fprintf(stderr, "frontend: %s\n", shell.text);
        shell_fini(&shell);
        return EXIT_FAILURE;
    }
    if (write(STDOUT_FILENO, "launched\n", 9) != 9)
        return EXIT_FAILURE;
    for (;;)
        pause();
}
