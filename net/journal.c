/* journal.c - the file in which a front-end keeps its records. */
#include "net/journal.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "net/address.h"
#include "wire/limits.h"

#define SUM_LEN  16
#define HEAD_LEN (8 + SUM_LEN)

/* The largest file that is read. */
#define FILE_MAX (UINT64_C(1) << 32)

static const unsigned char magic[8] = {'C', 'O', 'P', 'J', 'R', 'N', 'L', '1'};

enum kind {
    KIND_BOOTSTRAP,
    KIND_ADDRESS,
    KIND_FRAME,
};

struct journal {
    int fd;
    int lock; /* of PATH.lock */
    char *path;
    char *lock_path;
    char *new_path;       /* what is written before it is renamed to `path` */
    uint64_t len;         /* of the file */
    unsigned char *bytes; /* an opened journal: what was in it */
    struct journal_reader reader;
};

static void sum(unsigned char out[SUM_LEN],
                const void *first,
                size_t first_len,
                const void *rest,
                size_t rest_len)
{
    crypto_generichash_state state;

    crypto_generichash_init(&state, NULL, 0, SUM_LEN);
    crypto_generichash_update(&state, first, first_len);
    crypto_generichash_update(&state, rest, rest_len);
    crypto_generichash_final(&state, out, SUM_LEN);
}

/* ---- reading bytes ---- */

int journal_reader_begin(struct journal_reader *reader,
                         const unsigned char *bytes,
                         size_t len)
{
    if (len < sizeof(magic) || memcmp(bytes, magic, sizeof(magic)) != 0)
        return -EBADMSG;
    *reader = (struct journal_reader){bytes, len, sizeof(magic)};
    return 0;
}

int journal_reader_next(struct journal_reader *reader,
                        uint32_t *kind,
                        const unsigned char **body,
                        size_t *len)
{
    const unsigned char *head = reader->bytes + reader->at;
    size_t left = reader->len - reader->at;
    unsigned char found[SUM_LEN];
    uint32_t words[2];

    if (left < HEAD_LEN)
        return 0;
    sum(found, head, sizeof(words), NULL, 0);
    if (memcmp(found, head + sizeof(words), SUM_LEN) != 0)
        return -EBADMSG;
    memcpy(words, head, sizeof(words));
    *len = be32toh(words[0]);
    *kind = be32toh(words[1]);
    if (left - HEAD_LEN < SUM_LEN || left - HEAD_LEN - SUM_LEN < *len)
        return 0;
    *body = head + HEAD_LEN;
    sum(found, *body, *len, NULL, 0);
    if (memcmp(found, *body + *len, SUM_LEN) != 0)
        return -EBADMSG;
    reader->at += HEAD_LEN + *len + SUM_LEN;
    return 1;
}

int journal_frame(const unsigned char *body, size_t len, struct frame *out)
{
    struct frame_reader reader;
    int r;

    frame_reader_init(&reader, LIMIT_FRAME);
    r = frame_reader_take(&reader, &body, &len, out);
    if (r == 1 && len > 0) {
        frame_fini(out);
        r = -EBADMSG;
    } else if (r == 0 || r == -EMSGSIZE) {
        r = -EBADMSG;
    }
    frame_reader_fini(&reader);
    return r == 1 ? 0 : r;
}

/* ---- the file ---- */

static struct journal *journal_new(const char *path)
{
    struct journal *journal = calloc(1, sizeof(*journal));

    if (!journal)
        return NULL;
    journal->fd = journal->lock = -1;
    journal->path = strdup(path);
    if (asprintf(&journal->lock_path, "%s.lock", path) < 0)
        journal->lock_path = NULL;
    if (asprintf(&journal->new_path, "%s.new", path) < 0)
        journal->new_path = NULL;
    if (journal->path && journal->lock_path && journal->new_path)
        return journal;
    journal_free(journal);
    return NULL;
}

static void forget_bytes(struct journal *journal)
{
    if (journal->bytes)
        sodium_memzero(journal->bytes, journal->reader.len); /* the key */
    free(journal->bytes);
    journal->bytes = NULL;
    journal->reader = (struct journal_reader){0};
}

void journal_free(struct journal *journal)
{
    if (!journal)
        return;
    if (journal->lock >= 0) {
        unlink(journal->new_path); /* of a process that was killed */
        unlink(journal->lock_path);
    }
    journal_abandon(journal);
    forget_bytes(journal);
    free(journal->path);
    free(journal->lock_path);
    free(journal->new_path);
    free(journal);
}

void journal_abandon(struct journal *journal)
{
    if (journal->fd >= 0)
        close(journal->fd);
    if (journal->lock >= 0)
        close(journal->lock);
    journal->fd = journal->lock = -1;
}

void journal_remove(struct journal *journal)
{
    unlink(journal->path);
}

/* Open a file of this user that no one else may use, and that is no link. */
static int open_own(const char *path, int flags, struct cop_error *error)
{
    struct stat status;
    int fd =
        open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);

    if (fd < 0 && errno != ELOOP && errno != EISDIR && errno != ENXIO)
        return cop_error_set(error, -errno, "%s: cannot open the journal: %s",
                             path, strerror(errno));
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == geteuid() && (status.st_mode & 077) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return cop_error_set(error, -EPERM,
                         "%s: a journal has a session's key, so it must be a "
                         "regular file of this user with mode 0600",
                         path);
}

/* The process that has the lock `fd`, as that one wrote it; 0: unknown. */
static long holder(int fd)
{
    char text[24] = "";

    if (pread(fd, text, sizeof(text) - 1, 0) < 0)
        return 0;
    return strtol(text, NULL, 10);
}

/* Whether `fd` is the file that is now at `path`. */
static bool is_at(int fd, const char *path)
{
    struct stat here, there;

    return fstat(fd, &here) == 0 && lstat(path, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

static int refuse_lock(const struct journal *journal,
                       int fd,
                       struct cop_error *error)
{
    if (errno != EACCES && errno != EAGAIN)
        return cop_error_set(error, -errno, "%s: cannot lock it: %s",
                             journal->lock_path, strerror(errno));
    return cop_error_set(error, -EBUSY,
                         "%s: its front-end, process %ld, still runs: end that "
                         "process first (kill -9, if it is stopped)",
                         journal->path, holder(fd));
}

/* Take the lock. It is of the descriptor and not of the process: another attempt of
 * this process is refused too, and gives nothing up (PROTOCOL 23.4). A process that
 * gives the lock up removes its file first: a lock on a removed file is none. */
static int take_lock(struct journal *journal, struct cop_error *error)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd, r;

    for (;;) {
        fd = open_own(journal->lock_path, O_CREAT, error);
        if (fd < 0)
            return fd;
        if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
            r = refuse_lock(journal, fd, error);
            close(fd);
            return r;
        }
        if (is_at(fd, journal->lock_path))
            break;
        close(fd);
    }
    journal->lock = fd;
    /* without the number only the sentence of -EBUSY is poorer */
    if (ftruncate(fd, 0) == 0)
        (void)dprintf(fd, "%ld\n", (long)getpid());
    return 0;
}

/* Write one record, whose body is in two parts. */
static int write_record(struct journal *journal,
                        enum kind kind,
                        const void *first,
                        size_t first_len,
                        const void *rest,
                        size_t rest_len)
{
    uint64_t len = (uint64_t)first_len + rest_len;
    unsigned char head[HEAD_LEN], tail[SUM_LEN];
    uint32_t words[2] = {htobe32((uint32_t)len), htobe32((uint32_t)kind)};
    struct iovec parts[] = {
        {head, sizeof(head)},
        {(void *)(uintptr_t)first, first_len},
        {(void *)(uintptr_t)rest, rest_len},
        {tail, sizeof(tail)},
    };
    ssize_t written;

    if (len > UINT32_MAX)
        return -EFBIG;
    memcpy(head, words, sizeof(words));
    sum(head + sizeof(words), head, sizeof(words), NULL, 0);
    sum(tail, first, first_len, rest, rest_len);
    do
        written = writev(journal->fd, parts, 4);
    while (written < 0 && errno == EINTR);
    if (written < 0)
        return -errno;
    journal->len += (uint64_t)written;
    return (uint64_t)written == HEAD_LEN + len + SUM_LEN ? 0 : -ENOSPC;
}

/* Whether the file has been removed, or shortened or lengthened by another process:
 * then no front-end can read what is written to it. */
static int check_file(const struct journal *journal)
{
    struct stat status;

    if (fstat(journal->fd, &status) < 0)
        return -errno;
    if (status.st_nlink == 0)
        return -ENOENT;
    return (uint64_t)status.st_size == journal->len ? 0 : -EIO;
}

int journal_write(struct journal *journal, const struct frame *frame)
{
    unsigned char head[FRAME_HEAD_MAX];
    size_t len = frame_encode(frame, head);
    int r = check_file(journal);

    if (r < 0)
        return r;
    return write_record(journal, KIND_FRAME, head, len,
                        frame->payload ? frame->payload->bytes : NULL,
                        frame->payload ? frame->payload->len : 0);
}

static int write_beginning(struct journal *journal,
                           const struct bootstrap *bootstrap,
                           const char *address)
{
    unsigned char *bytes;
    size_t len;
    int r = bootstrap_encode(bootstrap, &bytes, &len);

    if (r < 0)
        return r;
    journal->len = sizeof(magic);
    if (write(journal->fd, magic, sizeof(magic)) != sizeof(magic))
        r = errno ? -errno : -ENOSPC;
    if (r == 0)
        r = write_record(journal, KIND_BOOTSTRAP, bytes, len, NULL, 0);
    if (r == 0)
        r = write_record(journal, KIND_ADDRESS, address, strlen(address), NULL,
                         0);
    sodium_memzero(bytes, len);
    free(bytes);
    return r;
}

/* Nobody else has the lock: a file that is there is a journal. */
static int check_absent(const struct journal *journal, struct cop_error *error)
{
    struct stat status;

    if (lstat(journal->path, &status) < 0)
        return 0;
    return cop_error_set(
        error, -EEXIST,
        "%s: there is a journal: resume its network, or remove "
        "the file",
        journal->path);
}

int journal_create(struct journal **out,
                   const char *path,
                   const struct bootstrap *bootstrap,
                   const char *address,
                   struct cop_error *error)
{
    struct journal *journal = journal_new(path);
    int r;

    if (!journal)
        return cop_error_set(error, -ENOMEM, "out of memory");
    r = take_lock(journal, error);
    if (r == 0)
        r = check_absent(journal, error);
    if (r == 0) {
        unlink(journal->new_path);
        r = journal->fd =
            open_own(journal->new_path, O_CREAT | O_EXCL | O_APPEND, error);
        if (r >= 0)
            r = write_beginning(journal, bootstrap, address);
        if (r == 0 && rename(journal->new_path, path) < 0)
            r = -errno;
        if (r < 0 && journal->fd >= 0)
            cop_error_set(error, r, "%s: cannot write the journal: %s", path,
                          strerror(-r));
    }
    if (r < 0) {
        journal_free(journal);
        return r;
    }
    *out = journal;
    return 0;
}

/* ---- opening one ---- */

static int read_file(struct journal *journal, struct cop_error *error)
{
    struct stat status;
    size_t len = 0;
    ssize_t n = 1;

    if (fstat(journal->fd, &status) < 0 || (uint64_t)status.st_size > FILE_MAX)
        return cop_error_set(error, -EFBIG, "%s: it is too large",
                             journal->path);
    journal->bytes = malloc((size_t)status.st_size + 1);
    if (!journal->bytes)
        return cop_error_set(error, -ENOMEM, "out of memory");
    while (len < (size_t)status.st_size && n > 0) {
        n = read(journal->fd, journal->bytes + len,
                 (size_t)status.st_size - len);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            len += (size_t)n;
    }
    if (n < 0)
        return cop_error_set(error, -errno, "%s: cannot read it: %s",
                             journal->path, strerror(errno));
    return journal_reader_begin(&journal->reader, journal->bytes, len) == 0
               ? 0
               : cop_error_set(error, -EBADMSG, "%s: it is no journal",
                               journal->path);
}

static int damaged(const struct journal *journal, struct cop_error *error)
{
    return cop_error_set(
        error, -EBADMSG,
        "%s: it is damaged at byte %zu, so this network cannot "
        "be resumed: its nodes end after survive_ms; remove the "
        "file",
        journal->path, journal->reader.at);
}

/* Have the new front-end listen at the port of `address`. */
static int take_port(struct bootstrap *bootstrap, const char *address)
{
    struct sockaddr_storage first;
    socklen_t len;
    uint16_t port = 0;

    if (address_next(&address, &first, &len) == 1)
        port = ntohs(first.ss_family == AF_INET6
                         ? ((const struct sockaddr_in6 *)&first)->sin6_port
                         : ((const struct sockaddr_in *)&first)->sin_port);
    bootstrap->ports = (struct ports){port, 1};
    return port > 0 ? 0 : -EBADMSG;
}

/* Read the first two records. */
static int read_beginning(struct journal *journal,
                          struct bootstrap **out,
                          struct cop_error *error)
{
    struct bootstrap *bootstrap = NULL;
    char address[LIMIT_ADDRESS + 1];
    const unsigned char *body;
    uint32_t kind;
    size_t len;
    int r;

    r = journal_reader_next(&journal->reader, &kind, &body, &len);
    if (r != 1 || kind != KIND_BOOTSTRAP)
        return damaged(journal, error);
    r = bootstrap_decode(&bootstrap, body, len);
    if (r == -ENOMEM)
        return cop_error_set(error, r, "out of memory");
    if (r == 0 &&
        (bootstrap->role != NODE_FRONTEND || bootstrap->rank != 0 ||
         bootstrap->survive_ms == 0 ||
         journal_reader_next(&journal->reader, &kind, &body, &len) != 1 ||
         kind != KIND_ADDRESS || len >= sizeof(address)))
        r = -EBADMSG;
    if (r == 0) {
        memcpy(address, body, len);
        address[len] = '\0';
        r = take_port(bootstrap, address);
    }
    if (r < 0) {
        bootstrap_free(bootstrap);
        return damaged(journal, error);
    }
    *out = bootstrap;
    return 0;
}

/* The first frame is written before any node has the completed table (23.3): so
 * all nodes have ended with the front-end. */
static int discard(const struct journal *journal, struct cop_error *error)
{
    unlink(journal->path);
    return cop_error_set(error, -ENOENT,
                         "%s: its launch was not finished, so no node is left: "
                         "the file is removed",
                         journal->path);
}

/* Check all records, and cut off the last one if it is not complete. */
static int check_rest(struct journal *journal, struct cop_error *error)
{
    struct journal_reader ahead = journal->reader;
    const unsigned char *body;
    uint32_t kind;
    size_t len;
    int r;

    do {
        r = journal_reader_next(&ahead, &kind, &body, &len);
        if (r == 1 && kind != KIND_FRAME)
            r = -EBADMSG;
    } while (r == 1);
    if (r < 0) {
        journal->reader.at = ahead.at;
        return damaged(journal, error);
    }
    if (ahead.at == journal->reader.at)
        return discard(journal, error);
    if (ahead.at < ahead.len && ftruncate(journal->fd, (off_t)ahead.at) < 0)
        return cop_error_set(error, -errno, "%s: cannot shorten it: %s",
                             journal->path, strerror(errno));
    journal->len = ahead.at;
    return 0;
}

int journal_open(struct journal **out,
                 struct bootstrap **bootstrap,
                 const char *path,
                 struct cop_error *error)
{
    struct journal *journal = journal_new(path);
    int r = -ENOMEM;

    if (!journal || sodium_init() < 0) {
        journal_free(journal);
        return cop_error_set(error, r, "out of memory");
    }
    r = journal->fd = open_own(path, O_APPEND, error);
    if (r >= 0)
        r = take_lock(journal, error);
    if (r == 0)
        r = read_file(journal, error);
    if (r == 0)
        r = read_beginning(journal, bootstrap, error);
    if (r == 0) {
        r = check_rest(journal, error);
        if (r < 0) {
            bootstrap_free(*bootstrap);
            *bootstrap = NULL;
        }
    }
    if (r < 0) {
        journal_free(journal);
        return r;
    }
    *out = journal;
    return 0;
}

int journal_next(struct journal *journal, struct frame *frame, uint64_t *at)
{
    const unsigned char *body;
    uint32_t kind;
    size_t len;
    int r;

    *at = journal->reader.at;
    r = journal_reader_next(&journal->reader, &kind, &body, &len);
    if (r == 0)
        forget_bytes(journal);
    if (r <= 0)
        return r;
    r = journal_frame(body, len, frame);
    return r < 0 ? r : 1;
}
