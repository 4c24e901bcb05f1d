/* shape.c - the tree that a study begins with. */
#include "study/shape.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topology/table.h"
#include "topology/topology.h"

/* Levels of a balanced tree, at most. */
#define LEVELS_MAX 21

/* A balanced tree's fan-outs, from the front-end down. */
struct levels {
    uint32_t count;
    uint32_t fan_outs[LEVELS_MAX];
};

static bool read_number(const char **at, uint32_t *number)
{
    char *end;
    unsigned long value;

    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    value = strtoul(*at, &end, 10);
    *at = end;
    *number = value > UINT32_MAX || errno ? UINT32_MAX : (uint32_t)value;
    return true;
}

/* Read F^H or AxBxC. Returns 1, 0 if it is something else, or -EINVAL if it is
 * one of these with an invalid number. */
static int read_levels(const char *text, struct levels *levels)
{
    uint32_t first = 0;
    uint32_t height = 0;

    if (!read_number(&text, &first))
        return 0;
    levels->count = 1;
    levels->fan_outs[0] = first;
    if (*text == '^') {
        text++;
        if (!read_number(&text, &height) || *text)
            return 0;
        if (height == 0 || height > LEVELS_MAX)
            return -EINVAL;
        levels->count = height;
        for (uint32_t i = 1; i < height; i++)
            levels->fan_outs[i] = first;
    }
    while (*text == 'x' && height == 0) {
        text++;
        if (levels->count == LEVELS_MAX)
            return -EINVAL;
        if (!read_number(&text, &levels->fan_outs[levels->count++]))
            return 0;
    }
    if (*text)
        return 0;
    for (uint32_t i = 0; i < levels->count; i++) {
        if (levels->fan_outs[i] == 0)
            return -EINVAL;
    }
    return 1;
}

static int make_room(struct study_tree *tree, uint32_t count)
{
    tree->parents = malloc(count * sizeof *tree->parents);
    tree->fan_outs = malloc(count * sizeof *tree->fan_outs);
    if (!tree->parents || !tree->fan_outs)
        return -ENOMEM;
    tree->count = count;
    return 0;
}

/* Make a balanced tree, with ranks level by level. */
static int from_levels(struct study_tree *tree, const struct levels *levels)
{
    uint64_t count = 0;
    uint64_t width = 1;
    uint32_t begin = 0; /* of this level */

    for (uint32_t level = 0; level < levels->count; level++) {
        count += width;
        if (count > TOPOLOGY_NODES_MAX ||
            levels->fan_outs[level] > TOPOLOGY_CHILDREN_MAX)
            return -E2BIG;
        width *= levels->fan_outs[level];
    }
    if (make_room(tree, (uint32_t)count) < 0)
        return -ENOMEM;
    tree->backend_count = width;
    tree->parents[0] = TABLE_NONE;
    tree->fan_outs[0] = levels->fan_outs[0];
    width = 1;
    for (uint32_t level = 1; level < levels->count; level++) {
        uint32_t above = levels->fan_outs[level - 1];
        uint32_t next = begin + (uint32_t)width;

        width *= above;
        for (uint32_t i = 0; i < width; i++) {
            tree->parents[next + i] = begin + i / above;
            tree->fan_outs[next + i] = levels->fan_outs[level];
        }
        begin = next;
    }
    return 0;
}

/* Take the internal nodes of `topo`, in order of rank. */
static int from_topology(struct study_tree *tree, const struct topology *topo)
{
    uint32_t *numbers = malloc(topology_count(topo) * sizeof *numbers);
    uint32_t count = 0;
    int r = -ENOMEM;

    if (!numbers)
        goto out;
    for (uint32_t i = 0; i < topology_count(topo); i++)
        numbers[i] = topology_is_leaf(topo, i) ? count : count++;
    r = make_room(tree, count);
    if (r < 0)
        goto out;
    tree->backend_count = topology_count(topo) - count;
    for (uint32_t i = 0; i < topology_count(topo); i++) {
        uint32_t parent = topology_parent(topo, i);

        if (topology_is_leaf(topo, i))
            continue;
        tree->parents[numbers[i]] =
            parent == TOPOLOGY_NONE ? TABLE_NONE : numbers[parent];
        tree->fan_outs[numbers[i]] = topology_child_count(topo, i);
    }
out:
    free(numbers);
    return r;
}

static int read_topology(struct study_tree *tree,
                         const char *text,
                         struct cop_error *error)
{
    struct topology *topo = NULL;
    int r;

    if (access(text, F_OK) == 0)
        r = topology_read(&topo, text, error);
    else
        r = topology_from_shape(&topo, text, NULL, error);
    if (r < 0)
        return r;
    r = from_topology(tree, topo);
    topology_free(topo);
    if (r < 0)
        cop_error_set(error, r, "tree %s: out of memory", text);
    return r;
}

int study_tree_init(struct study_tree *tree,
                    const char *text,
                    struct cop_error *error)
{
    struct levels levels = {0};
    int r = read_levels(text, &levels);

    *tree = (struct study_tree){0};
    if (r == 0)
        r = read_topology(tree, text, error);
    else if (r < 0)
        cop_error_set(error, r,
                      "tree %.80s: fan-outs are 1 or more, and levels 1 to %d",
                      text, LEVELS_MAX);
    else
        r = from_levels(tree, &levels);
    if (r == -E2BIG)
        cop_error_set(error, r,
                      "tree %.80s: more than %u internal nodes, or more than "
                      "%u children of one",
                      text, TOPOLOGY_NODES_MAX, TOPOLOGY_CHILDREN_MAX);
    if (r < 0)
        study_tree_fini(tree);
    return r;
}

void study_tree_fini(struct study_tree *tree)
{
    free(tree->parents);
    free(tree->fan_outs);
    *tree = (struct study_tree){0};
}

int study_tree_table(const struct study_tree *tree, struct table **out)
{
    struct table *table = NULL;
    int r = table_new(&table);

    for (uint32_t i = 0; r == 0 && i < tree->count; i++)
        r = table_add(table, i, tree->parents[i], 0, tree->fan_outs[i]);
    if (r == 0)
        r = table_check(table);
    if (r == 0) {
        *out = table;
        table = NULL; /* now the caller's */
    }
    table_free(table);
    return r;
}
