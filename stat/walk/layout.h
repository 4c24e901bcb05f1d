/* layout.h - where the structs of CPython's interpreter have their members. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "stat/walk/python.h"

/* Bytes that are read of a frame and of a code object: all known members are
 * within. */
#define LAYOUT_FRAME_SIZE 128
#define LAYOUT_CODE_SIZE  512

/* The offsets in bytes of the members that are read, in their structs. */
struct layout {
    uint64_t runtime_interpreters;
    uint64_t interpreter_next, interpreter_threads, interpreter_collecting;
    uint64_t runtime_gil;     /* of the runtime's own lock, ... */
    uint64_t interpreter_gil; /* ... or if that is 0, of a pointer to one */
    uint64_t gil_locked, gil_holder;
    uint64_t thread_next, thread_native_id, thread_frame;
    bool frame_is_behind; /* thread_frame points to a struct with ... */
    uint64_t frame_at;    /* ... the pointer to the frame at this offset */
    uint64_t frame_code, frame_previous, frame_instruction, frame_owner;
    uint64_t frame_is_entry; /* 0: the owner tells */
    uint64_t code_file, code_name, code_lines, code_first_line, code_code;
    uint64_t text_length, text_state, text_ascii, text_other;
    unsigned text_kind; /* lowest bit of the kind within the state */
    uint64_t bytes_size, bytes_bytes;
    /* For the tasks of asyncio; `tasks` is the variable of asyncio.tasks that
     * has the set of them, NULL: they cannot be read. */
    const char *tasks;
    uint64_t frame_globals, frame_stack_top, frame_locals;
    int suspended; /* the lowest state of a suspended coroutine; -1 the highest */
    enum {
        ATTRIBUTES_BEFORE, /* of an object: a pointer to them, or else to a
                              dictionary, is before it; */
        ATTRIBUTES_MARKED, /* a pointer to either, */
        ATTRIBUTES_INSIDE, /* or they are behind its head */
    } attributes;
};

/* Find the layout of the interpreter at `place`. Returns whether its version is
 * known, and what a process says of its own layout is plausible. */
bool layout_find(struct layout *layout, const struct python_place *place);

/* The number at `at` of what was read; the caller knows that it is within. */
static inline uint64_t layout_number(const uint8_t *bytes, uint64_t at)
{
    uint64_t number;

    memcpy(&number, bytes + at, sizeof(number));
    return number;
}
