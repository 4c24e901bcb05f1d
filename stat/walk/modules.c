/* modules.c - see modules.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf() */
#endif
#include "stat/walk/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "stat/list.h"
#include "stat/walk/aside.h"
#include "stat/walk/touch.h"

/* The kernel's mark after the name of a deleted file, and its escape of a
 * newline. */
#define DELETED      " (deleted)"
#define ESCAPED_LINE "\\012"

/* Bytes at the beginning of a file that are compared with those in a core file:
 * they say where the file's parts are. */
#define HEAD_SIZE 1024

/* Most bytes of a build-id that are compared. */
#define BUILD_ID_MAX 32

/* Most bytes of a program's auxiliary vector that are compared. */
#define START_MAX 1024

/* One mapped file. */
struct module {
    struct modules *modules;
    struct module *next;
    const void *note; /* modules_note() */
    struct stat stat; /* of the file, once opened */
};

struct modules {
    unsigned references;
    pid_t pid;
    char exe[PATH_MAX];    /* what /proc/PID/exe points to */
    char start[START_MAX]; /* the program's auxiliary vector */
    size_t start_len;
    Dwfl *dwfl;
    struct module *list;
    struct python_place python;
    int core_fd; /* the core file; -1: a process */
    Elf *core;
};

/* Whether `path` ends in the kernel's mark of a deleted file. */
static bool is_deleted(const char *path)
{
    size_t len = strlen(path);

    return len > strlen(DELETED) &&
           strcmp(path + len - strlen(DELETED), DELETED) == 0;
}

/* One mapping of a process. */
struct mapping {
    unsigned long first;
    unsigned long behind;
    dev_t device;
    ino_t inode;
};

/* Find the mapping at `base`. Returns whether there is one. */
static bool find_mapping(struct mapping *out, pid_t pid, Dwarf_Addr base)
{
    char line[PATH_MAX + 128];
    unsigned long inode;
    unsigned major, minor;
    bool found = false;
    FILE *maps;

    snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
    maps = fopen(line, "re");
    if (!maps)
        return false;
    while (!found && fgets(line, sizeof(line), maps))
        found = sscanf(line, "%lx-%lx %*s %*x %x:%x %lu", &out->first,
                       &out->behind, &major, &minor, &inode) == 5 &&
                out->first == base;
    fclose(maps);
    if (found) {
        out->device = makedev(major, minor);
        out->inode = inode;
    }
    return found;
}

/* Open a mapped file, unless it is a device: opening that may have any effect.
 * Returns a descriptor or -1. */
static int open_regular(const char *path, struct stat *status)
{
    if (stat(path, status) < 0 || !S_ISREG(status->st_mode))
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Write the real name of the file that maps calls `name`: there a newline is
 * "\012". */
static void unescape(char *path, size_t size, const char *name)
{
    size_t len = 0;

    while (*name && len + 1 < size) {
        bool escaped = strncmp(name, ESCAPED_LINE, strlen(ESCAPED_LINE)) == 0;

        path[len++] = escaped ? '\n' : *name;
        name += escaped ? strlen(ESCAPED_LINE) : 1;
    }
    path[len] = '\0';
}

/* Open the file mapped at `base` whose name does not exist in the process: it
 * was deleted, or is outside the process's root. */
static int open_mapped(char *path,
                       size_t size,
                       struct module *module,
                       const char *name,
                       Dwarf_Addr base)
{
    struct stat *status = &module->stat;
    pid_t pid = module->modules->pid;
    struct mapping mapping;
    int fd;

    if (!find_mapping(&mapping, pid, base))
        return -1;
    snprintf(path, size, "/proc/%d/map_files/%lx-%lx", (int)pid, mapping.first,
             mapping.behind);
    fd = open_regular(path, status);
    if (fd >= 0)
        return fd;
    /* That needs privileges. The same file by its name here is as good. */
    unescape(path, size, name);
    if (stat(path, status) < 0 || status->st_dev != mapping.device ||
        status->st_ino != mapping.inode)
        return -1;
    return open_regular(path, status);
}

/* For libdwfl: open the file of a module. Returns a descriptor, or -1 if there
 * is none: the module then has no names and cannot be unwound. */
static int find_elf(Dwfl_Module *dwfl_module,
                    void **userdata,
                    const char *name,
                    Dwarf_Addr base,
                    char **file_name,
                    Elf **elf)
{
    struct module *module = *userdata;
    struct modules *modules = module ? module->modules : NULL;
    char path[PATH_MAX + 64];
    int fd = -1;

    if (!modules || name[0] != '/')
        return dwfl_linux_proc_find_elf(dwfl_module, userdata, name, base,
                                        file_name, elf);
    touch_file(modules->pid, name);
    if (strcmp(name, modules->exe) == 0)
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)modules->pid);
    else
        snprintf(path, sizeof(path), "/proc/%d/root%s", (int)modules->pid,
                 name);
    if (strcmp(name, modules->exe) == 0 || !is_deleted(name))
        fd = open_regular(path, &module->stat);
    if (fd < 0)
        fd = open_mapped(path, sizeof(path), module, name, base);
    if (fd >= 0)
        *file_name = strdup(path);
    return fd;
}

/* Note which `struct modules` a module belongs to, for find_elf(). */
static int module_note(Dwfl_Module *dwfl_module,
                       void **userdata,
                       const char *name,
                       Dwarf_Addr base,
                       void *arg)
{
    struct modules *modules = arg;
    struct module *module = calloc(1, sizeof(*module));

    (void)dwfl_module;
    (void)name;
    (void)base;
    if (!module)
        return DWARF_CB_ABORT;
    module->modules = modules;
    module->next = modules->list;
    modules->list = module;
    *userdata = module;
    return DWARF_CB_OK;
}

/* Read what unwinding needs, and look for Python, while the process still
 * runs. */
static int module_prepare(Dwfl_Module *dwfl_module,
                          void **userdata,
                          const char *name,
                          Dwarf_Addr base,
                          void *arg)
{
    struct modules *modules = arg;
    Dwarf_Addr bias;

    (void)userdata;
    (void)base;
    touch_file(modules->pid, name);
    dwfl_module_eh_cfi(dwfl_module, &bias);
    if (modules->python.runtime == 0)
        python_find(&modules->python, dwfl_module, modules->pid);
    return DWARF_CB_OK;
}

/* Read the auxiliary vector of the program of `pid`: it has addresses that the
 * kernel randomises at each execve(). Returns its length, 0 if it may not be
 * read. */
static size_t read_start(char start[static START_MAX], pid_t pid)
{
    char path[64];
    ssize_t len = -1;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        len = read(fd, start, START_MAX);
        close(fd);
    }
    return len > 0 ? (size_t)len : 0;
}

bool modules_are_present(const struct modules *modules)
{
    char start[START_MAX], exe[PATH_MAX], path[64];
    size_t start_len = read_start(start, modules->pid);
    ssize_t len;

    if (start_len == 0) /* it is ending, or may not be read */
        return true;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)modules->pid);
    len = readlink(path, exe, sizeof(exe) - 1);
    return len == (ssize_t)strlen(modules->exe) &&
           memcmp(exe, modules->exe, (size_t)len) == 0 &&
           start_len == modules->start_len &&
           memcmp(start, modules->start, start_len) == 0;
}

int modules_new(struct modules **out, pid_t pid)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
    };
    struct modules *modules;
    char path[64];
    ssize_t len;
    int r;

    modules = calloc(1, sizeof(*modules));
    if (!modules)
        return -ENOMEM;
    modules->references = 1;
    modules->core_fd = -1;
    modules->pid = pid;
    /* First, to detect an execve() during the rest. */
    modules->start_len = read_start(modules->start, pid);
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    len = readlink(path, modules->exe, sizeof(modules->exe) - 1);
    r = len < 0 ? -errno : 0;
    if (r < 0)
        goto out;
    r = -ENOMEM;
    modules->dwfl = dwfl_begin(&callbacks);
    if (!modules->dwfl)
        goto out;
    r = dwfl_linux_proc_report(modules->dwfl, pid);
    if (r != 0) {
        r = r > 0 ? -r : -EIO;
        goto out;
    }
    r = -EIO;
    if (dwfl_report_end(modules->dwfl, NULL, NULL) != 0)
        goto out;
    r = -ENOMEM;
    if (dwfl_getmodules(modules->dwfl, module_note, modules, 0) != 0)
        goto out;
    dwfl_getmodules(modules->dwfl, module_prepare, modules, 0);
    *out = modules;
    modules = NULL;
    r = 0;
out:
    modules_free(modules);
    return r;
}

/* Read up to `size` bytes at `address` of the process that left the core file.
 * Returns how many. */
static size_t core_read(const struct modules *modules,
                        void *out,
                        Dwarf_Addr address,
                        size_t size)
{
    size_t count = 0;
    GElf_Phdr part;
    ssize_t len;

    if (elf_getphdrnum(modules->core, &count) < 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(modules->core, (int)i, &part) ||
            part.p_type != PT_LOAD || address < part.p_vaddr ||
            address - part.p_vaddr >= part.p_filesz)
            continue;
        if (size > part.p_filesz - (address - part.p_vaddr))
            size = part.p_filesz - (address - part.p_vaddr);
        len = pread(modules->core_fd, out, size,
                    (off_t)(part.p_offset + (address - part.p_vaddr)));
        return len > 0 ? (size_t)len : 0;
    }
    return 0;
}

/* Whether the file at the path of a module certainly is not the one that the
 * process had mapped at `start`. */
static bool is_replaced(const struct modules *modules,
                        const char *name,
                        Dwarf_Addr start)
{
    char had[HEAD_SIZE], has[HEAD_SIZE];
    size_t len = core_read(modules, had, start, sizeof(had));
    struct stat status;
    ssize_t now = -1;
    int fd;

    if (name[0] != '/' || len < SELFMAG || memcmp(had, ELFMAG, SELFMAG) != 0)
        return false;
    fd = open_regular(name, &status);
    if (fd < 0)
        return false;
    now = pread(fd, has, len, 0);
    close(fd);
    return now != (ssize_t)len || memcmp(had, has, len) != 0;
}

/* The modules of a core file, as they are reported again. */
struct again {
    struct modules *modules;
    struct again_module {
        char *name;
        Dwarf_Addr start;
        Dwarf_Addr end;
    } * list;
    size_t count;
};

static int again_add(Dwfl_Module *dwfl_module,
                     void **userdata,
                     const char *name,
                     Dwarf_Addr base,
                     void *arg)
{
    struct again *again = arg;
    struct again_module *module;
    int len;

    (void)userdata;
    (void)base;
    if (list_grow(&again->list, again->count, sizeof(*module)) < 0)
        return DWARF_CB_ABORT;
    module = &again->list[again->count];
    dwfl_module_info(dwfl_module, NULL, &module->start, &module->end, NULL,
                     NULL, NULL, NULL);
    len = asprintf(&module->name, "%s%s", name,
                   is_replaced(again->modules, name, module->start)
                       ? MODULES_REPLACED
                       : "");
    if (len < 0)
        return DWARF_CB_ABORT;
    again->count++;
    return DWARF_CB_OK;
}

/* Report the modules of a core file again, so that those whose files have been
 * replaced are without a file. libdwfl compares build-ids, but takes any file
 * if there are none. Returns 0 or -ENOMEM. */
static int drop_replaced(struct modules *modules)
{
    struct again again = {.modules = modules};
    int r = 0;

    if (dwfl_getmodules(modules->dwfl, again_add, &again, 0) != 0)
        r = -ENOMEM;
    if (r == 0)
        dwfl_report_begin(modules->dwfl);
    for (size_t i = 0; i < again.count; i++) {
        const struct again_module *module = &again.list[i];

        if (r == 0 && !dwfl_report_module(modules->dwfl, module->name,
                                          module->start, module->end))
            r = -ENOMEM;
        free(module->name);
    }
    free(again.list);
    return r == 0 && dwfl_report_end(modules->dwfl, NULL, NULL) != 0 ? -ENOMEM
                                                                     : r;
}

int modules_new_core(struct modules **out, const char *path)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
    };
    struct modules *modules = calloc(1, sizeof(*modules));
    int r = -ENOMEM;

    if (!modules)
        return r;
    modules->references = 1;
    modules->core_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (modules->core_fd < 0) {
        r = -errno;
        goto out;
    }
    elf_version(EV_CURRENT);
    modules->dwfl = dwfl_begin(&callbacks);
    if (!modules->dwfl)
        goto out;
    r = -ENOEXEC;
    modules->core = elf_begin(modules->core_fd, ELF_C_READ_MMAP, NULL);
    if (!modules->core ||
        dwfl_core_file_report(modules->dwfl, modules->core, NULL) <= 0 ||
        dwfl_report_end(modules->dwfl, NULL, NULL) != 0)
        goto out;
    r = drop_replaced(modules);
    if (r < 0)
        goto out;
    r = -ENOEXEC;
    modules->pid = dwfl_core_file_attach(modules->dwfl, modules->core);
    if (modules->pid <= 0)
        goto out;
    r = -ENOMEM;
    if (dwfl_getmodules(modules->dwfl, module_note, modules, 0) != 0)
        goto out;
    *out = modules;
    modules = NULL;
    r = 0;
out:
    modules_free(modules);
    return r;
}

/* Write the identity of a module: its build-id, else that of its file. */
static void identity(char *text, size_t size, Dwfl_Module *dwfl_module)
{
    const unsigned char *bits;
    struct module *module;
    void **userdata;
    GElf_Addr address;
    int len;

    len = dwfl_module_build_id(dwfl_module, &bits, &address);
    for (int i = 0; i < len && i < BUILD_ID_MAX; i++)
        snprintf(text + 2 * i, size - 2 * (size_t)i, "%02x", bits[i]);
    if (len > 0)
        return;
    dwfl_module_info(dwfl_module, &userdata, NULL, NULL, NULL, NULL, NULL,
                     NULL);
    module = *userdata;
    snprintf(text, size, "%jx-%jx-%jx.%lx", (uintmax_t)module->stat.st_dev,
             (uintmax_t)module->stat.st_ino,
             (uintmax_t)module->stat.st_mtim.tv_sec,
             module->stat.st_mtim.tv_nsec);
}

int modules_text(char **out, Dwfl_Module *dwfl_module)
{
    char id[2 * BUILD_ID_MAX + 64];
    const char *path =
        dwfl_module_info(dwfl_module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    int len;

    identity(id, sizeof(id), dwfl_module);
    /* "[vdso: 42]" and "/a/b (deleted)" are compared without suffix */
    len = (int)(path[0] == '[' ? strcspn(path, ":]") : strlen(path));
    if (path[0] != '[' && is_deleted(path))
        len -= (int)strlen(DELETED);
    return asprintf(out, "%s %.*s%s", id, len, path,
                    path[0] == '[' ? "]" : "") < 0
               ? -ENOMEM
               : 0;
}

int modules_new_file(struct modules **out, const char *text)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
    };
    const char *space = strchr(text, ' ');
    struct modules *modules;
    Dwfl_Module *found;
    struct stat status;
    char *real = NULL;
    int fd, r = -ENOENT;

    if (!space || space[1] != '/')
        return r;
    /* A process that is watched may touch it. */
    if (!touch_is_watched() && !aside_answers(space + 1))
        return r;
    fd = open_regular(space + 1, &status);
    if (fd < 0)
        return r;
    modules = calloc(1, sizeof(*modules));
    if (!modules) {
        close(fd);
        return -ENOMEM;
    }
    modules->references = 1;
    modules->core_fd = -1;
    modules->dwfl = dwfl_begin(&callbacks);
    found = modules->dwfl
                ? dwfl_report_offline(modules->dwfl, space + 1, space + 1, fd)
                : NULL;
    if (!found)
        close(fd); /* else the session owns it */
    if (!found || dwfl_report_end(modules->dwfl, NULL, NULL) != 0 ||
        dwfl_getmodules(modules->dwfl, module_note, modules, 0) != 0)
        goto out;
    modules->list->stat = status;
    r = modules_text(&real, found);
    if (r == 0 && strcmp(real, text) != 0)
        r = -ENOENT; /* another version of the file */
    if (r < 0)
        goto out;
    *out = modules;
    modules = NULL;
out:
    free(real);
    modules_free(modules);
    return r;
}

struct modules *modules_ref(struct modules *modules)
{
    modules->references++;
    return modules;
}

void modules_free(struct modules *modules)
{
    struct module *module;

    if (!modules || --modules->references > 0)
        return;
    if (modules->dwfl)
        dwfl_end(modules->dwfl);
    while ((module = modules->list) != NULL) {
        modules->list = module->next;
        free(module);
    }
    elf_end(modules->core);
    if (modules->core_fd >= 0)
        close(modules->core_fd);
    free(modules);
}

const struct python_place *modules_python(const struct modules *modules)
{
    return &modules->python;
}

Dwfl *modules_dwfl(const struct modules *modules)
{
    return modules->dwfl;
}

const void **modules_note(Dwfl_Module *dwfl_module)
{
    struct module *module;
    void **userdata;

    dwfl_module_info(dwfl_module, &userdata, NULL, NULL, NULL, NULL, NULL,
                     NULL);
    module = *userdata;
    return &module->note;
}
