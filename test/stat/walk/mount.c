/* mount.c - a file system that may die, for tests: mount [-u ID] FOLDER FILE...
 *
 * With -u only the user and group with that number may touch it, not even root.
 * Mounts at FOLDER, by FUSE without a library, a folder that has a copy of each
 * FILE, by its name, and prints "ready". Nothing that the kernel has read is
 * kept: each open() reads again. While this process is stopped, whoever touches
 * a file waits; a process that it has already let wait can be killed. Exits with
 * 77 if it may not mount. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX    64
#define REQUEST_SIZE (1 << 17) /* more than the kernel asks for at least */
#define WRITE_MAX    4096
#define BLOCK        512

static struct file {
    const char *name;
    unsigned char *bytes;
    size_t len;
} files[FILES_MAX];
static size_t file_count;
static int device;

/* Read a whole file. Returns whether it could be. */
static bool load(const char *path)
{
    struct file *file = &files[file_count];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    ssize_t len = -1;

    if (fd >= 0 && file_count < FILES_MAX && fstat(fd, &status) == 0) {
        file->bytes = malloc((size_t)status.st_size + 1);
        if (file->bytes)
            len = read(fd, file->bytes, (size_t)status.st_size);
    }
    if (fd >= 0)
        close(fd);
    if (len < 0)
        return false;
    file->len = (size_t)len;
    file->name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    file_count++;
    return true;
}

/* Answer a request with `len` bytes, or a negative errno. */
static void answer(const struct fuse_in_header *asked,
                   int error,
                   const void *bytes,
                   size_t len)
{
    static unsigned char buffer[REQUEST_SIZE + sizeof(struct fuse_out_header)];
    struct fuse_out_header head = {(uint32_t)(sizeof(head) + len), error,
                                   asked->unique};

    memcpy(buffer, &head, sizeof(head));
    if (len > 0)
        memcpy(buffer + sizeof(head), bytes, len);
    /* A request whose process was killed is no longer known. */
    if (write(device, buffer, head.len) < 0 && errno != ENOENT)
        exit(1);
}

/* The attributes of a node: 1 is the folder, 2 the first file. */
static struct fuse_attr attributes(uint64_t node)
{
    struct fuse_attr attr = {
        .ino = node, .mode = S_IFDIR | 0755, .nlink = 1, .blksize = BLOCK};

    if (node > 1) {
        attr.mode = S_IFREG | 0755;
        attr.size = files[node - 2].len;
        attr.blocks = (attr.size + BLOCK - 1) / BLOCK;
    }
    return attr;
}

static void look_up(const struct fuse_in_header *asked, const char *name)
{
    struct fuse_entry_out entry = {.generation = 1};

    for (size_t i = 0; i < file_count; i++) {
        if (strcmp(files[i].name, name) != 0)
            continue;
        entry.nodeid = i + 2;
        entry.attr = attributes(entry.nodeid);
        answer(asked, 0, &entry, sizeof(entry));
        return;
    }
    answer(asked, -ENOENT, NULL, 0);
}

static void read_file(const struct fuse_in_header *asked,
                      const struct fuse_read_in *in)
{
    const struct file *file = &files[asked->nodeid - 2];
    size_t len = in->offset < file->len ? file->len - in->offset : 0;

    if (len > in->size)
        len = in->size;
    answer(asked, 0, file->bytes + (len > 0 ? in->offset : 0), len);
}

static void begin(const struct fuse_in_header *asked,
                  const struct fuse_init_in *in)
{
    struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
                                .minor = FUSE_KERNEL_MINOR_VERSION,
                                .max_readahead = in->max_readahead,
                                .max_write = WRITE_MAX};

    answer(asked, 0, &out, sizeof(out));
}

static void serve(const struct fuse_in_header *asked, const void *in)
{
    struct fuse_attr_out attr = {.attr = {0}};
    struct fuse_open_out opened = {.fh = 0};

    if (asked->nodeid > file_count + 1) {
        answer(asked, -ENOENT, NULL, 0);
        return;
    }
    switch (asked->opcode) {
    case FUSE_INIT:
        begin(asked, in);
        return;
    case FUSE_LOOKUP:
        look_up(asked, in);
        return;
    case FUSE_GETATTR:
        attr.attr = attributes(asked->nodeid);
        answer(asked, 0, &attr, sizeof(attr));
        return;
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        answer(asked, 0, &opened, sizeof(opened));
        return;
    case FUSE_READ:
        read_file(asked, in);
        return;
    case FUSE_READDIR:
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
        answer(asked, 0, NULL, 0);
        return;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        return; /* no answer is allowed */
    default:
        answer(asked, -ENOSYS, NULL, 0);
        return;
    }
}

int main(int argc, char **argv)
{
    static unsigned char buffer[REQUEST_SIZE];
    unsigned user = (unsigned)getuid(), group = (unsigned)getgid();
    bool shared = argc < 3 || strcmp(argv[1], "-u") != 0;
    char options[128];
    ssize_t len;

    if (!shared) {
        user = group = (unsigned)strtoul(argv[2], NULL, 10);
        argc -= 2;
        argv += 2;
    }
    for (int i = 2; i < argc; i++)
        if (!load(argv[i]))
            return 1;
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (argc < 2 || device < 0)
        return 77;
    snprintf(
        options, sizeof(options),
        "fd=%d,rootmode=40755,user_id=%u,group_id=%u,default_permissions%s",
        device, user, group, shared ? ",allow_other" : "");
    if (mount("mount.c", argv[1], "fuse", MS_NODEV | MS_NOSUID, options) < 0)
        return 77;
    puts("ready");
    fflush(stdout);
    while ((len = read(device, buffer, sizeof(buffer))) > 0 ||
           errno == ENOENT || errno == EINTR)
        if (len > (ssize_t)sizeof(struct fuse_in_header))
            serve((void *)buffer, buffer + sizeof(struct fuse_in_header));
    return errno == ENODEV ? 0 : 1;
}
