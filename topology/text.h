/* text.h - a text that grows while it is written. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* All zero is the empty text. After a failure nothing more is added. */
struct text {
    char *bytes; /* with a zero byte after `len`, once anything was added */
    size_t len;
    size_t room;
    int failed; /* 0 or -ENOMEM */
};

/* Add `len` bytes. Failure shows in text_take(). */
void text_add(struct text *text, const char *bytes, size_t len);

/* Add a string. */
void text_string(struct text *text, const char *string);

/* Add a number in decimal, with zeros before it up to `width` digits. */
void text_number(struct text *text, uint64_t number, unsigned width);

/* Hand the text over: 0, and `*out` is the caller's to free(), `*len` bytes
 * (`len` may be NULL) and a zero byte; or -ENOMEM if anything failed.
 * `text` is empty afterwards. */
int text_take(struct text *text, char **out, size_t *len);
