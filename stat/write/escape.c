/* escape.c - see escape.h. */
#include "stat/write/escape.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "stat/show/characters.h"
#include "stat/show/short.h"

/* Bytes of a set's text per range: two or three numbers below TASKS_MAX, and
 * separators. */
#define RANGE_TEXT 32

void escape_json(FILE *file, const char *text)
{
    unsigned len;

    for (; *text; text += len) {
        uint32_t character = character_read(text, &len);

        if (character == '"' || character == '\\')
            fprintf(file, "\\%c", (char)character);
        else if (character < ' ' || character == '<' || character == '>' ||
                 character == '&' || character == 0x7f)
            fprintf(file, "\\u%04x", character);
        else if (character == CHARACTER_NONE)
            fputs(CHARACTER_REPLACEMENT, file);
        else
            fwrite(text, 1, len, file);
    }
}

/* The number of characters in `text`. */
static unsigned characters(const char *text)
{
    unsigned count = 0;
    unsigned len;

    for (; *text; text += len) {
        character_read(text, &len);
        count++;
    }
    return count;
}

/* Whether XML allows the character: it does not allow the last two below 2^16.
 * Control characters count as not allowed. */
static bool is_of_xml(uint32_t character)
{
    return character >= ' ' && character != 0xfffe && character != 0xffff &&
           character != CHARACTER_NONE;
}

void escape_xml(FILE *file, const char *text, unsigned columns)
{
    bool cut = columns > 0 && characters(text) > columns;
    unsigned left = cut ? columns - 1 : UINT32_MAX;
    unsigned len;

    for (; *text && left > 0; text += len, left--) {
        uint32_t character = character_read(text, &len);

        if (character == '<' || character == '>' || character == '&' ||
            character == '"')
            fprintf(file, "&#%u;", character);
        else if (!is_of_xml(character))
            fputs(CHARACTER_REPLACEMENT, file);
        else
            fwrite(text, 1, len, file);
    }
    if (cut)
        fputs("\xe2\x80\xa6", file);
}

/* Write a character: a control one as a space, an invalid one as U+FFFD. */
static void write_character(FILE *file,
                            uint32_t character,
                            const char *text,
                            unsigned len)
{
    if (character == CHARACTER_NONE)
        fputs(CHARACTER_REPLACEMENT, file);
    else if (character_is_control(character))
        fputc(' ', file);
    else
        fwrite(text, 1, len, file);
}

void escape_folded(FILE *file, const char *text)
{
    unsigned len;

    for (; *text; text += len) {
        uint32_t character = character_read(text, &len);

        if (character == ';')
            fputc(':', file);
        else
            write_character(file, character, text, len);
    }
}

void escape_dot(FILE *file, const char *text)
{
    unsigned len;

    for (; *text; text += len) {
        uint32_t character = character_read(text, &len);

        if (character == '"' || character == '\\')
            fprintf(file, "\\%c", (char)character);
        else if (character == '&')
            fputs("&amp;", file);
        else
            write_character(file, character, text, len);
    }
}

void escape_function(FILE *file,
                     const struct tree *tree,
                     uint32_t frame,
                     void (*escape)(FILE *file, const char *text))
{
    bool not_walked = tree->frames[frame].not_walked;

    fputs(not_walked ? FRAME_NOT_WALKED_TEXT : "", file);
    escape(file, tree->strings[tree->frames[frame].function]);
    fputs(not_walked ? "]" : "", file);
}

int escape_short(FILE *file,
                 const struct tree *tree,
                 uint32_t frame,
                 void (*escape)(FILE *file, const char *text))
{
    char *name = short_name(tree->strings[tree->frames[frame].function]);

    if (!name)
        return -ENOMEM;
    if (tree->frames[frame].not_walked)
        escape_function(file, tree, frame, escape);
    else
        escape(file, name);
    free(name);
    return 0;
}

int escape_tasks(FILE *file, const struct tasks *tasks)
{
    struct tasks_cursor at = tasks_begin(tasks);
    size_t size = RANGE_TEXT;
    char *text;

    while (tasks_next(&at))
        size += RANGE_TEXT;
    text = malloc(size);
    if (!text)
        return -ENOMEM;
    fputs(tasks_text(tasks, text, size), file);
    free(text);
    return 0;
}
