/* waves.h - streams of whole waves (PROTOCOL 16): the state of one stream at
 * one node; private to the machine.
 *
 * waves.c has what all nodes do, retain.c the back-end's part, accept.c the
 * front-end's. */
#pragma once

#include "protocol/stream/kept.h"
#include "protocol/stream/stream.h"
#include "protocol/stream/tally.h"
#include "wire/messages.h"

/* A member of a stream, and the first epoch in which it is expected. */
struct joined {
    uint32_t rank;
    uint32_t epoch; /* WAVES_UNNAMED: no marker has named it yet (16.11) */
    bool awaited;   /* the pending sync began before a marker named it */
};

#define WAVES_UNNAMED UINT32_MAX

/* State that only the front-end has. */
struct accepting {
    struct joined *late; /* members that do not count from epoch 0 on */
    size_t late_count;
    struct joined *gone; /* given up, in order: the next wave may have them */
    size_t gone_count;
    uint64_t want; /* the check of the members expected in the next wave ... */
    uint32_t want_count; /* ... and their number */
    bool wanted;         /* both are up to date */
    uint32_t sync_epoch; /* the epoch that the pending sync's marker begins */
    uint64_t redo_final; /* the last redo began after this wave */
    uint32_t redos;      /* redos that began after it */
    bool hopeless;       /* too many redos: the stream must end (16.13) */
};

/* State that only a back-end has. */
struct retaining {
    struct kept kept;         /* packets sent that are not final */
    uint64_t hash;            /* of the node's rank (16.3) */
    uint64_t unasked;         /* bytes since the last packet with FRAME_ASK */
    struct wave_number level; /* the last wave sent */
    uint32_t entered_epoch;   /* the epoch in which it began to count */
    bool entered;             /* a joiner: a marker has named it */
    bool closed;              /* CLOSE was read: packets are no longer kept */
};

struct waves {
    uint32_t generation;
    uint64_t final;      /* waves up to here are accepted (16.5) */
    bool final_due;      /* FINAL is due with the next heartbeat */
    bool counted;        /* the parent was told where counting begins (16.9) */
    struct tally *tally; /* NULL at a back-end */
    struct ranks *sets;  /* by slot: members whose packets waves wait for */
    uint32_t set_count;
    struct ranks told;       /* the counting members that the parent knows */
    struct wave_number part; /* the last packet sent, if more of its wave
                                follow; else 0 */
    /* the wave that is being filtered, or has just been */
    struct wave_number call;
    uint64_t check;
    bool ask;
    struct retaining retain;
    struct accepting accept;
};

/* ---- waves.c ---- */

/* The hash of a member, which its packets carry (16.3): splitmix64. A fixed
 * hash is enough, as no node chooses its rank. */
static inline uint64_t waves_hash(uint32_t rank)
{
    uint64_t x = (rank + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The joiners that a marker names (16.11). A damaged list names none. */
void waves_names(const struct msg_marker *marker, struct ranks *out);

/* Operations of waves_kind. */
int waves_begin(struct stream *stream, const struct node *node);
void waves_end(struct stream *stream);
uint64_t waves_bytes(const struct stream *stream);
void waves_against(struct node *node,
                   struct stream *stream,
                   struct frame frame);
/* The wave after which this node counts on its link: what was not sent yet will
 * follow (16.9). */
struct wave_number waves_stand(const struct node *node,
                               const struct stream *stream);
void waves_orphaned(struct node *node, struct stream *stream, uint32_t rank);
void waves_count_anew(struct node *node, struct stream *stream);
bool waves_is_recounted(const struct stream *stream, const struct claim *claim);
bool waves_snapshot(const struct stream *stream, struct control *control);

/* Handle a packet from a child; its payload reference is taken. Returns 0 or an
 * error as in intake.c. */
int waves_take(struct node *node,
               struct stream *stream,
               struct peer *peer,
               struct frame *frame);

/* Release complete waves, and send queued packets as far as credit allows. */
void waves_run(struct node *node, struct stream *stream);

/* Set the fields of an outgoing packet that 16.2 requires. */
void waves_stamp(struct node *node, struct stream *stream, struct frame *frame);

/* Whether the filter call that has ended was of an older generation (16.8). */
bool waves_is_stale(const struct node *node, const struct stream *stream);

/* The stream is being opened: this child counts if it has members. */
void waves_open_branch(struct node *node,
                       struct stream *stream,
                       const struct peer *peer);

/* The stream is open here, and the parent counts this node. */
void waves_opened(struct node *node, struct stream *stream);

/* Handle RESUME: the child counts from the wave after `level`. */
int waves_resumed(struct node *node,
                  struct stream *stream,
                  struct peer *peer,
                  struct wave_number level);

/* The child has claimed members of the stream. */
void waves_claimed(struct node *node, struct stream *stream, struct peer *peer);

/* Members were removed from branches. */
void waves_trimmed(struct node *node, struct stream *stream);

/* The child in `slot` counts no longer. */
void waves_leave(struct node *node, struct stream *stream, uint32_t slot);

/* The link of `slot` has ended. */
void waves_unlink(struct node *node, struct stream *stream, uint32_t slot);

/* Before a claim: send RESUME if the parent does not count this node (16.9). */
void waves_announce(struct node *node, struct stream *stream);

/* Add to a claim the members for which waves must wait. */
void waves_count(struct node *node,
                 const struct stream *stream,
                 struct claim *claim);

/* A claim was sent: the parent knows its counting members. */
void waves_claim_sent(struct node *node,
                      struct stream *stream,
                      const struct claim *claim);

/* The parent is lost, or does not count this node: RESUME is due again. If a
 * wave was sent in part, drop the rest of it: its check would cover packets
 * that were lost (16.9). */
void waves_uncount(struct stream *stream);

/* `frame` was handed to the link. */
void waves_sent(struct stream *stream, const struct frame *frame);

/* Handle REDO: generation `generation` continues after wave `final` (16.8). */
void waves_redo(struct node *node,
                struct stream *stream,
                uint32_t generation,
                uint64_t final);

/* Handle FINAL from the parent. Returns 0 or -EPROTO. */
int waves_final(struct node *node, const struct frame *frame);

/* Waves up to `final` are accepted. Tell the children, `at_once` or with the
 * next heartbeat. */
void waves_rise(struct node *node,
                struct stream *stream,
                uint64_t final,
                bool at_once);

/* At a heartbeat: tell the children which waves are final. */
void waves_beat(struct node *node, struct stream *stream);

/* CLOSE has taken effect: drop packets that wait, and return their credit. */
void waves_close(struct node *node, struct stream *stream);

/* Return the credit that the tally owes. */
void waves_return_credit(struct node *node, struct stream *stream);

/* ---- accept.c: a front-end that takes over (23.8) ---- */

/* The last front-end had accepted the waves up to `final`. */
void accept_take_final(struct stream *stream, uint64_t final);

/* The marker that it has sent last named `named`. */
void accept_take_names(struct node *node,
                       struct stream *stream,
                       const struct ranks *named);

/* Go on behind the last wave that it has accepted: begin a redo. */
void accept_take_over(struct node *node, struct stream *stream);

/* ---- retain.c: a back-end ---- */

/* Keep an outgoing packet, and set its fields (16.2). */
void retain_put(struct node *node, struct stream *stream, struct frame *frame);

/* Whether a packet may be sent now: there is room, and the node counts. A
 * packet in this node's filter will be kept too. */
bool retain_accepts(const struct node *node, const struct stream *stream);

/* The sums of the kept packets. */
struct kept_sum retain_kept(const struct stream *stream);

/* Drop the packets that have become final. */
void retain_final(struct waves *waves);

/* A new generation has begun: send the kept packets again (16.8). */
void retain_redo(struct node *node, struct stream *stream);

/* Before a marker is settled: end the epochs before it (16.10). */
void retain_settle(struct node *node,
                   struct stream *stream,
                   struct mark marker);

/* This back-end leaves, or has settled a marker since: it ends its present
 * epoch too (16.12). */
void retain_leave(struct node *node, struct stream *stream);

/* A marker has arrived. Returns whether this node did not count yet: then the
 * marker needs no settling (16.11). */
bool retain_marker(struct node *node,
                   struct stream *stream,
                   const struct frame *marker);

/* ENTER adds this joiner to the stream, in epoch `epoch`. */
void retain_enter(struct node *node, struct stream *stream, uint32_t epoch);

/* CLOSE was read: packets are no longer kept. */
void retain_close(struct stream *stream);

/* Whether all packets sent on all streams of whole waves are final (16.12). */
bool retain_is_done(const struct node *node);

/* ---- accept.c: the front-end ---- */

/* Accept the next waves; have a redo begin if the next one cannot become
 * whole. */
void accept_run(struct node *node, struct stream *stream);

/* At the end of a step: begin a redo, if the wave is still not whole. */
void accept_redo(struct node *node, struct stream *stream);

/* The members of the stream have changed. */
void accept_changed(struct stream *stream);

/* Back-ends `ranks` are given up, and are still in the definition. */
void accept_lost(struct node *node,
                 struct stream *stream,
                 const struct ranks *ranks);

/* Back-ends `ranks` join: no marker has named them yet. */
void accept_entered(struct node *node,
                    struct stream *stream,
                    const struct ranks *ranks);

/* The marker that begins the present epoch names `ranks`: `*names`. */
void accept_named(struct node *node,
                  struct stream *stream,
                  const struct ranks *ranks,
                  struct payload **names);

/* At the end of a step: end the stream, for which too many redos were begun
 * (16.13). The stream is freed. */
void accept_end_hopeless(struct node *node, struct stream *stream);

/* A sync begins: it also waits for the joiners that no marker has named yet
 * (16.11). */
void accept_sync(struct stream *stream);

/* Its marker is sent next: it waits for the epochs before that. */
void accept_sync_sent(struct stream *stream);

/* Whether the pending sync waits until a marker names one of `named`. Then it
 * does not return at that marker, but at one that follows. */
bool accept_delays_sync(struct stream *stream, const struct ranks *named);
