/* slot.h - the slots of a stream of totals at one node; private to the machine
 * (PROTOCOL 17).
 *
 *      child 1 ---- slot 1 --+
 *      child 2 ---- slot 2 --+--> total ---- parent's slot
 *      own packets  slot 0 --+
 *
 * The states themselves are in the filter. Calls change them, one after the
 * other. A slot here changes when such a call begins. */
#pragma once

#include "protocol/stream/total.h"

struct frame;
struct node;
struct peer;
struct stream;
struct wave_set;
struct event;

/* The part of the total that came over one link. */
struct slot {
    uint32_t key;        /* in filter calls; never used again on the stream */
    struct ranks set;    /* the members whose part it has */
    struct mark settled; /* by all of them */
    bool has_later;
    struct mark later; /* after `next`: replaces `settled` once `next` is in */
    bool is_doubted;   /* a part may be in it twice (17.5) */
    bool is_due;       /* `next` waits to replace the slot in the next call */
    struct total next;
};

/* Front-end: the total of a back-end that has left, until it is joined. */
struct parting {
    uint32_t rank;
    struct frame frame; /* FRAME_EMPTY: it had sent nothing */
};

struct totals {
    uint32_t last_key;
    bool told; /* TOTAL was sent on this link */
    bool used; /* a packet or a total was ever joined here */
    bool
        changed; /* a slot has ended, or a total or a parting waits for the next
                    call */
    bool impatient;       /* do not wait for more totals (17.4) */
    struct total packing; /* set and settled of the call in progress */
    bool sends;           /* its total goes to the parent */
    bool joins;           /* it has inputs */
    bool broken;  /* a part could not be joined or packed: no total is right */
    bool vouches; /* front-end: each member counts exactly once */
    struct frame *inputs; /* storage of that call */
    uint32_t *inlets;
    uint32_t *keys;
    uint32_t *kept;
    size_t room;
    struct parting *partings;
    size_t parting_count;
};

/* Operations of total_kind. */
int totals_begin(struct stream *stream, const struct node *node);
void totals_end(struct stream *stream);
void totals_orphaned(struct node *node, struct stream *stream, uint32_t rank);
bool totals_precede_claim(struct node *node, struct stream *stream);

/* Free `slot`. NULL is fine. */
void slot_free(struct slot *slot);

/* The slot of branch `at` if its child is there; else NULL. */
struct slot *slot_at(const struct node *node,
                     const struct stream *stream,
                     uint32_t at);

/* Add the sets of all slots to `out`. Returns false if a member is in two of
 * them, here or below. */
bool slots_unite(struct node *node,
                 const struct stream *stream,
                 struct ranks *out);

/* Whether no slot has a part of `rank`. */
bool slots_lack(const struct node *node,
                const struct stream *stream,
                uint32_t rank);

/* The link of the child in slot number `at` has ended, or the child is a
 * back-end that was given up: its part leaves the total (17.3, 17.6). */
void slot_end(struct node *node, struct stream *stream, uint32_t at);

/* Handle TOTAL. `frame` is borrowed. Returns 0 or an error as in intake.c. */
int slot_take(struct node *node, struct peer *peer, const struct frame *frame);

/* A claim of the child says what it has settled. */
void slot_claimed(struct node *node, struct stream *stream, struct peer *peer);

/* What all members of the slots have settled; 0 while a member is in two of
 * them, or was given up (17.5). */
struct mark totals_settled(struct node *node, const struct stream *stream);

/* Front-end: whether each member counts once, and no other node (17.5). */
bool totals_are_whole(struct node *node, const struct stream *stream);

/* Whether a total waits to be put into a slot or to be sent to the parent. */
bool totals_wait(const struct stream *stream);

/* Release waves, unless the total is to be packed before. */
void totals_run(struct node *node, struct stream *stream);

/* At the end of a step: pack the total if that is due, or wait for it; else
 * release waves. */
void totals_pack(struct node *node, struct stream *stream);

/* Call the filter: replace slots, and pack the total. An empty total is known
 * without a call. Returns whether a call has begun. */
bool totals_call(struct node *node, struct stream *stream);

/* The call of totals_call() has ended. */
void totals_packed(struct node *node,
                   struct stream *stream,
                   const struct event *event);

/* Remove the packets without a slot from a released set. For the others,
 * replace set->slots by the keys of their slots. */
void totals_sort(const struct node *node,
                 struct stream *stream,
                 struct wave_set *set);

/* A heartbeat has passed: wait for no more totals. */
void totals_beat(struct node *node, struct stream *stream);

/* A call of this stream lasted too long and its output was dropped. */
void totals_missed(struct node *node, struct stream *stream);

/* Front-end: `frame` (taken) is the total of `rank`, which leaves. */
void totals_part(struct node *node,
                 struct stream *stream,
                 uint32_t rank,
                 struct frame *frame);

/* Bytes of totals that wait here, outside the filter (PROTOCOL 17.9). */
uint64_t totals_bytes(const struct stream *stream);
