/* environment.c - see environment.h. */
#include "stat/job/environment.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/walk/memory.h"
#include "stat/walk/touch.h"

/* Limits of what is read from a process, whose memory may contain anything. */
#define HEADERS_MAX 64    /* program headers */
#define DYNAMIC_MAX 256   /* entries of a dynamic section */
#define MODULES_MAX 1024  /* modules of the dynamic linker's list */
#define CHAIN_MAX   4096  /* symbols with the same hash */
#define LINES_MAX   16384 /* variables */

/* Texts do not cross into the next page without need: it may not exist. */
#define PAGE_SIZE 4096

bool environment_read(pid_t pid, environment_fn fn, void *arg)
{
    char path[64], *line = NULL;
    bool any = false;
    size_t room = 0;
    FILE *file;

    if (!touch_words(pid))
        return false;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    while (getdelim(&line, &room, '\0', file) > 0) {
        any = any || strchr(line, '=') != NULL;
        fn(arg, line);
    }
    free(line);
    fclose(file);
    return any;
}

/* Read a text at `address`; it is cut to `size`. Returns whether there is
 * one. */
static bool read_text(pid_t pid, uint64_t address, char *text, size_t size)
{
    size_t len = 0;

    while (len < size - 1) {
        size_t part = PAGE_SIZE - (address + len) % PAGE_SIZE;

        if (part > size - 1 - len)
            part = size - 1 - len;
        if (!memory_read(pid, address + len, text + len, part))
            return false;
        if (memchr(text + len, '\0', part))
            return true;
        len += part;
    }
    text[len] = '\0';
    return true;
}

/* What is read of a module's dynamic section. */
struct dynamic {
    uint64_t hash; /* addresses; 0: not there */
    uint64_t symbols;
    uint64_t strings;
    uint64_t debug;
};

/* Read the dynamic section at `address` of a module that was moved by `bias`. */
static void read_dynamic(struct dynamic *dynamic,
                         pid_t pid,
                         uint64_t address,
                         uint64_t bias)
{
    Elf64_Dyn entry;

    *dynamic = (struct dynamic){0};
    for (size_t i = 0; i < DYNAMIC_MAX; i++) {
        uint64_t value;

        if (!memory_read(pid, address + i * sizeof(entry), &entry,
                         sizeof(entry)) ||
            entry.d_tag == DT_NULL)
            return;
        /* The linker has replaced most of them by addresses. */
        value = entry.d_un.d_ptr < bias ? entry.d_un.d_ptr + bias
                                        : entry.d_un.d_ptr;
        if (entry.d_tag == DT_GNU_HASH)
            dynamic->hash = value;
        else if (entry.d_tag == DT_SYMTAB)
            dynamic->symbols = value;
        else if (entry.d_tag == DT_STRTAB)
            dynamic->strings = value;
        else if (entry.d_tag == DT_DEBUG)
            dynamic->debug = entry.d_un.d_ptr;
    }
}

/* The hash of a name in a table of DT_GNU_HASH. */
static uint32_t hash_name(const char *name)
{
    uint32_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* Find the address of the variable `name`, which the module defines. Returns
 * whether it does. */
static bool find_symbol(uint64_t *address,
                        pid_t pid,
                        const struct dynamic *dynamic,
                        uint64_t bias,
                        const char *name)
{
    uint32_t head[4], hash = hash_name(name), number, link;
    uint64_t buckets, chains;
    char text[16];

    if (!dynamic->hash || !dynamic->symbols || !dynamic->strings ||
        !memory_read(pid, dynamic->hash, head, sizeof(head)) || head[0] == 0)
        return false;
    buckets = dynamic->hash + sizeof(head) + UINT64_C(8) * head[2];
    chains = buckets + UINT64_C(4) * head[0];
    if (!memory_read(pid, buckets + UINT64_C(4) * (hash % head[0]), &number,
                     sizeof(number)) ||
        number < head[1])
        return false;
    for (size_t steps = 0; steps < CHAIN_MAX; steps++, number++) {
        Elf64_Sym symbol;

        if (!memory_read(pid, chains + UINT64_C(4) * (number - head[1]), &link,
                         sizeof(link)))
            return false;
        if ((link | 1) == (hash | 1) &&
            memory_read(pid,
                        dynamic->symbols + (uint64_t)number * sizeof(symbol),
                        &symbol, sizeof(symbol)) &&
            symbol.st_shndx != SHN_UNDEF &&
            read_text(pid, dynamic->strings + symbol.st_name, text,
                      sizeof(text)) &&
            strcmp(text, name) == 0) {
            *address = bias + symbol.st_value;
            return true;
        }
        if (link & 1)
            return false;
    }
    return false;
}

/* Where the kernel has put the program headers of a process. */
static bool find_headers(pid_t pid, uint64_t *address, uint64_t *count)
{
    char path[64];
    Elf64_auxv_t entry;
    uint64_t size = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    *address = *count = 0;
    while (fread(&entry, sizeof(entry), 1, file) == 1) {
        if (entry.a_type == AT_PHDR)
            *address = entry.a_un.a_val;
        else if (entry.a_type == AT_PHNUM)
            *count = entry.a_un.a_val;
        else if (entry.a_type == AT_PHENT)
            size = entry.a_un.a_val;
    }
    fclose(file);
    return *address && *count <= HEADERS_MAX && size == sizeof(Elf64_Phdr);
}

/* Find the dynamic linker's list of modules; 0: there is none. */
static uint64_t find_modules(pid_t pid)
{
    uint64_t address, count, bias = 0, section = 0, map = 0;
    struct dynamic dynamic;
    Elf64_Phdr header;

    if (!find_headers(pid, &address, &count))
        return 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!memory_read(pid, address + i * sizeof(header), &header,
                         sizeof(header)))
            return 0;
        if (header.p_type == PT_PHDR)
            bias = address - header.p_vaddr;
        else if (header.p_type == PT_DYNAMIC)
            section = header.p_vaddr;
    }
    if (!section)
        return 0;
    read_dynamic(&dynamic, pid, section + bias, bias);
    /* struct r_debug: a version, then the list */
    if (!dynamic.debug ||
        !memory_read(pid, dynamic.debug + 8, &map, sizeof(map)))
        return 0;
    return map;
}

/* The beginning of a struct link_map, in a 64-bit process. */
struct map {
    uint64_t bias;
    uint64_t name;
    uint64_t dynamic;
    uint64_t next;
};

/* Whether a module may have `environ`: the program, or a C library. */
static bool is_owner(pid_t pid, const struct map *map, bool first)
{
    char name[512];

    return first || (read_text(pid, map->name, name, sizeof(name)) &&
                     (strstr(name, "/libc.so") || strstr(name, "/libc-") ||
                      strstr(name, "/ld-musl")));
}

/* Find the address of `environ`. The first module that has it counts. Returns
 * whether there is one. */
static bool find_environ(uint64_t *address, pid_t pid)
{
    uint64_t at = find_modules(pid);
    struct dynamic dynamic;
    struct map map;

    for (size_t i = 0; at && i < MODULES_MAX; i++, at = map.next) {
        if (!memory_read(pid, at, &map, sizeof(map)))
            return false;
        if (!is_owner(pid, &map, i == 0))
            continue;
        read_dynamic(&dynamic, pid, map.dynamic, map.bias);
        if (find_symbol(address, pid, &dynamic, map.bias, "environ") ||
            find_symbol(address, pid, &dynamic, map.bias, "__environ"))
            return true;
    }
    return false;
}

bool environment_read_live(pid_t pid, environment_fn fn, void *arg)
{
    char line[ENVIRONMENT_LINE_SIZE];
    uint64_t address, list, at;
    bool any = false;

    if (!touch_memory(pid) || !find_environ(&address, pid) ||
        !memory_read(pid, address, &list, sizeof(list)))
        return false;
    for (size_t i = 0; i < LINES_MAX; i++) {
        if (!memory_read(pid, list + i * sizeof(at), &at, sizeof(at)) || !at)
            break;
        if (!read_text(pid, at, line, sizeof(line)))
            continue;
        any = true;
        fn(arg, line);
    }
    return any;
}
