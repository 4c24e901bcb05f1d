/* kinds.c - see kinds.h. */
#include "stat/walk/kinds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/table.h"
#include "stat/tree/note.h"
#include "stat/walk/runtime.h"

/* Bytes of a symbol that suffice to find its kind. */
#define SYMBOL_SIZE 64

/* An address; without padding, since it is a hash key. */
struct address {
    const char *module;
    uint64_t offset;
};

/* The kind of the function at an address. */
struct known_kind {
    UT_hash_handle hh;
    struct address address;
    enum kind kind;
    char symbol[SYMBOL_SIZE];
};

struct kinds {
    struct known_kind *found;
};

int kinds_new(struct kinds **out)
{
    struct kinds *kinds = calloc(1, sizeof(*kinds));

    if (!kinds)
        return -ENOMEM;
    *out = kinds;
    return 0;
}

void kinds_free(struct kinds *kinds)
{
    if (!kinds)
        return;
    TABLE_FREE(kinds->found);
    free(kinds);
}

/* The kind of a function with this symbol or name. */
static enum kind kind_of(const char *function)
{
    static const char *const starts[] = {"clone",    "clone3",       "__clone",
                                         "__clone3", "start_thread", NULL};

    for (size_t i = 0; starts[i]; i++)
        if (strcmp(function, starts[i]) == 0)
            return KIND_START;
    if (runtime_is_spinning(function))
        return KIND_SPIN;
    if (runtime_is_call(function))
        return runtime_is_mpi(function) ? KIND_MPI : KIND_THREAD;
    return runtime_is_thread(function) ? KIND_OWN : KIND_PROGRAM;
}

/* Find the kind of the function at an address. */
static void known_fill(struct known_kind *known,
                       const struct names *names,
                       const struct frame *frame)
{
    const char *symbol = names_symbol(names, frame->module, frame->offset);
    char text[256];

    known->address = (struct address){frame->module, frame->offset};
    snprintf(text, sizeof(text), "%s+0x0", frame_module_name(frame->module));
    known->kind = kind_of(symbol ? symbol : text);
    snprintf(known->symbol, sizeof(known->symbol), "%s", symbol ? symbol : "");
}

int kinds_find(enum kind *out,
               const char **symbol,
               struct kinds *kinds,
               const struct names *names,
               const struct frame *frame)
{
    struct address address = {frame->module, frame->offset};
    struct known_kind *known;

    *symbol = "";
    if (frame->function[0]) {
        *out = note_is(frame->function) ? KIND_START : KIND_PROGRAM;
        return 0;
    }
    HASH_FIND(hh, kinds->found, &address, sizeof(address), known);
    if (!known) {
        known = calloc(1, sizeof(*known));
        if (!known)
            return -ENOMEM;
        known_fill(known, names, frame);
        HASH_ADD(hh, kinds->found, address, sizeof(address), known);
        if (!known->hh.tbl) {
            free(known);
            return -ENOMEM;
        }
    }
    *out = known->kind;
    *symbol = known->symbol;
    return 0;
}
