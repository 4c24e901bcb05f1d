/* poison.h - the numbers that crash the filter of poison.c. */
#pragma once

#define POISON 1000000

/* How the process dies: POISON plus one of these. */
enum poison {
    POISON_FAULT,
    POISON_ABORT,
    POISON_EXIT,
    POISON_STACK,
    POISON_HEAP,
    POISON_RAISE,
    POISON_COUNT,
    POISON_KILL = POISON_COUNT, /* SIGKILL, in node 1 only */
    POISON_STOP,                /* no death: node 1 stops in the call */
};
