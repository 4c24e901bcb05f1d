/* escape.c - see escape.h. */
#include "stat/escape.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Bytes of a set's text for each of its ranges: two or three numbers below
 * TASKS_MAX, and what is between. */
#define RANGE_TEXT 32

#define REPLACEMENT "\xef\xbf\xbd"

/* How many bytes the character at `text` has; 0 if it is no UTF-8. */
static unsigned character_len(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned len;
    uint32_t code;
    unsigned i;

    if (bytes[0] < 0x80)
        return 1;
    if (bytes[0] >= 0xc2 && bytes[0] < 0xe0)
        len = 2;
    else if (bytes[0] >= 0xe0 && bytes[0] < 0xf0)
        len = 3;
    else if (bytes[0] >= 0xf0 && bytes[0] < 0xf5)
        len = 4;
    else
        return 0;
    code = bytes[0] & (0xffu >> (len + 1));
    for (i = 1; i < len; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3f);
    }
    if ((len == 3 && code < 0x800) || (len == 4 && code < 0x10000) ||
        code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0;
    return len;
}

void escape_json(FILE *file, const char *text)
{
    while (*text) {
        unsigned char byte = (unsigned char)*text;
        unsigned len = character_len(text);

        if (byte == '"' || byte == '\\')
            fprintf(file, "\\%c", byte);
        else if (byte < ' ' || byte == '<' || byte == '>' || byte == '&' ||
                 byte == 0x7f)
            fprintf(file, "\\u%04x", byte);
        else if (len == 0)
            fputs(REPLACEMENT, file);
        else
            fwrite(text, 1, len, file);
        text += len ? len : 1;
    }
}

/* How many characters `text` has. */
static unsigned characters(const char *text)
{
    unsigned count = 0;

    for (; *text; count++) {
        unsigned len = character_len(text);

        text += len ? len : 1;
    }
    return count;
}

void escape_xml(FILE *file, const char *text, unsigned columns)
{
    bool cut = columns > 0 && characters(text) > columns;
    unsigned left = cut ? columns - 1 : UINT32_MAX;

    for (; *text && left > 0; left--) {
        unsigned char byte = (unsigned char)*text;
        unsigned len = character_len(text);

        if (byte == '<' || byte == '>' || byte == '&' || byte == '"')
            fprintf(file, "&#%u;", byte);
        else if (len == 0 || byte < ' ')
            fputs(REPLACEMENT, file);
        else
            fwrite(text, 1, len, file);
        text += len ? len : 1;
    }
    if (cut)
        fputs("\xe2\x80\xa6", file);
}

void escape_dot(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
    }
}

int escape_tasks(FILE *file, const struct tasks *tasks)
{
    size_t size = RANGE_TEXT * (tasks_range_count(tasks) + 1);
    char *text = malloc(size);

    if (!text)
        return -ENOMEM;
    fputs(tasks_text(tasks, text, size), file);
    free(text);
    return 0;
}
