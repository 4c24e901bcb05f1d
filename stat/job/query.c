/* query.c - see query.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create() */
#endif
#include "stat/job/query.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stat/walk/touch.h"

extern char **environ;

/* Start the command with its output and errors in two files. Returns 0 or a
 * negative errno. */
static int start(pid_t *pid, char *const *argv, int output, int errors)
{
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);

    if (r != 0)
        return -r;
    r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0,
                                         0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    if (r == 0)
        r = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

/* The contents of a file; NULL: out of memory, or it cannot be read. */
static char *read_all(int file)
{
    struct stat status;
    char *text;
    ssize_t len;

    if (fstat(file, &status) < 0)
        return NULL;
    text = malloc((size_t)status.st_size + 1);
    len = text ? pread(file, text, (size_t)status.st_size, 0) : -1;
    if (len < 0) {
        free(text);
        return NULL;
    }
    text[len] = '\0';
    return text;
}

/* Wait for the command. Returns its status. */
static int await_end(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int query_run(char **out, char *const *argv, struct cop_error *error)
{
    int output = memfd_create("output", MFD_CLOEXEC);
    int errors = memfd_create("errors", MFD_CLOEXEC);
    char *text = NULL, *words = NULL;
    pid_t pid;
    int r = output < 0 || errors < 0 ? -errno : 0;

    /* The command may take as long as it needs. */
    touch_end();
    if (r == 0)
        r = start(&pid, argv, output, errors);
    if (r < 0) {
        touch_begin();
        cop_error_set(error, r, "%s: cannot run it: %s", argv[0], strerror(-r));
        goto out;
    }
    r = await_end(pid);
    touch_begin();
    text = read_all(output);
    words = read_all(errors);
    if (!text || !words) {
        r = -ENOMEM;
        goto out;
    }
    if (r != 0) {
        words[strcspn(words, "\n")] = '\0';
        cop_error_set(error, -EIO, "%s: %s", argv[0],
                      words[0] ? words : "it has failed");
    }
    *out = text;
    text = NULL;
out:
    free(text);
    free(words);
    if (output >= 0)
        close(output);
    if (errors >= 0)
        close(errors);
    return r;
}
