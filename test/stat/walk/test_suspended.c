/* test_suspended.c - the suspended tasks of asyncio in the memory of this
 * process, which imitates an interpreter of 3.12 and can be as wrong as it likes.
 * test-python tests real ones. */
#include "stat/walk/suspended.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat/walk/layout.h"
#include "test/check.h"

/* The objects of the imitation, by their place in `world`. */
enum {
    VERSION = 0,
    GLOBALS_AT = 8,
    LOOP_AT = 16,
    GLOBALS = 64,
    GLOBALS_KEYS = 128,
    MODULE = 256,
    MODULE_DICT = 320,
    MODULE_KEYS = 384,
    WEAK_SET = 544, /* what is before it belongs to it */
    VALUES = 592,
    SET = 640,
    TABLE = 704, /* of 8 */
    TYPES = 896, /* of sets, tasks and coroutines, of 64 bytes */
    NAMES = 1088,
    LOOP = 1152,
    TEXTS = 1216, /* of 64 bytes */
    TASKS = 1600, /* of 128 bytes, and a reference of 64 each */
    COROUTINES = 2624,
    CODES = 3904, /* of 256 bytes */
    LINES = 4672,
    WORLD_SIZE = 4736,
};

/* Bytes of a coroutine and its stack; where its frame is. */
#define COROUTINE_BYTES 256
#define FRAME           72

static _Alignas(16) unsigned char world[WORLD_SIZE];

static uint64_t address(size_t at)
{
    return (uint64_t)(uintptr_t)world + at;
}

static void put(size_t at, uint64_t number)
{
    memcpy(world + at, &number, sizeof(number));
}

static void put_type(size_t at, const char *name, size_t name_at, size_t size)
{
    strcpy((char *)world + name_at, name);
    put(at + 24, address(name_at));
    put(at + 32, size);
}

/* Make a text of ASCII, as 3.12 has it. Returns its address. */
static uint64_t put_text(size_t i, const char *text)
{
    const size_t at = TEXTS + 64 * i;

    put(at + 16, strlen(text));
    put(at + 32, 1U << 2 | 3U << 5);
    strcpy((char *)world + at + 40, text);
    return address(at);
}

/* Make a dictionary with one name. */
static void put_dict(size_t at, size_t keys, uint64_t name, uint64_t value)
{
    put(at + 32, address(keys));
    world[keys + 9] = 3;
    world[keys + 10] = 1;
    put(keys + 24, 3); /* the first two entries are empty */
    put(keys + 40 + 32, name);
    put(keys + 40 + 40, value);
}

/* Make the code of a function, which begins at line 10 * i. */
static void put_code(size_t i, uint64_t file, uint64_t name)
{
    const size_t at = CODES + 256 * i;

    put(at + 68, 10 * i);
    put(at + 112, file);
    put(at + 128, name);
    put(at + 136, address(LINES));
}

static size_t coroutine_at(size_t i)
{
    return COROUTINES + COROUTINE_BYTES * i;
}

/* Make coroutine `i`, which runs code `i` and waits for `awaited`; 0: for
 * nothing known. */
static void put_coroutine(size_t i, int state, uint64_t awaited)
{
    const size_t at = coroutine_at(i), frame = at + FRAME;

    put(at + 8, address(TYPES + 128));
    world[frame - 5] = (unsigned char)state;
    put(frame, address(CODES + 256 * (i % 3)));
    put(frame + 56, address(CODES + 256 * (i % 3)) + 192);
    put(frame + 64, 2); /* two slots are used */
    put(frame + 72 + 8, awaited);
}

static void put_task(size_t i, size_t coroutine, uint64_t loop)
{
    const size_t at = TASKS + 192 * i;

    put(at + 8, address(TYPES + 64));
    put(at + 16, loop);
    put(at + 96, address(coroutine_at(coroutine)));
    put(at + 128 + 16, address(at)); /* the reference */
    put(TABLE + 16 * i, address(at + 128));
}

/* Two tasks wait in waits(), one through runs(); one has begun, one has ended;
 * one is of another loop. */
static void world_begin(void)
{
    memset(world, 0, sizeof(world));
    put(VERSION, 0x030c0000);
    put(GLOBALS_AT, address(GLOBALS));
    put(LOOP_AT, address(LOOP));
    put_type(TYPES, "set", NAMES, 200);
    put_type(TYPES + 64, "_asyncio.Task", NAMES + 16, 128);
    put_type(TYPES + 128, "coroutine", NAMES + 32, FRAME + 72);
    put_dict(GLOBALS, GLOBALS_KEYS, put_text(0, "tasks"), address(MODULE));
    put(MODULE + 16, address(MODULE_DICT));
    put_dict(MODULE_DICT, MODULE_KEYS, put_text(1, "_scheduled_tasks"),
             address(WEAK_SET));
    put(WEAK_SET - 24, address(VALUES) - 1);
    put(VALUES, address(SET));
    put(SET + 8, address(TYPES));
    put(SET + 32, 7);
    put(SET + 40, address(TABLE));
    put_code(1, put_text(2, "/x/y.py"), put_text(3, "waits"));
    put_code(2, put_text(2, "/x/y.py"), put_text(4, "runs"));
    put_code(0, put_text(5, "/lib/python3/q.py"), put_text(3, "waits"));
    put(LINES + 16, 2);
    memcpy(world + LINES + 32, "\xd1\x00", 2);
    put_coroutine(1, -1, 0);
    put_coroutine(2, -1, address(coroutine_at(1)));
    put_coroutine(0, 0, 0);
    put_coroutine(3, 1, 0);
    put_coroutine(4, -1, 0);
    put_task(0, 1, address(LOOP));
    put_task(1, 2, address(LOOP));
    put_task(2, 0, address(LOOP));
    put_task(3, 3, address(LOOP));
    put_task(4, 4, address(LOOP) + 8);
}

/* Read the tasks. */
static void check_read(struct python_suspended *out,
                       struct codes *codes,
                       uint64_t deadline_ns)
{
    static struct layout layout;
    const struct python_place place = {.pid = getpid(),
                                       .version = address(VERSION)};

    CU_ASSERT_FATAL(layout_find(&layout, &place));
    *codes = (struct codes){getpid(), &layout, 0, NULL};
    CHECK_OK(suspended_read(out, codes, address(GLOBALS), address(LOOP),
                            deadline_ns));
}

/* Check how many places are read until `deadline_ns`, and whether that may not be
 * all. */
static void check_places(size_t expected, bool cut, uint64_t deadline_ns)
{
    struct python_suspended tasks;
    struct codes codes;

    check_read(&tasks, &codes, deadline_ns);
    CU_ASSERT_EQUAL(tasks.count, expected);
    CU_ASSERT_EQUAL(tasks.cut, cut);
    free(tasks.list);
    codes_fini(&codes);
}

static void check_count(size_t expected)
{
    check_places(expected, false, UINT64_MAX);
}

/* Only suspended ones, of this loop, at the innermost function of the program. */
TEST(tasks_are_where_their_innermost_coroutines_wait)
{
    struct python_suspended tasks;
    struct codes codes;

    world_begin();
    check_read(&tasks, &codes, UINT64_MAX);
    CU_ASSERT_EQUAL_FATAL(tasks.count, 1);
    CU_ASSERT_EQUAL(tasks.list[0].count, 2);
    CU_ASSERT_STRING_EQUAL(tasks.list[0].function, "waits");
    CU_ASSERT_STRING_EQUAL(tasks.list[0].file, "/x/y.py");
    CU_ASSERT_EQUAL(tasks.list[0].line, 10);
    free(tasks.list);
    codes_fini(&codes);
}

/* A library's coroutine is the place only if nothing of the program is. */
TEST(a_place_in_the_program_goes_before_one_in_a_library)
{
    struct python_suspended tasks;
    struct codes codes;

    world_begin();
    put_coroutine(1, -1, address(coroutine_at(0)));
    put_coroutine(0, -1, 0);
    check_read(&tasks, &codes, UINT64_MAX);
    CU_ASSERT_EQUAL_FATAL(tasks.count, 2);
    CU_ASSERT_EQUAL(tasks.list[0].count, 2);
    CU_ASSERT_STRING_EQUAL(tasks.list[0].file, "/x/y.py");
    CU_ASSERT_EQUAL(tasks.list[1].count, 1);
    CU_ASSERT_STRING_EQUAL(tasks.list[1].file, "/lib/python3/q.py");
    free(tasks.list);
    codes_fini(&codes);
}

TEST(lists_that_never_end_are_left)
{
    world_begin();
    check_places(0, true, 0); /* no time */
    put(SET + 32, UINT64_MAX);
    check_places(1, true, UINT64_MAX);
    put_coroutine(1, -1, address(coroutine_at(2))); /* for each other */
    check_places(2, true, UINT64_MAX);
    put(GLOBALS_KEYS + 24, UINT64_MAX);
    put(GLOBALS_KEYS + 40 + 32, 0);
    check_count(0);
    world[GLOBALS_KEYS + 9] = 255;
    check_count(0);
}

/* Pointers to nowhere, and to objects of another kind. */
TEST(what_is_not_as_expected_is_no_task)
{
    static const size_t pointers[] = {
        GLOBALS + 32,     MODULE + 16,  MODULE_DICT + 32, VALUES,
        SET + 8,          SET + 40,     TYPES + 24,       TYPES + 128 + 24,
        TYPES + 128 + 32, WEAK_SET - 24};

    for (size_t i = 0; i < sizeof(pointers) / sizeof(*pointers); i++)
        for (unsigned j = 0; j < 3; j++) {
            world_begin();
            put(pointers[i], j == 0   ? 0
                             : j == 1 ? UINT64_MAX - 7
                                      : address(pointers[i]));
            check_count(0);
        }
}

/* After all tasks that are named, the others are counted. */
TEST(notes_name_the_places_of_most_tasks)
{
    struct python_tasks tasks[8];
    struct python_suspended all = {tasks, 8, false};
    char note[SUSPENDED_NOTE_SIZE], name[201];

    memset(name, 'x', 63);
    strcpy(name + 63, "\xc3\xb6oo");
    for (size_t i = 0; i < 8; i++)
        tasks[i] = (struct python_tasks){i ? "f" : name, "/a/b.py", 7,
                                         ROLE_PROGRAM, 9 - i};
    CU_ASSERT(suspended_note(note, &all, 1));
    CU_ASSERT_STRING_EQUAL(note, "[8 tasks are suspended in f (b.py:7)]");
    CU_ASSERT(suspended_note(note, &all, 4));
    CU_ASSERT_STRING_EQUAL(note, "[14 more tasks are suspended elsewhere]");
    CU_ASSERT(!suspended_note(note, &all, 5));
    all.cut = true;
    CU_ASSERT(suspended_note(note, &all, 5));
    CU_ASSERT_STRING_EQUAL(note, "[some suspended tasks may be missing]");
    CU_ASSERT(!suspended_note(note, &all, 6));
    all.count = 0;
    CU_ASSERT(suspended_note(note, &all, 0));
    CU_ASSERT(!suspended_note(note, &all, 1));
    all = (struct python_suspended){tasks, 2, false};
    tasks[1].count = 1;
    CU_ASSERT(suspended_note(note, &all, 1));
    CU_ASSERT_STRING_EQUAL(note, "[1 task is suspended in f (b.py:7)]");
    CU_ASSERT(!suspended_note(note, &all, 2));
    /* No half of a character. */
    CU_ASSERT(suspended_note(note, &all, 0));
    name[63] = '\0';
    CU_ASSERT(strstr(note, name) != NULL);
    CU_ASSERT(strstr(note, "\xc3") == NULL);
}
