/* palette.h - a colour for each class, the same in all pictures.
 *
 * The colours of Okabe and Ito, which colour-blind people can tell apart,
 * ordered so that neighbours also differ in brightness. All information in a
 * colour is also given in words. */
#pragma once

/* Colours before they repeat. */
#define PALETTE_SIZE 6

/* Of class number `class` (from 0; -1: no single class): a background as
 * "#rrggbb", and a text colour that is readable on it. */
const char *palette_fill(long class);
const char *palette_text(long class);

/* One of a terminal's 256 colours, readable on black and on white; `class` is
 * at least 0. */
unsigned palette_terminal(long class);
