/* replace.h - commnodes in the places of those that are lost (PROTOCOL 20).
 * Front-end only; private to the machine.
 *
 * A place is what a commnode of the launch leaves when it is lost. One that the
 * front-end starts instead holds it, under a rank of its own, until it is lost,
 * too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node;
struct vacancy;

/* The places that were lost, and how to fill them. */
struct replacing {
    uint32_t limit;            /* tries for one place; 0: none is filled */
    const char *const *spares; /* hosts, borrowed */
    size_t spare_count;
    size_t next; /* of `spares` */
    struct vacancy *list;
    size_t count;
};

/* Commnode `rank` is lost, because of `text`. `is_silent`: its host has not
 * answered either. */
void replace_lost(struct node *node,
                  uint32_t rank,
                  const char *text,
                  bool is_silent);

/* Commnode `rank` has joined. Returns the place that it has now; 0: none. */
uint32_t replace_joined(struct node *node, uint32_t rank);

/* The commnode that has place `number` and is not lost: of the launch, or one that
 * has replaced it; 0: the front-end. RANK_NONE: none. */
uint32_t replace_holder(const struct node *node, uint32_t number);

/* The place that commnode `rank` has or had; RANK_NONE: it has joined by itself. */
uint32_t replace_place(const struct node *node, uint32_t rank);

/* The process that was started for place `rank`, or the one that had it at the
 * launch, has ended. Returns false if the place was never lost: then it is the end
 * of node `rank`. */
bool replace_gone(struct node *node, uint32_t rank, const char *text);

/* Begin the tries that are due, and give up those that take too long. */
void replace_tick(struct node *node);

/* When that is due, in ms; UINT64_MAX: never. */
uint64_t replace_deadline_ms(const struct node *node);
