/* drain.h - hosts that are to have no commnode any more (PROTOCOL 20.4). Private
 * to the machine.
 *
 *   front-end --RETIRE--> commnode      leave, if you have no child
 *   front-end <--RETIRE-- commnode      this child is still here
 *   front-end ---MOVE---> child         go to another parent (18)
 *
 * The commnode keeps nothing of that but a time: it adopts nobody for a while, and
 * the front-end asks again with each heartbeat. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node;
struct frame;

/* A host that the application has drained. */
struct drained {
    char *host;
    bool empty; /* the application was told that it has no commnode */
};

/* The front-end's drains. */
struct draining {
    struct drained *hosts;
    size_t count;
    uint32_t leaver; /* the commnode whose child is to move */
    uint32_t child;  /* that child; RANK_NONE: none */
    uint32_t turn;   /* how many parents were tried for it */
    uint32_t passed; /* a child that has moved, or that none has adopted: others
                          are next */
    uint32_t moved;  /* the one that has moved last: until `moved_ms` its old
                          parent may not have noticed */
    uint64_t moved_ms;
    uint64_t pause_ms; /* after the next such child; it doubles */
    uint64_t at_ms;    /* nothing is done before */
};

/* Free the storage. */
void drain_fini(struct node *node);

/* ---- the front-end ---- */

/* Drain `host`, which is copied. The result is the number of its commnodes.
 * Returns 0, or an error of cop_network_drain(). */
int drain_begin(struct node *node, const char *host);

/* Handle DRAIN of an observer. `frame` is borrowed; an error has a sentence in up
 * to `text_len` bytes of `text`. Returns 0 or the error, for the answer. */
int drain_asked(struct node *node,
                const struct frame *frame,
                char *text,
                size_t text_len);

/* Whether `host` was drained, and whether commnode `rank` is on such a host. */
bool drain_holds(const struct node *node, const char *host);
bool drain_has(const struct node *node, uint32_t rank);

/* Whether commnode `rank`, whose end is certain, has ended because of a drain. */
bool drain_expected(const struct node *node, uint32_t rank);

/* Commnode `rank` has joined, on a host that may be drained; `place` as in
 * replace_joined(). One that was started there by hand ends a drain that is
 * over. */
void drain_joined(struct node *node, uint32_t rank, uint32_t place);

/* If nothing else moves and the tree is at rest: ask the next commnode to leave.
 * Returns whether one was asked. */
bool drain_beat(struct node *node);

/* A move has ended. */
void drain_moved(struct node *node, bool succeeded);

/* ---- both ends of RETIRE ---- */

/* Handle RETIRE from the parent: for this node, or on its way. `frame` is borrowed.
 * Returns 0 or an error as in intake.c. */
int drain_take(struct node *node, const struct frame *frame);

/* Handle RETIRE from a child: pass it on, or, at the front-end, have the child that
 * it names move. Returns as drain_take(). */
int drain_answered(struct node *node, const struct frame *frame);

/* ---- the commnode ---- */

/* Whether this node was asked to leave not long ago: it adopts nobody. */
bool drain_is_leaving(const struct node *node);

/* Whether it has neither children nor anything to send any more. */
bool drain_is_over(const struct node *node);
