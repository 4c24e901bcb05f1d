/* links.c - the lost links that orphans have reported. */
#include "api/links.h"

#include <errno.h>
#include <stdbool.h>
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

/* The first link of `child` at `from` or behind it; `count`: there is none. */
static size_t find(const struct links *links, uint32_t child, size_t from)
{
    while (from < links->count && links->list[from].child != child)
        from++;
    return from;
}

/* The last link of `child` before `end`; `count`: there is none. */
static size_t find_last(const struct links *links, uint32_t child, size_t end)
{
    while (end-- > 0)
        if (links->list[end].child == child)
            return end;
    return links->count;
}

/* Append link `at` of `child` to `text`, of which `used` bytes are used.
 * Returns false if it does not fit. */
static bool write_link(const struct links *links,
                       uint32_t child,
                       size_t at,
                       char *text,
                       size_t len,
                       size_t *used)
{
    static const char more[] = " and more";
    char parent[16] = "?";
    int n;

    if (at < links->count)
        snprintf(parent, sizeof(parent), "%u", links->list[at].parent);
    n = snprintf(text + *used, len - *used, "%s%u-%s", *used ? ", " : "", child,
                 parent);
    if (n < 0 || *used + (size_t)n + sizeof(more) > len) {
        snprintf(text + *used, len - *used, "%s", more);
        return false;
    }
    *used += (size_t)n;
    return true;
}

void links_write(const struct links *links,
                 uint64_t place,
                 const struct ranks *children,
                 char *text,
                 size_t len)
{
    size_t begin =
        place > links->forgotten ? (size_t)(place - links->forgotten) : 0;
    uint32_t child = RANK_NONE;
    size_t used = 0;

    text[0] = '\0';
    while ((child = ranks_after(children, child)) != RANK_NONE) {
        size_t at = find(links, child, begin);

        if (at == links->count)
            at = find_last(links, child, begin);
        do {
            if (!write_link(links, child, at, text, len, &used))
                return;
            at = find(links, child, at < begin ? links->count : at + 1);
        } while (at < links->count);
    }
}
