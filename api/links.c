/* links.c - the lost links that orphans have reported. */
#include "api/links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most links remembered. */
#define LINKS_MAX 1024

void links_fini(struct links *links)
{
    free(links->list);
    memset(links, 0, sizeof(*links));
}

int links_add(struct links *links, uint32_t child, uint32_t parent)
{
    if (!links->list) {
        links->list = calloc(LINKS_MAX, sizeof(*links->list));
        if (!links->list)
            return -ENOMEM;
    }
    if (links->count == LINKS_MAX) {
        links->count = LINKS_MAX / 2;
        links->forgotten += LINKS_MAX - links->count;
        memmove(links->list, links->list + LINKS_MAX - links->count,
                links->count * sizeof(*links->list));
    }
    links->list[links->count++] = (struct links_entry){child, parent};
    return 0;
}

uint64_t links_place(const struct links *links)
{
    return links->forgotten + links->count;
}

void links_write(const struct links *links,
                 uint64_t place,
                 char *text,
                 size_t len)
{
    static const char more[] = " and more";
    size_t used = 0;
    size_t i;
    int n;

    text[0] = '\0';
    i = place > links->forgotten ? (size_t)(place - links->forgotten) : 0;
    for (; i < links->count; i++) {
        n = snprintf(text + used, len - used, "%s%u-%u", used ? ", " : "",
                     links->list[i].child, links->list[i].parent);
        if (n < 0 || used + (size_t)n + sizeof(more) > len) {
            snprintf(text + used, len - used, "%s", more);
            return;
        }
        used += (size_t)n;
    }
}
