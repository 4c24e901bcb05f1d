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

/* Whether a character begins at `text`. */
static bool begins(const char *text)
{
    return ((unsigned char)*text & 0xc0) != 0x80;
}

unsigned columns_of(const char *text)
{
    unsigned count = 0;

    for (; *text; text++)
        count += begins(text);
    return count;
}

/* Most bytes of `text` that fit into `width` columns. */
static size_t bytes_of(const char *text, unsigned width)
{
    unsigned count = 0;
    size_t len;

    for (len = 0; text[len]; len++)
        if (begins(text + len) && count++ == width)
            break;
    return len;
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
    unsigned have = columns_of(text);
    const char *tail;

    if (have <= width) {
        fprintf(file, "%s%*s", text, (int)(width - have), "");
        return;
    }
    tail = tail_of(text, width - 1);
    fprintf(file, "%.*s\xe2\x80\xa6%s",
            (int)bytes_of(text, width - 1 - columns_of(tail)), text, tail);
}

size_t columns_line_len(const char *text, unsigned width)
{
    size_t most = bytes_of(text, width), len = most;

    if (!text[most])
        return most;
    while (len > 0 && text[len] != ' ')
        len--;
    return len > 0 ? len : most;
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
