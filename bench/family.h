/* family.h - the processes below another one, as /proc shows them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    pid_t parent;
    uint32_t child_count;
};

/* The descendants of one process, in no order. */
struct family {
    struct process *list;
    size_t count;
};

/* List them. A process that starts or ends meanwhile may be missing. Free with
 * family_fini(), also after an error. Returns 0 or -ENOMEM. */
int family_read(struct family *family, pid_t root);

/* Free the list. */
void family_fini(struct family *family);
