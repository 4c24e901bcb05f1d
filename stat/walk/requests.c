/* requests.c - see requests.h. */
#include "stat/walk/requests.h"

#include <gelf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "stat/walk/memory.h"

/* Bytes of the class name of an Open MPI object that are read. */
#define CLASS_SIZE 32

/* Most bytes of a library's variables that are searched. */
#define VARIABLES_MAX ((size_t)16 << 20)

/* Whether a request is known, and may still be incomplete. */
enum state {
    STATE_COMPLETE, /* or no request at all */
    STATE_UNKNOWN,
    STATE_PENDING,
};

/* The process and library that are examined. */
struct looking {
    Dwfl *dwfl;
    pid_t pid;
    uint64_t table; /* the first request of MPICH; 0: Open MPI, if any */
};

/* A request of Open MPI 4.1, layer ob1: an object, then the members of all
 * requests, then those of messages. */
struct open_request {
    uint64_t class;
    unsigned char list[80];
    uint64_t complete; /* OPEN_COMPLETE, or the waiting thread's object */
    int32_t state;
    unsigned char calls[52];
    uint64_t communicator; /* for a request of any kind */
    unsigned char layer[16];
    uint64_t message_communicator;
    unsigned char convertor[288];
    int32_t peer;
    int32_t tag;
    uint64_t process; /* of the peer; for any peer, an earlier one or 0 */
};

#define OPEN_COMPLETE 1
#define OPEN_ACTIVE   2

/* Read the class name of an Open MPI object. Returns whether it has one. */
static bool open_class(char name[static CLASS_SIZE], pid_t pid, uint64_t object)
{
    uint64_t class, text;

    if (!memory_read(pid, object, &class, sizeof(class)) ||
        !memory_read(pid, class, &text, sizeof(text)) ||
        !memory_read(pid, text, name, CLASS_SIZE))
        return false;
    return memchr(name, '\0', CLASS_SIZE) != NULL;
}

bool requests_is_open_world(Dwfl *dwfl, uint64_t communicator)
{
    static const char world[] = "ompi_mpi_comm_world";
    Dwfl_Module *module = dwfl_addrmodule(dwfl, communicator);
    const char *name;
    GElf_Off offset;
    GElf_Sym symbol;

    if (!module)
        return false;
    name = dwfl_module_addrinfo(module, communicator, &offset, &symbol, NULL,
                                NULL, NULL);
    return name && offset == 0 && strncmp(name, world, strlen(world)) == 0;
}

/* Examine the request at `address`. */
static enum state open_state(struct request *out,
                             const struct looking *looking,
                             uint64_t address)
{
    char class[CLASS_SIZE];
    struct open_request request;
    bool receives;

    if (address == 0)
        return STATE_COMPLETE;
    if (!open_class(class, looking->pid, address) ||
        !memory_read(looking->pid, address, &request, sizeof(request)))
        return STATE_UNKNOWN;
    if (strcmp(class, "ompi_request_t") == 0) /* MPI_REQUEST_NULL */
        return STATE_COMPLETE;
    receives = strcmp(class, "mca_pml_ob1_recv_request_t") == 0;
    if (!receives && strcmp(class, "mca_pml_ob1_send_request_t") != 0)
        return STATE_UNKNOWN;
    if (request.complete == OPEN_COMPLETE || request.state != OPEN_ACTIVE)
        return STATE_COMPLETE;
    if (request.communicator != request.message_communicator ||
        request.peer < -1 || request.tag < -1 ||
        (request.process == 0 && request.peer != -1))
        return STATE_UNKNOWN;
    /* In another version the peer is elsewhere, and no process follows it. */
    if (request.process && (!open_class(class, looking->pid, request.process) ||
                            strcmp(class, "ompi_proc_t") != 0))
        return STATE_UNKNOWN;
    *out = (struct request){
        receives, requests_is_open_world(looking->dwfl, request.communicator),
        request.peer, request.tag};
    return STATE_PENDING;
}

/* A request of MPICH 4.0, with the members of its device ch4. */
struct mpich_request {
    uint32_t handle;
    int32_t references;
    int32_t kind;
    int32_t unused;
    uint64_t counter; /* address of `pending` */
    int32_t pending;
    unsigned char device[148];
    uint64_t message; /* the request of UCX */
    unsigned char more[88];
};

/* The bytes of a receive of UCX 1.13 before the address of its request. */
struct ucx_receive {
    uint64_t request; /* the request of MPICH */
    unsigned char queue[168];
    uint64_t tag; /* a communicator, a rank, a tag: of 16, 16 and 32 bits */
    uint64_t mask;
    unsigned char call[64];
};

#define MPICH_NULL 0x2c000000
#define MPICH_FIRST                                                            \
    0xac000000 /* of a table of MPICH_TABLE; the others are in
                                     blocks elsewhere */
#define MPICH_TABLE   8
#define MPICH_RECEIVE 2
#define UCX_ONE_TAG   0x9fffffff
#define UCX_ANY_TAG   0x90000000

/* Find the variables of the library that contains `callee`. Returns their size
 * in bytes; 0 if there are none. */
static size_t find_variables(uint64_t *begin, Dwfl *dwfl, Dwarf_Addr callee)
{
    Dwfl_Module *module = dwfl_addrmodule(dwfl, callee);
    GElf_Addr bias;
    Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
    size_t count, i;
    GElf_Phdr header;

    if (!elf || elf_getphdrnum(elf, &count) < 0)
        return 0;
    for (i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD &&
            header.p_flags & PF_W) {
            *begin = header.p_vaddr + bias;
            return header.p_memsz;
        }
    return 0;
}

/* Find the table of the first requests, each of which has its number. Returns
 * its address, or 0. */
static uint64_t find_table(pid_t pid, Dwfl *dwfl, Dwarf_Addr callee)
{
    const size_t size = MPICH_TABLE * sizeof(struct mpich_request);
    struct mpich_request one;
    uint64_t begin, found = 0;
    size_t len = find_variables(&begin, dwfl, callee), at, i;
    unsigned char *bytes;

    if (len < size || len > VARIABLES_MAX)
        return 0;
    bytes = malloc(len);
    if (bytes && memory_read(pid, begin, bytes, len))
        for (at = begin % 8 ? 8 - begin % 8 : 0; !found && at + size <= len;
             at += 8) {
            for (i = 0; i < MPICH_TABLE; i++) {
                memcpy(&one, bytes + at + i * sizeof(one), sizeof(one));
                if (one.handle != MPICH_FIRST + i)
                    break;
            }
            found = i == MPICH_TABLE ? begin + at : 0;
        }
    free(bytes);
    return found;
}

/* Examine the request `handle`. */
static enum state mpich_state(struct request *out,
                              const struct looking *looking,
                              uint32_t handle)
{
    uint64_t address;
    struct mpich_request request;
    struct ucx_receive receive;
    uint32_t rank, mask;

    if (handle == MPICH_NULL)
        return STATE_COMPLETE;
    if (handle < MPICH_FIRST || handle - MPICH_FIRST >= MPICH_TABLE)
        return STATE_UNKNOWN;
    address = looking->table + (handle - MPICH_FIRST) * sizeof(request);
    if (!memory_read(looking->pid, address, &request, sizeof(request)) ||
        request.handle != handle ||
        request.counter != address + offsetof(struct mpich_request, pending))
        return STATE_UNKNOWN;
    if (request.pending == 0)
        return STATE_COMPLETE;
    if (request.kind != MPICH_RECEIVE ||
        !memory_read(looking->pid, request.message - sizeof(receive), &receive,
                     sizeof(receive)) ||
        receive.request != address)
        return STATE_UNKNOWN;
    rank = receive.mask >> 32 & 0xffff;
    mask = (uint32_t)receive.mask;
    if (receive.mask >> 48 != 0xffff || (rank != 0 && rank != 0xffff) ||
        (mask != UCX_ONE_TAG && mask != UCX_ANY_TAG))
        return STATE_UNKNOWN;
    *out = (struct request){
        true, receive.tag >> 48 == 0,
        rank ? (int32_t)(receive.tag >> 32 & 0xffff) : -1,
        mask == UCX_ONE_TAG ? (int32_t)(receive.tag & INT32_MAX) : -1};
    return STATE_PENDING;
}

uint32_t requests_find(struct request *out,
                       Dwfl *dwfl,
                       pid_t pid,
                       Dwarf_Addr callee,
                       uint64_t address,
                       uint32_t count)
{
    struct looking looking = {dwfl, pid, 0};
    struct request request;
    uint32_t handle, pending = 0;
    bool known = false;
    uint64_t pointer;

    if (count > REQUESTS_MAX)
        return 0;
    looking.table = find_table(pid, dwfl, callee);
    for (uint32_t i = 0; i < count; i++) {
        enum state state = STATE_UNKNOWN;

        if (looking.table && memory_read(pid, address + i * sizeof(handle),
                                         &handle, sizeof(handle)))
            state = mpich_state(&request, &looking, handle);
        else if (!looking.table &&
                 memory_read(pid, address + i * sizeof(pointer), &pointer,
                             sizeof(pointer)))
            state = open_state(&request, &looking, pointer);
        pending += state != STATE_COMPLETE;
        if (state == STATE_PENDING && !known) {
            *out = request;
            known = true;
        }
    }
    return known ? pending : 0;
}
