/* callsite.c - see callsite.h. */
#include "stat/walk/callsite.h"

#include <dwarf.h>
#include <stdint.h>
#include <string.h>

#include "stat/walk/source.h"

/* Most values on the stack of a DWARF expression, and operations in it. */
#define VALUES_MAX     16
#define OPERATIONS_MAX 64

/* The DWARF numbers of the registers, by their numbers in instructions, and of
 * the arguments. */
static const unsigned char registers[] = {0, 2, 1, 3, 7, 6, 4, 5};
static const unsigned char arguments[X86_ARGUMENTS] = {5, 4, 1, 2, 8, 9};

/* A DWARF expression that is being computed. */
struct machine {
    const struct callsite *site;
    Dwarf_Die *function;
    uint64_t values[VALUES_MAX];
    size_t count;
    bool failed;
};

static void push(struct machine *machine, struct x86_value value)
{
    if (!value.known || machine->count == VALUES_MAX)
        machine->failed = true;
    else
        machine->values[machine->count++] = value.value;
}

static void push_number(struct machine *machine, uint64_t number)
{
    push(machine, (struct x86_value){true, number});
}

static uint64_t pop(struct machine *machine)
{
    if (machine->count == 0) {
        machine->failed = true;
        return 0;
    }
    return machine->values[--machine->count];
}

/* Push the value that is `depth` below the top. */
static void pick(struct machine *machine, size_t depth)
{
    if (depth < machine->count)
        push_number(machine, machine->values[machine->count - 1 - depth]);
    else
        machine->failed = true;
}

/* The value of the register with DWARF number `number`, plus `more`. */
static struct x86_value register_value(const struct machine *machine,
                                       uint64_t number,
                                       uint64_t more)
{
    struct x86_value value = {false, 0};

    for (size_t i = 0; number < 8 && i < sizeof(registers); i++)
        if (registers[i] == number)
            value = machine->site->registers[i];
    if (number >= 8 && number < X86_REGISTERS)
        value = machine->site->registers[number];
    value.value += more;
    return value;
}

/* Push the frame base of the function, plus `more`. */
static void push_frame(struct machine *machine, uint64_t more)
{
    struct x86_value value = {false, 0};
    Dwarf_Attribute attribute;
    Dwarf_Op *base;
    size_t len;

    if (dwarf_getlocation(
            dwarf_attr(machine->function, DW_AT_frame_base, &attribute), &base,
            &len) == 0 &&
        len == 1) {
        if (base->atom == DW_OP_call_frame_cfa)
            value = machine->site->frame;
        else if (base->atom >= DW_OP_reg0 && base->atom <= DW_OP_reg31)
            value = register_value(machine, base->atom - DW_OP_reg0, 0);
    }
    value.value += more;
    push(machine, value);
}

/* The number of the argument whose register is all that the expression of
 * `attribute` consists of; X86_ARGUMENTS: none. */
static unsigned argument_in(Dwarf_Attribute *attribute)
{
    unsigned i = 0;
    Dwarf_Op *place;
    size_t len;

    if (dwarf_getlocation(attribute, &place, &len) != 0 || len != 1)
        return X86_ARGUMENTS;
    while (i < X86_ARGUMENTS && place->atom != DW_OP_reg0 + arguments[i])
        i++;
    return i;
}

/* Push the value that the function got in a register when it was called. */
static void push_given(struct machine *machine,
                       Dwarf_Attribute *expression,
                       const Dwarf_Op *operation)
{
    unsigned number = X86_ARGUMENTS;
    Dwarf_Attribute block;

    if (dwarf_getlocation_attr(expression, operation, &block) == 0)
        number = argument_in(&block);
    if (number < X86_ARGUMENTS)
        push(machine, machine->site->given(machine->site->arg, number));
    else
        machine->failed = true;
}

/* Replace the address on top of the stack by the memory there. */
static void dereference(struct machine *machine, uint64_t len)
{
    uint64_t address = pop(machine), value = 0;
    bool known = !machine->failed && len <= sizeof(value) &&
                 machine->site->read(machine->site->arg, address, &value, len);

    push(machine, (struct x86_value){known, value});
}

/* Divide or shift right. Compilers describe an int as a 64-bit number, whose
 * upper half may be anything: the result is only known if that half makes no
 * difference. */
static struct x86_value reduce(unsigned atom, uint64_t left, uint64_t right)
{
    int64_t a = (int64_t)left, b = (int64_t)right, wide;
    int32_t low_a = (int32_t)a, low_b = (int32_t)b, low;

    if (atom == DW_OP_div && low_b > 0 && b > 0) {
        wide = a / b;
        low = low_a / low_b;
    } else if (atom == DW_OP_shr && right < 32) {
        wide = (int64_t)(left >> right);
        low = (int32_t)((uint32_t)left >> right);
    } else if (atom == DW_OP_shra && right < 32) {
        wide = a >> right;
        low = low_a >> right;
    } else {
        return (struct x86_value){false, 0};
    }
    return (struct x86_value){(int32_t)wide == low, (uint64_t)wide};
}

/* Compute an operation on two values. Returns whether `atom` is one. */
static bool combine(struct machine *machine, unsigned atom)
{
    uint64_t right, left;

    switch (atom) {
    case DW_OP_plus:
    case DW_OP_minus:
    case DW_OP_mul:
    case DW_OP_and:
    case DW_OP_or:
    case DW_OP_xor:
    case DW_OP_shl:
    case DW_OP_div:
    case DW_OP_shr:
    case DW_OP_shra:
        break;
    default:
        return false;
    }
    right = pop(machine);
    left = pop(machine);
    if (atom == DW_OP_plus)
        push_number(machine, left + right);
    else if (atom == DW_OP_minus)
        push_number(machine, left - right);
    else if (atom == DW_OP_mul)
        push_number(machine, left * right);
    else if (atom == DW_OP_and)
        push_number(machine, left & right);
    else if (atom == DW_OP_or)
        push_number(machine, left | right);
    else if (atom == DW_OP_xor)
        push_number(machine, left ^ right);
    else if (atom == DW_OP_shl && right < 32)
        push_number(machine, left << right);
    else
        push(machine, reduce(atom, left, right));
    return true;
}

/* Compute an operation that reads or moves values. */
static void operate(struct machine *machine,
                    Dwarf_Attribute *expression,
                    const Dwarf_Op *operation)
{
    unsigned atom = operation->atom;

    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
        push_number(machine, atom - DW_OP_lit0);
    else if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
        push_number(machine, operation->number);
    else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
        push(machine,
             register_value(machine, atom - DW_OP_breg0, operation->number));
    else if (atom == DW_OP_fbreg)
        push_frame(machine, operation->number);
    else if (atom == DW_OP_entry_value || atom == DW_OP_GNU_entry_value)
        push_given(machine, expression, operation);
    else if (atom == DW_OP_deref || atom == DW_OP_deref_size)
        dereference(machine, atom == DW_OP_deref ? 8 : operation->number);
    else if (atom == DW_OP_plus_uconst)
        push_number(machine, pop(machine) + operation->number);
    else if (atom == DW_OP_neg)
        push_number(machine, 0 - pop(machine));
    else if (atom == DW_OP_not)
        push_number(machine, ~pop(machine));
    else if (atom == DW_OP_dup || atom == DW_OP_over || atom == DW_OP_pick)
        pick(machine, atom == DW_OP_dup    ? 0
                      : atom == DW_OP_over ? 1
                                           : operation->number);
    else if (atom == DW_OP_drop)
        pop(machine);
    else if (atom != DW_OP_stack_value && !combine(machine, atom))
        machine->failed = true;
}

/* Compute the expression of `attribute`. */
static struct x86_value compute(const struct callsite *site,
                                Dwarf_Die *function,
                                Dwarf_Attribute *attribute)
{
    struct machine machine = {.site = site, .function = function};
    Dwarf_Op *operations;
    struct x86_value value = {false, 0};
    size_t len;

    if (dwarf_getlocation(attribute, &operations, &len) != 0 ||
        len > OPERATIONS_MAX)
        return value;
    for (size_t i = 0; i < len && !machine.failed; i++)
        operate(&machine, attribute, &operations[i]);
    value.value = pop(&machine);
    value.known = !machine.failed;
    return value;
}

/* Whether the descriptions of the compiler of `die` are reliable. Those of
 * clang (14) may name a register whose value has changed by the time of the
 * call. */
static bool is_reliable(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die unit;
    const char *producer =
        dwarf_diecu(die, &unit, NULL, NULL)
            ? dwarf_formstring(dwarf_attr(&unit, DW_AT_producer, &attribute))
            : NULL;

    return producer && strncmp(producer, "GNU ", 4) == 0;
}

/* Find the call in `scope` that returns to `returns`. */
static bool find_call(Dwarf_Die *call, Dwarf_Die *scope, Dwarf_Addr returns)
{
    Dwarf_Attribute attribute;
    Dwarf_Addr address;

    if (dwarf_child(scope, call) != 0)
        return false;
    do {
        int tag = dwarf_tag(call);

        if ((tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site) &&
            dwarf_formaddr(dwarf_attr(call,
                                      tag == DW_TAG_call_site
                                          ? DW_AT_call_return_pc
                                          : DW_AT_low_pc,
                                      &attribute),
                           &address) == 0 &&
            address == returns)
            return true;
    } while (dwarf_siblingof(call, call) == 0);
    return false;
}

struct x86_value callsite_argument(const struct callsite *site, unsigned number)
{
    struct x86_value none = {false, 0};
    Dwarf_Die scopes[SOURCE_SCOPES_MAX], call, parameter;
    Dwarf_Attribute attribute;
    Dwarf_Addr bias = 0;
    size_t count =
        source_scopes(scopes, &bias, site->module, site->returns - 1);
    size_t i = 0;

    while (i < count && !find_call(&call, &scopes[i], site->returns - bias))
        i++;
    if (i == count || !is_reliable(&call) ||
        dwarf_child(&call, &parameter) != 0)
        return none;
    while (i + 1 < count && dwarf_tag(&scopes[i]) != DW_TAG_subprogram)
        i++;
    do {
        if (argument_in(dwarf_attr(&parameter, DW_AT_location, &attribute)) !=
            number)
            continue;
        if (!dwarf_attr(&parameter, DW_AT_call_value, &attribute) &&
            !dwarf_attr(&parameter, DW_AT_GNU_call_site_value, &attribute))
            return none;
        return compute(site, &scopes[i], &attribute);
    } while (dwarf_siblingof(&parameter, &parameter) == 0);
    return none;
}
