/* x86.c - see x86.h. */
#include "stat/walk/x86.h"

#include "stat/walk/instruction.h"

/* Most bytes of a function that is followed. */
#define FUNCTION_MAX ((size_t)1 << 16)

/* Most bytes that an instruction writes: opcodes of one byte, and others. */
#define WORD   ((size_t)8)
#define VECTOR ((size_t)64)

/* Most memory reads that are followed before a call. */
#define LOADS_MAX 32

/* The registers that hold the arguments, in order. */
static const unsigned char argument_registers[X86_ARGUMENTS] = {RDI, RSI, RDX,
                                                                RCX, 8,   9};

/* A branch: its target, and whether execution may also continue after it. */
struct branch {
    bool any;
    bool known;
    bool goes_on;
    uint64_t target;
};

static struct branch branch_of(const struct instruction *in, uint64_t behind)
{
    struct branch branch = {false, true, true, behind};
    unsigned op = in->opcode;

    branch.target += (uint64_t)in->immediate;
    if (in->map == MAP_ONE) {
        branch.any = (op >= 0x70 && op < 0x80) || (op >= 0xe0 && op < 0xe4) ||
                     op == 0xe9 || op == 0xeb || op == 0xc3 || op == 0xc2;
        branch.goes_on = op < 0xe9 && op != 0xc3 && op != 0xc2;
        if (op == 0xc3 || op == 0xc2)
            branch.target = 0;
        if (op == 0xff && (in->reg & 7) == 4) {
            branch = (struct branch){true, in->from_rip, false, 0};
        }
    } else if (in->map == MAP_0F) {
        branch.any = (op >= 0x80 && op < 0x90) || op == 0x0b;
        branch.goes_on = op != 0x0b;
    }
    return branch;
}

/* Find where the path to the call begins, after which no branch joins.
 * `*call_at` becomes the address of the call. Returns whether there is one. */
static bool find_path(uint64_t *begin,
                      uint64_t *call_at,
                      const struct x86_call *call)
{
    uint64_t at = call->function, end = call->function + call->len;
    struct instruction in;
    bool found = false;

    /* Two passes: a branch after the call may lead to a place before it. */
    *begin = at;
    for (; at < end; at += in.len) {
        if (!instruction_take(&in, call->code + (at - call->function),
                              (size_t)(end - at)))
            return false;
        if (at + in.len == call->returns) {
            *call_at = at;
            found = true;
        }
    }
    for (at = call->function; found && at < end; at += in.len) {
        struct branch branch;

        instruction_take(&in, call->code + (at - call->function),
                         (size_t)(end - at));
        branch = branch_of(&in, at + in.len);
        if (!branch.any)
            continue;
        if (!branch.known) /* a jump table: its target may be anywhere */
            return false;
        if (branch.target > *begin && branch.target <= *call_at)
            *begin = branch.target;
        if (!branch.goes_on && at + in.len > *begin && at + in.len <= *call_at)
            *begin = at + in.len;
    }
    return found;
}

/* The state of following a path. */
struct path {
    const struct x86_call *call;
    uint64_t at; /* the end of the present instruction */
    struct x86_value registers[X86_REGISTERS];
    bool loaded[X86_REGISTERS];      /* ... read from memory */
    uint64_t written[X86_REGISTERS]; /* the end of the last instruction that
                                        writes each register */
    struct {
        uint64_t address;
        size_t len;
    } loads[LOADS_MAX];
    size_t load_count;
    int64_t moves;  /* how far the stack pointer moves on the path */
    bool moves_far; /* ... not known */
    bool failed;
};

static void forget(struct path *path, unsigned number)
{
    path->registers[number].known = false;
    path->loaded[number] = false;
}

static void set(struct path *path,
                const struct instruction *in,
                unsigned number,
                struct x86_value value,
                bool loaded)
{
    if (!in->wide)
        value.value &= UINT32_MAX;
    if (in->narrow)
        value.known = false;
    path->registers[number] = value;
    path->loaded[number] = loaded;
}

/* The value of a register now: written on the path, or still unchanged. */
static struct x86_value get(const struct path *path, unsigned number)
{
    struct x86_value value = path->registers[number];

    if (!value.known && path->at > path->written[number])
        return path->call->registers[number];
    return value;
}

static struct x86_value address_of(const struct path *path,
                                   const struct instruction *in)
{
    struct x86_value address = {!in->other_segment, (uint64_t)in->displacement};
    struct x86_value part;

    if (in->from_rip)
        address.value += path->at;
    if (in->has_base) {
        part = get(path, in->base);
        address.known &= part.known;
        address.value += part.value;
    }
    if (in->has_index) {
        part = get(path, in->index);
        address.known &= part.known;
        address.value += part.value << in->scale;
    }
    return address;
}

/* Forget values read from memory that may have been overwritten since. */
static void forget_loads(struct path *path)
{
    for (unsigned i = 0; i < X86_REGISTERS; i++)
        if (path->loaded[i])
            forget(path, i);
    path->load_count = 0;
}

/* Note a write of `len` bytes to memory. */
static void store(struct path *path, struct x86_value address, size_t len)
{
    for (size_t i = 0; i < path->load_count; i++)
        if (!address.known ||
            (address.value < path->loads[i].address + path->loads[i].len &&
             path->loads[i].address < address.value + len)) {
            forget_loads(path);
            return;
        }
}

static struct x86_value load(struct path *path,
                             struct x86_value address,
                             size_t len)
{
    struct x86_value value = {false, 0};

    if (!address.known || path->load_count == LOADS_MAX)
        return value;
    path->loads[path->load_count].address = address.value;
    path->loads[path->load_count++].len = len;
    value.known =
        path->call->read(path->call->arg, address.value, &value.value, len);
    return value;
}

/* The value of the modrm operand, a register or memory. */
static struct x86_value operand(struct path *path,
                                const struct instruction *in,
                                size_t len)
{
    return in->mod == 3 ? get(path, in->rm)
                        : load(path, address_of(path, in), len);
}

/* The registers that an instruction writes besides those in its modrm. */
static unsigned implied(const struct instruction *in)
{
    unsigned op = in->opcode;

    if (in->map == MAP_ONE) {
        if (op == 0x98 || (op < 0x40 && (op & 6) == 4 && op < 0x38) ||
            op == 0x9f || (op >= 0xa0 && op < 0xa2))
            return 1u << RAX;
        if (op == 0x99 || op == 0xf6 || op == 0xf7)
            return 1u << RAX | 1u << RDX;
        if ((op >= 0xa4 && op < 0xa8) || (op >= 0xaa && op < 0xb0))
            return 1u << RAX | 1u << RCX | 1u << RSI | 1u << RDI;
        if (op >= 0xe0 && op < 0xe4)
            return 1u << RCX;
        if (op >= 0x91 && op < 0x98)
            return 1u << RAX | 1u << in->rm;
        if (op >= 0xb0 && op < 0xc0)
            return 1u << in->rm;
        if (op >= 0x50 && op < 0x58)
            return 1u << RSP;
        if (op >= 0x58 && op < 0x60)
            return 1u << in->rm | 1u << RSP;
        if (op == 0x68 || op == 0x6a)
            return 1u << RSP;
        if (op == 0xe8 || (op == 0xff && (in->reg & 7) == 2)) /* a call */
            return 1u << RAX | 1u << RCX | 1u << RDX | 1u << RSI | 1u << RDI |
                   0x0f00;
        if (op == 0xff && (in->reg & 7) == 6)
            return 1u << RSP;
        if (op == 0xc9)
            return 1u << RSP | 1u << RBP;
    }
    if (in->map == MAP_0F &&
        (op == 0xb0 || op == 0xb1 || op == 0xc7 || op == 0xa2 || op == 0x31 ||
         op == 0x05 || op == 0x01))
        return 1u << RAX | 1u << RCX | 1u << RDX | 1u << RBX | 0x0800;
    if (in->map == MAP_0F && op >= 0xc8 && op < 0xd0)
        return 1u << in->rm;
    return 0;
}

/* Whether an instruction only reads its operands. */
static bool only_reads(const struct instruction *in)
{
    unsigned op = in->opcode;

    if (in->map == MAP_0F)
        return op == 0x1e || op == 0x1f || op == 0x0d || op == 0x18 ||
               op == 0xa3;
    return in->map == MAP_ONE &&
           ((op >= 0x38 && op < 0x3e) || op == 0x84 || op == 0x85 ||
            (op >= 0x80 && op < 0x84 && (in->reg & 7) == 7) ||
            ((op == 0xf6 || op == 0xf7) && (in->reg & 7) < 2) ||
            (op == 0xff && (in->reg & 7) >= 2));
}

/* All registers that an instruction may write. */
static unsigned writes(const struct instruction *in)
{
    unsigned op = in->opcode, mask = 0;

    if (!only_reads(in)) {
        mask = implied(in);
        if (in->has_modrm) {
            /* These have an extended opcode instead of a second register. */
            bool extended =
                in->map == MAP_ONE &&
                ((op >= 0x80 && op < 0x84) || op == 0xc0 || op == 0xc1 ||
                 op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op < 0xe0) ||
                 op == 0xf6 || op == 0xf7 || op == 0xfe || op == 0xff);
            bool moves_out = in->map == MAP_ONE && (op == 0x88 || op == 0x89);
            bool moves_in = in->map == MAP_ONE && (op == 0x8a || op == 0x8b ||
                                                   op == 0x8d || op == 0x63);

            if (!extended && !moves_out)
                mask |= 1u << in->reg;
            if (in->mod == 3 && !moves_in)
                mask |= 1u << in->rm;
        }
    } else {
        mask = implied(in);
        if ((op >= 0x38 && op < 0x3e) || op == 0xf6 || op == 0xf7)
            mask = 0;
    }
    return mask;
}

/* How far an instruction moves the stack pointer; sets `moves_far` if that is
 * not known. */
static int64_t stack_move(const struct instruction *in, bool *far)
{
    unsigned op = in->opcode;

    if (!(writes(in) & 1u << RSP))
        return 0;
    if (in->map == MAP_ONE) {
        if ((op >= 0x50 && op < 0x58) || op == 0x68 || op == 0x6a ||
            (op == 0xff && (in->reg & 7) == 6))
            return -8;
        if (op >= 0x58 && op < 0x60 && in->rm != RSP)
            return 8;
        if ((op == 0x81 || op == 0x83) && in->mod == 3 && in->wide) {
            if ((in->reg & 7) == 0)
                return in->immediate;
            if ((in->reg & 7) == 5)
                return -in->immediate;
        }
    }
    *far = true;
    return 0;
}

/* Find where on the path each register is written last, and how far the stack
 * pointer moves. */
static void survey(struct path *path, uint64_t begin, uint64_t call_at)
{
    const struct x86_call *call = path->call;
    struct instruction in;

    for (uint64_t at = begin; at < call_at; at += in.len) {
        unsigned mask;

        instruction_take(&in, call->code + (at - call->function),
                         (size_t)(call_at - at));
        if (in.map == MAP_VECTOR && in.opcode >= 0xf0 && in.opcode < 0xf8)
            path->failed = true; /* its destination may be the third operand */
        mask = writes(&in);
        for (unsigned i = 0; i < X86_REGISTERS; i++)
            if (mask & 1u << i)
                path->written[i] = at + in.len;
        path->moves += stack_move(&in, &path->moves_far);
    }
}

/* Add or subtract `more`, which may be `loaded` from memory. */
static void add(struct path *path,
                const struct instruction *in,
                unsigned to,
                struct x86_value more,
                bool loaded,
                bool minus)
{
    struct x86_value sum = get(path, to);

    sum.known &= more.known;
    sum.value += minus ? 0 - more.value : more.value;
    set(path, in, to, sum, loaded || path->loaded[to]);
}

/* Follow an instruction that computes. Returns whether it is one. */
static bool compute(struct path *path, const struct instruction *in)
{
    const struct x86_value immediate = {true, (uint64_t)in->immediate};
    const struct x86_value zero = {true, 0};
    size_t len = in->wide ? 8 : 4;
    unsigned op = in->opcode;
    struct x86_value value;
    uint32_t low;

    if (in->map != MAP_ONE || in->narrow)
        return false;
    if (op == 0x8b) {
        value = operand(path, in, len);
        set(path, in, in->reg, value, in->mod != 3 || path->loaded[in->rm]);
    } else if (op == 0x89 && in->mod == 3) {
        set(path, in, in->rm, get(path, in->reg), path->loaded[in->reg]);
    } else if (op == 0x8d) {
        set(path, in, in->reg, address_of(path, in),
            (in->has_base && path->loaded[in->base]) ||
                (in->has_index && path->loaded[in->index]));
    } else if (op == 0x63) {
        value = operand(path, in, 4);
        low = (uint32_t)value.value;
        value.value = (uint64_t)(int64_t)(int32_t)low;
        set(path, in, in->reg, value, in->mod != 3 || path->loaded[in->rm]);
    } else if (op == 0x98) {
        value = get(path, RAX);
        low = (uint32_t)value.value;
        value.known &= in->wide;
        value.value = (uint64_t)(int64_t)(int32_t)low;
        set(path, in, RAX, value, path->loaded[RAX]);
    } else if (op >= 0xb8 && op < 0xc0) {
        set(path, in, in->rm, immediate, false);
    } else if (op == 0xc7 && in->mod == 3) {
        set(path, in, in->rm, immediate, false);
    } else if ((op == 0x31 || op == 0x33 || op == 0x29 || op == 0x2b) &&
               in->mod == 3 && in->reg == in->rm) {
        set(path, in, in->rm, zero, false);
    } else if (op == 0x03 || op == 0x2b) {
        value = operand(path, in, len);
        add(path, in, in->reg, value, in->mod != 3 || path->loaded[in->rm],
            op == 0x2b);
    } else if ((op == 0x01 || op == 0x29) && in->mod == 3) {
        add(path, in, in->rm, get(path, in->reg), path->loaded[in->reg],
            op == 0x29);
    } else if ((op == 0x81 || op == 0x83) && in->mod == 3 &&
               ((in->reg & 7) == 0 || (in->reg & 7) == 5)) {
        add(path, in, in->rm, immediate, false, (in->reg & 7) == 5);
    } else {
        return false;
    }
    return true;
}

/* Whether it writes more than a vector: a string, or a unit's state. */
static bool stores_much(const struct instruction *in)
{
    unsigned op = in->opcode;

    if (in->map == MAP_0F)
        return op == 0xae || op == 0xc7;
    return in->map == MAP_ONE &&
           ((op >= 0xa4 && op < 0xac) || (op >= 0xd8 && op < 0xe0));
}

/* Whether an instruction may write its modrm operand; multiplications and
 * divisions have their results in registers. */
static bool stores(const struct instruction *in)
{
    bool divides = in->map == MAP_ONE &&
                   (in->opcode == 0xf6 || in->opcode == 0xf7) &&
                   (in->reg & 7) >= 4;

    return in->has_modrm && in->mod != 3 && !only_reads(in) && !divides;
}

/* Follow any other instruction: the values that it writes become unknown. */
static void skip(struct path *path, const struct instruction *in)
{
    unsigned mask = writes(in), op = in->opcode, i;
    struct x86_value stack = get(path, RSP);
    bool far = false;
    bool calls = in->map == MAP_ONE &&
                 (op == 0xe8 || (op == 0xff && (in->reg & 7) == 2));

    for (i = 0; i < X86_REGISTERS; i++)
        if (mask & 1u << i)
            forget(path, i);
    if (calls || stores_much(in))
        forget_loads(path);
    else if (stores(in))
        store(path, address_of(path, in), in->map == MAP_ONE ? WORD : VECTOR);
    if (mask & 1u << RSP) {
        stack.value += (uint64_t)stack_move(in, &far);
        stack.known &= !far;
        path->registers[RSP] = stack;
        store(path, stack, WORD);
    }
}

bool x86_arguments(struct x86_value out[static X86_ARGUMENTS],
                   const struct x86_call *call)
{
    struct path path = {.call = call};
    uint64_t begin, call_at = 0, at;
    struct instruction in;

    for (unsigned i = 0; i < X86_ARGUMENTS; i++)
        out[i] = (struct x86_value){false, 0};
    if (call->len > FUNCTION_MAX || !find_path(&begin, &call_at, call))
        return false;
    survey(&path, begin, call_at);
    if (path.failed)
        return false;
    path.registers[RSP] = call->registers[RSP];
    path.registers[RSP].known &= !path.moves_far;
    path.registers[RSP].value -= (uint64_t)path.moves;
    for (at = begin; at < call_at; at += in.len) {
        instruction_take(&in, call->code + (at - call->function),
                         (size_t)(call_at - at));
        path.at = at + in.len;
        if (!compute(&path, &in))
            skip(&path, &in);
    }
    path.at = call_at + 1;
    for (unsigned i = 0; i < X86_ARGUMENTS; i++)
        out[i] = get(&path, argument_registers[i]);
    return true;
}
