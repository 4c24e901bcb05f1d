/* plugin.c - a filter's shared object: found by name, opened, checked. */
#include "filters/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filters/elf.h"
#include "wire/limits.h"

#define SYMBOL "coppice_filter"

struct plugin {
    void *library;
    const struct cop_filter *filter;
};

/* ---- finding ---- */

static int name_check(const char *name, struct cop_error *error)
{
    if (name[0] == '\0' || strchr(name, '/'))
        return cop_error_set(error, -EINVAL,
                             "filter \"%s\": invalid name: give that of the "
                             "file, without directory and without .so",
                             name);
    if (strlen(name) > LIMIT_FILTER_NAME)
        return cop_error_set(error, -EINVAL,
                             "filter \"%.40s...\": the name is longer than "
                             "%d bytes",
                             name, LIMIT_FILTER_NAME);
    return 0;
}

/* Find `name` in `directories`; the caller frees `*path`. */
static int find_file(char **path,
                     const char *directories,
                     const char *name,
                     struct cop_error *error)
{
    const char *at = directories;
    char *candidate;
    size_t len;

    while (*at) {
        len = strcspn(at, ":");
        if (len > 0) {
            candidate = malloc(len + strlen(name) + sizeof("/.so"));
            if (!candidate)
                return -ENOMEM;
            sprintf(candidate, "%.*s/%s.so", (int)len, at, name);
            if (access(candidate, F_OK) == 0) {
                *path = candidate;
                return 0;
            }
            free(candidate);
        }
        at += len + (at[len] == ':');
    }
    return cop_error_set(error, -ENOENT,
                         "filter \"%s\": there is no %s.so in the filter path "
                         "(%s); put it there, or add its directory",
                         name, name,
                         *directories ? directories : "which is empty");
}

/* ---- checking ---- */

/* The error in the functions of `filter`; NULL: none. */
static const char *members_wrong(const struct cop_filter *filter)
{
    bool keeps = !(filter->laws & COP_STATELESS);

    if (!filter->init != !filter->free)
        return "it needs both of `init` and `free`, or neither";
    if (!filter->filter && !filter->join)
        return "it has neither `filter` nor `join`";
    if (!filter->join && (filter->difference || filter->pack))
        return "`difference` and `pack` are for filters that `join`";
    if (filter->filter && filter->difference)
        return "it has both `filter` and `difference`: the second is for "
               "filters without the first";
    if (filter->filter && filter->get_state && !filter->init)
        return "`get_state` needs `init` and `free`";
    if (filter->join && !filter->init)
        return "`join` needs `init` and `free`";
    if (filter->join && !filter->pack)
        return "`join` needs `pack`";
    if (filter->join && !filter->filter && filter->get_state)
        return "`get_state` is for wave filters: `pack` does it here";
    if (filter->join && !filter->filter && !filter->difference &&
        (filter->laws & COP_INVERTIBLE ||
         (filter->laws & COP_IDEMPOTENT && keeps)))
        return "`join` with COP_IDEMPOTENT or COP_INVERTIBLE needs "
               "`difference`";
    return NULL;
}

static int check_filter(const struct cop_filter *filter,
                        const char *path,
                        const char *name,
                        struct cop_error *error)
{
    const char *wrong;

    if (!filter)
        return cop_error_set(error, -ENOEXEC,
                             "filter \"%s\": %s: " SYMBOL " is NULL", name,
                             path);
    if (filter->abi != COP_FILTER_ABI)
        return cop_error_set(error, -ENOEXEC,
                             "filter \"%s\": %s was built for filter ABI %u, "
                             "this Coppice has ABI %u: compile it again",
                             name, path, filter->abi, COP_FILTER_ABI);
    if (filter->size != sizeof(*filter))
        return cop_error_set(error, -ENOEXEC,
                             "filter \"%s\": %s says that struct cop_filter "
                             "has %u bytes, here it has %zu: set `size` to "
                             "its sizeof and compile it again",
                             name, path, filter->size, sizeof(*filter));
    if (!filter->name || strcmp(filter->name, name) != 0)
        return cop_error_set(error, -ENOEXEC,
                             "filter \"%s\": %s has the name \"%s\": it must "
                             "be the name of the file",
                             name, path, filter->name ? filter->name : "");
    wrong = members_wrong(filter);
    if (wrong)
        return cop_error_set(error, -ENOEXEC, "filter \"%s\": %s: %s", name,
                             path, wrong);
    return 0;
}

/* ---- opening ---- */

static int open_file(void **library,
                     const struct cop_filter **filter,
                     const char *path,
                     const char *name,
                     struct cop_error *error)
{
    const struct cop_filter *const *symbol;
    uint64_t has, needs;
    void *opened;
    int r;

    if (elf_is_cut(path, &has, &needs))
        return cop_error_set(error, -ENOEXEC,
                             "filter \"%s\": %s is cut short: it has %" PRIu64
                             " bytes, and its program headers need %" PRIu64
                             "; look whether the disk or a quota is full, and "
                             "install it again",
                             name, path, has, needs);
    opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!opened)
        return cop_error_set(error, -ENOEXEC,
                             "filter \"%s\": cannot open it: %s; build it "
                             "with -shared -fPIC for this machine",
                             name, dlerror());
    symbol = dlsym(opened, SYMBOL);
    if (!symbol) {
        r = cop_error_set(error, -ENOEXEC,
                          "filter \"%s\": not a filter: %s; end its source "
                          "with COP_FILTER_EXPORT(...)",
                          name, dlerror());
        dlclose(opened);
        return r;
    }
    r = check_filter(*symbol, path, name, error);
    if (r < 0) {
        dlclose(opened);
        return r;
    }
    *library = opened;
    *filter = *symbol;
    return 0;
}

int plugin_open(struct plugin **out,
                const char *directories,
                const char *name,
                struct cop_error *error)
{
    struct plugin *plugin = NULL;
    char *path = NULL;
    int r;

    r = name_check(name, error);
    if (r < 0)
        goto out;
    plugin = malloc(sizeof(*plugin));
    r = plugin ? find_file(&path, directories, name, error) : -ENOMEM;
    if (r == -ENOMEM)
        cop_error_set(error, r, "filter \"%s\": out of memory", name);
    if (r < 0)
        goto out;
    r = open_file(&plugin->library, &plugin->filter, path, name, error);
    if (r < 0)
        goto out;
    *out = plugin;
    plugin = NULL; /* now the caller's */
out:
    free(plugin);
    free(path);
    return r;
}

void plugin_close(struct plugin *plugin)
{
    if (!plugin)
        return;
    dlclose(plugin->library);
    free(plugin);
}

const struct cop_filter *plugin_filter(const struct plugin *plugin)
{
    return plugin->filter;
}

bool plugin_joins(const struct cop_filter *filter)
{
    return !filter->filter;
}

const char *plugin_why_not_total(const struct cop_filter *filter)
{
    const uint32_t needed = COP_ASSOCIATIVE | COP_COMMUTATIVE;

    if (!filter->join)
        return "it has no `join`";
    if ((filter->laws & needed) != needed)
        return "it does not declare COP_ASSOCIATIVE and COP_COMMUTATIVE";
    return NULL;
}

const char *plugin_why_not_recoverable(const struct cop_filter *filter)
{
    if (filter->laws & COP_STATELESS)
        return "it is stateless: what it has taken in cannot be sent again";
    if (!(filter->laws & COP_IDEMPOTENT))
        return "it does not declare COP_IDEMPOTENT";
    if (filter->filter && !filter->get_state)
        return "it has no `get_state`, so its state cannot be sent again";
    return NULL;
}
