/* instruction.h - one instruction of x86-64: its length, and its operands as far
 * as following a path needs them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers, by their numbers in instructions. */
enum {
    RAX,
    RCX,
    RDX,
    RBX,
    RSP,
    RBP,
    RSI,
    RDI,
};

/* The opcode maps. */
enum map {
    MAP_ONE, /* opcodes of one byte */
    MAP_0F,  /* after 0x0f */
    MAP_0F38,
    MAP_0F3A,
    MAP_VECTOR, /* VEX and EVEX: general registers only in modrm */
};

struct instruction {
    size_t len;
    enum map map;
    unsigned char opcode;
    bool wide;   /* 64 bits */
    bool narrow; /* 16 bits */
    bool other_segment;
    bool has_modrm;
    unsigned mod;
    unsigned reg; /* with the bit of REX */
    unsigned rm;
    bool has_base, has_index, from_rip;
    unsigned base, index, scale;
    int64_t displacement;
    int64_t immediate;
    size_t immediate_len;
};

/* Read the instruction with which `len` bytes of untrusted code begin. Returns
 * whether it is known. */
bool instruction_take(struct instruction *in,
                      const unsigned char *code,
                      size_t len);
