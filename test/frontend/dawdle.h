/* dawdle.h - what the tests and their filter "dawdle" agree on. */
#ifndef TEST_FRONTEND_DAWDLE_H
#define TEST_FRONTEND_DAWDLE_H

#include <stdint.h>

/* In place of a rank: every node is slow. */
#define DAWDLE_EVERYWHERE UINT32_MAX

#endif
