/* python.c - see python.h. All that is read comes from a process that may be
 * broken: each size is bounded, and each list. */
#include "stat/walk/python.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "stat/clock.h"
#include "stat/list.h"
#include "stat/table.h"
#include "stat/walk/code.h"
#include "stat/walk/layout.h"
#include "stat/walk/memory.h"
#include "stat/walk/suspended.h"

/* Most interpreters of a process, threads of one, and frames of a thread. */
#define INTERPRETERS_MAX 64
#define THREADS_MAX      32768
#define FRAMES_MAX       20000

/* Frames with this owner or a higher one only mark a call of the interpreter
 * from C. */
#define OWNED_BY_C 3

/* Bytes of a global lock. */
#define GIL_SIZE 208

/* Low bits of a pointer in a frame that are not part of it, from 3.14 on. */
#define POINTER_TAGS UINT64_C(3)

struct thread {
    UT_hash_handle hh;
    pid_t tid;
    struct python_frame *frames; /* outermost first */
    size_t count;
    uint64_t globals; /* of the loop of asyncio that it runs; 0: none */
    uint64_t loop;
    struct python_suspended suspended; /* of that loop */
};

/* The global lock and the garbage collector of an interpreter. */
struct gil {
    uint64_t address;
    pid_t holder; /* 0: none, or not known */
    bool collects;
};

struct python {
    pid_t pid;
    uint64_t deadline_ns;
    struct layout layout;
    struct codes codes;
    struct thread *threads;
    struct gil gils[INTERPRETERS_MAX];
    size_t gil_count;
};

/* ---- where the interpreter is ---- */

/* Set the places that symbols in the table `section` give. */
static void find_symbols(struct python_place *out,
                         Elf *elf,
                         Elf_Scn *section,
                         const GElf_Shdr *header,
                         Dwarf_Addr bias)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count =
        header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    GElf_Sym symbol;
    const char *name;

    for (size_t i = 0; data && i < count; i++) {
        if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_value == 0)
            continue;
        name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (!name || strstr(name, "Py") == NULL)
            continue;
        if (strcmp(name, "_PyRuntime") == 0) {
            out->runtime = symbol.st_value + bias;
        } else if (strcmp(name, "Py_Version") == 0) {
            out->version = symbol.st_value + bias;
        } else if (strcmp(name, "_PyEval_EvalFrameDefault") == 0) {
            out->eval = symbol.st_value + bias;
            out->behind = out->eval + symbol.st_size;
        } else if (strcmp(name, "PyThread_acquire_lock_timed") == 0) {
            out->lock = symbol.st_value + bias;
            out->lock_behind = out->lock + symbol.st_size;
        }
    }
}

bool python_find(struct python_place *out, Dwfl_Module *module, pid_t pid)
{
    static const GElf_Word types[] = {SHT_DYNSYM, SHT_SYMTAB};
    struct python_place place = {.pid = pid};
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    Dwarf_Addr bias;
    const char *path;
    Elf *elf;

    path = dwfl_module_info(module, NULL, &place.first, &place.last, NULL, NULL,
                            NULL, NULL);
    if (!path || strstr(path, "python") == NULL)
        return false;
    elf = dwfl_module_getelf(module, &bias);
    for (size_t i = 0; elf && i < 2 && place.runtime == 0; i++)
        while ((section = elf_nextscn(elf, section)) != NULL)
            if (gelf_getshdr(section, &header) && header.sh_type == types[i])
                find_symbols(&place, elf, section, &header, bias);
    if (place.runtime == 0 || place.eval == 0)
        return false;
    if (place.version == 0) /* before 3.11 */
        place.runtime = 0;
    *out = place;
    return place.runtime != 0;
}

/* ---- threads and their frames ---- */

/* Whether the interpreter has generated this code, to call a constructor: its
 * file is "__init__", and it has no lines. */
static bool is_made_up(const struct code *code)
{
    return strcmp(code->file, "__init__") == 0 &&
           strcmp(code->function, "__init__") == 0;
}

/* Find the frames of importlib that run a module, outermost first: those up to
 * a call of its function that is there to be removed from tracebacks. */
static void find_imports(struct thread *thread)
{
    static const char *const files[] = {
        "<frozen importlib._bootstrap>",
        "<frozen importlib._bootstrap_external>"};
    size_t first = 0, i;

    for (i = 0; i < thread->count; i++) {
        const struct python_frame *frame = &thread->frames[i];

        if (strcmp(frame->file, files[0]) != 0 &&
            strcmp(frame->file, files[1]) != 0)
            first = i + 1;
        else if (strcmp(frame->function, "_call_with_frames_removed") == 0)
            while (first <= i)
                thread->frames[first++].is_import = true;
    }
}

/* If the frame at `address` is the loop of asyncio, note that. */
static void find_loop(const struct python *python,
                      struct thread *thread,
                      const struct code *code,
                      uint64_t address)
{
    const struct layout *layout = &python->layout;

    if (!layout->tasks || thread->loop || code->role != ROLE_PYTHON ||
        strcmp(code->function, "BaseEventLoop._run_once") != 0)
        return;
    thread->globals =
        memory_pointer(python->pid, address + layout->frame_globals);
    thread->loop = memory_pointer(python->pid, address + layout->frame_locals);
}

/* Read the frames from `address` on, innermost first, then reverse them. */
static int read_frames(struct python *python,
                       struct thread *thread,
                       uint64_t address)
{
    const struct layout *layout = &python->layout;
    uint8_t bytes[LAYOUT_FRAME_SIZE];
    const struct code *code;
    size_t seen, i;

    for (seen = 0; address && seen < FRAMES_MAX; seen++) {
        uint64_t executable, frame = address;
        bool is_mark;

        if (clock_now_ns() >= python->deadline_ns)
            break;
        if (!memory_read(python->pid, address, bytes, layout->frame_owner + 1))
            break;
        executable = layout_number(bytes, layout->frame_code) & ~POINTER_TAGS;
        is_mark = layout->frame_is_entry == 0 &&
                  bytes[layout->frame_owner] >= OWNED_BY_C;
        address = layout_number(bytes, layout->frame_previous);
        if (is_mark && thread->count > 0)
            thread->frames[thread->count - 1].is_entry = true;
        code = is_mark ? NULL : codes_find(&python->codes, executable);
        if (!code || is_made_up(code))
            continue;
        find_loop(python, thread, code, frame);
        if (list_grow(&thread->frames, thread->count, sizeof(*thread->frames)) <
            0)
            return -ENOMEM;
        thread->frames[thread->count++] = (struct python_frame){
            code->function,
            code->file,
            code->role,
            code_line(code, (int64_t)(layout_number(bytes,
                                                    layout->frame_instruction) -
                                      executable - layout->code_code)),
            layout->frame_is_entry && bytes[layout->frame_is_entry] != 0,
            false};
    }
    for (i = 0; i < thread->count / 2; i++) {
        struct python_frame swap = thread->frames[i];

        thread->frames[i] = thread->frames[thread->count - 1 - i];
        thread->frames[thread->count - 1 - i] = swap;
    }
    if (thread->count > 0)
        thread->frames[0].is_entry = true;
    find_imports(thread);
    return 0;
}

/* Read one thread, whose struct is at `address`. Returns 0, -EEXIST if it was
 * read before because the list is broken, or -ENOMEM. */
static int read_thread(struct python *python, uint64_t address)
{
    const struct layout *layout = &python->layout;
    uint64_t frame =
        memory_pointer(python->pid, address + layout->thread_frame);
    uint64_t number =
        memory_pointer(python->pid, address + layout->thread_native_id);
    pid_t tid = (pid_t)number;
    struct thread *thread;
    int r;

    if (layout->frame_is_behind && frame)
        frame = memory_pointer(python->pid, frame + layout->frame_at);
    if (!frame || number == 0 || number > INT32_MAX)
        return 0;
    HASH_FIND(hh, python->threads, &tid, sizeof(tid), thread);
    if (thread)
        return -EEXIST;
    thread = calloc(1, sizeof(*thread));
    if (!thread)
        return -ENOMEM;
    thread->tid = tid;
    HASH_ADD(hh, python->threads, tid, sizeof(thread->tid), thread);
    if (!thread->hh.tbl) {
        free(thread);
        return -ENOMEM;
    }
    r = read_frames(python, thread, frame);
    if (r == 0 && thread->loop)
        r = suspended_read(&thread->suspended, &python->codes, thread->globals,
                           thread->loop, python->deadline_ns);
    return r;
}

/* Read who holds the global lock of an interpreter, and whether its garbage
 * collector runs. */
static void read_gil(struct python *python,
                     uint64_t runtime,
                     uint64_t interpreter)
{
    const struct layout *layout = &python->layout;
    struct gil *gil = &python->gils[python->gil_count++];
    uint64_t holder, number = 0;
    int32_t collects = 0, locked = 0;

    gil->address = layout->runtime_gil
                       ? runtime + layout->runtime_gil
                       : memory_pointer(python->pid,
                                        interpreter + layout->interpreter_gil);
    if (memory_read(python->pid, gil->address + layout->gil_locked, &locked,
                    sizeof(locked)) &&
        locked == 1) {
        holder = memory_pointer(python->pid, gil->address + layout->gil_holder);
        number = holder ? memory_pointer(python->pid,
                                         holder + layout->thread_native_id)
                        : 0;
    }
    gil->holder = number <= INT32_MAX ? (pid_t)number : 0;
    gil->collects =
        memory_read(python->pid, interpreter + layout->interpreter_collecting,
                    &collects, sizeof(collects)) &&
        collects == 1;
}

bool python_is_known(const struct python_place *place)
{
    struct layout layout;

    return place->eval == 0 ||
           (place->runtime != 0 && layout_find(&layout, place));
}

int python_read(struct python **out,
                const struct python_place *place,
                uint64_t deadline_ns)
{
    struct python *python;
    uint64_t interpreter, thread;
    size_t threads;
    int r = 0;

    *out = NULL;
    if (place->runtime == 0)
        return 0;
    python = calloc(1, sizeof(*python));
    if (!python)
        return -ENOMEM;
    python->pid = place->pid;
    python->codes = (struct codes){place->pid, &python->layout, 0, NULL};
    python->deadline_ns = deadline_ns;
    if (!layout_find(&python->layout, place))
        goto out;
    interpreter = memory_pointer(
        python->pid, place->runtime + python->layout.runtime_interpreters);
    for (size_t interpreters = 0;
         interpreter && interpreters < INTERPRETERS_MAX; interpreters++) {
        read_gil(python, place->runtime, interpreter);
        thread = memory_pointer(
            python->pid, interpreter + python->layout.interpreter_threads);
        for (threads = 0;
             thread && threads < THREADS_MAX && clock_now_ns() < deadline_ns;
             threads++) {
            r = read_thread(python, thread);
            if (r == -EEXIST)
                break;
            if (r < 0)
                goto out;
            thread = memory_pointer(python->pid,
                                    thread + python->layout.thread_next);
        }
        interpreter = memory_pointer(
            python->pid, interpreter + python->layout.interpreter_next);
    }
    r = 0;
    if (python->threads) {
        *out = python;
        python = NULL;
    }
out:
    python_free(python);
    return r;
}

bool python_is_gil(const struct python *python, uint64_t address, pid_t *holder)
{
    for (size_t i = 0; python && i < python->gil_count; i++) {
        const struct gil *gil = &python->gils[i];

        if (gil->address == 0 || address - gil->address >= GIL_SIZE)
            continue;
        *holder = gil->holder;
        return true;
    }
    return false;
}

bool python_collects(const struct python *python, pid_t tid)
{
    for (size_t i = 0; python && i < python->gil_count; i++)
        if (python->gils[i].collects && python->gils[i].holder == tid)
            return true;
    return false;
}

void python_free(struct python *python)
{
    struct thread *thread;

    if (!python)
        return;
    codes_fini(&python->codes);
    for (thread = python->threads; thread; thread = thread->hh.next) {
        free(thread->frames);
        free(thread->suspended.list);
    }
    TABLE_FREE(python->threads);
    free(python);
}

/* The thread `tid` that runs Python; NULL: it runs none. */
static const struct thread *thread_of(const struct python *python, pid_t tid)
{
    struct thread *thread = NULL;

    if (python)
        HASH_FIND(hh, python->threads, &tid, sizeof(tid), thread);
    return thread;
}

const struct python_frame *python_frames(const struct python *python,
                                         pid_t tid,
                                         size_t *count)
{
    const struct thread *thread = thread_of(python, tid);

    *count = thread ? thread->count : 0;
    return thread ? thread->frames : NULL;
}

const struct python_suspended *python_suspended(const struct python *python,
                                                pid_t tid)
{
    const struct thread *thread = thread_of(python, tid);

    return thread && thread->loop ? &thread->suspended : NULL;
}
