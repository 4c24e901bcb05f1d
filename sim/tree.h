/* tree.h - the shape of a simulated tree, from a text such as
 * "0(1(3,4),2)": ranks, and in parentheses their children. Rank 0 is the
 * front-end, a rank without children a back-end. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "protocol/node.h"
#include "sim/random.h"

struct tree_node {
    uint32_t rank;
    uint32_t parent; /* index of the parent; its own at the root */
    uint32_t depth;
    struct node_child *children;
    size_t child_count;
    size_t child_room;
};

struct tree {
    struct tree_node *nodes; /* a parent before its children */
    size_t count;
    size_t room;
    uint32_t *places; /* by rank: its index in `nodes` */
    size_t place_room;
    uint32_t next_rank; /* the highest rank plus one */
};

/* Read `text`. Returns 0, or -EINVAL if it is no tree, its root is not 0, or
 * a rank comes twice; `out` is then untouched. */
int tree_read(struct tree *out, const char *text);

/* Make a tree of `count` fan-outs from the front-end down, "4x4" as {4, 4};
 * ranks are given level by level. */
void tree_make(struct tree *out, const uint32_t *fanouts, size_t count);

/* Draw a random tree of at most about `most` nodes; one in four is a binary
 * tree of depth 3 or more. */
void tree_draw(struct tree *out, struct random *random, uint32_t most);

/* Draw a tree of `count` nodes, at least 3: of one fan-out, or uneven. */
void tree_grow(struct tree *out, struct random *random, uint32_t count);

/* The text of `tree`; free() it. */
char *tree_text(const struct tree *tree);

/* The node with `rank`, or NULL. */
const struct tree_node *tree_find(const struct tree *tree, uint32_t rank);

/* All nodes below node `index`, parents before their children; free() the list.
 * `*height` is set to the number of links down to the deepest. */
struct node_child *tree_below(const struct tree *tree,
                              uint32_t index,
                              size_t *count,
                              uint32_t *height);

/* The highest rank plus one. */
uint32_t tree_next_rank(const struct tree *tree);

/* Add `rank` below the rank `parent`, which was added before; the first rank is
 * the root. After the last one, tree_link() makes the lists of children. */
void tree_add(struct tree *tree, uint32_t rank, uint32_t parent);
void tree_link(struct tree *tree);

/* Free the storage. */
void tree_fini(struct tree *tree);
