/* session.c - the file with which a back-end attaches to a network.
 *
 * Plain text, so that a person can see what it is:
 *
 *     coppice session 1
 *     id 32 hexadecimal digits
 *     key 64 hexadecimal digits
 *     times 9 numbers of milliseconds
 *     filters DIRECTORY:DIRECTORY
 *     reconfiguration NAME                       (else NHI-WM)
 *     injection allowed                          (or no such line)
 *     survive MILLISECONDS                       (or no such line)
 *     host NAME                                  (of the nodes that follow)
 *     node RANK ADDRESS PORT ADDRESS PORT ...    (one line for each live node)
 *     end */
#include "net/session.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/address.h"
#include "net/agents.h"
#include "protocol/watch/rows.h"
#include "topology/adopter.h"
#include "wire/limits.h"

static const char first_line[] = "coppice session 1";

/* Longest file that is read, and most nodes to choose a parent from. */
#define FILE_MAX   (1 << 20)
#define PARENT_MAX 64

/* ---- writing ---- */

static void write_hex(FILE *file,
                      const char *name,
                      const unsigned char *bytes,
                      size_t len)
{
    char text[2 * BOOTSTRAP_KEY_LEN + 1];

    sodium_bin2hex(text, sizeof(text), bytes, len);
    fprintf(file, "%s %s\n", name, text);
    sodium_memzero(text, sizeof(text));
}

static void write_lines(FILE *file,
                        const struct bootstrap *frontend,
                        const struct node *node)
{
    const struct cop_times *times = &frontend->times;
    const char *address, *host = "";
    struct row row;
    uint32_t rank;

    fprintf(file, "%s\n", first_line);
    write_hex(file, "id", frontend->session, sizeof(frontend->session));
    write_hex(file, "key", frontend->key, BOOTSTRAP_KEY_LEN);
    fprintf(file, "times %u %u %u %u %u %u %u %u %u\n", times->heartbeat_ms,
            times->failure_timeout_ms, times->connect_timeout_ms,
            times->probe_timeout_ms, times->handshake_timeout_ms,
            times->orphan_timeout_ms, times->open_timeout_ms,
            times->launch_timeout_ms, times->filter_timeout_ms);
    fprintf(file, "filters %s\n", frontend->filter_path);
    fprintf(file, "reconfiguration %s\n", adopter_name(frontend->algorithm));
    if (frontend->allow_injection)
        fprintf(file, "injection allowed\n");
    if (frontend->survive_ms > 0)
        fprintf(file, "survive %u\n", frontend->survive_ms);
    for (size_t i = 0; node_internal(node, i, &rank, &address); i++) {
        if (node_has_failed(node, rank))
            continue;
        if (node_row(node, rank, &row) && row.host &&
            strcmp(row.host, host) != 0)
            fprintf(file, "host %s\n", host = row.host);
        fprintf(file, "node %u %s\n", rank, address);
    }
    fprintf(file, "end\n");
}

int session_write(const char *path,
                  const struct bootstrap *frontend,
                  const struct node *node,
                  struct cop_error *error)
{
    size_t len = strlen(path) + 16;
    char *temporary = malloc(len);
    char buffer[BUFSIZ];
    FILE *file = NULL;
    int fd = -1;
    int r = 0;

    if (!temporary)
        return cop_error_set(error, -ENOMEM, "out of memory");
    snprintf(temporary, len, "%s.%ld", path, (long)getpid());
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        file = fdopen(fd, "w");
    if (!file) {
        r = -errno;
        goto out;
    }
    fd = -1; /* owned by `file` now */
    setvbuf(file, buffer, _IOFBF, sizeof(buffer));
    write_lines(file, frontend, node);
    if (fflush(file) != 0 || ferror(file) || rename(temporary, path) < 0)
        r = errno ? -errno : -EIO;
    if (r < 0)
        unlink(temporary);
out:
    if (file)
        fclose(file);
    sodium_memzero(buffer, sizeof(buffer));
    if (fd >= 0) {
        close(fd);
        unlink(temporary);
    }
    free(temporary);
    if (r < 0)
        return cop_error_set(error, r, "%s: cannot write the session file: %s",
                             path, strerror(-r));
    return 0;
}

/* ---- updating ---- */

static size_t count_live(const struct node *node)
{
    const char *address;
    uint32_t rank;
    size_t i, live = 0;

    for (i = 0; node_internal(node, i, &rank, &address); i++)
        live += !node_has_failed(node, rank);
    return live;
}

/* Remember the device and inode of the file; forget the file if it is gone. */
static void identify(struct session_kept *kept, const struct node *node)
{
    struct stat status;

    if (kept->path && stat(kept->path, &status) == 0) {
        kept->device = status.st_dev;
        kept->inode = status.st_ino;
        kept->live = count_live(node);
        return;
    }
    session_forget(kept);
}

void session_keep(struct session_kept *kept,
                  const char *path,
                  const struct node *node)
{
    session_forget(kept);
    kept->path = realpath(path, NULL);
    identify(kept, node);
}

void session_refresh(struct session_kept *kept,
                     const struct bootstrap *frontend,
                     const struct node *node)
{
    struct stat status;

    if (!kept->path || count_live(node) == kept->live)
        return;
    if (stat(kept->path, &status) < 0 || status.st_dev != kept->device ||
        status.st_ino != kept->inode) {
        session_forget(kept); /* removed, or replaced by another file */
        return;
    }
    session_write(kept->path, frontend, node, NULL);
    identify(kept, node);
}

void session_forget(struct session_kept *kept)
{
    free(kept->path);
    memset(kept, 0, sizeof(*kept));
}

/* ---- reading ---- */

/* A node that may become the parent. */
struct candidate {
    uint32_t rank;
    const char *address; /* borrowed from the text */
};

/* The result of reading the lines. The first `own_count` of the candidates are
 * commnodes of this machine. */
struct reading {
    struct bootstrap *bootstrap;
    struct candidate candidates[PARENT_MAX];
    uint32_t candidate_count;
    uint32_t own_count;
    struct candidate frontend;
    bool is_own; /* the lines are about nodes of this machine */
    bool has_id;
    bool has_key;
    bool ended;
};

static bool read_hex(const char *text, unsigned char *out, size_t len)
{
    const char *end;
    size_t n;

    return sodium_hex2bin(out, len, text, strlen(text), NULL, &n, &end) == 0 &&
           n == len && *end == '\0';
}

static bool read_times(const char *text, struct cop_times *times)
{
    return sscanf(text, "%u %u %u %u %u %u %u %u %u", &times->heartbeat_ms,
                  &times->failure_timeout_ms, &times->connect_timeout_ms,
                  &times->probe_timeout_ms, &times->handshake_timeout_ms,
                  &times->orphan_timeout_ms, &times->open_timeout_ms,
                  &times->launch_timeout_ms, &times->filter_timeout_ms) == 9 &&
           times->failure_timeout_ms > 0 && times->connect_timeout_ms > 0 &&
           times->handshake_timeout_ms > 0 && times->heartbeat_ms > 0;
}

static bool read_algorithm(const char *text, uint32_t *algorithm)
{
    int found = adopter_find(text);

    if (found < 0)
        return false;
    *algorithm = (uint32_t)found;
    return true;
}

/* Add a candidate. Above PARENT_MAX one of this machine replaces another. */
static void add_candidate(struct reading *reading, struct candidate candidate)
{
    bool own = reading->is_own && candidate.rank != 0;
    struct candidate *list = reading->candidates;
    uint32_t at = reading->candidate_count;

    if (candidate.rank == 0)
        reading->frontend = candidate;
    if (at < PARENT_MAX)
        reading->candidate_count++;
    else if (own && reading->own_count < PARENT_MAX / 2)
        at = PARENT_MAX - 1 - reading->own_count;
    else
        return;
    list[at] = candidate;
    if (!own)
        return;
    list[at] = list[reading->own_count];
    list[reading->own_count++] = candidate;
}

static bool read_node(struct reading *reading, char *text)
{
    struct sockaddr_storage address;
    socklen_t len;
    const char *at;
    char *end;
    unsigned long rank;

    rank = strtoul(text, &end, 10);
    if (end == text || *end != ' ' || rank >= LIMIT_NODES)
        return false;
    at = end;
    if (address_next(&at, &address, &len) != 1)
        return false;
    add_candidate(reading, (struct candidate){(uint32_t)rank, end + 1});
    return true;
}

static bool read_line(struct reading *reading, char *line)
{
    struct bootstrap *bootstrap = reading->bootstrap;
    char *rest = strchr(line, ' ');

    if (reading->ended)
        return false;
    if (strcmp(line, "end") == 0) {
        reading->ended = true;
        return true;
    }
    if (!rest)
        return false;
    *rest++ = '\0';
    if (strcmp(line, "id") == 0) {
        reading->has_id =
            read_hex(rest, bootstrap->session, sizeof(bootstrap->session));
        return reading->has_id;
    }
    if (strcmp(line, "key") == 0) {
        reading->has_key = read_hex(rest, bootstrap->key, BOOTSTRAP_KEY_LEN);
        return reading->has_key;
    }
    if (strcmp(line, "times") == 0)
        return read_times(rest, &bootstrap->times);
    if (strcmp(line, "reconfiguration") == 0)
        return read_algorithm(rest, &bootstrap->algorithm);
    if (strcmp(line, "node") == 0)
        return read_node(reading, rest);
    if (strcmp(line, "host") == 0) {
        reading->is_own = agents_is_own(rest);
        return strlen(rest) <= LIMIT_HOST_NAME;
    }
    if (strcmp(line, "injection") == 0) {
        bootstrap->allow_injection = strcmp(rest, "allowed") == 0;
        return bootstrap->allow_injection;
    }
    if (strcmp(line, "survive") == 0)
        return sscanf(rest, "%u", &bootstrap->survive_ms) == 1;
    if (strcmp(line, "filters") == 0 && !bootstrap->filter_path) {
        bootstrap->filter_path = strdup(rest);
        return bootstrap->filter_path != NULL;
    }
    return false;
}

/* Read the lines of `text`, which is split in place. Returns 0, or -EBADMSG
 * with the number of the wrong line. */
static int read_lines(struct reading *reading, char *text, unsigned *line_count)
{
    char *line = text;
    char *end;

    for (*line_count = 1; *line; line = end + 1, ++*line_count) {
        end = strchr(line, '\n');
        if (!end)
            return -EBADMSG;
        *end = '\0';
        if (*line_count == 1) {
            if (strcmp(line, first_line) != 0)
                return -EBADMSG;
        } else if (!read_line(reading, line)) {
            return -EBADMSG;
        }
    }
    if (!reading->ended || !reading->has_id || !reading->has_key ||
        reading->candidate_count == 0 || !reading->bootstrap->filter_path ||
        reading->bootstrap->times.heartbeat_ms == 0)
        return -EBADMSG;
    return 0;
}

/* Check that the file is ours alone. Root is no exception: the file names
 * directories whose code is to be run. */
static int check_file(int fd, const char *path, struct cop_error *error)
{
    struct stat status;

    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return cop_error_set(error, -EBADMSG, "%s: is no session file", path);
    if (status.st_uid != geteuid())
        return cop_error_set(error, -EACCES,
                             "%s: belongs to user %u, not to you (user %u), "
                             "and names filters that would be run: run this "
                             "program as the user that owns the file",
                             path, status.st_uid, geteuid());
    if (status.st_mode & 077)
        return cop_error_set(error, -EACCES,
                             "%s: holds a key and other users may open it: "
                             "make it yours alone (chmod 600)",
                             path);
    if (status.st_size > FILE_MAX)
        return cop_error_set(error, -EBADMSG, "%s: is too long", path);
    return 0;
}

/* The whole file as a string of `*out_len` bytes; free() it. */
static int read_text(char **out, size_t *out_len, int fd)
{
    char *text = malloc(FILE_MAX + 1);
    size_t len = 0;
    ssize_t n;

    if (!text)
        return -ENOMEM;
    do {
        n = read(fd, text + len, FILE_MAX - len);
        if (n > 0)
            len += (size_t)n;
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0) {
        n = -errno;
        sodium_memzero(text, len);
        free(text);
        return (int)n;
    }
    text[len] = '\0';
    *out = text;
    *out_len = len;
    return 0;
}

/* The candidate for attempt number `attempt`: those of this machine first. */
static const struct candidate *choose(const struct reading *reading,
                                      uint32_t spread,
                                      uint32_t attempt)
{
    uint32_t own = reading->own_count;
    uint32_t others = reading->candidate_count - own;
    uint32_t turn = attempt % reading->candidate_count;

    if (attempt == SESSION_FRONTEND && reading->frontend.address)
        return &reading->frontend;
    spread %= PARENT_MAX;
    return turn < own ? &reading->candidates[(spread + turn) % own]
                      : &reading->candidates[own + (spread + turn) % others];
}

/* Whether only nodes of this machine can reach the node. */
static bool is_local(const char *address)
{
    struct sockaddr_storage first;
    socklen_t len;

    return address_next(&address, &first, &len) == 1 &&
           address_is_loopback((const struct sockaddr *)&first);
}

/* Fill in the fields that a session file does not contain. */
static int complete(const struct reading *reading,
                    uint32_t spread,
                    uint32_t attempt)
{
    struct bootstrap *bootstrap = reading->bootstrap;
    const struct candidate *chosen = choose(reading, spread, attempt);
    char host[LIMIT_HOST_NAME + 1] = "";

    gethostname(host, sizeof(host) - 1);
    bootstrap->role = NODE_BACKEND;
    bootstrap->rank = RANK_NONE;
    bootstrap->depth = 1;
    bootstrap->attach = true;
    bootstrap->node_count = reading->candidate_count;
    bootstrap->parent_rank = chosen->rank;
    bootstrap->parent_address = strdup(chosen->address);
    bootstrap->host = strdup(host);
    bootstrap->loopback = is_local(chosen->address);
    bootstrap->networks = strdup("");
    if (!bootstrap->parent_address || !bootstrap->host || !bootstrap->networks)
        return -ENOMEM;
    return 0;
}

int session_read(struct bootstrap **out,
                 const char *path,
                 uint32_t spread,
                 uint32_t attempt,
                 struct cop_error *error)
{
    struct reading reading = {0};
    char *text = NULL;
    size_t len = 0;
    unsigned line = 0;
    int fd;
    int r;

    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return cop_error_set(error, -errno, "%s: cannot open: %s", path,
                             strerror(errno));
    r = check_file(fd, path, error);
    if (r < 0) {
        close(fd);
        return r;
    }
    r = read_text(&text, &len, fd);
    if (r == 0)
        r = bootstrap_new(&reading.bootstrap);
    if (r < 0)
        goto out;
    r = read_lines(&reading, text, &line);
    if (r < 0) {
        cop_error_set(error, r,
                      "%s:%u: is no session file, or a damaged one: have the "
                      "front-end write it again",
                      path, line);
        goto out;
    }
    r = complete(&reading, spread, attempt);
    if (r < 0)
        goto out;
    *out = reading.bootstrap;
    reading.bootstrap = NULL;
out:
    if (r < 0 && r != -EBADMSG)
        cop_error_set(error, r, "%s: %s", path, strerror(-r));
    if (text)
        sodium_memzero(text, len); /* its lines are separate strings now */
    free(text);
    close(fd);
    bootstrap_free(reading.bootstrap);
    return r;
}
