/* collective.c - see collective.h. */
#include "stat/show/collective.h"

#include <ctype.h>
#include <string.h>

/* What a name begins with that says whose call it is. */
static const char *const owners[] = {"pmpi",   "ompi",  "mpi",
                                     "pshmem", "shmem", "nccl"};

/* What the names of collective calls begin with. */
static const char *const calls[] = {
    "allgather", "allreduce",  "alltoall",   "barrier",  "bcast",
    "broadcast", "collect",    "commcreate", "commdup",  "commsplit",
    "exscan",    "fcollect",   "finalize",   "fileopen", "gather",
    "neighbor",  "monitoredb", "newgroup",   "reduce",   "scan",
    "scatter",   "syncall",    "winfence"};

/* The length of the beginning of `name` among `count` texts; 0: none. */
static size_t begin_of(const char *name, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(name, texts[i], strlen(texts[i])) == 0)
            return strlen(texts[i]);
    return 0;
}

bool collective_find(char name[static COLLECTIVE_SIZE], const char *function)
{
    size_t behind = strcspn(function, "(<@"), len = 0, owner;
    const char *at = function + behind;

    /* Without the class or namespace. */
    while (at > function && at[-1] != '.' && at[-1] != ':')
        at--;
    for (; at < function + behind && len < COLLECTIVE_SIZE - 1; at++)
        if (*at != '_')
            name[len++] = (char)tolower((unsigned char)*at);
    name[len] = '\0';
    owner = begin_of(name, owners, sizeof(owners) / sizeof(owners[0]));
    memmove(name, name + owner, len - owner + 1);
    len -= owner;
    if (behind > 2 && strncmp(function + behind - 2, "_f", 2) == 0)
        name[--len] = '\0'; /* Open MPI, for Fortran: ompi_bcast_f */
    if (len > 3 && strcmp(name + len - 3, "f08") == 0)
        name[len - 3] = '\0'; /* Fortran 2008 */
    return begin_of(name, calls, sizeof(calls) / sizeof(calls[0])) > 0;
}
