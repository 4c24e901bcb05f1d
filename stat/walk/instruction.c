/* instruction.c - see instruction.h. */
#include "stat/walk/instruction.h"

/* Most bytes of one instruction. */
#define LENGTH_MAX 15

/* A position in bytes that are being read. */
struct cursor {
    const unsigned char *at;
    const unsigned char *end;
    bool failed;
};

static unsigned take_byte(struct cursor *cursor)
{
    if (cursor->at == cursor->end) {
        cursor->failed = true;
        return 0;
    }
    return *cursor->at++;
}

/* A signed number of `len` bytes. */
static int64_t take_number(struct cursor *cursor, size_t len)
{
    uint64_t number = 0;

    for (size_t i = 0; i < len; i++)
        number |= (uint64_t)take_byte(cursor) << (8 * i);
    if (len > 0 && len < 8 && (number >> (8 * len - 1)) & 1)
        number |= ~UINT64_C(0) << (8 * len);
    return (int64_t)number;
}

/* Find whether a one-byte opcode has a modrm byte, and the length of its
 * immediate. Returns false if there is no such instruction. */
static bool one_byte_form(const struct instruction *in,
                          bool *modrm,
                          size_t *immediate)
{
    unsigned op = in->opcode;
    size_t full = in->narrow ? 2 : 4;

    *modrm = false;
    *immediate = 0;
    if (op < 0x40) {
        *modrm = (op & 7) < 4;
        *immediate = (op & 7) == 4 ? 1 : (op & 7) == 5 ? full : 0;
        return (op & 7) < 6;
    }
    if ((op >= 0x50 && op < 0x60) || (op >= 0x90 && op < 0x9a) ||
        (op >= 0x9b && op < 0xa0) || (op >= 0xa4 && op < 0xa8) ||
        (op >= 0xaa && op < 0xb0) || op == 0xc3 || op == 0xc9 || op == 0xcc ||
        op == 0xf4)
        return true;
    if (op == 0x63 || (op >= 0x84 && op < 0x90) || (op >= 0xd0 && op < 0xd4) ||
        (op >= 0xd8 && op < 0xe0) || op == 0xfe || op == 0xff || op == 0xf6 ||
        op == 0xf7) {
        *modrm = true;
        return true;
    }
    if (op == 0x80 || op == 0x83 || op == 0x6b || op == 0xc0 || op == 0xc1 ||
        op == 0xc6 || op == 0x81 || op == 0x69 || op == 0xc7) {
        *modrm = true;
        *immediate = op == 0x81 || op == 0x69 || op == 0xc7 ? full : 1;
        return true;
    }
    if (op == 0x6a || (op >= 0x70 && op < 0x80) || op == 0xa8 ||
        (op >= 0xb0 && op < 0xb8) || op == 0xcd || (op >= 0xe0 && op < 0xe4) ||
        op == 0xeb)
        *immediate = 1;
    else if (op == 0x68 || op == 0xa9)
        *immediate = full;
    else if (op >= 0xb8 && op < 0xc0)
        *immediate = in->wide ? 8 : full;
    else if (op == 0xe8 || op == 0xe9)
        *immediate = 4;
    else if (op == 0xc2)
        *immediate = 2;
    else if (op >= 0xa0 && op < 0xa4)
        *immediate = 8;
    return *immediate > 0;
}

/* The same for an opcode after 0x0f. */
static bool two_byte_form(const struct instruction *in,
                          bool *modrm,
                          size_t *immediate)
{
    unsigned op = in->opcode;

    *modrm = false;
    *immediate = 0;
    if (op == 0x05 || op == 0x0b || op == 0x31 || op == 0x77 || op == 0xa2 ||
        op == 0xa0 || op == 0xa1 || op == 0xa8 || op == 0xa9 ||
        (op >= 0xc8 && op < 0xd0))
        return true;
    if (op >= 0x80 && op < 0x90) {
        *immediate = 4;
        return true;
    }
    *modrm = true;
    if ((op >= 0x70 && op < 0x74) || op == 0xa4 || op == 0xac || op == 0xba ||
        op == 0xc2 || (op >= 0xc4 && op < 0xc7))
        *immediate = 1;
    return op == 0x0d || (op >= 0x10 && op < 0x20) ||
           (op >= 0x28 && op < 0x30) || (op >= 0x40 && op < 0x80) ||
           (op >= 0x90 && op < 0xa0) || (op >= 0xa3 && op < 0xff);
}

/* Read the rest after the opcode: modrm, its address, and the immediate. */
static void take_operands(struct instruction *in,
                          struct cursor *cursor,
                          unsigned rex,
                          size_t immediate)
{
    if (in->has_modrm) {
        unsigned modrm = take_byte(cursor), base = modrm & 7;

        in->mod = modrm >> 6;
        in->reg = ((modrm >> 3) & 7) | (rex & 4) << 1;
        in->rm = base | (rex & 1) << 3;
        in->has_base = in->mod != 3;
        in->base = in->rm;
        if (in->mod != 3 && base == 4) {
            unsigned sib = take_byte(cursor);

            base = sib & 7;
            in->base = base | (rex & 1) << 3;
            in->index = ((sib >> 3) & 7) | (rex & 2) << 2;
            in->has_index = in->index != RSP;
            in->scale = sib >> 6;
            in->has_base = in->mod != 0 || base != 5;
            if (!in->has_base)
                in->displacement = take_number(cursor, 4);
        } else if (in->mod == 0 && base == 5) {
            in->has_base = false;
            in->from_rip = true;
            in->displacement = take_number(cursor, 4);
        }
        if (in->mod == 1 || in->mod == 2)
            in->displacement = take_number(cursor, in->mod == 1 ? 1 : 4);
        if (in->map == MAP_ONE && (in->opcode & 0xfe) == 0xf6 &&
            (in->reg & 7) < 2)
            immediate = in->opcode == 0xf6 ? 1 : in->narrow ? 2 : 4;
    }
    in->immediate_len = immediate;
    in->immediate = take_number(cursor, immediate);
}

/* Read a vector instruction whose first byte was `first`. Returns whether it
 * exists. */
static bool take_vector(struct instruction *in,
                        struct cursor *cursor,
                        unsigned first)
{
    unsigned second = take_byte(cursor), map = 1, rex = ~second >> 5 & 4;

    in->map = MAP_VECTOR;
    if (first == 0xc4 || first == 0x62) {
        rex = (~second >> 5 & 4) | (~second >> 5 & 2) | (~second >> 5 & 1);
        map = second & 7;
        take_byte(cursor);
        if (first == 0x62)
            take_byte(cursor);
    }
    in->opcode = (unsigned char)take_byte(cursor);
    in->has_modrm = in->opcode != 0x77 || map != 1;
    take_operands(
        in, cursor, rex,
        map == 3 || (map == 1 && ((in->opcode >= 0x70 && in->opcode < 0x74) ||
                                  in->opcode == 0xc2 ||
                                  (in->opcode >= 0xc4 && in->opcode < 0xc7)))
            ? 1
            : 0);
    return map >= 1 && map <= 6;
}

bool instruction_take(struct instruction *in,
                      const unsigned char *code,
                      size_t len)
{
    struct cursor cursor = {code, code + (len < LENGTH_MAX ? len : LENGTH_MAX),
                            false};
    unsigned byte = take_byte(&cursor), rex = 0;
    bool known, modrm = true;
    size_t immediate = 0;

    *in = (struct instruction){.len = 0};
    while (byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0xf0 ||
           byte == 0x2e || byte == 0x3e || byte == 0x26 || byte == 0x36 ||
           byte == 0x64 || byte == 0x65) {
        in->narrow |= byte == 0x66;
        in->other_segment |= byte == 0x64 || byte == 0x65;
        byte = take_byte(&cursor);
    }
    if ((byte & 0xf0) == 0x40) {
        rex = byte;
        in->wide = rex & 8;
        byte = take_byte(&cursor);
    }
    if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
        known = take_vector(in, &cursor, byte);
    } else {
        if (byte == 0x0f) {
            in->map = MAP_0F;
            byte = take_byte(&cursor);
            if (byte == 0x38 || byte == 0x3a) {
                in->map = byte == 0x38 ? MAP_0F38 : MAP_0F3A;
                immediate = byte == 0x3a;
                byte = take_byte(&cursor);
            }
        }
        in->opcode = (unsigned char)byte;
        known = in->map == MAP_ONE  ? one_byte_form(in, &modrm, &immediate)
                : in->map == MAP_0F ? two_byte_form(in, &modrm, &immediate)
                                    : true;
        in->has_modrm = modrm;
        in->rm = (byte & 7) | (rex & 1) << 3; /* if there is no modrm */
        take_operands(in, &cursor, rex, immediate);
    }
    in->len = (size_t)(cursor.at - code);
    return known && !cursor.failed;
}
