/* elf.c - whether a shared object is whole. */
#include "filters/elf.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The class of the shared objects that this process can load. */
#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

/* The end of `len` bytes at `offset`; UINT64_MAX if there is none. */
static uint64_t end_of(uint64_t offset, uint64_t len)
{
    return offset > UINT64_MAX - len ? UINT64_MAX : offset + len;
}

/* Read `len` bytes at `offset`, which end within the file. */
static bool read_at(int fd, uint64_t offset, void *out, size_t len)
{
    return pread(fd, out, len, (off_t)offset) == (ssize_t)len;
}

/* Whether the dynamic linker would read the program headers of `header`. */
static bool is_own(const ElfW(Ehdr) * header)
{
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == OWN_CLASS &&
           header->e_version == EV_CURRENT && /* the byte order is right too */
           header->e_phentsize == sizeof(ElfW(Phdr));
}

/* The end of all that the program headers of `header` name, in a file of `has`
 * bytes. There are at most 65535 headers. */
static uint64_t find_end(int fd, const ElfW(Ehdr) * header, uint64_t has)
{
    const uint64_t len = (uint64_t)header->e_phnum * sizeof(ElfW(Phdr));
    uint64_t needs = end_of(header->e_phoff, len), end;
    ElfW(Phdr) part;

    if (needs > has)
        return needs; /* the headers themselves are cut off */
    for (uint32_t i = 0; i < header->e_phnum; i++) {
        if (!read_at(fd, header->e_phoff + i * sizeof(part), &part,
                     sizeof(part)))
            return UINT64_MAX; /* the file has become shorter meanwhile */
        end = end_of(part.p_offset, part.p_filesz);
        if (part.p_type != PT_NULL && part.p_filesz > 0 && end > needs)
            needs = end;
    }
    return needs;
}

bool elf_is_cut(const char *path, uint64_t *has, uint64_t *needs)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ElfW(Ehdr) header;
    struct stat status;
    uint64_t size, end = 0;

    if (fd < 0)
        return false;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        status.st_size = 0;
    size = (uint64_t)status.st_size;
    if (size >= sizeof(header) && read_at(fd, 0, &header, sizeof(header)) &&
        is_own(&header))
        end = find_end(fd, &header, size);
    close(fd);
    if (end <= size)
        return false;
    *has = size;
    *needs = end;
    return true;
}
