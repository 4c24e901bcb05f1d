/* closure.c - see closure.h. */
#include "stat/walk/closure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/list.h"
#include "stat/table.h"
#include "stat/walk/exports.h"
#include "stat/walk/provider.h"

/* Most libraries that one module is taken to need. */
#define NEEDED_MAX 256

/* Most libraries between one and the runtime that needs it. */
#define STEPS_MAX 8

/* A module of the session. */
struct library {
    UT_hash_handle hh; /* by soname */
    const Dwfl_Module *module;
    struct exports exports;
    enum role role;  /* as far as it is known */
    enum role users; /* the role of what needs it; ROLE_COUNT: nothing so far */
    bool is_open;    /* it has no mark */
};

struct closure {
    struct library *list;
    size_t count;
};

void closure_free(struct closure *closure)
{
    if (!closure)
        return;
    free(closure->list);
    free(closure);
}

/* For libdwfl: add a module. */
static int add_library(Dwfl_Module *module,
                       void **userdata,
                       const char *path,
                       Dwarf_Addr base,
                       void *arg)
{
    struct closure *closure = arg;
    struct provider provider;
    struct library *library;

    (void)userdata;
    (void)path;
    (void)base;
    if (list_grow(&closure->list, closure->count, sizeof(*library)) < 0)
        return DWARF_CB_ABORT;
    library = &closure->list[closure->count++];
    provider_find(&provider, module);
    *library = (struct library){.module = module,
                                .role = provider.role,
                                .is_open = provider.role == ROLE_PROGRAM &&
                                           !provider.is_program};
    exports_find(&library->exports, module);
    return DWARF_CB_OK;
}

/* Note for what `library` needs that it is needed. */
static void note_needed(struct library *table, const struct library *library)
{
    const char *name;
    int at = 0;

    for (int i = 0; i < NEEDED_MAX; i++) {
        struct library *needed = NULL;

        name = exports_needed(&library->exports, &at);
        if (!name)
            return;
        HASH_FIND_STR(table, name, needed);
        if (!needed)
            continue;
        if (!role_is_own(library->role))
            needed->users = ROLE_PROGRAM;
        else if (needed->users == ROLE_COUNT)
            needed->users = library->role;
    }
}

/* Give libraries the role of what needs them. Returns whether any got one. */
static bool spread(struct closure *closure, struct library *table)
{
    bool any = false;
    size_t i;

    for (i = 0; i < closure->count; i++)
        closure->list[i].users = ROLE_COUNT;
    for (i = 0; i < closure->count; i++)
        note_needed(table, &closure->list[i]);
    for (i = 0; i < closure->count; i++) {
        struct library *library = &closure->list[i];

        if (!library->is_open || library->users == ROLE_PROGRAM ||
            library->users == ROLE_COUNT)
            continue;
        library->role = library->users;
        library->is_open = false;
        any = true;
    }
    return any;
}

int closure_new(struct closure **out, Dwfl *dwfl)
{
    struct closure *closure = calloc(1, sizeof(*closure));
    struct library *table = NULL;
    bool any = false;
    size_t i;

    if (!closure)
        return -ENOMEM;
    if (dwfl_getmodules(dwfl, add_library, closure, 0) != 0)
        goto fail;
    for (i = 0; i < closure->count; i++)
        any |= role_is_own(closure->list[i].role);
    for (i = 0; any && i < closure->count; i++) {
        struct library *library = &closure->list[i];

        if (!library->exports.soname)
            continue;
        HASH_ADD_KEYPTR(hh, table, library->exports.soname,
                        strlen(library->exports.soname), library);
        if (!library->hh.tbl)
            goto fail;
    }
    for (i = 0; any && i < STEPS_MAX; i++)
        any = spread(closure, table);
    HASH_CLEAR(hh, table);
    *out = closure;
    return 0;
fail:
    HASH_CLEAR(hh, table);
    closure_free(closure);
    return -ENOMEM;
}

enum role closure_role(const struct closure *closure, const Dwfl_Module *module)
{
    for (size_t i = 0; i < closure->count; i++)
        if (closure->list[i].module == module)
            return closure->list[i].role;
    return ROLE_PROGRAM;
}
