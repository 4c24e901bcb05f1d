/* counting.h - the costs of work in the processes of a tree, by role. Counts,
 * unlike times, do not change on a busy machine.
 *
 * Faults and processor time are from /proc; system calls, context switches, and
 * the places of faults are from bench/events.h. Processes that end during the
 * work are left out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum counting_role {
    COUNTING_FRONT_END, /* this process */
    COUNTING_COMMNODE,
    COUNTING_BACK_END,
    COUNTING_ROLES, /* how many roles there are */
};

enum counting_what {
    COUNTING_CALLS,     /* system calls */
    COUNTING_BLOCKED,   /* voluntary context switches: it waited */
    COUNTING_PREEMPTED, /* involuntary ones */
    COUNTING_FAULTS,    /* minor faults, all */
    COUNTING_CODE,      /* of these, since the exec: on code */
    COUNTING_DATA,      /* constants, relocated tables, variables */
    COUNTING_HEAP,      /* with thread stacks, and memory unmapped since */
    COUNTING_STACK,
    COUNTING_READ, /* bytes copied by the kernel for reads */
    COUNTING_WRITTEN,
    COUNTING_CPU_US,
    COUNTING_WHATS, /* how many there are */
};

/* Every number of a system call is below this. */
#define COUNTING_CALL_MAX 512

/* The sums over all processes of one role. Initially all zero. */
struct counts {
    uint32_t processes;
    double sum[COUNTING_WHATS];
    double calls[COUNTING_CALL_MAX];
};

struct counting;

/* Make a counter. Call this before threads and processes are started. Returns
 * 0, or a negative errno after a message. */
int counting_new(struct counting **out);

/* Whether the kernel lets this user count `what`. */
bool counting_knows(const struct counting *counting, enum counting_what what);

/* Begin the work. If `parent` is not 0, only its children are back-ends.
 * Returns 0, -ENOMEM or an error of /proc. */
int counting_begin(struct counting *counting, pid_t parent);

/* End the work: add its costs to `roles`. Returns 0, -ENOMEM, an error of
 * /proc, or -EOVERFLOW if there were too many events. */
int counting_end(struct counting *counting,
                 struct counts roles[COUNTING_ROLES]);

/* Free `counting`. NULL is fine. */
void counting_free(struct counting *counting);

/* The role of a process with this command line: `len` bytes, with a NUL after
 * each word. */
enum counting_role counting_role_of(const char *words, size_t len);

/* The kind of memory at `address`, from the text of /proc/PID/maps;
 * COUNTING_HEAP if it is not mapped. */
enum counting_what counting_place(const char *maps, uint64_t address);
