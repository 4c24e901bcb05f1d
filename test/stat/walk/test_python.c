/* test_python.c - the frames of an interpreter that describes its own layout,
 * as CPython does from 3.13 on: this process imitates one, with other offsets.
 * test-python tests real interpreters. */
#include "stat/walk/python.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "test/check.h"

/* Offsets in bytes, in another order than in any real interpreter. */
#define TID          4711
#define THREADS_AT   24
#define NEXT_AT      40
#define HEAD_AT      720
#define FRAME_AT     48
#define NATIVE_AT    16
#define OWNER_AT     72
#define CODE_AT      104
#define CODE_LINE_AT 56

/* A string that is not interned, ASCII or not. */
struct text {
    uint64_t object[2];
    uint64_t length, hash;
    uint32_t state;
    uint32_t unused;
    union {
        char ascii[32];
        struct {
            uint64_t utf8[2];
            uint16_t wide[8];
        } other;
    } body;
};

static struct {
    uint64_t numbers[160];
    uint64_t interpreter[16];
    uint64_t thread[16];
    uint64_t frames[3][16];
    unsigned char code[160];
    struct text file, name;
    struct {
        uint64_t object[2], size;
        unsigned char bytes[8];
    } lines;
} fake;

static unsigned long version;

static uint64_t address(const void *what)
{
    return (uint64_t)(uintptr_t)what;
}

static void put(void *where, size_t at, uint64_t number)
{
    memcpy((char *)where + at, &number, sizeof(number));
}

/* Fill in the table: its groups begin at the words `at`; the kind of a string
 * begins at bit `kind`. */
static void fake_begin(unsigned long number,
                       const unsigned at[static 5],
                       unsigned kind)
{
    uint64_t *thread = fake.numbers + at[0], *frame = fake.numbers + at[1];
    uint64_t *code = fake.numbers + at[2], *bytes = fake.numbers + at[3];
    uint64_t *text = fake.numbers + at[4];

    memset(&fake, 0, sizeof(fake));
    memset(fake.numbers, 0xee, HEAD_AT);
    version = number;
    memcpy(fake.numbers, "xdebugpy", 8);
    fake.numbers[1] = number;
    fake.numbers[2] = 0;
    fake.numbers[5] = HEAD_AT;
    fake.numbers[8] = NEXT_AT;
    fake.numbers[9] = THREADS_AT;
    thread[2] = NEXT_AT;
    thread[4] = FRAME_AT;
    thread[6] = NATIVE_AT;
    frame[1] = 0;
    frame[2] = 8;
    frame[3] = 16;
    frame[5] = OWNER_AT;
    code[1] = 8;
    code[3] = 16;
    code[4] = 24;
    code[5] = CODE_LINE_AT;
    code[9] = CODE_AT;
    bytes[1] = offsetof(struct text, length);
    bytes[2] = sizeof(uint64_t) * 3;
    text[1] = offsetof(struct text, state);
    text[2] = offsetof(struct text, length);
    text[3] = offsetof(struct text, body);
    put(fake.numbers, HEAD_AT, address(fake.interpreter));
    put(fake.interpreter, THREADS_AT, address(fake.thread));
    put(fake.thread, FRAME_AT, address(fake.frames[0]));
    put(fake.thread, NATIVE_AT, TID);
    fake.file.length = 9;
    fake.file.state = 1U << kind | 3U << (kind + 3);
    strcpy(fake.file.body.ascii, "/x/run.py");
    fake.name.length = 2;
    fake.name.state = 2U << kind | 1U << (kind + 3);
    fake.name.body.other.wide[0] = 'g';
    fake.name.body.other.wide[1] = 0x0159;
    /* Two instructions of line 11, then two of line 12. */
    fake.lines.size = 4;
    memcpy(fake.lines.bytes, "\xd1\x00\xd9\x00", 4);
    put(fake.code, 8, address(&fake.file));
    put(fake.code, 16, address(&fake.name));
    put(fake.code, 24, address(&fake.lines));
    put(fake.code, CODE_LINE_AT, 11);
}

/* Fill in frame `i` of three: the innermost runs the code, the next is a
 * marker, the last runs the code too. */
static void fake_frame(unsigned i, unsigned tag, unsigned owner, unsigned at)
{
    if (i < 2)
        put(fake.frames[i], 0, address(fake.frames[i + 1]));
    put(fake.frames[i], 8, address(fake.code) + tag);
    put(fake.frames[i], 16, address(fake.code) + CODE_AT + at);
    put(fake.frames[i], OWNER_AT, owner);
}

static struct python *check_read(void)
{
    const struct python_place place = {.pid = getpid(),
                                       .runtime = address(fake.numbers),
                                       .version = address(&version)};
    struct python *python = NULL;

    CU_ASSERT_EQUAL_FATAL(python_read(&python, &place, UINT64_MAX), 0);
    return python;
}

/* Read the frames, and check their number and content. */
static void check_frames(size_t expected)
{
    struct python *python = check_read();
    const struct python_frame *frames;
    size_t count = 0;

    frames = python_frames(python, TID, &count);
    CU_ASSERT_EQUAL_FATAL(count, expected);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_STRING_EQUAL(frames[i].function, "g\xc5\x99");
        CU_ASSERT_STRING_EQUAL(frames[i].file, "/x/run.py");
        CU_ASSERT_EQUAL(frames[i].line, 11 + i);
        CU_ASSERT_TRUE(frames[i].is_entry);
    }
    python_free(python);
}

TEST(offsets_of_3_13_are_read_from_its_table)
{
    fake_begin(0x030d00f0, (const unsigned[]){19, 28, 34, 64, 67}, 2);
    fake_frame(0, 0, 0, 4);
    fake_frame(1, 0, 3, 0);
    fake_frame(2, 0, 0, 0);
    check_frames(2);
}

TEST(those_of_3_14_are_elsewhere_and_its_pointers_have_tags)
{
    fake_begin(0x030e00f0, (const unsigned[]){22, 31, 39, 74, 77}, 16);
    fake_frame(0, 1, 0, 4);
    fake_frame(1, 1, 4, 0);
    fake_frame(2, 0, 1, 0);
    check_frames(2);
}

/* Who holds the global lock, and whether the collector runs, by the numbers of
 * each version; a lock that nobody holds keeps its last holder. */
TEST(the_holder_of_the_global_lock_is_found)
{
    static const struct {
        unsigned long version;
        unsigned collector, gil, collecting, kind, groups[5];
    } versions[] = {{0x030d00f0, 10, 14, 72, 2, {19, 28, 34, 64, 67}},
                    {0x030e00f0, 11, 15, 82, 16, {22, 31, 39, 74, 77}}};
    static uint64_t lock[32];
    pid_t holder;

    for (unsigned i = 0; i < 4; i++) {
        const unsigned at = versions[i / 2].gil;
        const bool locked = i % 2;
        struct python *python;

        fake_begin(versions[i / 2].version, versions[i / 2].groups,
                   versions[i / 2].kind);
        fake_frame(0, 0, 0, 0);
        fake.numbers[versions[i / 2].collector] = 48;
        fake.numbers[versions[i / 2].collecting] = 8;
        fake.numbers[at] = 64;
        fake.numbers[at + 1] = 512;
        fake.numbers[at + 3] = 512 + 16;
        fake.numbers[at + 4] = 512 + 8;
        put(fake.interpreter, 56, locked);
        put(fake.interpreter, 64, address(lock));
        put(lock, 8, address(fake.thread));
        put(lock, 16, locked);
        python = check_read();
        holder = -1;
        CU_ASSERT(python_is_gil(python, address(lock) + 40, &holder));
        CU_ASSERT_EQUAL(holder, locked ? TID : 0);
        CU_ASSERT(!python_is_gil(python, address(lock) - 1, &holder));
        CU_ASSERT(!python_is_gil(python, address(lock) + 208, &holder));
        CU_ASSERT_EQUAL(python_collects(python, TID), locked);
        CU_ASSERT(!python_collects(python, TID + 1));
        python_free(python);
    }
}

/* If a constructor is called often, the interpreter calls it through code that
 * it has generated. */
TEST(code_without_a_file_of_its_own_is_no_frame)
{
    const struct text init = {
        .length = 8, .state = 1U << 2 | 3U << 5, .body.ascii = "__init__"};
    static uint64_t code[CODE_AT / 8];

    fake_begin(0x030d00f0, (const unsigned[]){19, 28, 34, 64, 67}, 2);
    put(code, 8, address(&init));
    put(code, 16, address(&init));
    fake_frame(0, 0, 0, 0);
    fake_frame(1, 0, 3, 0);
    fake_frame(2, 0, 0, 0);
    put(fake.frames[2], 8, address(code));
    check_frames(1);
}

TEST(of_an_unknown_version_or_without_the_global_lock_nothing_is_read)
{
    fake_begin(0x030f00f0, (const unsigned[]){22, 31, 39, 74, 77}, 16);
    fake_frame(0, 0, 0, 0);
    check_frames(0);
    fake_begin(0x030e00f0, (const unsigned[]){22, 31, 39, 74, 77}, 16);
    fake_frame(0, 0, 0, 0);
    fake.numbers[2] = 1;
    check_frames(0);
}
