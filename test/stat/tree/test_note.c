/* test_note.c - what the function of a frame says. */
#include "stat/tree/note.h"

#include "stat/tree/frame.h"
#include "test/check.h"

TEST(notes_are_read)
{
    static const struct {
        const char *text;
        struct note note;
    } rows[] = {
        {"main", {NOTE_NONE, {0, 0}}},
        {"", {NOTE_NONE, {0, 0}}},
        {"[truncated]", {NOTE_TRUNCATED, {0, 0}}},
        {"[truncated: libx.so has no unwind table]", {NOTE_TRUNCATED, {0, 0}}},
        {"[any tag]", {NOTE_OTHER, {0, 0}}},
        {"[running]", {NOTE_RUNNING, {0, 0}}},
        {"[running in a]", {NOTE_OTHER, {0, 0}}},
        {"[thread io-#]", {NOTE_THREAD_NAME, {0, 0}}},
        {"[thread io-#", {NOTE_OTHER, {0, 0}}},
        {"[frames cut]", {NOTE_CUT, {0, 0}}},
        {"[stopped for 5 ms: not walked]", {NOTE_GIVEN_UP, {0, 0}}},
        {"[stopped by SIGSTOP]", {NOTE_OTHER, {0, 0}}},
        {"[7 other threads: not walked]", {NOTE_GIVEN_UP, {0, 0}}},
        {"[stuck in the kernel]", {NOTE_NOWHERE, {0, 0}}},
        {"[stuck in nfs_wait]", {NOTE_OTHER, {0, 0}}},
        {"[sleeping]", {NOTE_NOWHERE, {0, 0}}},
        {"[exited]", {NOTE_ENDED, {0, 0}}},
        {"[thread 8 waits for the GIL, which thread 7 holds]",
         {NOTE_THREAD, {8, 7}}},
        {"[zombie: killed by SIGSEGV]", {NOTE_ENDED, {0, 0}}},
        {"[thread 12 waits for thread 7]", {NOTE_THREAD, {12, 7}}},
        {"[thread 12 waits for thread 7, which has ended]",
         {NOTE_THREAD, {12, 7}}},
        {"[thread 12 waits for thread 7, which is in another process]",
         {NOTE_THREAD, {12, 7}}},
        {FRAME_PYTHON_UNREAD, {NOTE_TRUNCATED, {0, 0}}},
        {"[tag 2147483647]", {NOTE_TAG, {2147483647, 0}}},
        {"[from rank 0]", {NOTE_FROM, {0, 0}}},
        {"[to rank 3]", {NOTE_TO, {3, 0}}},
        {"[waits for process 4711 (a (b)]", {NOTE_CHILD, {4711, 0}}},
        {"[waits for one of 3 processes]", {NOTE_CHILD, {3, 0}}},
        {"[waits for process 4711 (sleep", {NOTE_OTHER, {0, 0}}},
        {"[waits for the GIL]", {NOTE_OTHER, {0, 0}}},
        /* no numbers that a maker writes */
        {"[tag 2147483648]", {NOTE_OTHER, {0, 0}}},
        {"[tag 99999999999999999999]", {NOTE_OTHER, {0, 0}}},
        {"[from rank -1]", {NOTE_OTHER, {0, 0}}},
        {"[from rank  1]", {NOTE_OTHER, {0, 0}}},
        {"[from rank any]", {NOTE_OTHER, {0, 0}}},
        {"[from rank 1", {NOTE_OTHER, {0, 0}}},
        {"[from rank 1] ", {NOTE_OTHER, {0, 0}}},
        {"[from rank ", {NOTE_OTHER, {0, 0}}},
        {"[", {NOTE_OTHER, {0, 0}}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct note note = note_read(rows[i].text);

        if (note.kind != rows[i].note.kind)
            CU_FAIL(rows[i].text);
        if (note.kind >= NOTE_THREAD) {
            CU_ASSERT_EQUAL(note.numbers[0], rows[i].note.numbers[0]);
            CU_ASSERT_EQUAL(note.numbers[1], rows[i].note.numbers[1]);
        }
    }
}
