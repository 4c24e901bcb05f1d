/* symbol.c - see symbol.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf() */
#endif
#include "stat/walk/symbol.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer symbols are not demangled: their names may be very much longer. */
#define MANGLED_MAX 4096

/* Longer names are not used. */
#define NAME_MAX_LEN 16384

/* The length of the name in a symbol, without its version and without what
 * compilers add for copies and parts of a function. */
static size_t name_len(const char *symbol)
{
    static const char *const suffixes[] = {
        "@", ".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm.",
    };
    size_t len = strlen(symbol);

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        const char *suffix = strstr(symbol, suffixes[i]);

        if (suffix && suffix > symbol && (size_t)(suffix - symbol) < len)
            len = (size_t)(suffix - symbol);
    }
    return len;
}

/* The name of a procedure in a Fortran module, which gfortran calls
 * "__mesh_MOD_solve", as "mesh::solve". NULL if it is none. */
static char *demangle_fortran(const char *symbol)
{
    const char *middle = strstr(symbol, "_MOD_");
    char *name;

    if (strncmp(symbol, "__", 2) != 0 || !middle || middle == symbol + 2 ||
        !middle[5])
        return NULL;
    if (asprintf(&name, "%.*s::%s", (int)(middle - symbol - 2), symbol + 2,
                 middle + 5) < 0)
        return NULL;
    return name;
}

/* A name that is being written. */
struct written {
    jmp_buf too_long;
    size_t len;
    char text[NAME_MAX_LEN + 1];
};

/* As demangle_callbackref. A name may double with every few characters of its
 * symbol, so writing ends at the limit. The callers have no memory to free. */
static void write_name(const char *text, size_t len, void *arg)
{
    struct written *written = arg;

    if (len > NAME_MAX_LEN - written->len)
        longjmp(written->too_long, 1);
    memcpy(written->text + written->len, text, len);
    written->len += len;
}

typedef int (*demangler)(const char *symbol,
                         int options,
                         demangle_callbackref callback,
                         void *arg);

/* The name that one compiler has mangled; NULL if there is none, or it is too
 * long. The caller frees it. */
static char *demangle_by(demangler demangle, const char *symbol)
{
    struct written *written = malloc(sizeof(*written));
    char *name = NULL;

    if (!written)
        return NULL;
    written->len = 0;
    if (setjmp(written->too_long) == 0 &&
        demangle(symbol, DMGL_PARAMS | DMGL_ANSI, write_name, written))
        name = strndup(written->text, written->len);
    free(written);
    return name;
}

/* The name that a compiler has mangled into `symbol`; NULL if it is not mangled.
 * The caller frees it. */
static char *demangle(const char *symbol)
{
    bool is_mangled = strncmp(symbol, "_Z", 2) == 0;
    bool is_rust = is_mangled || strncmp(symbol, "_R", 2) == 0;
    char *name = NULL;

    if (strlen(symbol) > MANGLED_MAX)
        return NULL;
    /* Rust's older symbols are those of C++ followed by a hash. */
    if (is_rust)
        name = demangle_by(rust_demangle_callback, symbol);
    if (!name && is_mangled)
        name = demangle_by(cplus_demangle_v3_callback, symbol);
    if (!name)
        name = demangle_fortran(symbol);
    return name;
}

char *symbol_name(const char *symbol)
{
    char *bare = strndup(symbol, name_len(symbol));
    char *name = bare ? demangle(bare) : NULL;

    if (!name)
        return bare;
    free(bare);
    return name;
}

/* Whether `rest`, the symbol's part after the name in the source, is a suffix
 * of gfortran. */
static bool is_fortran_end(const char *rest)
{
    if (rest[0] == '.' && rest[1])
        return rest[1 + strspn(rest + 1, "0123456789")] == '\0';
    return strcmp(rest, "_") == 0 || strcmp(rest, "__") == 0;
}

char *symbol_name_with_source(const char *symbol, const char *source)
{
    size_t len = source ? strlen(source) : 0;

    if (len > 0 &&
        (strcmp(symbol, "MAIN__") == 0 ||
         (strncmp(symbol, source, len) == 0 && is_fortran_end(symbol + len))))
        return strdup(source);
    return symbol_name(symbol);
}
