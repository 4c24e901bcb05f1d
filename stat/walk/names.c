/* names.c - see names.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf(), basename() */
#endif
#include "stat/walk/names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/table.h"
#include "stat/walk/closure.h"
#include "stat/walk/provider.h"
#include "stat/walk/source.h"
#include "stat/walk/symbol.h"
#include "stat/walk/touch.h"

/* Most functions inlined into each other at one address. */
#define INLINED_MAX 32

/* The name of one address. */
struct name {
    UT_hash_handle hh;
    uint64_t offset;
    struct frame *frames; /* outermost first; owns their strings */
    size_t count;
};

/* A module, with one session in which it can be looked up. */
struct known {
    UT_hash_handle hh;
    struct modules *modules; /* holds one reference */
    Dwfl_Module *dwfl_module;
    struct provider provider;
    struct name *names;
    char text[]; /* modules_text() */
};

struct names {
    struct known *modules;
    struct closure *closure;      /* of the session that was asked last; ... */
    const struct modules *closed; /* ... only compared: which that is */
    bool opens_files;
};

static void name_free(struct name *name)
{
    for (size_t i = 0; i < name->count; i++) {
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

int names_new_from_files(struct names **out)
{
    int r = names_new(out);

    if (r == 0)
        names_open_files(*out);
    return r;
}

void names_open_files(struct names *names)
{
    names->opens_files = true;
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
    closure_free(names->closure);
    free(names);
}

const char *frame_module_name(const char *module)
{
    const char *space = strchr(module, ' ');

    return basename(space ? space + 1 : module);
}

/* Find what a module without a mark belongs to. The session lives as long as
 * `names`, which holds it for this module. Returns 0 or -ENOMEM. */
static int find_owner(struct names *names, struct known *known)
{
    struct provider *provider = &known->provider;
    int r;

    if (provider->role != ROLE_PROGRAM || provider->is_program)
        return 0;
    if (names->closed != known->modules) {
        closure_free(names->closure);
        names->closure = NULL;
        names->closed = NULL;
        r = closure_new(&names->closure, modules_dwfl(known->modules));
        if (r < 0)
            return r;
        names->closed = known->modules;
    }
    provider->role = closure_role(names->closure, known->dwfl_module);
    return 0;
}

/* Add a module of a session, which `names` does not have yet. NULL without
 * memory. */
static struct known *known_add(struct names *names,
                               struct modules *modules,
                               Dwfl_Module *dwfl_module,
                               const char *text)
{
    struct known *known = calloc(1, sizeof(*known) + strlen(text) + 1);

    if (!known)
        return NULL;
    strcpy(known->text, text);
    known->dwfl_module = dwfl_module;
    HASH_ADD_STR(names->modules, text, known);
    if (!known->hh.tbl) {
        free(known);
        return NULL;
    }
    known->modules = modules_ref(modules);
    provider_find(&known->provider, dwfl_module);
    return find_owner(names, known) == 0 ? known : NULL;
}

/* The record of a module, made if it is new; NULL without memory. */
static const struct known *known_of(struct names *names,
                                    struct modules *modules,
                                    Dwfl_Module *dwfl_module)
{
    struct known *known;
    char *text;

    if (modules_text(&text, dwfl_module) < 0)
        return NULL;
    HASH_FIND_STR(names->modules, text, known);
    if (!known)
        known = known_add(names, modules, dwfl_module, text);
    free(text);
    return known;
}

/* For libdwfl: the only module of a session. */
static int take_module(Dwfl_Module *dwfl_module,
                       void **userdata,
                       const char *name,
                       Dwarf_Addr base,
                       void *arg)
{
    Dwfl_Module **out = arg;

    (void)userdata;
    (void)name;
    (void)base;
    *out = dwfl_module;
    return DWARF_CB_ABORT;
}

/* Open a module from its file on this host. Returns 0, -ENOENT if that is not
 * there, or -ENOMEM. */
static int known_open(struct known **out, struct names *names, const char *text)
{
    Dwfl_Module *dwfl_module = NULL;
    struct modules *modules;
    int r = modules_new_file(&modules, text);

    if (r < 0)
        return r;
    dwfl_getmodules(modules_dwfl(modules), take_module, &dwfl_module, 0);
    *out = known_add(names, modules, dwfl_module, text);
    modules_free(modules);
    return *out ? 0 : -ENOMEM;
}

int names_place(struct names *names,
                struct modules *modules,
                Dwarf_Addr pc,
                struct frame *out)
{
    Dwfl_Module *dwfl_module = dwfl_addrmodule(modules_dwfl(modules), pc);
    const struct known *known;
    const void **note;
    Dwarf_Addr start;

    touch_address(pc);
    if (!dwfl_module) {
        *out = FRAME_NOTE("[no module]");
        return 0;
    }
    note = modules_note(dwfl_module);
    if (!*note)
        *note = known_of(names, modules, dwfl_module);
    known = *note;
    if (!known)
        return -ENOMEM;
    dwfl_module_info(dwfl_module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
    *out = (struct frame){"", "", 0, known->text, pc - start, false};
    return 0;
}

/* Append an inner frame; `function` is taken. */
static int frame_add(struct name *name,
                     char *function,
                     const char *file,
                     int line,
                     enum role role)
{
    char *copy = strdup(file ? basename(file) : "");

    if (!function || !copy) {
        free(function);
        free(copy);
        return -ENOMEM;
    }
    name->frames[name->count++] = (struct frame){
        function,        copy, file && line > 0 ? (uint32_t)line : 0,
        role_text(role), 0,    false};
    return 0;
}

/* The symbol of the function that contains `pc`; NULL if there is none. */
static const char *symbol_at(Dwfl_Module *dwfl_module, Dwarf_Addr pc)
{
    GElf_Off offset;
    GElf_Sym entry;
    const char *symbol = dwfl_module_addrinfo(dwfl_module, pc, &offset, &entry,
                                              NULL, NULL, NULL);

    return symbol && (entry.st_size == 0 || offset < entry.st_size) ? symbol
                                                                    : NULL;
}

/* The name of a function that is not inlined: its symbol, else `source`, its
 * name in debug information, else its module and offset. The caller frees it;
 * NULL without memory. */
static char *function_of(const struct known *known,
                         const struct name *name,
                         const char *symbol,
                         const char *source)
{
    char *function;

    if (symbol)
        return symbol_name_with_source(symbol, source);
    if (source)
        return strdup(source);
    if (asprintf(&function, "%s+0x%llx", frame_module_name(known->text),
                 (unsigned long long)name->offset) < 0)
        return NULL;
    return function;
}

/* The role of a function at `place`, whose symbol has the role `role`: the code
 * of a language's library may be in any module. */
static enum role role_at(const struct known *known,
                         enum role role,
                         const struct source *place)
{
    enum role module = known->provider.role;

    if (role == ROLE_PROGRAM && module != ROLE_SYSTEM && module != role)
        return module;
    if (place->file && (role == ROLE_PROGRAM || role == ROLE_LIBRARY))
        return provider_is_library(place->file, place->folder) ? ROLE_LIBRARY
                                                               : ROLE_PROGRAM;
    return role;
}

/* Look up the name of an address. Returns 0 or -ENOMEM. */
static int name_make(struct name *name, const struct known *known)
{
    struct source places[INLINED_MAX] = {{.line = 0}};
    Dwfl *dwfl = modules_dwfl(known->modules);
    size_t count = 0, i;
    const char *symbol;
    Dwarf_Addr start, pc;
    enum role role;
    int r = 0;

    name->frames = calloc(INLINED_MAX, sizeof(*name->frames));
    if (!name->frames)
        return -ENOMEM;
    dwfl_module_info(known->dwfl_module, NULL, &start, NULL, NULL, NULL, NULL,
                     NULL);
    pc = start + name->offset;
    symbol = symbol_at(known->dwfl_module, pc);
    role = provider_role(&known->provider, dwfl, known->dwfl_module, symbol);
    /* Lines of the C library do not help to find a hang. */
    if (known->provider.role != ROLE_SYSTEM)
        count = source_find(places, INLINED_MAX, known->dwfl_module, pc);
    if (count == 0)
        count = 1;
    for (i = count; r == 0 && i-- > 0;) { /* outermost first */
        const struct source *place = &places[i];
        char *function = NULL;

        if (i + 1 == count)
            function = function_of(known, name, symbol, place->name);
        else if (place->linkage)
            function = symbol_name(place->linkage);
        else if (place->name)
            function = strdup(place->name);
        r = frame_add(
            name, function, place->file, place->line,
            role_at(known,
                    i + 1 == count || role == ROLE_GO ? role : ROLE_PROGRAM,
                    place));
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
    if ((!known && !names->opens_files) ||
        !touch_file(0, strchr(module, ' ') ? strchr(module, ' ') + 1 : ""))
        return -ENOENT;
    r = known ? 0 : known_open(&known, names, module);
    if (r < 0)
        return r;
    HASH_FIND(hh, known->names, &offset, sizeof(offset), name);
    if (!name) {
        name = calloc(1, sizeof(*name));
        if (!name)
            return -ENOMEM;
        name->offset = offset;
        r = name_make(name, known);
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

void names_obstacle(char *text,
                    size_t size,
                    const struct names *names,
                    const char *module)
{
    struct known *known;

    text[0] = '\0';
    HASH_FIND_STR(names->modules, module, known);
    if (known)
        source_obstacle(text, size, known->dwfl_module);
}

Dwfl_Module *names_module(const struct names *names,
                          const char *module,
                          Dwarf_Addr *start)
{
    struct known *known;

    HASH_FIND_STR(names->modules, module, known);
    if (!known)
        return NULL;
    dwfl_module_info(known->dwfl_module, NULL, start, NULL, NULL, NULL, NULL,
                     NULL);
    return known->dwfl_module;
}

/* Read `len` bytes of a module's code from its file, those at `address`. Returns
 * whether they could be read. */
static bool read_code(unsigned char *out,
                      Dwfl_Module *module,
                      Dwarf_Addr address,
                      size_t len)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(module, &bias);
    size_t count = 0;
    Elf_Data *data;
    GElf_Phdr part;

    if (!elf || elf_getphdrnum(elf, &count) < 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &part) || part.p_type != PT_LOAD ||
            address - bias < part.p_vaddr ||
            address - bias - part.p_vaddr >= part.p_filesz)
            continue;
        data = elf_getdata_rawchunk(
            elf, (int64_t)(part.p_offset + (address - bias - part.p_vaddr)),
            len, ELF_T_BYTE);
        if (!data || !data->d_buf || data->d_size < len)
            return false;
        memcpy(out, data->d_buf, len);
        return true;
    }
    return false;
}

bool names_may_call(const struct names *names, const struct frame *frame)
{
    static const unsigned char call[2] = {0x0f, 0x05};
    unsigned char code[4];
    Dwarf_Addr start;
    Dwfl_Module *module = names_module(names, frame->module, &start);

#ifndef __x86_64__
    return true;
#endif
    return !module || frame->offset < 2 ||
           !read_code(code, module, start + frame->offset - 2, sizeof(code)) ||
           memcmp(code, call, sizeof(call)) == 0 ||
           memcmp(code + 2, call, sizeof(call)) == 0;
}

enum role names_role(const struct names *names,
                     const char *module,
                     uint64_t offset,
                     const char **symbol)
{
    struct known *known;
    Dwarf_Addr start;

    *symbol = NULL;
    HASH_FIND_STR(names->modules, module, known);
    if (!known)
        return ROLE_PROGRAM;
    dwfl_module_info(known->dwfl_module, NULL, &start, NULL, NULL, NULL, NULL,
                     NULL);
    *symbol = symbol_at(known->dwfl_module, start + offset);
    return provider_role(&known->provider, modules_dwfl(known->modules),
                         known->dwfl_module, *symbol);
}
