/* view.h - a network's status, as a tree on a terminal. */
#pragma once

#include <coppice/status.h>
#include <stdio.h>

/* No node: the end of a list. */
#define VIEW_NONE SIZE_MAX

/* One node and its place in the tree. Nodes are known by index. */
struct view_node {
    struct cop_status_node is;
    size_t first_child;
    size_t next_sibling;
};

/* The states, as enum cop_state. */
#define VIEW_STATES 6

struct view {
    struct view_node *nodes; /* by rank; the front-end is first */
    size_t count;
    size_t left_off; /* nodes that the status does not contain */
    size_t in_state[VIEW_STATES];
    size_t adopted; /* nodes that have been adopted */
};

/* How the tree is drawn. */
struct view_style {
    bool colour;
    bool ascii;     /* draw lines with ASCII instead of UTF-8 */
    bool only_bad;  /* only nodes that are not up */
    unsigned width; /* columns */
};

/* Make the tree of the nodes in `status`, which must outlive the view. Returns
 * 0 or -ENOMEM. */
int view_init(struct view *view, const struct cop_status *status);

/* Free the contents. */
void view_fini(struct view *view);

/* The node's host, or "?"; the name of a state. */
const char *view_host(const struct cop_status_node *node);
const char *view_state(enum cop_state state);

/* Whether no node is silent or an orphan. */
bool view_is_healed(const struct view *view);

/* Draw the tree: a line for each node. Returns 0 or -ENOMEM. */
int view_draw(const struct view *view,
              const struct view_style *style,
              FILE *file);

/* Write one line with the counts. */
void view_count(const struct view *view, FILE *file);

/* Write a line for each state that nodes are in, with their hosts. Returns 0 or
 * -ENOMEM. */
int view_summarise(const struct view *view,
                   const struct view_style *style,
                   FILE *file);
