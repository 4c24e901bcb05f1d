/* names.c - see names.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf() */
#endif
#include "stat/walk/names.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "stat/walk/source.h"

/* What the kernel puts behind the name of a file that was deleted, and what in
 * place of the end of a line. */
#define DELETED      " (deleted)"
#define ESCAPED_LINE "\\012"

/* Bytes of a build-id that identify a file; more are not looked at. */
#define BUILD_ID_MAX 32

/* Most functions that are inlined in each other at one address. */
#define INLINED_MAX 32

/* Most bytes of what a program is told at its start that are compared. */
#define START_MAX 1024

/* What has been asked about one address. */
struct name {
    UT_hash_handle hh;
    uint64_t offset;
    struct frame *frames; /* outermost first; their strings are ours */
    size_t count;
};

/* A module, once, with a session in which it can be looked up. */
struct known {
    UT_hash_handle hh;
    struct modules *modules; /* one reference is ours */
    Dwfl_Module *dwfl_module;
    struct name *names;
    char text[]; /* its identity, a space, its path */
};

struct names {
    struct known *modules;
};

/* One mapped file. */
struct module {
    struct modules *modules;
    struct module *next;
    const struct known *known; /* once an address in it was placed */
    struct stat stat;          /* of the file, once it was opened */
};

struct modules {
    unsigned references;
    pid_t pid;
    char exe[PATH_MAX];    /* what /proc/PID/exe points to */
    char start[START_MAX]; /* what the kernel told the program at its start */
    size_t start_len;
    Dwfl *dwfl;
    struct module *list;
    struct python_place python;
    int core_fd; /* of a core file; else -1 */
    Elf *core;
};

static void name_free(struct name *name)
{
    size_t i;

    for (i = 0; i < name->count; i++) {
        free((char *)name->frames[i].function);
        free((char *)name->frames[i].file);
    }
    free(name->frames);
    free(name);
}

static void names_clear(struct name **names)
{
    struct name *name, *next;

    HASH_ITER (hh, *names, name, next) {
        HASH_DEL(*names, name);
        name_free(name);
    }
}

int names_new(struct names **out)
{
    struct names *names = calloc(1, sizeof(*names));

    if (!names)
        return -ENOMEM;
    *out = names;
    return 0;
}

void names_free(struct names *names)
{
    struct known *known, *next;

    if (!names)
        return;
    HASH_ITER (hh, names->modules, known, next) {
        HASH_DEL(names->modules, known);
        names_clear(&known->names);
        modules_free(known->modules);
        free(known);
    }
    free(names);
}

/* Whether `path` ends in the kernel's mark of a deleted file. */
static bool is_deleted(const char *path)
{
    size_t len = strlen(path);

    return len > strlen(DELETED) &&
           strcmp(path + len - strlen(DELETED), DELETED) == 0;
}

/* One line of what a process has mapped. */
struct mapping {
    unsigned long first;
    unsigned long behind;
    dev_t device;
    ino_t inode;
};

/* Find what is mapped at `base`. Returns whether there is something. */
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

/* Open a file that is mapped: devices can be, too, and opening one may do
 * anything. Returns a descriptor or -1. */
static int open_regular(const char *path, struct stat *status)
{
    if (stat(path, status) < 0 || !S_ISREG(status->st_mode))
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Write `name` as the file is called: maps has "\012" for the end of a line.
 */
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

/* Open the file that is mapped at `base` although it has no such name for the
 * process: it has none any more, or only outside of the process's root. */
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
    /* That takes privileges; its name here is as good, if it is the same. */
    unescape(path, size, name);
    if (stat(path, status) < 0 || status->st_dev != mapping.device ||
        status->st_ino != mapping.inode)
        return -1;
    return open_regular(path, status);
}

/* For libdwfl: open the file of a module. Returns a descriptor, or -1 if
 * there is none: then the module has no names and no unwinding. */
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

/* Begin the list of modules, so that find_elf() knows whose they are. */
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
    (void)name;
    (void)base;
    dwfl_module_eh_cfi(dwfl_module, &bias);
    if (modules->python.runtime == 0)
        python_find(&modules->python, dwfl_module, modules->pid);
    return DWARF_CB_OK;
}

/* Read what the kernel told the program of `pid` at its start: there are
 * addresses in it which it draws for each program. Returns its length, 0 if it
 * may not be read. */
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

    if (start_len == 0) /* it ends, or is not ours to look at */
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
    /* First: what comes later is to be of the same program. */
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

const char *frame_module_name(const char *module)
{
    const char *space = strchr(module, ' ');
    const char *path = space ? space + 1 : module;
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* What is behind the last slash. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Whether a module is the C library or the kernel's: their lines say nothing
 * to who looks for a hang. */
static bool is_runtime(const char *module)
{
    return module[0] == '[' || strncmp(module, "libc.so", 7) == 0 ||
           strncmp(module, "libc-", 5) == 0 ||
           strncmp(module, "libpthread", 10) == 0 ||
           strncmp(module, "ld-", 3) == 0;
}

/* How long the name in a symbol is, without its version and without what the
 * compiler adds to copies and parts of a function. */
static int name_len(const char *symbol)
{
    static const char *const suffixes[] = {
        "@", ".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.",
    };
    size_t len = strlen(symbol);
    size_t i;

    for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        const char *suffix = strstr(symbol, suffixes[i]);

        if (suffix && suffix > symbol && (size_t)(suffix - symbol) < len)
            len = (size_t)(suffix - symbol);
    }
    return (int)len;
}

/* Write what identifies a module: its build-id, else its file. */
static void identity(char *text, size_t size, Dwfl_Module *dwfl_module)
{
    const unsigned char *bits;
    struct module *module;
    void **userdata;
    GElf_Addr address;
    int len, i;

    len = dwfl_module_build_id(dwfl_module, &bits, &address);
    for (i = 0; i < len && i < BUILD_ID_MAX; i++)
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

/* The one record of a module of a session; NULL without memory. */
static const struct known *known_of(struct names *names,
                                    struct modules *modules,
                                    Dwfl_Module *dwfl_module)
{
    char id[2 * BUILD_ID_MAX + 64], *text;
    const char *path;
    struct known *known;
    int len;

    path =
        dwfl_module_info(dwfl_module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    identity(id, sizeof(id), dwfl_module);
    /* "[vdso: 42]" and "/a/b (deleted)" are the same without what follows */
    len = (int)(path[0] == '[' ? strcspn(path, ":]") : strlen(path));
    if (path[0] != '[' && is_deleted(path))
        len -= (int)strlen(DELETED);
    if (asprintf(&text, "%s %.*s%s", id, len, path, path[0] == '[' ? "]" : "") <
        0)
        return NULL;
    HASH_FIND_STR(names->modules, text, known);
    if (known)
        goto out;
    known = calloc(1, sizeof(*known) + strlen(text) + 1);
    if (!known)
        goto out;
    strcpy(known->text, text);
    known->dwfl_module = dwfl_module;
    HASH_ADD_STR(names->modules, text, known);
    if (!known->hh.tbl) {
        free(known);
        known = NULL;
        goto out;
    }
    known->modules = modules;
    modules->references++;
out:
    free(text);
    return known;
}

int names_place(struct names *names,
                struct modules *modules,
                Dwarf_Addr pc,
                struct frame *out)
{
    Dwfl_Module *dwfl_module = dwfl_addrmodule(modules->dwfl, pc);
    struct module *module;
    void **userdata;
    Dwarf_Addr start;

    if (!dwfl_module) {
        *out = FRAME_NOTE("[no module]");
        return 0;
    }
    dwfl_module_info(dwfl_module, &userdata, &start, NULL, NULL, NULL, NULL,
                     NULL);
    module = *userdata;
    if (!module->known) {
        module->known = known_of(names, modules, dwfl_module);
        if (!module->known)
            return -ENOMEM;
    }
    *out = (struct frame){"", "", 0, module->known->text, pc - start, false};
    return 0;
}

/* Demangle `symbol` with the C++ library, where there is one. NULL: it is no
 * C++ name, or there is none. The caller frees it. */
static char *demangle(const char *symbol)
{
    typedef char *demangle_fn(const char *, char *, size_t *, int *);
    static demangle_fn *function;
    static bool looked;
    int status;

    if (strncmp(symbol, "_Z", 2) != 0)
        return NULL;
    if (!looked) {
        void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);

        looked = true;
        if (library)
            function = (demangle_fn *)dlsym(library, "__cxa_demangle");
    }
    return function ? function(symbol, NULL, NULL, &status) : NULL;
}

/* Add a frame that is further in than the last; `function` is taken. */
static int frame_add(struct name *name,
                     char *function,
                     const char *file,
                     int line)
{
    char *copy = strdup(file ? base_name(file) : "");

    if (!function || !copy) {
        free(function);
        free(copy);
        return -ENOMEM;
    }
    name->frames[name->count++] = (struct frame){
        function, copy, file && line > 0 ? (uint32_t)line : 0, "", 0, false};
    return 0;
}

/* The name of an address that has no function in the source: its symbol, else
 * its module and offset. The caller frees it; NULL without memory. */
static char *symbol_of(const struct name *name,
                       const char *path,
                       Dwfl_Module *dwfl_module,
                       Dwarf_Addr pc)
{
    char *function;
    const char *symbol;
    GElf_Off offset;
    GElf_Sym entry;

    symbol = dwfl_module_addrinfo(dwfl_module, pc, &offset, &entry, NULL, NULL,
                                  NULL);
    if (symbol && (entry.st_size == 0 || offset < entry.st_size)) {
        function = demangle(symbol);
        return function ? function : strndup(symbol, (size_t)name_len(symbol));
    }
    if (asprintf(&function, "%s+0x%llx", path,
                 (unsigned long long)name->offset) < 0)
        return NULL;
    return function;
}

/* Fill in what is known of an address. Returns 0 or -ENOMEM. */
static int name_make(struct name *name,
                     const char *module,
                     Dwfl_Module *dwfl_module)
{
    const char *path = frame_module_name(module);
    struct source places[INLINED_MAX] = {{NULL, NULL, NULL, 0}};
    size_t count = 0, i;
    Dwarf_Addr start, pc;
    int r = 0;

    name->frames = calloc(INLINED_MAX, sizeof(*name->frames));
    if (!name->frames)
        return -ENOMEM;
    dwfl_module_info(dwfl_module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
    pc = start + name->offset;
    if (!is_runtime(path))
        count = source_find(places, INLINED_MAX, dwfl_module, pc);
    if (count == 0)
        count = 1;
    for (i = count; r == 0 && i-- > 0;) { /* outermost first */
        const struct source *place = &places[i];
        char *function = NULL;

        if (i + 1 == count)
            function = symbol_of(name, path, dwfl_module, pc);
        else if (place->linkage)
            function = demangle(place->linkage);
        if (!function && place->name)
            function = strdup(place->name);
        r = frame_add(name, function, place->file, place->line);
    }
    return r;
}

int names_of(struct names *names,
             const char *module,
             uint64_t offset,
             const struct frame **frames,
             size_t *count)
{
    struct known *known;
    struct name *name;
    int r;

    HASH_FIND_STR(names->modules, module, known);
    if (!known)
        return -ENOENT;
    HASH_FIND(hh, known->names, &offset, sizeof(offset), name);
    if (!name) {
        name = calloc(1, sizeof(*name));
        if (!name)
            return -ENOMEM;
        name->offset = offset;
        r = name_make(name, module, known->dwfl_module);
        if (r == 0) {
            HASH_ADD(hh, known->names, offset, sizeof(offset), name);
            r = name->hh.tbl ? 0 : -ENOMEM;
        }
        if (r < 0) {
            name_free(name);
            return r;
        }
    }
    *frames = name->frames;
    *count = name->count;
    return 0;
}
