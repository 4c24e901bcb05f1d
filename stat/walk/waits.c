/* waits.c - see waits.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv() */
#endif
#include "stat/walk/waits.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "stat/walk/callsite.h"
#include "stat/walk/child.h"
#include "stat/walk/memory.h"
#include "stat/walk/mutex.h"
#include "stat/walk/requests.h"
#include "stat/walk/thread.h"
#include "stat/walk/unwind.h"
#include "stat/walk/x86.h"

/* How many of the innermost frames have their registers taken, and how many
 * bytes of the stack: the inside of MPI is not deeper. */
#define FRAMES_MAX 48
#define STACK_MAX  ((size_t)16384)

/* A stack ends at the end of a page. */
#define PAGE ((size_t)4096)

/* Memory this near to the taken part may be stack: it is not read later. */
#define STACK_REACH ((uint64_t)8 << 20)

/* Most bytes of a function. */
#define CODE_MAX ((size_t)1 << 16)

/* Registers that a function preserves, and the stack pointer, by their numbers
 * in DWARF and in instructions. */
#define KEPT 7
static const struct {
    unsigned dwarf;
    unsigned number;
} kept[KEPT] = {{3, 3}, {6, 5}, {7, 4}, {12, 12}, {13, 13}, {14, 14}, {15, 15}};

#define DWARF_RSI 4
#define DWARF_RDI 5

struct waits {
    uint64_t registers[FRAMES_MAX][KEPT];
    bool known[FRAMES_MAX][KEPT];
    size_t count;
    uint64_t waits_at; /* the first argument of a system call, */
    uint64_t waits_id; /* and the second */
    bool has_mutex;
    struct mutex mutex;
    size_t stack_len;
    unsigned char stack[STACK_MAX];
};

struct waits *waits_new(void)
{
    struct waits *waits = malloc(sizeof(*waits));

    if (!waits)
        return NULL;
    waits->count = 0;
    waits->waits_at = waits->waits_id = 0;
    waits->has_mutex = false;
    waits->stack_len = 0;
    return waits;
}

void waits_free(struct waits *waits)
{
    free(waits);
}

void waits_take_frame(struct waits *waits, Dwfl_Frame *state)
{
    size_t number = waits->count, i;
    Dwarf_Word word;

    if (number == FRAMES_MAX)
        return;
    if (number == 0 && dwfl_frame_reg(state, DWARF_RDI, &word) == 0)
        waits->waits_at = word;
    if (number == 0 && dwfl_frame_reg(state, DWARF_RSI, &word) == 0)
        waits->waits_id = word;
    for (i = 0; i < KEPT; i++) {
        waits->known[number][i] =
            dwfl_frame_reg(state, kept[i].dwarf, &word) == 0;
        if (waits->known[number][i])
            waits->registers[number][i] = word;
    }
    waits->count++;
}

/* The stack pointer of frame `number`; 0 if not known. */
static uint64_t stack_pointer(const struct waits *waits, size_t number)
{
    return number < waits->count && waits->known[number][2]
               ? waits->registers[number][2]
               : 0;
}

/* Keep up to STACK_MAX bytes of the stack. It is read in parts that end at
 * pages; reading ends at the first part that cannot be read. */
static void take_stack(struct waits *waits, pid_t pid, uint64_t bottom)
{
    struct iovec parts[STACK_MAX / PAGE];
    size_t size = STACK_MAX - bottom % PAGE, at = 0, count = 0;
    struct iovec here = {waits->stack, size};
    ssize_t len;

    while (at < size) {
        uint64_t address = bottom + at;

        parts[count++] =
            (struct iovec){(void *)(uintptr_t)address, PAGE - address % PAGE};
        at += PAGE - address % PAGE;
    }
    len = process_vm_readv(pid, &here, 1, parts, count, 0);
    waits->stack_len = len > 0 ? (size_t)len : 0;
}

void waits_take_memory(struct waits *waits, pid_t pid)
{
    uint64_t bottom = stack_pointer(waits, 0);

    if (waits->waits_at > 0)
        waits->has_mutex = memory_read(pid, waits->waits_at, &waits->mutex,
                                       sizeof(waits->mutex));
    if (bottom > 0)
        take_stack(waits, pid, bottom);
}

uint64_t waits_address(const struct waits *waits)
{
    return waits->waits_at;
}

/* Most calling functions examined for one thread: each may need several
 * arguments of the call above it. */
#define CALLERS_MAX 16

/* A thread whose calls are examined. */
struct asking {
    const struct waits *waits;
    struct names *names;
    struct modules *modules;
    pid_t pid;
    const Dwarf_Addr *pcs; /* of its frames */
    size_t count;
    unsigned callers; /* examined so far */
};

/* As x86_read_fn: reads the stack as it was taken. */
static bool read_then(void *arg, uint64_t address, void *bytes, size_t len)
{
    const struct asking *asking = arg;
    uint64_t bottom = stack_pointer(asking->waits, 0);

    if (address >= bottom && address - bottom < asking->waits->stack_len &&
        asking->waits->stack_len - (address - bottom) >= len) {
        memcpy(bytes, asking->waits->stack + (address - bottom), len);
        return true;
    }
    if (address + STACK_REACH > bottom && address < bottom + STACK_REACH)
        return false;
    return memory_read(asking->pid, address, bytes, len);
}

/* Which arguments of an MPI call are needed; those from X86_ARGUMENTS on are on
 * the stack. A call that waits for requests has their address as `peer`, and
 * their number as `tag`. */
#define NONE         UINT32_MAX
#define ALL_REQUESTS "all"
#define ONE_REQUEST  "one"
static const struct signature {
    const char *name; /* without MPI_ */
    const char *word;
    uint32_t peer;
    uint32_t tag;
    uint32_t communicator;
} signatures[] = {
    {"recv", "from", 3, 4, 5},
    {"send", "to", 3, 4, 5},
    {"ssend", "to", 3, 4, 5},
    {"rsend", "to", 3, 4, 5},
    {"bsend", "to", 3, 4, 5},
    {"probe", "from", 0, 1, 2},
    {"sendrecv", "from", 8, 9, 10},
    {"bcast", "root", 3, NONE, 4},
    {"reduce", "root", 5, NONE, 6},
    {"gather", "root", 6, NONE, 7},
    {"scatter", "root", 6, NONE, 7},
    {"wait", ALL_REQUESTS, 0, NONE, NONE},
    {"waitall", ALL_REQUESTS, 1, 0, NONE},
    {"waitany", ONE_REQUEST, 1, 0, NONE},
    {"waitsome", ONE_REQUEST, 1, 0, NONE},
};

/* Find the signature of a call of MPI; `fortran` becomes whether its arguments
 * are passed by address. NULL: not known. */
static const struct signature *signature_of(const char *symbol, bool *fortran)
{
    static const char *const ends[] = {"_", "__", "_f08_", "_f08ts_"};
    const char *name = symbol + (*symbol == 'P' || *symbol == 'p');
    size_t i, len;

    if (strncasecmp(name, "mpi_", 4) != 0)
        return NULL;
    name += 4;
    len = strcspn(name, "_");
    *fortran = name[len] == '_';
    for (i = 0; *fortran && i < 4 && strcmp(name + len, ends[i]) != 0; i++)
        ;
    if (i == 4)
        return NULL;
    for (i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++)
        if (strlen(signatures[i].name) == len &&
            strncasecmp(name, signatures[i].name, len) == 0)
            return &signatures[i];
    return NULL;
}

/* The beginning of the function that contains `pc`, by its symbol, or else by
 * what unwinds it; 0 if not known. */
static uint64_t function_of(Dwfl *dwfl, Dwarf_Addr pc, size_t *len)
{
    Dwfl_Module *module = dwfl_addrmodule(dwfl, pc);
    GElf_Off offset;
    GElf_Sym symbol;

    if (!module ||
        !dwfl_module_addrinfo(module, pc, &offset, &symbol, NULL, NULL, NULL) ||
        offset >= symbol.st_size)
        return unwind_function(dwfl, pc, len);
    *len = symbol.st_size;
    return pc - offset;
}

/* The function that the call which returns to `returns` calls, directly or
 * through the linkage table; 0 if not known. */
static uint64_t called_from(pid_t pid, uint64_t returns)
{
    unsigned char code[16];
    uint64_t target = 0, slot = 0;
    int32_t distance;
    size_t at = 0;

    if (!memory_read(pid, returns - 6, code, 6))
        return 0;
    memcpy(&distance, code + 2, sizeof(distance));
    if (code[0] == 0xff && code[1] == 0x15) {
        slot = returns + (uint64_t)(int64_t)distance;
    } else if (code[1] == 0xe8) {
        target = returns + (uint64_t)(int64_t)distance;
        if (!memory_read(pid, target, code, sizeof(code)))
            return target;
        if (memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0)
            at = 4;
        at += code[at] == 0xf2;
        if (code[at] != 0xff || code[at + 1] != 0x25)
            return target;
        memcpy(&distance, code + at + 2, sizeof(distance));
        slot = target + at + 6 + (uint64_t)(int64_t)distance;
    }
    return slot > 0 && memory_read(pid, slot, &target, sizeof(target)) ? target
                                                                       : 0;
}

/* Whether a function of the C library that the program has called may have ended
 * in a jump: `callee` is in the library, and `caller` is not. */
static bool may_be_jump(enum role role,
                        const char *symbol,
                        Dwfl *dwfl,
                        Dwarf_Addr caller,
                        Dwarf_Addr callee)
{
    return (role == ROLE_SYSTEM || role == ROLE_THREADS ||
            (role == ROLE_START && !symbol[0])) &&
           dwfl_addrmodule(dwfl, caller) != dwfl_addrmodule(dwfl, callee);
}

int waits_jumped(bool *in,
                 struct frame *frames,
                 struct kinds *kinds,
                 struct names *names,
                 struct modules *modules,
                 pid_t pid,
                 Dwarf_Addr caller,
                 Dwarf_Addr callee)
{
    Dwfl *dwfl = modules_dwfl(modules);
    enum role role, other = ROLE_PROGRAM;
    const char *symbol = "";
    uint64_t target;
    size_t len;
    int r = kinds_find(&role, &symbol, kinds, names, frames);

    *in = r >= 0 && (role == ROLE_MPI || role == ROLE_SHMEM);
    if (r < 0 || caller == 0 ||
        !(*in || may_be_jump(role, symbol, dwfl, caller, callee)))
        return r;
    target = called_from(pid, caller + 1);
    if (target == 0 || target == function_of(dwfl, callee, &len))
        return 0;
    r = names_place(names, modules, target, &frames[1]);
    if (r == 0)
        r = kinds_find(&other, &symbol, kinds, names, &frames[1]);
    if (r < 0 || !symbol[0] ||
        (*in ? other != role : other != ROLE_SYSTEM && other != ROLE_THREADS))
        return r;
    frames[1] = frames[0];
    frames[0] = (struct frame){
        .function = symbol, .file = "", .module = role_text(other)};
    return 1;
}

/* The arguments of the call made by frame number `number`. */
struct arguments {
    struct x86_value in_registers[X86_ARGUMENTS];
    struct asking *asking;
    size_t number;
    struct x86_value registers[X86_REGISTERS]; /* of that frame */
    uint64_t stack;                            /* address of the others */
    bool fortran;
};

/* Find the arguments. Returns whether any may be known. */
static bool arguments_find(struct arguments *arguments,
                           struct asking *asking,
                           size_t number)
{
    struct x86_call call = {.read = read_then, .arg = asking};
    Dwfl *dwfl = modules_dwfl(asking->modules);
    const struct waits *waits = asking->waits;
    unsigned char *code;
    size_t len;

    arguments->asking = asking;
    arguments->number = number;
    arguments->stack = stack_pointer(waits, number);
    if (number >= waits->count || number >= asking->count)
        return false;
    call.returns = asking->pcs[number] + 1;
    call.callee = function_of(dwfl, asking->pcs[number - 1], &len);
    call.function = function_of(dwfl, asking->pcs[number], &call.len);
    if (!call.callee || !call.function || call.len > CODE_MAX ||
        called_from(asking->pid, call.returns) != call.callee)
        return false;
    for (size_t i = 0; i < KEPT; i++)
        call.registers[kept[i].number] = (struct x86_value){
            waits->known[number][i], waits->registers[number][i]};
    memcpy(arguments->registers, call.registers, sizeof(call.registers));
    memset(arguments->in_registers, 0, sizeof(arguments->in_registers));
    code = malloc(call.len);
    call.code = code;
    if (code && memory_read(asking->pid, call.function, code, call.len))
        x86_arguments(arguments->in_registers, &call);
    free(code);
    return true;
}

static struct x86_value described(struct arguments *arguments, unsigned number);

/* As x86_read_fn: `arg` has the arguments of the call. */
static bool read_described(void *arg, uint64_t address, void *bytes, size_t len)
{
    const struct arguments *arguments = arg;

    return read_then(arguments->asking, address, bytes, len);
}

/* As in struct callsite: an argument of the function that made the call whose
 * arguments `arg` has. */
static struct x86_value given(void *arg, unsigned number)
{
    const struct arguments *callee = arg;
    struct arguments arguments = {.fortran = false};

    if (callee->asking->callers == CALLERS_MAX)
        return (struct x86_value){false, 0};
    callee->asking->callers++;
    if (!arguments_find(&arguments, callee->asking, callee->number + 1))
        return (struct x86_value){false, 0};
    return arguments.in_registers[number].known ? arguments.in_registers[number]
                                                : described(&arguments, number);
}

/* Argument number `number`, from debug information. */
static struct x86_value described(struct arguments *arguments, unsigned number)
{
    struct asking *asking = arguments->asking;
    uint64_t above = stack_pointer(asking->waits, arguments->number + 1);
    struct callsite site = {.frame = {above > 0, above},
                            .read = read_described,
                            .given = given,
                            .arg = arguments};
    struct frame frame;
    Dwarf_Addr start;

    if (names_place(asking->names, asking->modules,
                    asking->pcs[arguments->number], &frame) < 0)
        return (struct x86_value){false, 0};
    site.module = names_module(asking->names, frame.module, &start);
    site.returns = start + frame.offset + 1;
    memcpy(site.registers, arguments->registers, sizeof(site.registers));
    return site.module ? callsite_argument(&site, number)
                       : (struct x86_value){false, 0};
}

/* Argument number `number`. */
static struct x86_value argument(struct arguments *arguments, uint32_t number)
{
    struct x86_value value = {false, 0};
    uint32_t low;

    if (number == NONE)
        return value;
    if (number < X86_ARGUMENTS)
        value = arguments->in_registers[number].known
                    ? arguments->in_registers[number]
                    : described(arguments, number);
    else if (arguments->stack > 0)
        value.known = read_then(arguments->asking,
                                arguments->stack + 8 * (number - X86_ARGUMENTS),
                                &value.value, sizeof(value.value));
    if (arguments->fortran && value.known) {
        value.known =
            read_then(arguments->asking, value.value, &low, sizeof(low));
        value.value = low;
    }
    return value;
}

/* The MPI library, as far as its numbers differ. */
enum flavour {
    FLAVOUR_UNKNOWN, /* or a communicator other than the world */
    FLAVOUR_OPEN_MPI,
    FLAVOUR_MPICH,
};

/* The library whose MPI_COMM_WORLD is `communicator`. */
static enum flavour world_of(Dwfl *dwfl,
                             uint64_t communicator,
                             bool fortran,
                             Dwarf_Addr callee)
{
    Dwfl_Module *module = dwfl_addrmodule(dwfl, callee);
    const char *name;

    if ((uint32_t)communicator == 0x44000000)
        return FLAVOUR_MPICH;
    if (!fortran)
        return requests_is_open_world(dwfl, communicator) ? FLAVOUR_OPEN_MPI
                                                          : FLAVOUR_UNKNOWN;
    name = module ? dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL,
                                     NULL)
                  : NULL;
    return communicator == 0 && name && strstr(name, "/libmpi_")
               ? FLAVOUR_OPEN_MPI
               : FLAVOUR_UNKNOWN;
}

/* Append notes on a message; -1 is any tag or rank, less is unknown. Returns
 * how many notes there are then. */
static int note_message(char notes[static WAITS_NOTES][WAITS_NOTE_SIZE],
                        int count,
                        const char *word,
                        int32_t tag,
                        int32_t rank)
{
    if (tag >= 0)
        snprintf(notes[count++], WAITS_NOTE_SIZE, "[tag %d]", tag);
    else if (tag == -1)
        snprintf(notes[count++], WAITS_NOTE_SIZE, "[any tag]");
    if (rank >= 0)
        snprintf(notes[count++], WAITS_NOTE_SIZE, "[%s rank %d]", word, rank);
    else if (rank == -1)
        snprintf(notes[count++], WAITS_NOTE_SIZE, "[%s any rank]", word);
    return count;
}

/* Write notes on the requests that a call waits for: the first one that is not
 * complete, if the call must wait for it. */
static int note_requests(char notes[static WAITS_NOTES][WAITS_NOTE_SIZE],
                         const struct signature *signature,
                         struct arguments *arguments,
                         Dwfl *dwfl,
                         Dwarf_Addr callee)
{
    struct x86_value address = argument(arguments, signature->peer);
    struct x86_value requests = {true, 1};
    uint64_t returns = 0, now = 0;
    struct request request;
    uint32_t pending;
    int count = 0;

    if (signature->tag != NONE)
        requests = argument(arguments, signature->tag);
    if (!address.known || !requests.known || arguments->stack == 0 ||
        !read_then(arguments->asking, arguments->stack - 8, &returns,
                   sizeof(returns)))
        return 0;
    pending = requests_find(&request, dwfl, arguments->asking->pid, callee,
                            address.value, (uint32_t)requests.value);
    /* The process runs again: check that it is still in that call. */
    if (pending == 0 ||
        !memory_read(arguments->asking->pid, arguments->stack - 8, &now,
                     sizeof(now)) ||
        now != returns)
        return 0;
    if (pending > 1)
        snprintf(notes[count++], WAITS_NOTE_SIZE, "[%s of %u requests]",
                 signature->word, pending);
    if (pending > 1 && strcmp(signature->word, ALL_REQUESTS) != 0)
        return count;
    return note_message(notes, count, request.receives ? "from" : "to",
                        request.tag, request.world ? request.peer : -2);
}

/* Write notes on an MPI call that frame number `number` has made. */
static int note_call(char notes[static WAITS_NOTES][WAITS_NOTE_SIZE],
                     struct asking *asking,
                     size_t number,
                     const char *symbol)
{
    struct arguments arguments;
    const struct signature *signature =
        signature_of(symbol, &arguments.fortran);
    Dwfl *dwfl = modules_dwfl(asking->modules);
    Dwarf_Addr callee = asking->pcs[number - 1];
    struct x86_value peer, tag, communicator;
    enum flavour flavour = FLAVOUR_UNKNOWN;
    int32_t rank = -2;

    if (!signature || !arguments_find(&arguments, asking, number))
        return 0;
    if (signature->communicator == NONE)
        return note_requests(notes, signature, &arguments, dwfl, callee);
    peer = argument(&arguments, signature->peer);
    tag = argument(&arguments, signature->tag);
    communicator = argument(&arguments, signature->communicator);
    if (peer.known && communicator.known)
        flavour = world_of(dwfl, communicator.value, arguments.fortran, callee);
    if (flavour != FLAVOUR_UNKNOWN)
        rank = (int32_t)peer.value;
    if (flavour == FLAVOUR_MPICH && rank < 0) /* MPI_ANY_SOURCE is -2 */
        rank = rank == -2 ? -1 : -2;
    return note_message(notes, 0, signature->word,
                        tag.known ? (int32_t)tag.value : -2, rank);
}

/* Write a note on the process that the thread waits for, if `frame` is its
 * innermost one, and a call of the C library that waits for a process. Returns how
 * many notes there are, or -ENOMEM. */
static int note_child(char notes[static WAITS_NOTES][WAITS_NOTE_SIZE],
                      const struct waits *waits,
                      struct kinds *kinds,
                      const struct names *names,
                      const struct frame *frame,
                      pid_t pid,
                      pid_t tid)
{
    const char *symbol;
    enum role role;
    int r = kinds_find(&role, &symbol, kinds, names, frame);

    if (r < 0 || role != ROLE_SYSTEM)
        return r;
    if (strstr(symbol, "wait4") || strstr(symbol, "waitpid"))
        return child_note(notes[0], pid, tid, (int32_t)waits->waits_at);
    if (strstr(symbol, "waitid") && waits->waits_at == P_PID)
        return child_note(notes[0], pid, tid, (int32_t)waits->waits_id);
    return strstr(symbol, "waitid") && waits->waits_at == P_ALL
               ? child_note(notes[0], pid, tid, -1)
               : 0;
}

int waits_notes(char notes[static WAITS_NOTES][WAITS_NOTE_SIZE],
                const struct waits *waits,
                struct kinds *kinds,
                struct names *names,
                struct modules *modules,
                pid_t pid,
                pid_t tid,
                const Dwarf_Addr *pcs,
                size_t count)
{
    struct asking asking = {waits, names, modules, pid, pcs, count, 0};
    enum role role = ROLE_PROGRAM;
    const char *symbol = "";
    struct frame frame;
    size_t i = count;
    int r;

    while (i > 0 && role != ROLE_MPI && role != ROLE_THREADS) {
        r = names_place(names, modules, pcs[--i], &frame);
        if (r == 0)
            r = kinds_find(&role, &symbol, kinds, names, &frame);
        if (r < 0)
            return r;
    }
    if (role == ROLE_THREADS && strstr(symbol, "pthread_mutex_"))
        return waits->has_mutex &&
               mutex_note(notes[0], &waits->mutex, pid, tid);
    if (role == ROLE_MPI && i + 1 < count)
        return note_call(notes, &asking, i + 1, symbol);
    if (i > 0 || count == 0)
        return 0;
    return note_child(notes, waits, kinds, names, &frame, pid, tid);
}
