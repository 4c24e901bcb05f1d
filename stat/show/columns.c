/* columns.c - see columns.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf() */
#endif
#include "stat/show/columns.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stat/show/characters.h"

/* Spaces before all lines but the first. */
#define INDENT 2

unsigned columns_of(const char *text)
{
    unsigned count = 0, len;

    for (; *text; text += len)
        count += character_columns(character_read(text, &len));
    return count;
}

/* Most bytes of `text` that fit into `width` columns. */
static size_t bytes_of(const char *text, unsigned width)
{
    unsigned count = 0, len;
    size_t at;

    for (at = 0; text[at]; at += len) {
        count += character_columns(character_read(text + at, &len));
        if (count > width)
            break;
    }
    return at;
}

/* The end of `text` to show after an ellipsis, so that both fit into `width`
 * columns: from a frame of a chain on, if one begins in the last half. */
static const char *tail_of(const char *text, unsigned width)
{
    unsigned have = columns_of(text);
    const char *part =
        strstr(text + bytes_of(text, have - width / 2), COLUMNS_LEADS_ON);

    return part ? part : text + bytes_of(text, have - width / 3);
}

void columns_write(FILE *file, const char *text, unsigned width)
{
    unsigned have = columns_of(text), room;
    const char *tail;
    size_t len;

    if (have <= width) {
        fprintf(file, "%s%*s", text, (int)(width - have), "");
        return;
    }
    tail = tail_of(text, width - 1);
    room = width - 1 - columns_of(tail);
    len = bytes_of(text, room);
    fprintf(file, "%.*s\xe2\x80\xa6%s", (int)len, text, tail);
    /* Half of a wide character is left. */
    if (room > 0 && bytes_of(text, room - 1) == len)
        fputc(' ', file);
}

size_t columns_line_len(const char *text, unsigned width)
{
    size_t most = bytes_of(text, width), len = most;
    unsigned first = 0;

    if (!text[most])
        return most;
    if (most == 0) /* a wide character is wider */
        character_read(text, &first);
    while (len > 0 && text[len] != ' ')
        len--;
    return len > 0 ? len : most + first;
}

void columns_wrap(FILE *file, const char *text, unsigned width)
{
    unsigned room = width;

    while (columns_of(text) > room) {
        size_t len = columns_line_len(text, room);

        fprintf(file, "%.*s\n%*s", (int)len, text, INDENT, "");
        text += len;
        text += strspn(text, " ");
        room = width - INDENT;
    }
    fputs(text, file);
}

char *columns_append(char *text, const char *format, ...)
{
    va_list args;
    char *more = NULL;
    char *both = NULL;

    va_start(args, format);
    if (vasprintf(&more, format, args) < 0)
        more = NULL;
    va_end(args);
    if (text && more && asprintf(&both, "%s%s", text, more) < 0)
        both = NULL;
    free(text);
    free(more);
    return both;
}

void columns_clean(char *text)
{
    char *out = text;
    unsigned len;

    for (; *text; text += len) {
        uint32_t character = character_read(text, &len);

        if (character == CHARACTER_NONE || character_is_control(character)) {
            *out++ = '?';
        } else {
            memmove(out, text, len);
            out += len;
        }
    }
    *out = '\0';
}

void columns_line(FILE *file, const char *before, const char *text)
{
    char *clean = strdup(text);

    if (clean)
        columns_clean(clean);
    fprintf(file, "%s%s\n", before, clean ? clean : "out of memory");
    free(clean);
}
