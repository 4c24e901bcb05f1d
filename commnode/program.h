/* program.h - a node that is started on this host for a process on another
 * host, which sends the bootstrap and is told the node's end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct program {
    pid_t pid;
    int process; /* net/process.h; -1: it has ended */
    int fd;      /* our end of its bootstrap; -1: closed */
    bool accepted;
};

/* Start `argv`, and write the bootstrap in `bytes` to it. Its output goes to
 * our standard error. Returns 0, or a negative errno after a sentence on
 * standard error. */
int program_start(struct program *program,
                  char *const *argv,
                  const unsigned char *bytes,
                  size_t len);

/* The bootstrap's descriptor is readable: the parent has accepted the program,
 * or the program has closed its end. Returns whether it was accepted. */
bool program_accepted(struct program *program);

/* The process's descriptor is readable: whether it has ended. */
bool program_ended(const struct program *program);

/* The process has ended: close the descriptors. Returns its wait status. */
int program_reap(struct program *program);
