/* launcher_ssh.c - children on other machines, by ssh (PROTOCOL 12.1).
 *
 *   ssh HOST coppice-commnode --start -- PROGRAM ARGS
 *
 *   standard input   the bootstrap
 *   standard output  `accepted`, then `exited STATUS` or `killed SIGNAL`
 *   standard error   before `accepted` the reason of a failure, then what the
 *                    program prints
 */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/address.h"
#include "net/child.h"

#define LINE_LEN  64
#define WORDS_LEN 256

/* By default it never asks for a password. */
static const char *const ssh_argv[] = {
    "ssh", "-T", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", NULL};

/* `state` of a child. */
struct ssh {
    ev_io out;
    ev_io err;
    char line[LINE_LEN];
    size_t line_len;
    char words[WORDS_LEN]; /* the end of its standard error */
    size_t words_len;
    bool accepted;
    bool exited; /* or `killed`: the program's end is certain */
};

/* The nodes of this machine need no ssh. */
static bool ssh_reaches(const char *host)
{
    return !address_is_own(host);
}

/* ---- standard output ---- */

static void ssh_take_line(struct child *child)
{
    struct ssh *ssh = child->state;
    int status;
    char how[64];

    if (strcmp(ssh->line, "accepted") == 0) {
        ssh->accepted = true;
        child_accepted(child);
    } else if (sscanf(ssh->line, "exited %d", &status) == 1) {
        ssh->exited = true;
        snprintf(how, sizeof(how), "exited with status %d", status);
        child_over(child, how);
    } else if (sscanf(ssh->line, "killed %d", &status) == 1) {
        ssh->exited = true;
        snprintf(how, sizeof(how), "was ended by signal %d (%s)", status,
                 strsignal(status));
        child_over(child, how);
    }
}

/* Whether a read has found the end of the file, or an error. */
static bool is_end(ssize_t n)
{
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* Lines that a shell's start-up file prints are ignored. */
static void ssh_read_out(struct child *child)
{
    struct ssh *ssh = child->state;
    char bytes[256];
    ssize_t n;
    ssize_t i;

    n = read(ssh->out.fd, bytes, sizeof(bytes));
    if (is_end(n))
        child_unwatch(child, &ssh->out);
    for (i = 0; i < n; i++) {
        if (bytes[i] == '\n') {
            ssh->line[ssh->line_len] = '\0';
            ssh_take_line(child);
            ssh->line_len = 0;
        } else if (ssh->line_len + 1 < LINE_LEN) {
            ssh->line[ssh->line_len++] = bytes[i];
        }
    }
}

static void on_out(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    ssh_read_out(io->data);
}

/* ---- standard error ---- */

/* Keep the last WORDS_LEN bytes, as one line. */
static void ssh_keep_words(struct ssh *ssh, const char *bytes, size_t len)
{
    size_t drop;

    if (len >= WORDS_LEN) {
        bytes += len - WORDS_LEN + 1;
        len = WORDS_LEN - 1;
    }
    if (ssh->words_len + len >= WORDS_LEN) {
        drop = ssh->words_len + len - WORDS_LEN + 1;
        ssh->words_len -= drop;
        memmove(ssh->words, ssh->words + drop, ssh->words_len);
    }
    for (size_t i = 0; i < len; i++)
        ssh->words[ssh->words_len++] =
            isprint((unsigned char)bytes[i]) ? bytes[i] : ' ';
}

/* Returns whether there may be more to read. */
static bool ssh_read_err(struct child *child)
{
    struct ssh *ssh = child->state;
    char bytes[1024];
    ssize_t n;

    n = read(ssh->err.fd, bytes, sizeof(bytes));
    if (n > 0 && !ssh->accepted)
        ssh_keep_words(ssh, bytes, (size_t)n);
    else if (n > 0)
        child_print(child, bytes, (size_t)n);
    if (is_end(n))
        child_unwatch(child, &ssh->err);
    return n > 0;
}

static void on_err(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    ssh_read_err(io->data);
}

static const char *ssh_words(struct child *child)
{
    struct ssh *ssh = child->state;
    const char *words;

    while (ssh->err.fd >= 0 && !ssh->accepted && ssh_read_err(child))
        continue;
    while (ssh->words_len > 0 && ssh->words[ssh->words_len - 1] == ' ')
        ssh->words_len--;
    ssh->words[ssh->words_len] = '\0';
    for (words = ssh->words; *words == ' ';)
        words++;
    return words;
}

/* ---- the end ---- */

/* The end of ssh is an end of the node only if the program was never there. */
static void ssh_ended(struct child *child, const char *how)
{
    struct ssh *ssh = child->state;
    const char *words;
    char text[WORDS_LEN + 160];

    while (ssh->out.fd >= 0 && !ssh->exited) {
        struct pollfd poller = {.fd = ssh->out.fd, .events = POLLIN};

        if (poll(&poller, 1, 0) <= 0)
            break;
        ssh_read_out(child);
    }
    if (ssh->exited || ssh->accepted || child->met)
        return;
    words = ssh_words(child);
    snprintf(text, sizeof(text), "could not be started: %s %s%s%s",
             child_bootstrap(child)->launcher_argv[0], how, *words ? ": " : "",
             words);
    child_over(child, text);
}

static void ssh_close(struct child *child)
{
    struct ssh *ssh = child->state;

    if (!ssh)
        return;
    child_unwatch(child, &ssh->out);
    child_unwatch(child, &ssh->err);
}

/* ---- the start ---- */

/* Quote a word for the shell at the far end of ssh. */
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

static size_t count_words(char *const *words)
{
    size_t count = 0;

    while (words[count])
        count++;
    return count;
}

static void free_words(char **words, size_t count)
{
    while (words && count > 0)
        free(words[--count]);
    free(words);
}

/* The command line of a child; free all of it. NULL: out of memory. */
static char **ssh_command(const struct bootstrap *bootstrap,
                          const char *host,
                          char *const *program)
{
    size_t own_count = count_words(bootstrap->launcher_argv);
    size_t count = own_count + 4 + count_words(program);
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
    free_words(words, count);
    return NULL;
}

/* It stays in our session: ssh may have to ask for a password. */
static int ssh_start(struct child *child,
                     const char *host,
                     char *const *program,
                     int bootstrap)
{
    struct spawn spawn = SPAWN_INIT;
    struct ssh *ssh = calloc(1, sizeof(*ssh));
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    char **words = NULL;
    int r = -ENOMEM;

    if (!ssh)
        return -ENOMEM;
    ssh->out.fd = -1;
    ssh->err.fd = -1;
    child->state = ssh;
    words = ssh_command(child_bootstrap(child), host, program);
    if (!words)
        goto out;
    r = spawn_pipe(out);
    if (r == 0)
        r = spawn_pipe(err);
    if (r < 0)
        goto out;
    spawn.argv = words;
    spawn.input = bootstrap;
    spawn.output = out[1];
    spawn.error = err[1];
    r = child_spawn(child, &spawn);
    if (r < 0)
        goto out;
    child_watch(child, &ssh->out, out[0], on_out);
    child_watch(child, &ssh->err, err[0], on_err);
    out[0] = -1;
    err[0] = -1;
out:
    spawn_close(out);
    spawn_close(err);
    free_words(words, words ? count_words(words) : 0);
    return r;
}

const struct launcher launcher_ssh = {
    .name = "ssh",
    .argv = ssh_argv,
    .reaches = ssh_reaches,
    .start = ssh_start,
    .ended = ssh_ended,
    .words = ssh_words,
    .close = ssh_close,
};
