/* names.c - see names.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf() */
#endif
#include "stat/names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define DELETED " (deleted)"

/* Bytes of a build-id that identify a file; more are not looked at. */
#define BUILD_ID_MAX 32

struct name_key {
    unsigned char module[BUILD_ID_MAX];
    uint64_t offset;
};

struct name {
    UT_hash_handle hh;
    struct name_key key;
    struct frame frame;
    char *function;
    char *file;
};

struct names {
    struct name *names;
    struct name *nowhere; /* for addresses outside all modules */
};

/* One mapped file. */
struct module {
    struct modules *modules;
    struct module *next;
    struct stat stat; /* of the file, once it was opened */
};

struct modules {
    pid_t pid;
    char exe[PATH_MAX]; /* what /proc/PID/exe points to */
    Dwfl *dwfl;
    struct module *list;
};

static void name_free(struct name *name)
{
    if (!name)
        return;
    free(name->function);
    free(name->file);
    free(name);
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
    struct name *name;
    struct name *next;

    if (!names)
        return;
    HASH_ITER(hh, names->names, name, next)
    {
        HASH_DEL(names->names, name);
        name_free(name);
    }
    name_free(names->nowhere);
    free(names);
}

/* Whether `path` ends in the kernel's mark of a deleted file. */
static bool is_deleted(const char *path)
{
    size_t len = strlen(path);

    return len > strlen(DELETED) &&
           strcmp(path + len - strlen(DELETED), DELETED) == 0;
}

/* Write the path by which /proc gives the file mapped at `base`, even if it
 * has no name any more. Returns whether there is such a mapping. */
static bool mapped_file(char *path, size_t size, pid_t pid, Dwarf_Addr base)
{
    char line[PATH_MAX + 128];
    unsigned long first;
    unsigned long behind;
    bool found = false;
    FILE *maps;

    snprintf(path, size, "/proc/%d/maps", (int)pid);
    maps = fopen(path, "re");
    if (!maps)
        return false;
    while (!found && fgets(line, sizeof(line), maps)) {
        found = sscanf(line, "%lx-%lx", &first, &behind) == 2 && first == base;
    }
    fclose(maps);
    if (found)
        snprintf(path, size, "/proc/%d/map_files/%lx-%lx", (int)pid, first,
                 behind);
    return found;
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
    int fd;

    if (!modules || name[0] != '/')
        return dwfl_linux_proc_find_elf(dwfl_module, userdata, name, base,
                                        file_name, elf);
    if (strcmp(name, modules->exe) == 0)
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)modules->pid);
    else if (!is_deleted(name))
        snprintf(path, sizeof(path), "/proc/%d/root%s", (int)modules->pid,
                 name);
    else if (!mapped_file(path, sizeof(path), modules->pid, base))
        return -1;
    /* Devices can be mapped too, and opening one may do anything. */
    if (stat(path, &module->stat) < 0 || !S_ISREG(module->stat.st_mode))
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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

/* Read what unwinding needs, while the process still runs. */
static int module_prepare(Dwfl_Module *dwfl_module,
                          void **userdata,
                          const char *name,
                          Dwarf_Addr base,
                          void *arg)
{
    Dwarf_Addr bias;

    (void)userdata;
    (void)name;
    (void)base;
    (void)arg;
    dwfl_module_eh_cfi(dwfl_module, &bias);
    return DWARF_CB_OK;
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
    modules->pid = pid;
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
    dwfl_getmodules(modules->dwfl, module_prepare, NULL, 0);
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

    if (!modules)
        return;
    if (modules->dwfl)
        dwfl_end(modules->dwfl);
    while ((module = modules->list) != NULL) {
        modules->list = module->next;
        free(module);
    }
    free(modules);
}

Dwfl *modules_dwfl(const struct modules *modules)
{
    return modules->dwfl;
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

/* Fill in what is known of `pc`. Returns 0 or -ENOMEM. */
static int name_make(struct name *name, Dwfl_Module *module, Dwarf_Addr pc)
{
    const char *path;
    const char *function;
    const char *source = NULL;
    Dwarf_Addr start;
    GElf_Off offset;
    GElf_Sym symbol;
    Dwfl_Line *place;
    int line = 0;

    path = base_name(
        dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL));
    function =
        dwfl_module_addrinfo(module, pc, &offset, &symbol, NULL, NULL, NULL);
    if (function && symbol.st_size && offset >= symbol.st_size)
        function = NULL;
    if (function)
        name->function = strndup(function, (size_t)name_len(function));
    else if (asprintf(&name->function, "%.*s+0x%llx", (int)strcspn(path, " "),
                      path, (unsigned long long)(pc - start)) < 0)
        name->function = NULL;
    place = is_runtime(path) ? NULL : dwfl_module_getsrc(module, pc);
    if (place)
        source = dwfl_lineinfo(place, NULL, &line, NULL, NULL, NULL);
    name->file = strdup(source ? base_name(source) : "");
    if (!name->function || !name->file)
        return -ENOMEM;
    name->frame = (struct frame){name->function, name->file,
                                 source && line > 0 ? (uint32_t)line : 0};
    return 0;
}

/* What identifies a module: its build-id, else its file. */
static void key_set(struct name_key *key, Dwfl_Module *dwfl_module)
{
    const unsigned char *bits;
    struct module *module;
    void **userdata;
    GElf_Addr address;
    int len;

    len = dwfl_module_build_id(dwfl_module, &bits, &address);
    if (len > 0) {
        memcpy(key->module, bits,
               (size_t)(len < BUILD_ID_MAX ? len : BUILD_ID_MAX));
        return;
    }
    dwfl_module_info(dwfl_module, &userdata, NULL, NULL, NULL, NULL, NULL,
                     NULL);
    module = *userdata;
    memcpy(key->module, &module->stat.st_dev, sizeof(module->stat.st_dev));
    memcpy(key->module + 8, &module->stat.st_ino, sizeof(module->stat.st_ino));
    memcpy(key->module + 16, &module->stat.st_mtim,
           sizeof(module->stat.st_mtim));
}

static int name_nowhere(struct names *names, const struct frame **out)
{
    struct name *name = names->nowhere;

    if (!name) {
        name = calloc(1, sizeof(*name));
        if (!name)
            return -ENOMEM;
        name->frame = (struct frame){"[no module]", "", 0};
        names->nowhere = name;
    }
    *out = &name->frame;
    return 0;
}

int names_look_up(struct names *names,
                  const struct modules *modules,
                  Dwarf_Addr pc,
                  const struct frame **out)
{
    Dwfl_Module *module = dwfl_addrmodule(modules->dwfl, pc);
    struct name_key key;
    struct name *name;
    Dwarf_Addr start;

    if (!module)
        return name_nowhere(names, out);
    memset(&key, 0, sizeof(key));
    key_set(&key, module);
    dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
    key.offset = pc - start;
    HASH_FIND(hh, names->names, &key, sizeof(key), name);
    if (!name) {
        name = calloc(1, sizeof(*name));
        if (!name)
            return -ENOMEM;
        name->key = key;
        if (name_make(name, module, pc) < 0) {
            name_free(name);
            return -ENOMEM;
        }
        HASH_ADD(hh, names->names, key, sizeof(key), name);
        if (!name->hh.tbl) {
            name_free(name);
            return -ENOMEM;
        }
    }
    *out = &name->frame;
    return 0;
}
