/* characters.h - decodes foreign text, such as names of functions, one UTF-8
 * character after the other. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* In place of a character's number: the byte is not UTF-8. */
#define CHARACTER_NONE UINT32_MAX

/* Replaces a character that cannot be written: U+FFFD. */
#define CHARACTER_REPLACEMENT "\xef\xbf\xbd"

/* The number of the character at `text`, which is not at its end; `*len`
 * becomes its bytes, 1 for CHARACTER_NONE. */
uint32_t character_read(const char *text, unsigned *len);

/* Whether the character moves a terminal's cursor or controls the terminal in
 * another way, ends a line, or reverses the direction of text. */
bool character_is_control(uint32_t character);

/* How many columns a terminal takes for the character, as the C library says: 2
 * for those of East Asia and most pictures, 0 for marks on the previous character.
 * 1 if it does not know UTF-8. For one thread. */
unsigned character_columns(uint32_t character);
