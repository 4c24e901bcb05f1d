/* resume.h - a front-end that takes a network over from one that has crashed
 * (PROTOCOL 23). Private to the machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/frame.h"

struct control;
struct node;
struct node_config;
struct stream;

/* How a front-end has come to its network; its own records. */
struct resuming {
    bool resumes;   /* it has taken the network over */
    uint32_t term;  /* how often the network was taken over */
    uint32_t ranks; /* lower ranks are recorded as given */
    struct frame
        farewell; /* read, and its LEFT was not yet (17.7); or type 0 */
};

/* Whether a node with this configuration can be made. */
bool resume_is_possible(const struct node_config *config);

/* ---- the records of a front-end (23.3); others write none ---- */

/* The launch is complete. */
void resume_record_launch(struct node *node);

/* `control` enters stream 0 as `frame`, which is borrowed. */
void resume_record_control(struct node *node,
                           const struct control *control,
                           const struct frame *frame);

/* A rank is about to be given to a joiner. */
void resume_record_rank(struct node *node);

/* ---- taking over (23.5) ---- */

/* Take over one record of the last front-end; the payload of `frame` is taken.
 * Returns 0, -EBADMSG if it cannot follow the records before it, -EPERM, or
 * -ENOMEM. */
int resume_take(struct node *node, const struct frame *frame);

/* All records were read: adopt the orphans from now on. A node that takes nothing
 * over begins its launch. Returns 0, -EBADMSG or
 * -ESHUTDOWN as node_step(). */
int resume_start(struct node *node);

/* A record (6.3) has come. If a node was the last front-end's child, and is not this
 * one's, it is doubted (6.1a). */
void resume_heard(struct node *node,
                  uint32_t rank,
                  uint32_t incarnation,
                  uint32_t parent);

/* Whether a doubted node has another parent by its record, so that others know
 * whether it lives. */
bool resume_answers(const struct node *node, uint32_t rank);

/* The filters of a stream are loaded. If it cannot be taken over (5.5), end
 * it. Returns whether it ends. */
bool resume_ends_stream(struct node *node, struct stream *stream);

/* A child knows round `round` of the last front-end: go on above it (23.11). */
void resume_rounds(struct node *node, uint32_t round);
