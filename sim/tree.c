/* tree.c - read, draw and write trees. */
#include "sim/tree.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"
#include "wire/limits.h"

#define TREE_RANK_MAX (LIMIT_NODES - 1)

/* The index of a rank without a node. */
#define TREE_NOWHERE UINT32_MAX

/* Record the index for tree_find(). */
static void note_place(struct tree *tree, uint32_t rank, uint32_t index)
{
    while (tree->next_rank <= rank) {
        memory_grow(&tree->places, &tree->place_room, tree->next_rank,
                    sizeof(*tree->places));
        tree->places[tree->next_rank++] = TREE_NOWHERE;
    }
    tree->places[rank] = index;
}

static uint32_t add_node(struct tree *tree, uint32_t rank, uint32_t parent)
{
    struct tree_node node = {.rank = rank, .parent = parent};

    if (tree->count > 0)
        node.depth = tree->nodes[parent].depth + 1;
    memory_grow(&tree->nodes, &tree->room, tree->count, sizeof(node));
    tree->nodes[tree->count] = node;
    note_place(tree, rank, (uint32_t)tree->count);
    return (uint32_t)tree->count++;
}

/* Fill in the lists of children, once all nodes are known. */
static void link_children(struct tree *tree)
{
    bool *inner = memory_new(tree->count * sizeof(*inner));

    for (size_t i = 1; i < tree->count; i++)
        inner[tree->nodes[i].parent] = true;
    for (size_t i = 1; i < tree->count; i++) {
        struct tree_node *parent = &tree->nodes[tree->nodes[i].parent];
        struct node_child child = {
            .rank = tree->nodes[i].rank,
            .host = "sim",
            .role = inner[i] ? NODE_COMMNODE : NODE_BACKEND,
            .parent = parent->rank,
        };

        memory_grow(&parent->children, &parent->child_room, parent->child_count,
                    sizeof(child));
        parent->children[parent->child_count++] = child;
    }
    free(inner);
}

void tree_add(struct tree *tree, uint32_t rank, uint32_t parent)
{
    const struct tree_node *above = tree_find(tree, parent);

    add_node(tree, rank, above ? (uint32_t)(above - tree->nodes) : 0);
}

void tree_link(struct tree *tree)
{
    link_children(tree);
}

static int read_node(struct tree *tree, const char **text, uint32_t parent)
{
    uint32_t self;
    uint32_t rank;
    char *end;
    int r;

    if (!isdigit((unsigned char)**text))
        return -EINVAL;
    rank = (uint32_t)strtoul(*text, &end, 10);
    *text = end;
    if (rank > TREE_RANK_MAX || tree_find(tree, rank))
        return -EINVAL;
    self = add_node(tree, rank, parent);
    if (**text != '(')
        return 0;
    do {
        (*text)++;
        r = read_node(tree, text, self);
        if (r < 0)
            return r;
    } while (**text == ',');
    if (**text != ')')
        return -EINVAL;
    (*text)++;
    return 0;
}

int tree_read(struct tree *out, const char *text)
{
    struct tree tree = {0};
    int r;

    r = read_node(&tree, &text, 0);
    if (r == 0 && (*text || tree.nodes[0].rank != 0 || tree.count < 2))
        r = -EINVAL;
    if (r < 0) {
        tree_fini(&tree);
        return r;
    }
    link_children(&tree);
    *out = tree;
    return 0;
}

void tree_make(struct tree *out, const uint32_t *fanouts, size_t count)
{
    struct tree tree = {0};
    size_t first = 0;

    add_node(&tree, 0, 0);
    for (size_t level = 0; level < count; level++) {
        size_t last = tree.count;

        for (size_t i = first; i < last; i++)
            for (uint32_t k = 0; k < fanouts[level]; k++)
                add_node(&tree, (uint32_t)tree.count, (uint32_t)i);
        first = last;
    }
    link_children(&tree);
    *out = tree;
}

void tree_draw(struct tree *out, struct random *random, uint32_t most)
{
    struct tree tree = {0};
    uint32_t fanouts[4] = {2, 2, 2, 2};

    if (random_chance(random, 25)) {
        tree_make(out, fanouts,
                  most >= 31 && random_chance(random, 30) ? 4 : 3);
        return;
    }
    most = (uint32_t)random_between(random, 3, most);
    add_node(&tree, 0, 0);
    while (tree.count < most) {
        uint32_t parent = (uint32_t)random_between(random, 0, tree.count - 1);

        if (tree.nodes[parent].depth < 5)
            add_node(&tree, (uint32_t)tree.count, parent);
    }
    link_children(&tree);
    *out = tree;
}

void tree_grow(struct tree *out, struct random *random, uint32_t count)
{
    struct tree tree = {0};
    uint32_t fanout = (uint32_t)random_between(random, 2, 32);
    bool uneven = random_chance(random, 30);

    add_node(&tree, 0, 0);
    while (tree.count < count) {
        uint32_t parent = (uint32_t)(tree.count - 1) / fanout;

        if (uneven)
            parent = (uint32_t)random_between(random, 0, tree.count - 1);
        if (!uneven || tree.nodes[parent].depth < 5)
            add_node(&tree, (uint32_t)tree.count, parent);
    }
    link_children(&tree);
    *out = tree;
}

static void write_node(const struct tree *tree, uint32_t index, FILE *file)
{
    const struct tree_node *node = &tree->nodes[index];

    fprintf(file, "%u", node->rank);
    for (size_t i = 0; i < node->child_count; i++) {
        fputc(i == 0 ? '(' : ',', file);
        write_node(tree, tree->places[node->children[i].rank], file);
    }
    if (node->child_count > 0)
        fputc(')', file);
}

char *tree_text(const struct tree *tree)
{
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream(&text, &len);

    if (!file)
        return memory_text("?");
    write_node(tree, 0, file);
    fclose(file);
    return text;
}

const struct tree_node *tree_find(const struct tree *tree, uint32_t rank)
{
    uint32_t index = rank < tree->next_rank ? tree->places[rank] : TREE_NOWHERE;

    return index == TREE_NOWHERE ? NULL : &tree->nodes[index];
}

/* The nodes below one node, in the order of the search. */
struct below {
    struct node_child *list;
    size_t count;
    size_t room;
    uint32_t deepest;
};

static void find_below(const struct tree *tree,
                       const struct tree_node *node,
                       struct below *below)
{
    for (size_t i = 0; i < node->child_count; i++) {
        memory_grow(&below->list, &below->room, below->count,
                    sizeof(*below->list));
        below->list[below->count++] = node->children[i];
        find_below(tree, tree_find(tree, node->children[i].rank), below);
    }
    if (node->depth > below->deepest)
        below->deepest = node->depth;
}

struct node_child *tree_below(const struct tree *tree,
                              uint32_t index,
                              size_t *count,
                              uint32_t *height)
{
    struct below below = {0};

    find_below(tree, &tree->nodes[index], &below);
    *count = below.count;
    *height = below.deepest - tree->nodes[index].depth;
    return below.list;
}

uint32_t tree_next_rank(const struct tree *tree)
{
    return tree->next_rank;
}

void tree_fini(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        free(tree->nodes[i].children);
    free(tree->nodes);
    free(tree->places);
    *tree = (struct tree){0};
}
