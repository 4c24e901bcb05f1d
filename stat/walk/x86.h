/* x86.h - arguments of a call, from machine code of x86-64.
 *
 * The instructions before a call are followed from the last place where another
 * path may join. Values that they take from registers that the callee must
 * preserve, or from memory, are still there. If anything else is needed, no
 * value is found. The code is untrusted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers, by their numbers in instructions. */
#define X86_REGISTERS 16
#define X86_RSP       4

/* Arguments in registers. */
#define X86_ARGUMENTS 6

/* A register or an argument. */
struct x86_value {
    bool known;
    uint64_t value;
};

/* Read `len` bytes of the process's memory at `address`. Returns whether all
 * could be read. */
typedef bool (*x86_read_fn)(void *arg,
                            uint64_t address,
                            void *bytes,
                            size_t len);

/* A call that has not returned. */
struct x86_call {
    uint64_t function;         /* where the calling function begins */
    const unsigned char *code; /* of that whole function */
    size_t len;
    uint64_t returns; /* where the call returns to */
    uint64_t callee;  /* where the called function begins */
    struct x86_value registers[X86_REGISTERS]; /* as the callee will restore
                                                  them; others are not known */
    x86_read_fn read;
    void *arg;
};

/* Find the arguments of a call. Returns whether the code could be followed;
 * each argument may still be unknown. */
bool x86_arguments(struct x86_value out[static X86_ARGUMENTS],
                   const struct x86_call *call);
