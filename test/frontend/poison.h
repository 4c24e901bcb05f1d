/* poison.h - the numbers that crash the filter of poison.c. */
#pragma once

#define POISON 1000000

/* How it dies: POISON + 0 ... */
enum poison {
    POISON_FAULT,
    POISON_ABORT,
    POISON_EXIT,
    POISON_STACK,
    POISON_HEAP,
    POISON_RAISE,
    POISON_COUNT,
    POISON_KILL = POISON_COUNT, /* node 1, as somebody else would */
    POISON_STOP,                /* does not die: node 1 stops in the call */
};
