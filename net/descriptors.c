/* descriptors.c - how many descriptors a node may need. */
#include "net/descriptors.h"

#include <errno.h>
#include <sys/resource.h>

#include "topology/topology.h"

/* Descriptors: of one child (link, process, bootstrap, two pipes), and of
 * everything else that we and the application may open. */
#define FD_PER_CHILD 5
#define FD_SPARE     64

int descriptors_check(const struct bootstrap *bootstrap,
                      struct cop_error *error)
{
    struct rlimit limit;
    rlim_t needed = FD_SPARE;
    rlim_t wanted = 0;

    if (bootstrap->subtree) {
        needed +=
            (rlim_t)FD_PER_CHILD * topology_child_count(bootstrap->subtree, 0);
        wanted = topology_count(bootstrap->subtree); /* as their adopter */
    }
    wanted += needed;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return 0;
    if (limit.rlim_max < needed)
        return cop_error_set(error, -EMFILE,
                             "%s: rank %u has %u children and may need %llu "
                             "descriptors, of which it may have %llu: raise "
                             "the limit (ulimit -n) or use a deeper tree",
                             bootstrap->host, bootstrap->rank,
                             topology_child_count(bootstrap->subtree, 0),
                             (unsigned long long)needed,
                             (unsigned long long)limit.rlim_max);
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return 0;
}
