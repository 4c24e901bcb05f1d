/* shape.c - the tree that a study begins with. */
#include "study/shape.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topology/table.h"
#include "topology/topology.h"

/* Bytes of a shape whose back-ends are only counted. */
#define SHAPE_LEN 128

/* Split F^H or AxBxC, of two levels or more, into the shape `above` the last
 * level and the last fan-out. Returns 0 if it is something else. */
static uint32_t split_last_level(const char *text, char *above, size_t room)
{
    const char *last = strrchr(text, 'x');
    uint32_t fan_out, height;
    int end = 0;

    if (strspn(text, "0123456789x^") != strlen(text) || strlen(text) >= room)
        return 0;
    if (sscanf(text, "%7u^%7u%n", &fan_out, &height, &end) == 2 && !text[end] &&
        height > 1) {
        snprintf(above, room, "%u^%u", fan_out, height - 1);
    } else if (last && sscanf(last, "x%7u%n", &fan_out, &end) == 1 &&
               !last[end]) {
        snprintf(above, room, "%.*s", (int)(last - text), text);
    } else {
        return 0;
    }
    return fan_out <= TOPOLOGY_CHILDREN_MAX ? fan_out : 0;
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

/* Take the internal nodes of `topo`, in order of rank. With `last`, all its nodes
 * are internal, and each leaf has so many back-ends. */
static int from_topology(struct study_tree *tree,
                         const struct topology *topo,
                         uint32_t last)
{
    uint32_t *numbers = malloc(topology_count(topo) * sizeof *numbers);
    uint32_t count = 0;
    int r = -ENOMEM;

    if (!numbers)
        goto out;
    for (uint32_t i = 0; i < topology_count(topo); i++)
        numbers[i] = last == 0 && topology_is_leaf(topo, i) ? count : count++;
    r = make_room(tree, count);
    if (r < 0)
        goto out;
    tree->backend_count =
        (uint64_t)topology_leaf_count(topo) * (last > 0 ? last : 1);
    for (uint32_t i = 0; i < topology_count(topo); i++) {
        uint32_t parent = topology_parent(topo, i);
        bool leaf = topology_is_leaf(topo, i);

        if (leaf && last == 0)
            continue;
        tree->parents[numbers[i]] =
            parent == TOPOLOGY_NONE ? TABLE_NONE : numbers[parent];
        tree->fan_outs[numbers[i]] =
            leaf ? last : topology_child_count(topo, i);
    }
out:
    free(numbers);
    return r;
}

int study_tree_init(struct study_tree *tree,
                    const char *text,
                    struct cop_error *error)
{
    struct topology *topo = NULL;
    char above[SHAPE_LEN];
    uint32_t last = 0;
    int r;

    *tree = (struct study_tree){0};
    if (access(text, F_OK) == 0) {
        r = topology_read(&topo, text, error);
    } else {
        last = split_last_level(text, above, sizeof above);
        r = topology_from_shape(&topo, last > 0 ? above : text, NULL, NULL,
                                error);
    }
    if (r < 0 && last > 0 && error) {
        struct cop_error why = *error;

        cop_error_set(error, r, "the internal nodes of %s: %s", text, why.text);
    }
    if (r < 0)
        return r;
    r = from_topology(tree, topo, last);
    topology_free(topo);
    if (r < 0) {
        cop_error_set(error, r, "tree %.80s: out of memory", text);
        study_tree_fini(tree);
    }
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
