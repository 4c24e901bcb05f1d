/* shape.c - trees of a shape, placed on hosts. */
#include "topology/topology.h"

#include "topology/array.h"
#include "topology/hostlist.h"
#include "topology/hostname.h"
#include "topology/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a shape that an error shows. */
#define SHOWN 80

#define HOST_DEFAULT "localhost"

/* Levels of a tree over TOPOLOGY_NODES_MAX hosts, with two children each. */
#define LEVELS_MAX 24

struct shaper {
    const char *shape;
    struct cop_error *error;
    const struct hostlist *hosts;
    const struct hostlist *commnode_hosts;
    uint32_t count;
    struct edge *edges; /* count - 1 of them */
    uint32_t *places; /* "each:F": of each node, in the list of all hosts; NULL:
                           in turn */
};

static int shape_fail(const struct shaper *shaper)
{
    return cop_error_set(shaper->error, -EINVAL,
                         "shape \"%.*s\": not understood; write 8x8, 2^5, "
                         "flat:16, k:4@64 or each:16, with numbers from 1 (k "
                         "and each from 2)",
                         SHOWN, shaper->shape);
}

static int fail_size(const struct shaper *shaper)
{
    return cop_error_set(shaper->error, -E2BIG,
                         "shape \"%.*s\": more than %u nodes, or more than "
                         "%u children of one; make it smaller",
                         SHOWN, shaper->shape, TOPOLOGY_NODES_MAX,
                         TOPOLOGY_CHILDREN_MAX);
}

/* Read a number of 1 or more at `*at`. A number above the limit for nodes is
 * set to the limit plus 1. */
static int take_number(const char **at, uint32_t *out)
{
    const char *digit = *at;
    uint32_t value = 0;

    for (; *digit >= '0' && *digit <= '9'; digit++) {
        value = value * 10 + (uint32_t)(*digit - '0');
        if (value > TOPOLOGY_NODES_MAX)
            value = TOPOLOGY_NODES_MAX + 1;
    }
    if (digit == *at || value == 0)
        return -EINVAL;
    *at = digit;
    *out = value;
    return 0;
}

static int add_edge(struct shaper *shaper, uint32_t parent)
{
    if (shaper->count == TOPOLOGY_NODES_MAX)
        return fail_size(shaper);
    if (array_grow(&shaper->edges, shaper->count - 1, sizeof *shaper->edges) <
        0)
        return -ENOMEM;
    shaper->edges[shaper->count - 1] = (struct edge){parent, shaper->count};
    shaper->count++;
    return 0;
}

/* Give `fanout` children to every node of the last level, which begins at
 * `*level`. Then `*level` is where the children begin. */
static int add_level(struct shaper *shaper, uint32_t *level, uint32_t fanout)
{
    uint32_t end = shaper->count;
    int r;

    if (fanout > TOPOLOGY_CHILDREN_MAX)
        return fail_size(shaper);
    for (uint32_t parent = *level; parent < end; parent++) {
        for (uint32_t i = 0; i < fanout; i++) {
            r = add_edge(shaper, parent);
            if (r < 0)
                return r;
        }
    }
    *level = end;
    return 0;
}

/* "AxBxC", "F^D" or one number. */
static int make_balanced(struct shaper *shaper, const char *at)
{
    uint32_t fanout = 0;
    uint32_t depth = 0;
    uint32_t level = 0;
    int r;

    if (take_number(&at, &fanout) < 0)
        return shape_fail(shaper);
    if (*at == '^') {
        at++;
        if (take_number(&at, &depth) < 0 || *at != '\0')
            return shape_fail(shaper);
        for (r = 0; r == 0 && depth > 0; depth--)
            r = add_level(shaper, &level, fanout);
        return r;
    }
    for (;;) {
        r = add_level(shaper, &level, fanout);
        if (r < 0 || *at == '\0')
            return r;
        if (*at++ != 'x' || take_number(&at, &fanout) < 0)
            return shape_fail(shaper);
    }
}

static int make_flat(struct shaper *shaper, const char *at)
{
    uint32_t fanout = 0;
    uint32_t level = 0;

    if (take_number(&at, &fanout) < 0 || *at != '\0')
        return shape_fail(shaper);
    return add_level(shaper, &level, fanout);
}

/* "K@N": in each round every node gets K-1 more children, up to N. */
static int make_knomial(struct shaper *shaper, const char *at)
{
    uint32_t k = 0;
    uint32_t count = 0;
    uint32_t end;
    int r;

    if (take_number(&at, &k) < 0 || k < 2 || *at++ != '@' ||
        take_number(&at, &count) < 0 || *at != '\0')
        return shape_fail(shaper);
    if (count > TOPOLOGY_NODES_MAX ||
        (k > TOPOLOGY_CHILDREN_MAX && count > TOPOLOGY_CHILDREN_MAX))
        return fail_size(shaper);
    while (shaper->count < count) {
        end = shaper->count;
        for (uint32_t parent = 0; parent < end; parent++) {
            for (uint32_t i = 1; i < k && shaper->count < count; i++) {
                r = add_edge(shaper, parent);
                if (r < 0)
                    return r;
            }
        }
    }
    return 0;
}

/* The number of hosts of a list; NULL: of the default. */
static uint32_t host_count(const struct hostlist *hosts)
{
    return hosts ? hostlist_count(hosts) : 1;
}

/* Place the nodes of a tree whose levels have these sizes, back-ends first: a
 * back-end on each host, commnodes on the first host of those below them, or on
 * those of their own list in turn, and the front-end here. */
static int place_each(struct shaper *shaper, const uint32_t *sizes, int levels)
{
    uint32_t hosts = host_count(shaper->hosts), commnode = 0, node = 1;
    uint32_t commnode_hosts =
        shaper->commnode_hosts ? hostlist_count(shaper->commnode_hosts) : 0;

    shaper->places = calloc(shaper->count, sizeof *shaper->places);
    if (!shaper->places)
        return -ENOMEM;
    shaper->places[0] = hosts + commnode_hosts;
    for (int level = levels; level-- > 0;)
        for (uint32_t i = 0; i < sizes[level]; i++) {
            uint64_t first = i;

            for (int below = level; below > 0; below--)
                first = first * sizes[below - 1] / sizes[below];
            shaper->places[node++] = level == 0 || commnode_hosts == 0
                                         ? (uint32_t)first
                                         : hosts + commnode++ % commnode_hosts;
        }
    return 0;
}

/* "each:F": as many back-ends as hosts, and as few levels as F children of a
 * node allow. Each level is dealt to the one above in equal parts. */
static int make_each(struct shaper *shaper, const char *at)
{
    uint32_t sizes[LEVELS_MAX], above = 1, level = 0, fanout = 0;
    int levels = 0;

    if (take_number(&at, &fanout) < 0 || fanout < 2 || *at != '\0')
        return shape_fail(shaper);
    if (fanout > TOPOLOGY_CHILDREN_MAX)
        fanout = TOPOLOGY_CHILDREN_MAX;
    sizes[levels++] = host_count(shaper->hosts);
    for (; sizes[levels - 1] > fanout; levels++)
        sizes[levels] = (sizes[levels - 1] + fanout - 1) / fanout;
    for (int i = levels; i-- > 0; above = sizes[i]) {
        for (uint32_t parent = 0; parent < above; parent++) {
            uint64_t from = (uint64_t)parent * sizes[i] / above;
            uint64_t to = ((uint64_t)parent + 1) * sizes[i] / above;

            for (; from < to; from++) {
                int r = add_edge(shaper, level + parent);

                if (r < 0)
                    return r;
            }
        }
        level += above;
    }
    return place_each(shaper, sizes, levels);
}

static int shape_make(struct shaper *shaper)
{
    const char *shape = shaper->shape;

    if (strncmp(shape, "flat:", 5) == 0)
        return make_flat(shaper, shape + 5);
    if (strncmp(shape, "k:", 2) == 0)
        return make_knomial(shaper, shape + 2);
    if (strncmp(shape, "each:", 5) == 0)
        return make_each(shaper, shape + 5);
    return make_balanced(shaper, shape);
}

/* One host of the list. Slots with the same name share a count. */
struct slot {
    const char *host;
    uint32_t index;
    uint32_t first; /* the first slot with this name */
    uint32_t count; /* in that slot: instances given so far */
};

static int by_name(const void *a, const void *b)
{
    const struct slot *left = a;
    const struct slot *right = b;
    int r = strcmp(left->host, right->host);

    if (r != 0)
        return r;
    return left->index < right->index ? -1 : left->index > right->index;
}

static int by_index(const void *a, const void *b)
{
    const struct slot *left = a;
    const struct slot *right = b;

    return left->index < right->index ? -1 : left->index > right->index;
}

/* Make a slot for each host: of the list, of that for commnodes, and for this
 * one, `own`. Slots of one name share their first. */
static int slots_new(struct slot **out,
                     const struct shaper *shaper,
                     const char *own)
{
    const struct hostlist *hosts = shaper->hosts;
    const struct hostlist *others = shaper->commnode_hosts;
    uint32_t first = host_count(hosts);
    uint32_t last = first + (others ? hostlist_count(others) : 0);
    uint32_t count = last + 1;
    struct slot *slots = calloc(count, sizeof *slots);

    if (!slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        if (i == last)
            slots[i].host = own;
        else if (i >= first)
            slots[i].host = hostlist_host(others, i - first);
        else
            slots[i].host = hosts ? hostlist_host(hosts, i) : HOST_DEFAULT;
        slots[i].index = i;
    }
    qsort(slots, count, sizeof *slots, by_name);
    for (uint32_t i = 0; i < count; i++) {
        slots[i].first = slots[i].index;
        if (i > 0 && strcmp(slots[i].host, slots[i - 1].host) == 0)
            slots[i].first = slots[i - 1].first;
    }
    qsort(slots, count, sizeof *slots, by_index);
    *out = slots;
    return 0;
}

/* Give the nodes of `topo` their hosts, in order of rank. */
static int shape_place(struct topology *topo, const struct shaper *shaper)
{
    uint32_t slot_count = host_count(shaper->hosts);
    char own[HOSTNAME_MAX + 1] = "";
    struct slot *slots = NULL;
    int r;

    r = slots_new(&slots, shaper,
                  gethostname(own, sizeof own - 1) == 0 ? own : HOST_DEFAULT);
    topo->hosts_len = 0;
    for (uint32_t i = 0; i < topo->count && r == 0; i++) {
        struct slot *slot =
            &slots[shaper->places ? shaper->places[i] : i % slot_count];

        topo->nodes[i].instance = slots[slot->first].count++;
        r = nodes_set_host(topo, i, slot->host, strlen(slot->host));
    }
    free(slots);
    return r;
}

static int shape_nodes(struct topology **out, const struct shaper *shaper)
{
    struct spot *spots = calloc(shaper->count, sizeof *spots);
    struct topology *topo = NULL;
    int r = -ENOMEM;

    if (!spots)
        return -ENOMEM;
    for (uint32_t i = 0; i < shaper->count; i++)
        spots[i].host = "";
    r = nodes_link(&topo, spots, shaper->count, 0, shaper->edges);
    free(spots);
    if (r < 0)
        return r;
    r = shape_place(topo, shaper);
    if (r < 0) {
        topology_free(topo);
        return r;
    }
    *out = topo;
    return 0;
}

int topology_from_shape(struct topology **out,
                        const char *shape,
                        const struct hostlist *hosts,
                        const struct hostlist *commnode_hosts,
                        struct cop_error *error)
{
    struct shaper shaper = {.shape = shape,
                            .error = error,
                            .hosts = hosts,
                            .commnode_hosts = commnode_hosts,
                            .count = 1};
    int r;

    r = shape_make(&shaper);
    if (r == 0 && commnode_hosts && !shaper.places)
        r = cop_error_set(error, -EINVAL,
                          "shape \"%.*s\": a list of hosts for commnodes goes "
                          "with each:F only",
                          SHOWN, shape);
    if (r == 0)
        r = shape_nodes(out, &shaper);
    if (r == -ENOMEM)
        cop_error_set(error, r, "shape \"%.*s\": out of memory", SHOWN, shape);
    free(shaper.edges);
    free(shaper.places);
    return r;
}
