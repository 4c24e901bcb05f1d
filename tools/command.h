/* command.h - the command line of a tool that asks one network. */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include <getopt.h>

/* Take option `option`, as getopt_long(3) gives it with its `optarg`. Returns 0
 * or -EINVAL, said. */
typedef int command_option_fn(void *arg, int option);

/* What a tool takes besides its session file, and --help and --version, which
 * have the letters h and v in `options`. All borrowed. */
struct command {
    const char *program;
    const char *usage;
    const struct option *options;
    command_option_fn *take;
    void *arg;
};

/* Say what is wrong with the command line; `value`, or NULL, is what was given.
 * Returns -EINVAL. */
int command_complain(const char *program, const char *what, const char *value);

/* Read the command line: options, and one session file, borrowed from `argv`.
 * Returns 0; 1: all is said already (--help, --version); -EINVAL, said. */
int command_read(const struct command *command,
                 int argc,
                 char **argv,
                 const char **session);

/* Have all written that was printed. Returns `status`, or, if it cannot be
 * written and `status` is 0, `failed`, with a sentence. */
int command_end(const char *program, int status, int failed);

#endif
