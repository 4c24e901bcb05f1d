/* kind.h - what a stream of each kind does in its own way; private to the
 * machine.
 *
 * plain_kind a failure is compensated, or reported as loss (PROTOCOL 9, 10.6)
 * waves_kind each wave has each member once (16): waves.c, retain.c, accept.c
 * total_kind a total has all that each member sent, once (17): slot.c
 *
 * The tables are in kinds.c. An operation that is NULL does nothing, unless its
 * comment says otherwise. */
#pragma once

#include "protocol/members/control.h"
#include "protocol/node.h"
#include "protocol/stream/kept.h"
#include "protocol/stream/wave.h"
#include "wire/fifo.h"

struct claim;
struct peer;
struct stream;

struct stream_kind {
    bool has_states;       /* a filter's state may go up (9.1) */
    bool is_lossy;         /* a wave may be lost: 4.3b and 10.6 apply */
    bool syncs_by_wave;    /* a sync returns with a wave (16.10) */
    enum call_slots slots; /* of a filter call with a wave */
    size_t extra_len;      /* of a packet, besides its header (16.2) */
    const char *refusal;   /* why COMPENSATION is refused; NULL: it is not */

    /* The state of the stream. `begin` returns 0 or -ENOMEM. */
    int (*begin)(struct stream *stream, const struct node *node);
    void (*end)(struct stream *stream);

    /* ---- children ---- */

    /* The stream is being opened: the child counts if it has members. */
    void (*open_branch)(struct node *node,
                        struct stream *stream,
                        const struct peer *peer);
    /* It is open: the parent counts this node. */
    void (*opened)(struct node *node, struct stream *stream);
    /* RESUME: the child counts from the wave after `level`. Returns 0 or
     * -ENOMEM. Never NULL. */
    int (*resumed)(struct node *node,
                   struct stream *stream,
                   struct peer *peer,
                   struct wave_number level);
    /* A claim of the child was read. */
    void (*claimed)(struct node *node,
                    struct stream *stream,
                    struct peer *peer);
    /* What the children have settled; NULL: the least of their claims. */
    struct mark (*settled)(struct node *node, const struct stream *stream);
    /* Members were removed from branches. */
    void (*trimmed)(struct node *node, struct stream *stream);
    /* The child in `slot` counts no longer. */
    void (*leave)(struct node *node, struct stream *stream, uint32_t slot);
    /* A commnode has lost its last member, and is owed (18.7); or has lost one of
     * several (18.8). */
    void (*owe)(struct stream *stream, uint32_t slot);
    /* The link of `slot` has ended, or its back-end was given up: its part
     * ends, before its members are removed ... */
    void (*part_ended)(struct node *node, struct stream *stream, uint32_t slot);
    /* ... and after it. Never NULL. */
    void (*unlink)(struct node *node, struct stream *stream, uint32_t slot);

    /* ---- packets ---- */

    /* Handle a packet from a child; its payload reference is taken. Returns 0
     * or an error as in intake.c. Never NULL. */
    int (*take)(struct node *node,
                struct stream *stream,
                struct peer *peer,
                struct frame *frame);
    /* Release complete waves, and send as far as credit allows. Never NULL. */
    void (*run)(struct node *node, struct stream *stream);
    /* A set of packets was released: choose the slots that they are for. */
    void (*sort)(const struct node *node,
                 struct stream *stream,
                 struct wave_set *set);
    /* Whether no wave may be released before something else has gone up. */
    bool (*waits)(const struct stream *stream);
    /* The filter call that has ended took too long. */
    void (*missed)(struct node *node, struct stream *stream);
    /* Whether the output of the call that has ended is out of date. */
    bool (*is_stale)(const struct node *node, const struct stream *stream);
    /* A call with `state` has ended. NULL: the kind has no such calls. */
    void (*packed)(struct node *node,
                   struct stream *stream,
                   const struct event *event);
    /* A downstream filter emits `frame` upwards (taken). NULL: it is sent. */
    void (*against)(struct node *node,
                    struct stream *stream,
                    struct frame frame);
    /* A packet goes up: set its fields; it was handed to the link. */
    void (*stamp)(struct node *node,
                  struct stream *stream,
                  struct frame *frame);
    void (*sent)(struct stream *stream, const struct frame *frame);
    /* Whether a back-end may send now. NULL: it may. */
    bool (*accepts)(const struct node *node, const struct stream *stream);
    /* Bytes of packets that wait for their wave; NULL: those in up.wave. */
    uint64_t (*bytes)(const struct stream *stream);
    /* CLOSE was read, and has taken effect. The latter is never NULL. */
    void (*close_read)(struct stream *stream);
    void (*close)(struct node *node, struct stream *stream);

    /* ---- the parent ---- */

    /* The parent, `rank`, is lost. Never NULL. */
    void (*orphaned)(struct node *node, struct stream *stream, uint32_t rank);
    /* A new one: filters are loaded, and this node has members or is a
     * back-end, or its filter has a state. Never NULL. */
    void (*adopted)(struct node *node, struct stream *stream);
    /* The parent does not count this node: have it do so. Never NULL. */
    void (*count_anew)(struct node *node, struct stream *stream);

    /* The last wave that was sent to the parent; NULL: nobody asks. */
    struct wave_number (*stand)(const struct node *node,
                                const struct stream *stream);

    /* ---- claims and markers ---- */

    /* Add to a claim what only this kind claims; and before and after it is
     * sent. */
    void (*count)(struct node *node,
                  const struct stream *stream,
                  struct claim *claim);
    void (*announce)(struct node *node, struct stream *stream);
    void (*claim_sent)(struct node *node,
                       struct stream *stream,
                       const struct claim *claim);
    /* Whether `claim` has changed in what only this kind claims. */
    bool (*is_recounted)(const struct stream *stream,
                         const struct claim *claim);
    /* Whether no claim may go ahead of something that is due now. */
    bool (*precedes_claim)(struct node *node, struct stream *stream);
    /* Front-end: whether each member counts. NULL: if the claims cover it. */
    bool (*is_whole)(struct node *node, const struct stream *stream);
    /* A heartbeat. */
    void (*beat)(struct node *node, struct stream *stream);
    /* Back-end: a marker has come. Returns whether it needs no settling. */
    bool (*marker)(struct node *node,
                   struct stream *stream,
                   const struct frame *frame);
    /* Back-end: before `marker` is settled. */
    void (*settle)(struct node *node,
                   struct stream *stream,
                   struct mark marker);
    /* Back-end: it leaves, and nothing waits here. */
    void (*leaving)(struct node *node, struct stream *stream);

    /* ---- members ---- */

    /* Back-ends join, and are given up: at the front-end. */
    void (*entered)(struct node *node,
                    struct stream *stream,
                    const struct ranks *ranks);
    void (*lost)(struct node *node,
                 struct stream *stream,
                 const struct ranks *ranks);
    /* This back-end joins, in `epoch`. Never NULL. */
    void (*enter)(struct node *node, struct stream *stream, uint32_t epoch);

    /* Front-end: it takes the stream over (23.5). */
    void (*take_over)(struct node *node, struct stream *stream);

    /* ---- syncs and redos ---- */

    /* Front-end: the application asks for a sync; its marker is sent next. */
    void (*sync_asked)(struct stream *stream);
    void (*sync_sent)(struct stream *stream);
    /* Front-end: whether the pending sync waits for one of `named`, and must
     * not return at the marker that names them. */
    bool (*delays_sync)(struct stream *stream, const struct ranks *named);
    /* Front-end: the marker that begins `epoch` names `ranks`. `*names` is set
     * to its payload. */
    void (*named)(struct node *node,
                  struct stream *stream,
                  const struct ranks *ranks,
                  struct payload **names);
    /* REDO was read: generation `generation` continues after wave `final`. */
    void (*redo)(struct node *node,
                 struct stream *stream,
                 uint32_t generation,
                 uint64_t final);
    /* The control for a snapshot that has what all REDOs did. Returns whether
     * there is one. */
    bool (*snapshot)(const struct stream *stream, struct control *control);
    /* A back-end: the packets kept until they are final. */
    struct kept_sum (*kept)(const struct stream *stream);
};

extern const struct stream_kind plain_kind, waves_kind, total_kind;

/* The kind that a definition asks for. */
const struct stream_kind *kind_of(const struct stream_definition *definition);
