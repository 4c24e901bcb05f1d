/* command.h - the command line of a tool that asks one network. */
#pragma once

#include <getopt.h>
#include <stdint.h>

/* Handle the option that getopt_long(3) has returned; its argument is in
 * `optarg`. Returns 0, or -EINVAL after a message. */
typedef int command_option_fn(void *arg, int option);

/* A tool's options. `options` contains --help and --version as the letters h
 * and v, which command_read() handles itself. All borrowed. */
struct command {
    const char *usage;
    const struct option *options;
    command_option_fn *take;
    void *arg;
};

/* The tool's own name; each tool defines it. */
extern const char command_program[];

/* Print what is wrong with the command line, and `value`, the argument in
 * question; NULL: none. Returns -EINVAL. */
int command_complain(const char *what, const char *value);

/* Read the command line: options, and one session file, borrowed from `argv`.
 * Returns 0; 1 after --help and --version; or -EINVAL after a message. */
int command_read(const struct command *command,
                 int argc,
                 char **argv,
                 const char **session);

/* Flush standard output. Returns `status`; if writing fails, prints a message,
 * and returns `failed` if `status` is 0. */
int command_end(int status, int failed);

/* Milliseconds of the monotonic clock. */
uint64_t command_now_ms(void);
