/* plan.h - moves that the front-end plans, one at a time (PROTOCOL 18). Front-end
 * only; private to the machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct node;
struct frame;
struct msg_recovered;
struct node_adoption;

/* Why a node keeps its parent: in MOVED. */
enum move_reason {
    MOVE_UNREACHED = 1, /* no route leads to the mover */
    MOVE_UNABLE,        /* it has no parent now, moves, or ends */
    MOVE_UNCONNECTED,   /* no link to the next parent */
    MOVE_LINK_ENDED,    /* that link has ended */
    MOVE_TIMED_OUT,
    MOVE_NO_PATH, /* 18.4: the next parent has lost its own */
    MOVE_ACCUSED, /* the mover was reported failed */
    /* answers of the next parent */
    MOVE_ORPHAN,
    MOVE_CLOSING,
    MOVE_FULL,
    MOVE_TOO_HIGH,
    MOVE_REFUSED,
};

/* The move that is under way. */
struct plan {
    uint64_t number; /* 0: none */
    uint64_t last;   /* the number of the last one */
    uint32_t mover;
    uint32_t from;     /* its parent when it began */
    uint32_t parent;   /* the one that it is to have */
    uint64_t until_ms; /* it has failed if it is not reported by then */
};

/* Have `rank` move below `parent`. Returns 0 if the command was sent, or
 * an error of cop_network_move(). */
int plan_begin(struct node *node, uint32_t rank, uint32_t parent);

/* A node has reported its adoption. Returns whether it has made its move by that.
 * If it has moved elsewhere, the application is told that the move has failed. */
bool plan_succeeds(struct node *node,
                   const struct msg_recovered *recovered,
                   const struct node_adoption *adoption);

/* Handle MOVED, or pass it on. `frame` is borrowed. Returns 0 or an error as in
 * intake.c. */
int plan_answered(struct node *node, const struct frame *frame);

/* Send the command of a move that is under way again. */
void plan_beat(struct node *node);

/* `rank` is lost. */
void plan_lost(struct node *node, uint32_t rank);

/* Give up a move that nobody has reported. */
void plan_tick(struct node *node);
