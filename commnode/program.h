/* program.h - a node that is started on this host for a process on another one:
 * its bootstrap comes from there, and its end is told there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct program {
    pid_t pid;
    int process; /* its pidfd; -1: it has ended */
    int fd;      /* our end of its bootstrap; -1: closed */
    bool accepted;
};

/* Start `argv` and hand it the bootstrap in `bytes`. What it prints goes to our
 * standard error. Returns 0, or a negative errno after a sentence on standard
 * error. */
int program_start(struct program *program,
                  char *const *argv,
                  const unsigned char *bytes,
                  size_t len);

/* Its end of the bootstrap can be read: its parent has accepted it, or it has
 * closed that end. Returns whether it was accepted just now. */
bool program_accepted(struct program *program);

/* Its process has ended. Closes the descriptors. Returns its wait status. */
int program_reap(struct program *program);
