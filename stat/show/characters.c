/* characters.c - see characters.h. */
#include "stat/show/characters.h"

#include <locale.h>
#include <stddef.h>
#include <wchar.h>

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

bool character_is_control(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } controls[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0x200e, 0x200f},
        {0x2028, 0x202e}, {0x2066, 0x2069},
    };

    for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
        if (character >= controls[i].first && character <= controls[i].last)
            return true;
    return false;
}

unsigned character_columns(uint32_t character)
{
    static locale_t utf8;
    locale_t previous;
    int columns;

    if (character < 0x80 || character == CHARACTER_NONE)
        return 1;
    if (!utf8)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
    if (!utf8)
        return 1;
    previous = uselocale(utf8);
    columns = wcwidth((wchar_t)character);
    uselocale(previous);
    return columns < 0 ? 1 : (unsigned)columns;
}
