/* palette.h - a colour for each class, the same in all pictures.
 *
 * The colours of Okabe and Ito, which colour-blind people can tell apart, in an
 * order in which neighbours differ in brightness too. Colours never stand
 * alone: what they say is also in words. */
#pragma once

/* Colours before they come again. */
#define PALETTE_SIZE 6

/* Of class number `class` (from 0 on; -1: of no single class): a background as
 * "#rrggbb", and what can be read on it. */
const char *palette_fill(long class);
const char *palette_text(long class);

/* The number of a colour of terminals, of 256, that can be read on black and on
 * white; `class` is at least 0. */
unsigned palette_terminal(long class);
