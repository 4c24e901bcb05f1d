/* palette.c - see palette.h. */
#include "stat/show/palette.h"

#include <stddef.h>

static const struct {
    const char *fill;
    const char *text;
    unsigned terminal;
} colours[PALETTE_SIZE] = {
    {"#e69f00", "#000000", 208}, /* orange */
    {"#56b4e9", "#000000", 39},  /* sky blue */
    {"#009e73", "#ffffff", 36},  /* bluish green */
    {"#cc79a7", "#000000", 170}, /* reddish purple */
    {"#0072b2", "#ffffff", 25},  /* blue */
    {"#d55e00", "#ffffff", 166}, /* vermilion */
};

const char *palette_fill(long class)
{
    return class < 0 ? "#e4e4e4" : colours[(size_t) class % PALETTE_SIZE].fill;
}

const char *palette_text(long class)
{
    return class < 0 ? "#000000" : colours[(size_t) class % PALETTE_SIZE].text;
}

unsigned palette_terminal(long class)
{
    return colours[(size_t) class % PALETTE_SIZE].terminal;
}
