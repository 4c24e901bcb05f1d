/* schedule.h - the tree, traffic and faults of a world, as text.
 *
 *     seed 3616
 *     tree 0(1(3,4),2(5,6))
 *     delay 2 14
 *     fragment 30
 *     start 25
 *     +0 with stream=1 down=1 large=0
 *     +0 open stream=1 filter=sum sync=wait_for_all ... members=3,5-6
 *     +12 send stream=1 answers=3
 *     +40 kill node=1 in=7
 *     +0 sync
 *
 * Steps are taken in order, each after a delay of milliseconds since the
 * previous one. A step that is impossible at its time does nothing, so any part
 * of a schedule is a schedule.
 *
 * Nodes are named by rank. A node that joins is named by the rank that it would
 * have if ranks were given in the order of joining. Members are ranks; `all`
 * and `none` are sets too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "wire/ranks.h"

/* X(verb, name, names of its numbers) */
#define SCHEDULE_VERBS(X)                                                      \
    /* what its nodes are like */                                              \
    X(SCHEDULE_APP, "app", "node", "take")                                     \
    X(SCHEDULE_FILTER, "filter", "node", "ms")                                 \
    X(SCHEDULE_BUDGET, "budget", "bytes")                                      \
    X(SCHEDULE_RATE, "rate", "bytes_per_ms")                                   \
    X(SCHEDULE_REPLACE, "replace", "tries", "failures", "hangs")               \
    /* which nodes do not start; whether the launch continues without */       \
    X(SCHEDULE_SKIP, "skip")                                                   \
    X(SCHEDULE_ABSENT, "absent", "node", "hangs")                              \
    /* traffic; what a stream is opened with comes before it */                \
    X(SCHEDULE_WITH, "with", "stream", "down", "large")                        \
    X(SCHEDULE_EXACT, "exact", "stream", "keep")                               \
    X(SCHEDULE_ANSWERS, "answers", "stream")                                   \
    X(SCHEDULE_REFUSE, "refuse", "stream", "node")                             \
    X(SCHEDULE_OPEN, "open", "stream", "filter", "sync", "timeout", "uneven",  \
      "big", "grow", "members")                                                \
    X(SCHEDULE_CHATTER, "chatter", "stream", "every", "times", "members")      \
    X(SCHEDULE_OPENED, "opened")                                               \
    X(SCHEDULE_SEND, "send", "stream", "answers")                              \
    X(SCHEDULE_SEND_TO, "send_to", "stream", "answers", "members")             \
    X(SCHEDULE_PARAMETERS, "parameters", "stream", "value")                    \
    X(SCHEDULE_CLOSE, "close", "stream")                                       \
    X(SCHEDULE_SYNC, "sync")                                                   \
    X(SCHEDULE_JOIN, "join", "parent")                                         \
    X(SCHEDULE_HELP, "help", "parent") /* a commnode joins */                  \
    X(SCHEDULE_JOINED, "joined", "within")                                     \
    X(SCHEDULE_MOVE, "move", "node", "parent")                                 \
    X(SCHEDULE_DRAIN, "drain", "host", "hosts") /* of so many in the world */  \
    X(SCHEDULE_LEAVE, "leave", "node")                                         \
    /* the front-end crashes; another one takes over so much later */          \
    X(SCHEDULE_TAKEOVER, "takeover", "after")                                  \
    /* faults */                                                               \
    X(SCHEDULE_KILL, "kill", "node", "in")                                     \
    X(SCHEDULE_VANISH, "vanish", "node", "in")                                 \
    X(SCHEDULE_TRAP, "trap", "node", "in")                                     \
    X(SCHEDULE_CUT, "cut", "node", "in")                                       \
    X(SCHEDULE_HALF, "half", "node", "in", "up")                               \
    X(SCHEDULE_MUTE, "mute", "node", "in", "up")                               \
    X(SCHEDULE_HOLD, "hold", "node", "in", "up", "ms")                         \
    X(SCHEDULE_ISOLATE, "isolate", "node", "in", "ms")                         \
    X(SCHEDULE_FREEZE, "freeze", "node", "in", "ms")                           \
    X(SCHEDULE_SLOW, "slow", "node", "call", "ms")                             \
    X(SCHEDULE_HANG, "hang", "node")                                           \
    X(SCHEDULE_POISON, "poison", "stream", "down")                             \
    X(SCHEDULE_LIE, "lie", "node", "in", "frame")                              \
    /* how it ends, once it is whole */                                        \
    X(SCHEDULE_END, "end", "crash")

enum schedule_verb {
#define SCHEDULE_VERB(verb, ...) verb,
    SCHEDULE_VERBS(SCHEDULE_VERB)
#undef SCHEDULE_VERB
    SCHEDULE_VERB_COUNT
};

/* The most values of a step. Those called "members" are in `members`. In the
 * text, filters and kinds of synchronisation have names. */
#define SCHEDULE_NUMBERS 8

/* The most tries to replace a commnode. */
#define SCHEDULE_TRIES 3

struct schedule_step {
    enum schedule_verb verb;
    uint32_t after_ms;
    uint32_t numbers[SCHEDULE_NUMBERS];
    struct ranks members;
};

/* Caller's storage; all zero is empty. */
struct schedule {
    uint64_t seed; /* for what the world draws itself: delays */
    char *tree;    /* as in tree.h */
    uint32_t delay_min_ms;
    uint32_t delay_max_ms;
    uint32_t fragment_percent;
    uint32_t start_max_ms;
    struct schedule_step *steps;
    size_t count;
    size_t room;
};

/* What to draw. */
struct schedule_wish {
    const char *tree; /* NULL: drawn */
    uint32_t nodes;   /* of a drawn tree; 0: drawn */
    unsigned stress;  /* how many times as likely faults are; 0: once */
};

/* The name of a verb. */
const char *schedule_name(enum schedule_verb verb);

/* Whether the verb is a fault, from SCHEDULE_KILL to SCHEDULE_LIE. */
bool schedule_is_fault(enum schedule_verb verb);

/* Draw the schedule of `seed`. */
void schedule_draw(struct schedule *out,
                   uint64_t seed,
                   const struct schedule_wish *wish);

/* Append a copy of `step`, whose members are taken. */
void schedule_add(struct schedule *schedule, const struct schedule_step *step);

/* Set `set` to all ranks. */
void schedule_all(struct ranks *set);

/* Copy `schedule` without the steps from `from` up to, not including, `to`. */
void schedule_copy(struct schedule *out,
                   const struct schedule *schedule,
                   size_t from,
                   size_t to);

/* Write `schedule` as above. */
void schedule_write(const struct schedule *schedule, FILE *file);

/* Read a schedule. Returns 0, or -EINVAL with the number of the wrong line. */
int schedule_read(struct schedule *out, FILE *file, size_t *line);

/* Free the contents. */
void schedule_fini(struct schedule *schedule);
