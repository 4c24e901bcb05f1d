/* spawn.h - start a process: its standard streams, its bootstrap, its signals.
 *
 * Used for the children of a node, and for the node that `coppice-commnode
 * --start` starts on a remote host. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* The settings of the new process. Descriptors are borrowed. */
struct spawn {
    char *const *argv; /* the program is searched for in $PATH */
    int input;         /* standard input; -1: /dev/null */
    int output;        /* standard output and error; -1: ours */
    int error;
    int bootstrap;         /* inherited, and named in the environment
                              (BOOTSTRAP_VARIABLE); -1: none */
    const sigset_t *mask;  /* blocked signals; NULL: those blocked here */
    const sigset_t *reset; /* signals to reset without a check; all others are
                              checked one by one: ignored ones stay ignored,
                              handlers are reset */
    bool (*hides)(const char *variable); /* whether to hide this "NAME=VALUE" of
                                            our environment; NULL: hide none */
    bool leads_session;                  /* starts a new session */
};

/* A struct spawn with /dev/null as standard input, and the other defaults. */
#define SPAWN_INIT                                                             \
    {                                                                          \
        .input = -1, .output = -1, .error = -1, .bootstrap = -1                \
    }

/* Start a process. Returns its descriptor (process.h), and its process id in
 * `*pid`; or a negative errno if it does not run. */
int spawn_process(const struct spawn *spawn, pid_t *pid);

/* List the signals that this process does not ignore, for `reset`. Each spawn
 * then takes 61 system calls less. */
void spawn_list_reset(sigset_t *out);

/* Make a socket pair or a pipe, both close-on-exec. Our end is `pair[0]`; of a
 * pipe it reads, and is nonblocking. Returns 0 or a negative errno. */
int spawn_socketpair(int pair[2]);
int spawn_pipe(int pair[2]);

/* Close both ends, except those that are -1. */
void spawn_close(int pair[2]);
