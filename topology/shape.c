/* shape.c - trees of a shape, placed on hosts. */
#include "topology/topology.h"

#include "topology/array.h"
#include "topology/hostlist.h"
#include "topology/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a shape that an error shows. */
#define SHOWN 80

#define HOST_DEFAULT "localhost"

struct shaper {
    const char *shape;
    struct cop_error *error;
    uint32_t count;
    struct edge *edges; /* count - 1 of them */
};

static int shape_fail(const struct shaper *shaper)
{
    return cop_error_set(shaper->error, -EINVAL,
                         "shape \"%.*s\": not understood; write 8x8, 2^5, "
                         "flat:16 or k:4@64, with numbers from 1 (k from 2)",
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

static int shape_make(struct shaper *shaper)
{
    const char *shape = shaper->shape;

    if (strncmp(shape, "flat:", 5) == 0)
        return make_flat(shaper, shape + 5);
    if (strncmp(shape, "k:", 2) == 0)
        return make_knomial(shaper, shape + 2);
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

/* Make a slot for each host. Slots of one name share their first. */
static int slots_new(struct slot **out, const struct hostlist *hosts)
{
    uint32_t count = hosts ? hostlist_count(hosts) : 1;
    struct slot *slots = calloc(count, sizeof *slots);

    if (!slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
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
static int shape_place(struct topology *topo, const struct hostlist *hosts)
{
    uint32_t slot_count = hosts ? hostlist_count(hosts) : 1;
    struct slot *slots = NULL;
    int r;

    r = slots_new(&slots, hosts);
    topo->hosts_len = 0;
    for (uint32_t i = 0; i < topo->count && r == 0; i++) {
        struct slot *slot = &slots[i % slot_count];

        topo->nodes[i].instance = slots[slot->first].count++;
        r = nodes_set_host(topo, i, slot->host, strlen(slot->host));
    }
    free(slots);
    return r;
}

static int shape_nodes(struct topology **out,
                       const struct shaper *shaper,
                       const struct hostlist *hosts)
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
    r = shape_place(topo, hosts);
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
                        struct cop_error *error)
{
    struct shaper shaper = {.shape = shape, .error = error, .count = 1};
    int r;

    r = shape_make(&shaper);
    if (r == 0)
        r = shape_nodes(out, &shaper, hosts);
    if (r == -ENOMEM)
        cop_error_set(error, r, "shape \"%.*s\": out of memory", SHOWN, shape);
    free(shaper.edges);
    return r;
}
