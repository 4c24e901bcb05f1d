/* descriptors.c - the number of descriptors that a node may need. */
#include "net/descriptors.h"

#include <errno.h>
#include <sys/resource.h>

#include "topology/topology.h"

/* Descriptors for each child (link, process, bootstrap, two pipes), and for
 * everything else that this node and the application may open. */
#define FD_PER_CHILD 5
#define FD_SPARE     64

/* Report that `limit` is too low. A node that attaches has no rank yet. */
static int too_few(const struct bootstrap *bootstrap,
                   uint32_t child_count,
                   rlim_t needed,
                   rlim_t limit,
                   struct cop_error *error)
{
    if (child_count == 0)
        return cop_error_set(error, -EMFILE,
                             "%s: a node needs %llu descriptors, and this "
                             "process may have %llu: raise the limit "
                             "(ulimit -n)",
                             bootstrap->host, (unsigned long long)needed,
                             (unsigned long long)limit);
    return cop_error_set(error, -EMFILE,
                         "%s: rank %u has %u children and may need %llu "
                         "descriptors, of which it may have %llu: raise "
                         "the limit (ulimit -n) or use a deeper tree",
                         bootstrap->host, bootstrap->rank, child_count,
                         (unsigned long long)needed, (unsigned long long)limit);
}

int descriptors_check(const struct bootstrap *bootstrap,
                      struct cop_error *error)
{
    struct rlimit limit;
    rlim_t needed = FD_SPARE;
    rlim_t wanted = 0;
    uint32_t child_count = 0;

    if (bootstrap->subtree) {
        child_count = topology_child_count(bootstrap->subtree, 0);
        needed += (rlim_t)FD_PER_CHILD * child_count;
        wanted = topology_count(bootstrap->subtree); /* may be adopted */
    }
    wanted += needed;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return 0;
    if (limit.rlim_max < needed)
        return too_few(bootstrap, child_count, needed, limit.rlim_max, error);
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return 0;
}
