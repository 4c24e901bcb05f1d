/* characters.h - text of others, such as names of functions, one character of
 * UTF-8 after the other. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* In the place of a character's number: the byte is no UTF-8. */
#define CHARACTER_NONE UINT32_MAX

/* What takes the place of what cannot be written: U+FFFD. */
#define CHARACTER_REPLACEMENT "\xef\xbf\xbd"

/* The number of the character at `text`, which is not at its end; `*len`
 * becomes its bytes, 1 for CHARACTER_NONE. */
uint32_t character_read(const char *text, unsigned *len);

/* Whether it moves a terminal's cursor, speaks to it in another way, ends a
 * line, or has text run in the other direction. */
bool character_is_control(uint32_t character);
