/* int_max.h - what the front-end and the back-ends of int_max agree on. */
#ifndef INT_MAX_H
#define INT_MAX_H

#include <coppice/coppice.h>

enum {
    TAG_GO = COP_TAG_FIRST, /* down: "%d", how many numbers to draw */
    TAG_NUMBER,             /* up: "%d", the highest one */
};

#endif
