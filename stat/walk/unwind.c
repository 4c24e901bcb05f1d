/* unwind.c - see unwind.h. */
#include "stat/walk/unwind.h"

#include <elfutils/libdw.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#if defined(__x86_64__)

/* For libdwfl, which asks for threads by id only. */
static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
    (void)dwfl;
    (void)arg;
    (void)thread;
    return 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
    struct unwind *unwind = arg;

    (void)dwfl;
    *thread = arg;
    return tid == unwind->tid;
}

/* Read `len` bytes at `address` through the present thread, as the first one
 * may have ended. Returns whether all could be read. */
static bool read_bytes(struct unwind *unwind,
                       void *out,
                       Dwarf_Addr address,
                       size_t len)
{
    struct iovec mine = {out, len};
    struct iovec theirs = {(void *)(uintptr_t)address, len};
    ssize_t r = process_vm_readv(unwind->tid, &mine, 1, &theirs, 1, 0);

    if (r < 0 && (errno == ENOSYS || errno == EPERM))
        unwind->by_ptrace = true;
    return r == (ssize_t)len;
}

static bool read_word(Dwfl *dwfl,
                      Dwarf_Addr address,
                      Dwarf_Word *out,
                      void *arg)
{
    struct unwind *unwind = arg;
    Dwarf_Addr page = address - address % UNWIND_PAGE;
    size_t at = address % UNWIND_PAGE;

    (void)dwfl;
    if (at % sizeof(*out) == 0 && !unwind->by_ptrace) {
        if (unwind->page != page || page == 0) {
            unwind->page = 0;
            if (read_bytes(unwind, unwind->words, page, UNWIND_PAGE))
                unwind->page = page;
        }
        if (unwind->page != 0) {
            *out = unwind->words[at / sizeof(*out)];
            return true;
        }
    }
    if (!unwind->by_ptrace && read_bytes(unwind, out, address, sizeof(*out)))
        return true;
    if (!unwind->by_ptrace || unwind->quiet)
        return false;
    errno = 0;
    *out = (Dwarf_Word)ptrace(PTRACE_PEEKDATA, unwind->tid,
                              (void *)(uintptr_t)address, NULL);
    return errno == 0;
}

/* The registers of a held thread, by their DWARF numbers. */
static bool held_registers(struct quiet *out, pid_t tid)
{
    struct user_regs_struct user;

    if (ptrace(PTRACE_GETREGS, tid, NULL, &user) < 0)
        return false;
    *out = (struct quiet){
        .registers = {user.rax, user.rdx, user.rcx, user.rbx, user.rsi,
                      user.rdi, user.rbp, user.rsp, user.r8, user.r9, user.r10,
                      user.r11, user.r12, user.r13, user.r14, user.r15,
                      user.rip},
        .known = (1u << QUIET_REGISTERS) - 1,
    };
    return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
    struct unwind *unwind = arg;
    const struct quiet *from = unwind->quiet;
    struct quiet held;

    if (!from && !held_registers(&held, unwind->tid))
        return false;
    from = from ? from : &held;
    /* The PC too: it is needed for frames in the linkage table. */
    for (int i = 0; i < QUIET_REGISTERS; i++) {
        Dwarf_Word word = from->registers[i];

        if ((from->known >> i & 1) &&
            !dwfl_thread_state_registers(thread, i, 1, &word))
            return false;
    }
    dwfl_thread_state_register_pc(thread, from->registers[QUIET_PC]);
    return true;
}

bool unwind_attach(struct unwind *unwind, Dwfl *dwfl, pid_t pid)
{
    static const Dwfl_Thread_Callbacks callbacks = {
        .next_thread = next_thread,
        .get_thread = get_thread,
        .memory_read = read_word,
        .set_initial_registers = set_registers,
    };

    *unwind = (struct unwind){.tid = pid};
    return dwfl_attach_state(dwfl, NULL, pid, &callbacks, unwind);
}

#else

bool unwind_attach(struct unwind *unwind, Dwfl *dwfl, pid_t pid)
{
    *unwind = (struct unwind){.tid = pid};
    return dwfl_linux_proc_attach(dwfl, pid, true) == 0;
}

#endif

int unwind_thread(struct unwind *unwind,
                  Dwfl *dwfl,
                  pid_t tid,
                  const struct quiet *quiet,
                  int (*fn)(Dwfl_Frame *frame, void *arg),
                  void *arg)
{
    unwind->tid = tid;
    unwind->quiet = quiet;
    unwind->page = 0;
    return dwfl_getthread_frames(dwfl, tid, fn, arg);
}

/* Find how the function at `pc` is unwound, by the table that the program itself
 * uses; the caller frees it. NULL if it is not known. `*bias` becomes where the
 * module is. */
static Dwarf_Frame *frame_at(Dwfl *dwfl, Dwarf_Addr pc, Dwarf_Addr *bias)
{
    Dwfl_Module *module = dwfl_addrmodule(dwfl, pc);
    Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, bias) : NULL;
    Dwarf_Frame *frame = NULL;

    return cfi && dwarf_cfi_addrframe(cfi, pc - *bias, &frame) == 0 ? frame
                                                                    : NULL;
}

uint64_t unwind_function(Dwfl *dwfl, Dwarf_Addr pc, size_t *len)
{
    Dwarf_Addr bias = 0, start = 0, end = 0;
    Dwarf_Frame *frame = frame_at(dwfl, pc, &bias);
    bool is_signal;

    if (!frame)
        return 0;
    dwarf_frame_info(frame, &start, &end, &is_signal);
    free(frame);
    if (end <= start)
        return 0;
    *len = end - start;
    return start + bias;
}

bool unwind_is_outermost(Dwfl *dwfl, Dwarf_Addr pc)
{
    Dwarf_Op memory[3], *operations;
    bool is_signal, outermost;
    size_t count;
    Dwarf_Addr bias;
    Dwarf_Frame *frame = frame_at(dwfl, pc, &bias);
    int address;

    if (!frame)
        return false;
    address = dwarf_frame_info(frame, NULL, NULL, &is_signal);
    /* The start-up code marks its return address as undefined. */
    outermost = address >= 0 &&
                dwarf_frame_register(frame, address, memory, &operations,
                                     &count) == 0 &&
                count == 0 && operations == memory;
    free(frame);
    return outermost;
}

void unwind_obstacle(char *text, size_t size, Dwfl *dwfl, Dwarf_Addr pc)
{
    Dwfl_Module *module = dwfl_addrmodule(dwfl, pc);
    const char *path = module ? dwfl_module_info(module, NULL, NULL, NULL, NULL,
                                                 NULL, NULL, NULL)
                              : "";
    const char *name = strrchr(path, '/');
    Dwarf_Addr bias;

    text[0] = '\0';
    if (!module)
        snprintf(text, size, "code that is in no file");
    else if (name && !dwfl_module_getelf(module, &bias))
        snprintf(text, size, "%s cannot be read", name + 1);
    else if (name && !dwfl_module_eh_cfi(module, &bias) &&
             !dwfl_module_dwarf_cfi(module, &bias))
        snprintf(text, size, "%s has no unwind table", name + 1);
}
