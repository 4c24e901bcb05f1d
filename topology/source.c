/* source.c - a text that is being parsed. */
#include "topology/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How much of a path an error shows, so that the sentence still fits. */
#define NAME_SHOWN 200

/* The first read; each further one doubles the room. */
#define FIRST_ROOM ((size_t)16 << 10)

size_t source_line(const struct source *source, size_t at)
{
    size_t line = 1;

    for (size_t i = 0; i < at && i < source->len; i++)
        line += source->text[i] == '\n';
    return line;
}

int source_fail(
    const struct source *source, size_t at, int code, const char *format, ...)
{
    char sentence[sizeof(((struct cop_error *)0)->text)];
    size_t start = at;
    va_list args;

    while (start > 0 && source->text[start - 1] != '\n')
        start--;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return cop_error_set(source->error, code, "%.*s:%zu:%zu: %s", NAME_SHOWN,
                         source->name, source_line(source, at), at - start + 1,
                         sentence);
}

const char *source_show(const struct source *source,
                        size_t at,
                        char out[static 16])
{
    unsigned char c;

    if (at >= source->len)
        return strcpy(out, "the end");
    c = (unsigned char)source->text[at];
    if (c > ' ' && c < 0x7f)
        snprintf(out, 16, "'%c'", c);
    else
        snprintf(out, 16, "'\\x%02x'", c);
    return out;
}

/* Make room for one byte more than `len`, up to `max` + 1 bytes. */
static int source_grow(char **text, size_t len, size_t *room, size_t max)
{
    size_t wanted = *room > 0 ? *room * 2 : FIRST_ROOM;
    char *more;

    if (len < *room)
        return 0;
    if (wanted > max + 1)
        wanted = max + 1;
    more = realloc(*text, wanted + 1);
    if (!more)
        return -ENOMEM;
    *text = more;
    *room = wanted;
    return 0;
}

static int read_all(char **text, size_t *len, int fd, size_t max)
{
    size_t room = 0;
    size_t have = 0;
    ssize_t n;
    int r;

    for (;;) {
        r = source_grow(text, have, &room, max);
        if (r < 0)
            return r;
        n = read(fd, *text + have, room - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        have += (size_t)n;
        if (have > max)
            return -E2BIG;
    }
    (*text)[have] = '\0';
    *len = have;
    return 0;
}

int source_read(char **text,
                size_t *len,
                const char *path,
                size_t max,
                struct cop_error *error)
{
    bool is_stdin = strcmp(path, "-") == 0;
    char *content = NULL;
    size_t have = 0;
    int fd = -1;
    int r;

    fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        r = cop_error_set(error, -errno,
                          "%.*s: cannot open: %s; check the path", NAME_SHOWN,
                          path, strerror(errno));
        goto out;
    }
    r = read_all(&content, &have, fd, max);
    if (r == -E2BIG) {
        cop_error_set(error, r,
                      "%.*s: is above %zu bytes; is it the right file?",
                      NAME_SHOWN, path, max);
        goto out;
    }
    if (r < 0) {
        cop_error_set(error, r, "%.*s: cannot read: %s", NAME_SHOWN, path,
                      strerror(-r));
        goto out;
    }
    *text = content;
    *len = have;
    content = NULL;
out:
    free(content);
    if (fd >= 0 && !is_stdin)
        close(fd);
    return r;
}
