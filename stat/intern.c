/* intern.c - see intern.h. */
#include "stat/intern.h"

#include <string.h>

struct interned *intern(struct interned **table, const char *text)
{
    struct interned *found;
    size_t len = strlen(text);

    HASH_FIND(hh, *table, text, len, found);
    if (found)
        return found;
    found = calloc(1, sizeof(*found) + len + 1);
    if (!found)
        return NULL;
    memcpy(found->text, text, len + 1);
    HASH_ADD_KEYPTR(hh, *table, found->text, len, found);
    if (!found->hh.tbl) {
        free(found);
        return NULL;
    }
    return found;
}
