/* messages.h - which field of a frame's header carries which value, by type.
 *
 * For each message there are a struct, a function that encodes it and one that
 * decodes it. Only these use the fields. F is a member of any value, R one from
 * `least` to `most`:
 *
 *     F(type, member, header field)
 *     R(type, member, header field, least, most)
 *
 * `sender` is the rank of the node that made the frame.
 *
 * Not in the table: DATA, whose values have names in struct frame; END, GOODBYE
 * and SILENCE, without values; READY, CLAIM, CONTROL, RECORD, FAN_OUT, NODE,
 * EXPEL, TOTAL and FAREWELL, with values in the payload (CONTROL: its type in
 * tag). */
#pragma once

#include "wire/frame.h"
#include "wire/limits.h"

/* clang-format off */
#define MESSAGES(M, F, R)                                                     \
    /* a sync; it has a number like any packet of its stream. On a stream of  \
       whole waves the payload may name joiners (16.11) */                    \
    M(marker, FRAME_MARKER,                                                   \
      F(uint32_t, stream, stream)                                             \
      F(uint32_t, epoch, tag)                                                 \
      F(uint32_t, sender, origin)                                             \
      F(uint64_t, number, sequence)                                           \
      F(struct payload *, payload, payload))                                  \
    /* the state of stream 0 after packet `number` */                         \
    M(snapshot, FRAME_SNAPSHOT,                                               \
      F(uint64_t, number, sequence)                                           \
      F(struct payload *, payload, payload))                                  \
    /* the sender counts from the wave after `level` (4.5); of a stream of    \
       whole waves, in that generation (16.9) */                              \
    M(resume, FRAME_RESUME,                                                   \
      F(uint32_t, stream, stream)                                             \
      F(uint32_t, sender, origin)                                             \
      F(uint32_t, generation, count)                                          \
      F(uint64_t, level, sequence))                                           \
    /* every member has the packets up to `number` (10.2) */                  \
    M(stable, FRAME_STABLE,                                                   \
      F(uint32_t, stream, stream)                                             \
      F(uint32_t, sender, origin)                                             \
      F(uint64_t, number, sequence))                                          \
    /* `count` numbers up to `number` are for members elsewhere (10.7). The    \
       sender has read that many claims on stream 0; `behind` as in DATA;      \
       `flags`: FRAME_ASK if a claim is wanted at once, or 0 */                \
    M(skip, FRAME_SKIP,                                                       \
      F(uint8_t, flags, flags)                                                \
      F(uint32_t, stream, stream)                                             \
      R(uint32_t, claims, tag, 0, INT32_MAX)                                  \
      R(uint32_t, count, origin, 1, LIMIT_SKIPS)                              \
      F(uint32_t, behind, count)                                              \
      F(uint64_t, number, sequence))                                          \
    /* of whole waves those up to `level` are accepted (16.5) */              \
    M(final, FRAME_FINAL,                                                     \
      F(uint32_t, stream, stream)                                             \
      F(uint32_t, sender, origin)                                             \
      F(uint64_t, level, sequence))                                           \
    /* returns credit (3.4); `flags`: FRAME_LATE, or 0 */                     \
    M(credit, FRAME_CREDIT,                                                   \
      F(uint8_t, flags, flags)                                                \
      F(uint32_t, stream, stream)                                             \
      F(uint32_t, sender, origin)                                             \
      F(uint32_t, bytes, count))                                              \
    /* the first HEARTBEAT on a link: the window of each stream (3.4) */      \
    M(greeting, FRAME_HEARTBEAT,                                              \
      F(uint32_t, sender, origin)                                             \
      R(uint32_t, window, count, 1, LIMIT_WINDOW_MAX))                        \
    /* later ones (6.1); `ordinal`: 1 + a child's (7.2), or 0; `version`: of  \
       the sender's table, or 0; `round`: begun, or upwards seen by all (6.9) \
       */                                                                     \
    M(heartbeat, FRAME_HEARTBEAT,                                             \
      F(uint32_t, round, stream)                                              \
      F(uint32_t, sender, origin)                                             \
      R(uint32_t, ordinal, tag, 0, LIMIT_CHILDREN)                            \
      F(uint32_t, incarnation, count)                                         \
      F(uint64_t, version, sequence))                                         \
    /* the launched tree (12.2), the reader's ordinal in it (7.2), and the    \
       first rank that was not given at launch (19.4) */                      \
    M(table, FRAME_TABLE,                                                     \
      F(uint32_t, ordinal, count)                                             \
      R(uint32_t, first, sequence, 0, LIMIT_NODES)                            \
      F(struct payload *, payload, payload))                                  \
    /* JOIN `number` of `asker`, which has a link to a node that wants a rank \
       (12.3, 19.1). The joiner itself sets neither. `role`: enum node_role.  \
       `payload`: its host, label and addresses */                            \
    M(join, FRAME_JOIN,                                                       \
      F(int32_t, number, tag)                                                 \
      F(uint32_t, asker, origin)                                              \
      F(uint32_t, role, count)                                                \
      F(struct payload *, payload, payload))                                  \
    /* the answer, with the same two; `rank` RANK_NONE: there is no room.     \
       To the joiner: its rank and depth */                                   \
    M(joined, FRAME_JOINED,                                                   \
      F(int32_t, number, tag)                                                 \
      F(uint32_t, asker, origin)                                              \
      R(uint32_t, rank, count, 1, UINT32_MAX)                                 \
      R(uint32_t, depth, sequence, 0, LIMIT_NODES))                           \
    /* a filter failed at `reporter`; or `about` broke the protocol (2.5); or  \
       a call was ended by signal `about`, 0: by exit(), in `wave` (11.5) */  \
    M(fault, FRAME_FAULT,                                                     \
      F(uint32_t, stream, stream)                                             \
      F(int32_t, kind, tag)                                                   \
      R(uint32_t, reporter, origin, 0, LIMIT_NODES - 1)                       \
      F(uint32_t, about, count)                                               \
      F(uint64_t, wave, sequence)                                             \
      F(struct payload *, payload, payload))                                  \
    /* an orphan or a mover asks (8.1); `wish`: ADOPTION_LAST_RESORT,         \
       ADOPTION_MOVE (18.1), or 0 */                                          \
    M(adopt, FRAME_ADOPT,                                                     \
      F(int32_t, wish, tag)                                                   \
      F(uint32_t, orphan, origin)                                             \
      F(uint32_t, incarnation, count)                                         \
      R(uint32_t, height, sequence, 0, LIMIT_NODES)                           \
      F(struct payload *, payload, payload))                                  \
    /* the answer: enum adoption_answer, the orphan's ordinal (7.2), and the  \
       depth of the sender */                                                 \
    M(adopted, FRAME_ADOPTED,                                                 \
      F(int32_t, answer, tag)                                                 \
      F(uint32_t, sender, origin)                                             \
      F(uint32_t, ordinal, count)                                             \
      R(uint32_t, depth, sequence, 0, LIMIT_NODES))                           \
    /* asks whether the path reaches the root (8.3); `hops` so far; `align`:  \
       for a mover that was adopted (18.4) */                                 \
    M(probe, FRAME_PROBE,                                                     \
      R(int32_t, align, tag, 0, PROBE_TELL)                                   \
      F(uint32_t, orphan, origin)                                             \
      F(uint32_t, incarnation, count)                                         \
      R(uint32_t, hops, sequence, 1, LIMIT_NODES)                             \
      F(struct payload *, payload, payload))                                  \
    /* the answer: enum probe_answer, and the depth of the candidate; that to \
       ALIGN: levels */                                                       \
    M(probed, FRAME_PROBED,                                                   \
      F(int32_t, answer, tag)                                                 \
      F(uint32_t, orphan, origin)                                             \
      F(uint32_t, incarnation, count)                                         \
      R(uint32_t, depth, sequence, 0, LIMIT_NODES)                            \
      F(struct payload *, payload, payload))                                  \
    /* asks for the packets after packet `last` (10.4); `epoch`: of the last   \
       marker that the sender knows of (18.8) */                              \
    M(feed, FRAME_FEED,                                                       \
      F(uint32_t, stream, stream)                                             \
      F(uint32_t, sender, origin)                                             \
      F(uint32_t, epoch, count)                                               \
      F(uint64_t, last, sequence))                                            \
    /* a filter's state (9.1) covers the waves up to `level` (4.5) */         \
    M(compensation, FRAME_COMPENSATION,                                       \
      F(uint32_t, stream, stream)                                             \
      F(int32_t, tag, tag)                                                    \
      F(uint32_t, sender, origin)                                             \
      F(uint64_t, level, sequence)                                            \
      F(struct payload *, payload, payload))                                  \
    /* an orphan's or a mover's report of its adoption (6.7). It was last told  \
       to make move `number` (18.1), or 0 */                                  \
    M(recovered, FRAME_RECOVERED,                                             \
      R(uint32_t, orphan, origin, 1, LIMIT_NODES - 1)                         \
      F(uint32_t, incarnation, count)                                         \
      F(uint64_t, number, sequence)                                           \
      F(struct payload *, payload, payload))                                  \
    /* move `number`: `mover` is to have another parent (18.1) */             \
    M(move, FRAME_MOVE,                                                       \
      R(uint32_t, mover, origin, 1, LIMIT_NODES - 1)                          \
      R(uint32_t, parent, count, 0, LIMIT_NODES - 1)                          \
      R(uint64_t, number, sequence, 1, UINT64_MAX))                           \
    /* it keeps its parent; `reason`: enum move_reason (18.11) */             \
    M(moved, FRAME_MOVED,                                                     \
      F(int32_t, reason, tag)                                                 \
      R(uint32_t, mover, origin, 1, LIMIT_NODES - 1)                          \
      F(uint64_t, number, sequence))                                          \
    /* down: `leaver` is to leave; up: it cannot, as `child` is there (20.4).    \
       Down `child` is one that is named only if there is no other.           \
       `number`: of the last move when that was asked */                      \
    M(retire, FRAME_RETIRE,                                                   \
      R(uint32_t, leaver, origin, 1, LIMIT_NODES - 1)                         \
      F(uint32_t, child, count)                                               \
      F(uint64_t, number, sequence))                                          \
    /* asks for the state of all nodes, within `budget_ms` (15.2) */          \
    M(status, FRAME_STATUS,                                                   \
      F(uint32_t, sender, origin)                                             \
      R(uint32_t, budget_ms, count, 1, LIMIT_STATUS_MS)                       \
      F(uint64_t, round, sequence))                                           \
    /* STATUS has been received (15.4) */                                     \
    M(heard, FRAME_HEARD,                                                     \
      F(uint32_t, sender, origin)                                             \
      F(uint64_t, round, sequence))                                           \
    /* the answer to STATUS; `code`: 0, or the error of a refusal */          \
    M(rows, FRAME_ROWS,                                                       \
      F(int32_t, code, tag)                                                   \
      F(uint32_t, sender, origin)                                             \
      F(uint64_t, round, sequence)                                            \
      F(struct payload *, payload, payload))                                  \
    /* a failure to inject at `victim`: enum cop_injection (15.6) */          \
    M(inject, FRAME_INJECT,                                                   \
      F(int32_t, injection, tag)                                              \
      F(uint32_t, victim, origin)                                             \
      F(uint32_t, freeze_ms, count))                                          \
    /* the reports of adoptions from number `first` on (15.5) */              \
    M(reports, FRAME_REPORTS,                                                 \
      F(uint64_t, first, sequence)                                            \
      F(struct payload *, payload, payload))                                  \
    /* the commnodes of a host are to leave (20.4) */                         \
    M(drain, FRAME_DRAIN,                                                     \
      F(struct payload *, payload, payload))
/* clang-format on */

/* What a probe is besides a question for the path (8.3, 18). */
enum probe_align {
    PROBE_PATH,
    PROBE_ALIGN, /* of a mover, by its next parent: with its streams (18.4) */
    PROBE_TELL   /* ... by the parent that it has left (18.6) */
};

/* The kinds of FAULT. A back-end sends only the first. */
enum fault_kind {
    FAULT_FILTER,  /* a filter call failed (PROTOCOL 5.3) */
    FAULT_BREACH,  /* a child broke the protocol (2.5) */
    FAULT_HUNG,    /* a call lasts too long: the commnode ends (5.1) */
    FAULT_CRASHED, /* a call has crashed the commnode (11.5): no payload */
    FAULT_TOTAL    /* a commnode has lost a part of a total (17.10) */
};

/* The structs: `struct msg_credit` and so on. A payload is borrowed. */
#define MESSAGE_MEMBER(type, member, field)       type member;
#define MESSAGE_BOUNDED(type, member, field, ...) type member;
#define MESSAGE_STRUCT(name, number, members)                                  \
    struct msg_##name {                                                        \
        members                                                                \
    };
MESSAGES(MESSAGE_STRUCT, MESSAGE_MEMBER, MESSAGE_BOUNDED)

/* And the pairs: msg_credit_encode() and so on make a frame; its payload is
 * that of `msg`. msg_credit_decode() and so on read a frame of that type from
 * the network. Returns 0, or -EPROTO for a value out of range. */
#define MESSAGE_PAIR(name, number, members)                                    \
    struct frame msg_##name##_encode(const struct msg_##name *msg);            \
    int msg_##name##_decode(const struct frame *frame, struct msg_##name *out);
MESSAGES(MESSAGE_PAIR, MESSAGE_MEMBER, MESSAGE_BOUNDED)
