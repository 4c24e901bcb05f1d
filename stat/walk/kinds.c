/* kinds.c - see kinds.h. */
#include "stat/walk/kinds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/table.h"
#include "stat/tree/note.h"

/* Bytes of a symbol that suffice to tell calls apart. */
#define SYMBOL_SIZE 64

/* An address; without padding, since it is a hash key. */
struct address {
    const char *module;
    uint64_t offset;
};

/* The role of the function at an address. */
struct known_kind {
    UT_hash_handle hh;
    struct address address;
    enum role role;
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

int kinds_find(enum role *out,
               const char **symbol,
               struct kinds *kinds,
               const struct names *names,
               const struct frame *frame)
{
    struct address address = {frame->module, frame->offset};
    struct known_kind *known;
    const char *found;

    *symbol = "";
    if (frame->function[0]) {
        *out = note_is(frame->function) ? ROLE_START : role_of(frame->module);
        return 0;
    }
    HASH_FIND(hh, kinds->found, &address, sizeof(address), known);
    if (!known) {
        known = calloc(1, sizeof(*known));
        if (!known)
            return -ENOMEM;
        known->address = address;
        known->role = names_role(names, frame->module, frame->offset, &found);
        /* without its version */
        snprintf(known->symbol, sizeof(known->symbol), "%.*s",
                 found ? (int)strcspn(found, "@") : 0, found ? found : "");
        HASH_ADD(hh, kinds->found, address, sizeof(address), known);
        if (!known->hh.tbl) {
            free(known);
            return -ENOMEM;
        }
    }
    *out = known->role;
    *symbol = known->symbol;
    return 0;
}
