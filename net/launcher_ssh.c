/* launcher_ssh.c - start children on other machines, by ssh (PROTOCOL 12.1).
 *
 *   ssh HOST coppice-commnode --start -- PROGRAM ARGS
 *
 *   standard input   the bootstrap
 *   standard output  `accepted`, then `exited STATUS` or `killed SIGNAL`
 *   standard error   before `accepted` the reason of a failure, then the output
 *                    of the program */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/address.h"
#include "net/remote.h"

/* BatchMode: ssh never asks for a password. */
static const char *const ssh_argv[] = {
    "ssh", "-T", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", NULL};

/* `state` of a child. */
struct ssh {
    struct remote remote;
    bool accepted;
    bool exited; /* `exited` or `killed` was read: its end is certain */
};

/* A node on this machine needs no ssh. */
static bool ssh_reaches(const struct bootstrap *bootstrap, const char *host)
{
    (void)bootstrap;
    return !address_is_own(host);
}

/* Ignores lines that a shell's start-up file prints. */
static void ssh_take_line(struct child *child, char *line)
{
    struct ssh *ssh = child->state;
    int status;
    char how[64];

    if (strcmp(line, "accepted") == 0) {
        ssh->accepted = true;
        child_accepted(child);
    } else if (sscanf(line, "exited %d", &status) == 1) {
        ssh->exited = true;
        snprintf(how, sizeof(how), "exited with status %d", status);
        child_over(child, how);
    } else if (sscanf(line, "killed %d", &status) == 1) {
        ssh->exited = true;
        snprintf(how, sizeof(how), "was ended by signal %d (%s)", status,
                 strsignal(status));
        child_over(child, how);
    }
}

/* The end of ssh is the node's end only if the program never started. */
static void ssh_ended(struct child *child, const char *how)
{
    struct ssh *ssh = child->state;
    const char *words;
    char text[QUOTE_LEN + 160];

    remote_read_rest(child);
    if (ssh->exited || ssh->accepted || child->met)
        return;
    words = remote_words(child);
    snprintf(text, sizeof(text), "could not be started: %s %s%s%s",
             child_bootstrap(child)->launcher_argv[0], how, *words ? ": " : "",
             words);
    child_over(child, text);
}

/* Quote a word for the shell on the remote host. */
static char *ssh_quote(const char *word)
{
    char *quoted = malloc(4 * strlen(word) + 3);
    char *at = quoted;

    if (!quoted)
        return NULL;
    *at++ = '\'';
    for (; *word; word++) {
        if (*word == '\'')
            at = stpcpy(at, "'\\''");
        else
            *at++ = *word;
    }
    strcpy(at, "'");
    return quoted;
}

/* The command line of a child, or NULL: out of memory. */
static char **ssh_command(const struct bootstrap *bootstrap,
                          const char *host,
                          char *const *program)
{
    size_t own_count = words_count(bootstrap->launcher_argv);
    size_t count = own_count + 4 + words_count(program);
    char **words = calloc(count + 1, sizeof(*words));
    bool is_complete = true;
    size_t i;

    if (!words)
        return NULL;
    for (i = 0; i < own_count; i++)
        words[i] = strdup(bootstrap->launcher_argv[i]);
    words[i++] = strdup(host);
    words[i++] = ssh_quote(bootstrap->commnode_path);
    words[i++] = strdup("--start");
    words[i++] = strdup("--");
    for (; i < count; i++)
        words[i] = ssh_quote(*program++);
    for (i = 0; i < count; i++)
        is_complete &= words[i] != NULL;
    if (is_complete)
        return words;
    while (count > 0)
        free(words[--count]);
    free(words);
    return NULL;
}

static int ssh_start(struct child *child,
                     const char *host,
                     char *const *program,
                     int bootstrap)
{
    char **words = ssh_command(child_bootstrap(child), host, program);
    int r = -ENOMEM;

    if (words)
        child->state = calloc(1, sizeof(struct ssh));
    if (child->state)
        r = remote_start(child, words, bootstrap, ssh_take_line);
    words_free(words);
    return r;
}

const struct launcher launcher_ssh = {
    .name = "ssh",
    .argv = ssh_argv,
    .reaches = ssh_reaches,
    .start = ssh_start,
    .ended = ssh_ended,
    .words = remote_words,
    .close = remote_close,
};
