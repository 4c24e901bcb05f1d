/* command.c - the command line of a tool that asks one network. */
#include "tools/command.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int command_complain(const char *what, const char *value)
{
    fprintf(stderr, "%s: %s%s%s\nTry: %s --help\n", command_program, what,
            value ? ": " : "", value ? value : "", command_program);
    return -EINVAL;
}

static int take_option(const struct command *command, int option)
{
    switch (option) {
    case 'h':
        fputs(command->usage, stdout);
        return 1;
    case 'v':
        printf("%s %s\n", command_program, COPPICE_VERSION);
        return 1;
    case '?': /* getopt_long() has printed a message */
        fprintf(stderr, "Try: %s --help\n", command_program);
        return -EINVAL;
    default:
        return command->take(command->arg, option);
    }
}

int command_read(const struct command *command,
                 int argc,
                 char **argv,
                 const char **session)
{
    int option;
    int r = 0;

    while (r == 0 &&
           (option = getopt_long(argc, argv, "", command->options, NULL)) >= 0)
        r = take_option(command, option);
    if (r != 0)
        return r;
    if (optind == argc)
        return command_complain("no session file was given", NULL);
    if (optind + 1 < argc)
        return command_complain("more than one session file was given",
                                argv[optind + 1]);
    *session = argv[optind];
    return 0;
}

int command_end(int status, int failed)
{
    errno = EIO; /* if an earlier flush failed, its error is lost */
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "%s: cannot write: %s\n", command_program, strerror(errno));
    return status == 0 ? failed : status;
}

uint64_t command_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
