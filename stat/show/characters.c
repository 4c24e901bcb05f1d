/* characters.c - see characters.h. */
#include "stat/show/characters.h"

#include <stddef.h>

uint32_t character_read(const char *text, unsigned *len)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned count;
    uint32_t code;

    *len = 1;
    if (bytes[0] < 0x80)
        return bytes[0];
    if (bytes[0] >= 0xc2 && bytes[0] < 0xe0)
        count = 2;
    else if (bytes[0] >= 0xe0 && bytes[0] < 0xf0)
        count = 3;
    else if (bytes[0] >= 0xf0 && bytes[0] < 0xf5)
        count = 4;
    else
        return CHARACTER_NONE;
    code = bytes[0] & (0xffu >> (count + 1));
    for (unsigned i = 1; i < count; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return CHARACTER_NONE;
        code = code << 6 | (bytes[i] & 0x3f);
    }
    if ((count == 3 && code < 0x800) || (count == 4 && code < 0x10000) ||
        code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return CHARACTER_NONE;
    *len = count;
    return code;
}

struct range {
    uint32_t first, last;
};

/* Whether a character is in one of `count` ranges. */
static bool is_within(uint32_t character,
                      const struct range *ranges,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (character >= ranges[i].first && character <= ranges[i].last)
            return true;
    return false;
}

bool character_is_control(uint32_t character)
{
    static const struct range controls[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0x200e, 0x200f},
        {0x2028, 0x202e}, {0x2066, 0x2069},
    };

    return is_within(character, controls,
                     sizeof(controls) / sizeof(controls[0]));
}

unsigned character_columns(uint32_t character)
{
    static const struct range marks[] = {
        {0x300, 0x36f}, {0x200b, 0x200d}, {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}};
    static const struct range wide[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x4dbf},
        {0x4e00, 0xa4cf},   {0xa960, 0xa97c},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff01, 0xff60},
        {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
        {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
    };

    if (is_within(character, marks, sizeof(marks) / sizeof(marks[0])))
        return 0;
    return character != CHARACTER_NONE &&
                   is_within(character, wide, sizeof(wide) / sizeof(wide[0]))
               ? 2
               : 1;
}
