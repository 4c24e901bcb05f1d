/* text.c - a text that grows while it is written. */
#include "topology/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256
#define DIGITS_MAX 32

void text_add(struct text *text, const char *bytes, size_t len)
{
    size_t room = text->room > 0 ? text->room : FIRST_ROOM;
    char *more;

    if (text->failed < 0)
        return;
    while (room - text->len <= len)
        room *= 2;
    if (room != text->room) {
        more = realloc(text->bytes, room);
        if (!more) {
            text->failed = -ENOMEM;
            return;
        }
        text->bytes = more;
        text->room = room;
    }
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    text->bytes[text->len] = '\0';
}

void text_string(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

void text_number(struct text *text, uint64_t number, unsigned width)
{
    char digits[DIGITS_MAX];
    unsigned at = DIGITS_MAX;

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (; width > DIGITS_MAX - at && at > 0;)
        digits[--at] = '0';
    text_add(text, digits + at, DIGITS_MAX - at);
}

int text_take(struct text *text, char **out, size_t *len)
{
    int r;

    text_add(text, "", 0);
    r = text->failed;
    if (r == 0) {
        *out = text->bytes;
        if (len)
            *len = text->len;
    } else {
        free(text->bytes);
    }
    *text = (struct text){0};
    return r;
}
