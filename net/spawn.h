/* spawn.h - start a process: its standard streams, its bootstrap, its signals.
 *
 * For the children of a node, and for the node that `coppice-commnode --start`
 * starts on the far side of an ssh. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* What the new process is given. Descriptors are borrowed. */
struct spawn {
    char *const *argv; /* the program is looked for in $PATH */
    int input;         /* standard input; -1: /dev/null */
    int output;        /* standard output and error; -1: ours */
    int error;
    int bootstrap;         /* is inherited, and named in the environment
                              (BOOTSTRAP_VARIABLE); -1: none */
    const sigset_t *mask;  /* signals that are blocked; NULL: as here */
    const sigset_t *reset; /* signals that get their default action at once;
                              the others are asked about, one by one: what is
                              ignored stays so, a handler is reset */
    bool (*hides)(const char *variable); /* "NAME=VALUE" of our environment that
                                            it does not inherit; NULL: none */
    bool leads_session;                  /* is the leader of a new session */
};

/* A struct spawn that gives a process nothing but /dev/null to read. */
#define SPAWN_INIT                                                             \
    {                                                                          \
        .input = -1, .output = -1, .error = -1, .bootstrap = -1                \
    }

/* Start a process. Returns a pidfd of it, and its number in `*pid`, or a
 * negative errno: then it does not run. */
int spawn_process(const struct spawn *spawn, pid_t *pid);

/* List the signals that this process does not ignore, to be reset. Each spawn
 * then takes 61 system calls less. */
void spawn_list_reset(sigset_t *out);

/* Make a socket pair or a pipe, both close-on-exec. Our end is `pair[0]`; that
 * of the pipe reads, and does not block. Returns 0 or a negative errno. */
int spawn_socketpair(int pair[2]);
int spawn_pipe(int pair[2]);

/* Close the ends that are open, those that are not -1. */
void spawn_close(int pair[2]);
