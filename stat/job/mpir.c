/* mpir.c - the processes of a job, from the table that its launcher keeps for
 * debuggers. */
#include "stat/job/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat/walk/names.h"

/* Bytes of a host's name in the table. */
#define HOST_MAX 255

/* One row of the table, in a 64-bit launcher. */
struct row {
    uint64_t host;
    uint64_t program;
    int32_t pid;
    int32_t unused;
};

/* Where the launcher keeps what we look for; 0: not found. */
struct symbols {
    Dwarf_Addr table;
    Dwarf_Addr size;
};

static int find_symbols(Dwfl_Module *module,
                        void **userdata,
                        const char *name,
                        Dwarf_Addr base,
                        void *arg)
{
    struct symbols *symbols = arg;
    int count = dwfl_module_getsymtab(module), i;
    GElf_Sym symbol;
    GElf_Addr address;

    (void)userdata;
    (void)name;
    (void)base;
    for (i = 0; i < count; i++) {
        const char *text = dwfl_module_getsym_info(module, i, &symbol, &address,
                                                   NULL, NULL, NULL);

        if (!text || symbol.st_shndx == 0 || strncmp(text, "MPIR_", 5) != 0)
            continue;
        if (strcmp(text, "MPIR_proctable") == 0)
            symbols->table = address;
        else if (strcmp(text, "MPIR_proctable_size") == 0)
            symbols->size = address;
    }
    return symbols->table && symbols->size ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* Read `len` bytes at `address` of the process. Returns 0 or -EIO. */
static int read_at(int memory, void *bytes, size_t len, uint64_t address)
{
    return pread(memory, bytes, len, (off_t)address) == (ssize_t)len ? 0 : -EIO;
}

/* Read a text, which may end near the end of what is mapped. */
static int read_text(int memory, char text[HOST_MAX + 1], uint64_t address)
{
    size_t len = 0;

    while (len < HOST_MAX && read_at(memory, text + len, 1, address + len) == 0)
        if (text[len++] == '\0')
            return 0;
    return -EIO;
}

/* Add all rows of the table. */
static int add_rows(struct targets *targets,
                    int memory,
                    const struct symbols *symbols,
                    pid_t pid,
                    struct cop_error *error)
{
    char host[HOST_MAX + 1];
    uint64_t at = 0;
    int32_t count = 0, i;
    uint32_t number;
    struct row row;
    int r;

    r = read_at(memory, &count, sizeof(count), symbols->size);
    if (r == 0)
        r = read_at(memory, &at, sizeof(at), symbols->table);
    if (r == 0 && (count <= 0 || (uint32_t)count > TARGETS_MAX || at == 0))
        return cop_error_set(error, -EAGAIN,
                             "pid %d: its MPIR_proctable is empty: has the job "
                             "been started yet?",
                             (int)pid);
    for (i = 0; r == 0 && i < count; i++) {
        r = read_at(memory, &row, sizeof(row), at + (uint64_t)i * sizeof(row));
        if (r == 0)
            r = read_text(memory, host, row.host);
        if (r == 0 && row.pid <= 0)
            r = -EIO;
        if (r == 0)
            r = targets_host(targets, host, &number, error);
        if (r == 0)
            r = targets_add(
                targets, number, row.pid,
                &(struct targets_facts){.rank = {.source = RANK_TABLE,
                                                 .number = (uint32_t)i,
                                                 .size = (uint32_t)count,
                                                 .job = (uint64_t)pid}});
    }
    if (r == -EIO)
        cop_error_set(error, r,
                      "pid %d: its MPIR_proctable cannot be read: is it being "
                      "changed? try again",
                      (int)pid);
    return r;
}

int targets_add_mpir(struct targets *targets,
                     pid_t pid,
                     bool *table,
                     struct cop_error *error)
{
    struct symbols symbols = {0, 0};
    struct modules *modules = NULL;
    char path[64];
    int memory = -1;
    int r;

    *table = false;
    r = modules_new(&modules, pid);
    if (r == -ENOENT || r == -ESRCH)
        return cop_error_set(error, -ESRCH,
                             "pid %d: no such process: has the launcher ended? "
                             "its output may say why",
                             (int)pid);
    if (r == -EACCES || r == -EPERM)
        return cop_error_set(error, r,
                             "pid %d: not permitted: run as the user who has "
                             "started this launcher, or as root",
                             (int)pid);
    if (r < 0)
        return cop_error_set(error, r,
                             "pid %d: cannot look at this launcher: %s",
                             (int)pid, strerror(-r));
    dwfl_getmodules(modules_dwfl(modules), find_symbols, &symbols, 0);
    modules_free(modules);
    if (!symbols.table || !symbols.size)
        return targets_add_children(targets, pid, error);
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    memory = open(path, O_RDONLY | O_CLOEXEC);
    if (memory < 0)
        return cop_error_set(error, -errno,
                             "pid %d: cannot read its memory: %s: be its owner "
                             "or root",
                             (int)pid, strerror(errno));
    *table = true;
    r = add_rows(targets, memory, &symbols, pid, error);
    close(memory);
    return r;
}
