/* corefile.c - see corefile.h. */
#include "stat/job/corefile.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How compressed files begin, and what decompresses them. */
static const struct {
    const char *start;
    const char *command;
} compressions[] = {
    {"\x28\xb5\x2f\xfd", "zstd -d"},
    {"\x04\x22\x4d\x18", "lz4 -d"},
    {"\xfd\x37zXZ", "xz -d"},
    {"\x1f\x8b", "gunzip"},
    {"BZh", "bunzip2"},
};

/* Where the last part of the file should end; 0: it is no core file. */
static uint64_t find_end(int fd)
{
    uint64_t end = 0;
    Elf64_Ehdr head;
    Elf64_Phdr part;

    if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_type != ET_CORE ||
        head.e_phentsize != sizeof(part) || head.e_phoff > INT64_MAX / 2)
        return 0;
    for (size_t i = 0; i < head.e_phnum; i++) {
        if (pread(fd, &part, sizeof(part),
                  (off_t)(head.e_phoff + i * sizeof(part))) !=
            (ssize_t)sizeof(part))
            return head.e_phoff + (i + 1) * sizeof(part);
        if (part.p_offset <= INT64_MAX && part.p_filesz <= INT64_MAX &&
            part.p_offset + part.p_filesz > end)
            end = part.p_offset + part.p_filesz;
    }
    return end;
}

void corefile_flaw(char text[static COREFILE_FLAW_SIZE], const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char start[8] = "";
    struct stat status;
    uint64_t end;

    text[0] = '\0';
    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        pread(fd, start, sizeof(start), 0) > 0) {
        for (size_t i = 0; i < sizeof(compressions) / sizeof(compressions[0]);
             i++)
            if (memcmp(start, compressions[i].start,
                       strlen(compressions[i].start)) == 0)
                snprintf(text, COREFILE_FLAW_SIZE,
                         "it is compressed: decompress it first, with %s",
                         compressions[i].command);
        end = find_end(fd);
        if ((uint64_t)status.st_size < end)
            snprintf(text, COREFILE_FLAW_SIZE,
                     "its end is missing: it has %" PRIdMAX " of %" PRIu64
                     " bytes; see ulimit -c, and whether the disk was full",
                     (intmax_t)status.st_size, end);
    }
    close(fd);
}
