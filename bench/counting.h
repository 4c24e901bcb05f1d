/* counting.h - what a piece of work costs the processes of a tree, by role:
 * counts, which a busy machine does not change as it changes times.
 *
 * Faults and processor time are those of /proc; system calls, context switches,
 * and where faults fall, those of bench/events.h. Processes that end meanwhile
 * are left out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum counting_role {
    COUNTING_FRONT_END, /* this process */
    COUNTING_COMMNODE,
    COUNTING_BACK_END,
    COUNTING_ROLES, /* how many there are */
};

enum counting_what {
    COUNTING_CALLS,     /* system calls */
    COUNTING_BLOCKED,   /* voluntary context switches: it waited */
    COUNTING_PREEMPTED, /* involuntary ones */
    COUNTING_FAULTS,    /* minor faults, all */
    COUNTING_CODE,      /* of these, by what was touched since its exec */
    COUNTING_DATA,      /* constants, relocated tables, variables */
    COUNTING_HEAP,      /* with thread stacks, and what is unmapped by now */
    COUNTING_STACK,
    COUNTING_READ, /* bytes copied by the kernel: what reads returned */
    COUNTING_WRITTEN,
    COUNTING_CPU_US,
    COUNTING_WHATS, /* how many there are */
};

/* The numbers of system calls are below this. */
#define COUNTING_CALL_MAX 512

/* The sums over all processes of one role. Starts as all zero. */
struct counts {
    uint32_t processes;
    double sum[COUNTING_WHATS];
    double calls[COUNTING_CALL_MAX];
};

struct counting;

/* Make one. Call this before threads and processes are started. Returns 0 or a
 * negative errno, said. */
int counting_new(struct counting **out);

/* Whether the kernel lets this user count it. */
bool counting_knows(const struct counting *counting, enum counting_what what);

/* The work begins. If `parent` is not 0, back-ends are only its children.
 * Returns 0, -ENOMEM or an error of /proc. */
int counting_begin(struct counting *counting, pid_t parent);

/* The work is done: add its costs to `roles`. Returns 0, -ENOMEM, an error of
 * /proc, or -EOVERFLOW: there was more than can be recorded. */
int counting_end(struct counting *counting,
                 struct counts roles[COUNTING_ROLES]);

/* Free `counting`. NULL is fine. */
void counting_free(struct counting *counting);

/* The role of a process with this command line: `len` bytes, a NUL behind each
 * word. */
enum counting_role counting_role_of(const char *words, size_t len);

/* What the address is, by the text of /proc/PID/maps; COUNTING_HEAP if it is
 * not there. */
enum counting_what counting_place(const char *maps, uint64_t address);
