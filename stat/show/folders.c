/* folders.c - see folders.h. */
#include "stat/show/folders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct file {
    const char *path;
    size_t len;
    uint32_t string;
};

/* A character of `file`, counted from its end: 0 before its beginning. */
static int back_at(const struct file *file, size_t back)
{
    return back < file->len ? (unsigned char)file->path[file->len - 1 - back]
                            : 0;
}

/* How many characters two paths have in common at their ends. */
static size_t common_end(const struct file *a, const struct file *b)
{
    size_t back = 0;

    while (back_at(a, back) && back_at(a, back) == back_at(b, back))
        back++;
    return back;
}

/* Order by the paths read backwards. Folders come before other characters: a
 * path is then beside those that end in it. */
static int by_end(const void *a, const void *b)
{
    size_t back = common_end(a, b);
    int x = back_at(a, back), y = back_at(b, back);

    x = x == '/' ? 1 : x;
    y = y == '/' ? 1 : y;
    return (x > y) - (x < y);
}

/* Where the last component of the first `len` characters of a path begins. */
static size_t component(const struct file *file, size_t len)
{
    while (len > 0 && file->path[len - 1] != '/')
        len--;
    return len;
}

/* Where the part of `file` begins that tells it from `other`. */
static size_t apart(const struct file *file, const struct file *other)
{
    size_t back = common_end(file, other), at = file->len - back;

    /* The other path is whole: one folder more. */
    if (at > 0 && file->path[at - 1] == '/' && back == other->len)
        at--;
    return component(file, at);
}

int folders_find(uint32_t **out, const struct tree *tree)
{
    uint32_t *from = calloc((size_t)tree->string_count + 1, sizeof(*from));
    bool *used = calloc((size_t)tree->string_count + 1, sizeof(*used));
    struct file *files = calloc((size_t)tree->frame_count + 1, sizeof(*files));
    size_t count = 0, i;

    if (!from || !used || !files) {
        free(from);
        free(used);
        free(files);
        return -ENOMEM;
    }
    for (i = 0; i < tree->frame_count; i++) {
        uint32_t string = tree->frames[i].file;
        const char *path = tree->strings[string];

        if (!used[string])
            files[count++] = (struct file){path, strlen(path), string};
        used[string] = true;
    }
    qsort(files, count, sizeof(*files), by_end);
    for (i = 0; i < count; i++) {
        size_t at = component(&files[i], files[i].len), other;

        if (i > 0) {
            other = apart(&files[i], &files[i - 1]);
            at = other < at ? other : at;
        }
        if (i + 1 < count) {
            other = apart(&files[i], &files[i + 1]);
            at = other < at ? other : at;
        }
        from[files[i].string] = (uint32_t)at;
    }
    free(used);
    free(files);
    *out = from;
    return 0;
}
