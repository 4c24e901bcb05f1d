/* shape.h - the front-end gives the tree its launched shape back (PROTOCOL 20.3).
 * Front-end only; private to the machine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node;
struct node_adoption;

/* A place, and the place that was above it at launch. Or a back-end that has had
 * another parent than now, and the place of its first parent. */
struct shape_place {
    uint32_t number;
    uint32_t above;
    uint32_t parent; /* of a back-end: now */
};

/* The launched shape, and what is done for it. */
struct shape {
    bool kept;                /* moves are made for it */
    struct shape_place *list; /* places, by number */
    size_t count;
    struct shape_place *leaves; /* back-ends, by rank */
    size_t leaf_count;
    size_t next;       /* where the search for the next mover begins */
    uint64_t pause_ms; /* after the next failure; it doubles */
    uint64_t at_ms;    /* no move begins before */
};

/* The tree is launched: remember its shape, if it is to be kept. */
void shape_begin(struct node *node);

/* `rank` has reported another parent. */
void shape_adopted(struct node *node,
                   uint32_t rank,
                   const struct node_adoption *adoption);

/* If the tree is at rest, move one node below the holder of the place that was
 * above its own. */
void shape_beat(struct node *node);

/* A move has ended. */
void shape_moved(struct node *node, bool succeeded);
