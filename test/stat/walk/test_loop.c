/* test_loop.c - a thread that polls is in its loop wherever it is met there. */
#include "stat/walk/loop.h"

#include "test/check.h"

/* Frames of Python have names; so no kinds are needed. */
#define PLACE(name, at)                                                        \
    {                                                                          \
        .function = (name), .file = "job.py", .line = (at), .module = ""       \
    }
#define INNER(at)                                                              \
    {                                                                          \
        .function = "", .file = "", .module = "libc", .offset = (at)           \
    }

/* main() calls hold() in line 9, which sleeps in line 3. */
static const struct frame asleep[] = {PLACE("main", 9), PLACE("hold", 3),
                                      INNER(1)};

/* Follow a stack without notes; the last `inner` frames are in the call. */
static int follow(struct loop *loop,
                  const struct frame *frames,
                  size_t count,
                  size_t inner,
                  bool idle)
{
    return loop_follow(loop, NULL, NULL, frames, count, count, count - inner,
                       inner > 0, idle);
}

#define FOLLOW(inner, idle, ...)                                               \
    follow(&loop, (const struct frame[]){__VA_ARGS__},                         \
           sizeof((const struct frame[]){__VA_ARGS__}) / sizeof(*asleep),      \
           inner, idle)

/* It is met in the function that sleeps, below it, and in its caller. */
TEST(outside_of_its_call_a_thread_is_in_its_loop)
{
    struct loop loop = {.frames = NULL};

    CU_ASSERT_EQUAL(follow(&loop, asleep, 3, 1, true), 0);
    CU_ASSERT_EQUAL(follow(&loop, asleep, 3, 1, true), 1);
    CU_ASSERT_EQUAL(FOLLOW(0, true, PLACE("main", 9), PLACE("hold", 2)), 1);
    CU_ASSERT_EQUAL(FOLLOW(0, true, PLACE("main", 9), PLACE("hold", 2),
                           PLACE("is_ready", 30), PLACE("look", 40)),
                    1);
    CU_ASSERT_EQUAL(FOLLOW(0, true, PLACE("main", 8)), 1);
    CU_ASSERT_EQUAL(follow(&loop, asleep, 3, 1, true), 1);
    CU_ASSERT_EQUAL(loop.outside, 2);
    CU_ASSERT_EQUAL(loop.frames[1].line, 3);
    loop_fini(&loop);
}

/* It was seen to sleep, and had woken up when its stack was taken. */
TEST(another_leaf_is_no_sleep)
{
    struct loop loop = {.frames = NULL};

    CU_ASSERT_EQUAL(follow(&loop, asleep, 3, 1, true), 0);
    CU_ASSERT_EQUAL(
        FOLLOW(1, true, PLACE("main", 9), PLACE("hold", 2), INNER(7)), 1);
    CU_ASSERT_EQUAL(follow(&loop, asleep, 3, 1, true), 1);
    loop_fini(&loop);
}

/* The first sample may meet it anywhere in the loop. */
TEST(a_thread_that_is_first_met_awake_is_in_its_loop)
{
    struct loop loop = {.frames = NULL};

    CU_ASSERT_EQUAL(FOLLOW(0, false, PLACE("main", 9), PLACE("hold", 2),
                           PLACE("is_ready", 30), PLACE("look", 40)),
                    0);
    CU_ASSERT_EQUAL(follow(&loop, asleep, 3, 1, true), 1);
    CU_ASSERT_EQUAL(FOLLOW(0, true, PLACE("main", 9), PLACE("hold", 2)), 1);
    CU_ASSERT_EQUAL(loop.outside, 4);
    loop_fini(&loop);
}

/* A thread that computes, that sleeps elsewhere, or that was called from another
 * line moves. */
TEST(a_thread_that_goes_on_leaves_its_loop)
{
    struct loop loop = {.frames = NULL};

    CU_ASSERT_EQUAL(follow(&loop, asleep, 3, 1, true), 0);
    CU_ASSERT_EQUAL(FOLLOW(0, false, PLACE("main", 9), PLACE("hold", 2)), 0);
    CU_ASSERT_EQUAL(follow(&loop, asleep, 3, 1, true), 1);
    CU_ASSERT_EQUAL(
        FOLLOW(1, true, PLACE("main", 9), PLACE("hold", 5), INNER(1)), 0);
    CU_ASSERT_EQUAL(
        FOLLOW(1, true, PLACE("main", 8), PLACE("hold", 5), INNER(1)), 0);
    CU_ASSERT_EQUAL(FOLLOW(0, true, PLACE("main", 9), PLACE("hold", 5)), 0);
    CU_ASSERT_EQUAL(FOLLOW(0, true, PLACE("main", 9), PLACE("give", 5)), 0);
    loop_fini(&loop);
}

/* Nor is it in the loop above the caller of the function that slept. */
TEST(two_functions_above_its_call_a_thread_has_left)
{
    struct loop loop = {.frames = NULL};
    const struct frame deep[] = {PLACE("main", 9), PLACE("step", 5),
                                 PLACE("hold", 3), INNER(1)};

    CU_ASSERT_EQUAL(follow(&loop, deep, 4, 1, true), 0);
    CU_ASSERT_EQUAL(FOLLOW(0, true, PLACE("main", 9)), 0);
    loop_fini(&loop);
}

/* With --full the frame of the interpreter that runs the functions is before
 * them; it is at any place of the interpreter. */
TEST(the_interpreter_may_be_anywhere_in_the_loop)
{
    struct loop loop = {.frames = NULL};
    const struct frame full[] = {INNER(4), INNER(5), PLACE("main", 9),
                                 PLACE("hold", 3), INNER(1)};

    CU_ASSERT_EQUAL(follow(&loop, full, 5, 1, true), 0);
    CU_ASSERT_EQUAL(
        FOLLOW(0, true, INNER(4), INNER(6), PLACE("main", 9), PLACE("hold", 2)),
        1);
    CU_ASSERT_EQUAL(
        FOLLOW(0, true, INNER(3), INNER(6), PLACE("main", 9), PLACE("hold", 2)),
        0);
    loop_fini(&loop);
}
