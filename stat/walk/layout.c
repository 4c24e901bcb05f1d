/* layout.c - see layout.h. */
#include "stat/walk/layout.h"

#include <string.h>

#include "stat/walk/memory.h"

static const struct layout layout_3_11 = {
    .runtime_interpreters = 40,
    .runtime_gil = 360,
    .interpreter_next = 0,
    .interpreter_threads = 16,
    .interpreter_collecting = 848,
    .gil_locked = 16,
    .gil_holder = 8,
    .thread_next = 8,
    .thread_native_id = 160,
    .thread_frame = 56,
    .frame_is_behind = true,
    .frame_at = 8,
    .frame_code = 32,
    .frame_previous = 48,
    .frame_instruction = 56,
    .frame_owner = 69,
    .frame_is_entry = 68,
    .code_file = 112,
    .code_name = 128,
    .code_lines = 136,
    .code_first_line = 72,
    .code_code = 184,
    .text_length = 16,
    .text_state = 32,
    .text_kind = 2,
    .text_ascii = 48,
    .text_other = 72,
    .bytes_size = 16,
    .bytes_bytes = 32,
    .tasks = "_all_tasks",
    .frame_globals = 8,
    .frame_stack_top = 64,
    .frame_locals = 72,
    .suspended = -1,
    .attributes = ATTRIBUTES_BEFORE,
};

static const struct layout layout_3_12 = {
    .runtime_interpreters = 40,
    .interpreter_next = 0,
    .interpreter_threads = 72,
    .interpreter_collecting = 312,
    .interpreter_gil = 384,
    .gil_locked = 16,
    .gil_holder = 8,
    .thread_next = 8,
    .thread_native_id = 144,
    .thread_frame = 56,
    .frame_is_behind = true,
    .frame_at = 0,
    .frame_code = 0,
    .frame_previous = 8,
    .frame_instruction = 56,
    .frame_owner = 70,
    .code_file = 112,
    .code_name = 128,
    .code_lines = 136,
    .code_first_line = 68,
    .code_code = 192,
    .text_length = 16,
    .text_state = 32,
    .text_kind = 2,
    .text_ascii = 40,
    .text_other = 56,
    .bytes_size = 16,
    .bytes_bytes = 32,
    .tasks = "_scheduled_tasks",
    .frame_globals = 24,
    .frame_stack_top = 64,
    .frame_locals = 72,
    .suspended = -1,
    .attributes = ATTRIBUTES_MARKED,
};

/* From 3.13 on the interpreter's state begins with numbers that describe the
 * layout (_Py_DebugOffsets). Here are the indexes of its groups. */
struct described {
    uint64_t version; /* its upper two bytes */
    unsigned collector, gil, thread, frame, code, bytes, text, collecting;
};

static const struct described described[] = {
    {0x030d, 10, 14, 19, 28, 34, 64, 67, 72},
    {0x030e, 11, 15, 22, 31, 39, 74, 77, 82},
};

/* What 3.13 does not describe; from 3.14 on tasks are kept in another way. */
static void add_tasks(struct layout *layout)
{
    layout->tasks = "_scheduled_tasks";
    layout->frame_globals = 24;
    layout->frame_stack_top = 64;
    layout->frame_locals = 72;
    layout->suspended = -2;
    layout->attributes = ATTRIBUTES_INSIDE;
}

/* How many of these numbers are read. */
#define NUMBERS 83

/* The indexes that are the same in all versions. */
enum {
    NUMBER_COOKIE,
    NUMBER_VERSION,
    NUMBER_IS_FREE_THREADED,
    NUMBER_INTERPRETERS = 5,
    NUMBER_INTERPRETER_NEXT = 8,
    NUMBER_INTERPRETER_THREADS,
};

/* Read the offsets that the interpreter describes, if they are plausible. */
static bool read_layout(struct layout *layout,
                        const struct python_place *place,
                        const struct described *where)
{
    uint64_t numbers[NUMBERS];
    const uint64_t *gil = numbers + where->gil;
    const uint64_t *thread = numbers + where->thread;
    const uint64_t *frame = numbers + where->frame;
    const uint64_t *code = numbers + where->code;
    const uint64_t *text = numbers + where->text;

    if (!memory_read(place->pid, place->runtime, numbers, sizeof(numbers)) ||
        memcmp(&numbers[NUMBER_COOKIE], "xdebugpy", 8) != 0 ||
        numbers[NUMBER_VERSION] >> 16 != where->version ||
        numbers[NUMBER_IS_FREE_THREADED])
        return false;
    *layout = (struct layout){
        .runtime_interpreters = numbers[NUMBER_INTERPRETERS],
        .interpreter_next = numbers[NUMBER_INTERPRETER_NEXT],
        .interpreter_threads = numbers[NUMBER_INTERPRETER_THREADS],
        .interpreter_collecting =
            numbers[where->collector] + numbers[where->collecting],
        .interpreter_gil = gil[0],
        .gil_locked = gil[3] - gil[1],
        .gil_holder = gil[4] - gil[1],
        .thread_next = thread[2],
        .thread_frame = thread[4],
        .thread_native_id = thread[6],
        .frame_previous = frame[1],
        .frame_code = frame[2],
        .frame_instruction = frame[3],
        .frame_owner = frame[5],
        .code_file = code[1],
        .code_name = code[3],
        .code_lines = code[4],
        .code_first_line = code[5],
        .code_code = code[9],
        .bytes_size = numbers[where->bytes + 1],
        .bytes_bytes = numbers[where->bytes + 2],
        .text_state = text[1],
        .text_kind = where->version < 0x030e ? 2 : 16,
        .text_length = text[2],
        .text_ascii = text[3],
        .text_other = text[3] + 2 * sizeof(uint64_t),
    };
    if (where->version == 0x030d)
        add_tasks(layout);
    return layout->frame_owner < LAYOUT_FRAME_SIZE &&
           layout->frame_owner >= 8 &&
           layout->frame_previous <= layout->frame_owner - 8 &&
           layout->frame_instruction <= layout->frame_owner - 8 &&
           layout->frame_code <= layout->frame_owner - 8 &&
           layout->code_code >= 8 && layout->code_code <= LAYOUT_CODE_SIZE &&
           layout->code_file <= layout->code_code - 8 &&
           layout->code_name <= layout->code_code - 8 &&
           layout->code_lines <= layout->code_code - 8 &&
           layout->code_first_line <= layout->code_code - 8 &&
           layout->text_ascii >= 8 && layout->text_ascii <= 64 &&
           layout->text_length <= layout->text_ascii - 8 &&
           layout->text_state <= layout->text_ascii - 4;
}

bool layout_find(struct layout *layout, const struct python_place *place)
{
    unsigned long version = 0;

    if (!memory_read(place->pid, place->version, &version, sizeof(version)))
        return false;
    switch (version >> 16) {
    case 0x030b:
        *layout = layout_3_11;
        return true;
    case 0x030c:
        *layout = layout_3_12;
        return true;
    default:
        break;
    }
    for (size_t i = 0; i < sizeof(described) / sizeof(described[0]); i++)
        if (version >> 16 == described[i].version)
            return read_layout(layout, place, &described[i]);
    return false;
}
