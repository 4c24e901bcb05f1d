/* ledger.h - compares the packets of one stream with those it must deliver.
 *
 * The front-end notes each command that it sends and each packet that it
 * receives. After a sync the ledger reports missing and surplus packets. */
#pragma once

#include "test/storm/round.h"

/* Report a violation. */
typedef void (*ledger_bad_fn)(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* The packets of one back-end of a set or a sum, in answers and unsolicited. */
struct seen {
    unsigned char *has[2]; /* by index */
    uint32_t room[2];
    uint32_t count[2];
};

/* What is known of one back-end; the counts are for questions, exact and
 * streams of totals. */
struct part {
    bool is_member;  /* it had joined before the last commands were sent */
    bool is_aligned; /* it had joined before the last sync */
    bool has_left;   /* before the waiting packets were received */
    uint32_t count;  /* packets received, or in the last total */
    uint32_t synced; /* questions: packets received before the last sync;
                        cumulative: packets that a sync has covered ... */
    uint64_t sum;    /* ... and their sum */
    uint32_t epoch;  /* the last wave that includes it */
    uint64_t wave;
};

struct ledger {
    const char *folder; /* of the round; borrowed */
    ledger_bad_fn bad;
    uint32_t flow;
    enum kind kind;
    char name[96]; /* for messages */
    bool grows;
    uint32_t members[RANKS_MAX]; /* since the opening */
    uint32_t member_count;
    uint32_t first_joiner; /* ranks from here on are late joiners */
    uint32_t number;       /* of the last command */
    uint32_t synced;       /* the last command before the last sync */
    uint32_t items;        /* of all commands */
    uint64_t numbers;
    int64_t peaks[KEYS];
    struct seen seen[RANKS_MAX];
    struct part parts[RANKS_MAX];
    uint32_t epoch; /* questions, exact: of the last wave received */
    uint64_t wave;
    uint64_t waves;
    uint32_t answers; /* received to the questions so far */
    uint32_t partial; /* those that lack a member since the opening */
    uint32_t syncs;
    uint32_t totals; /* cumulative: how many were exact */
};

/* Free what the ledger holds. */
void ledger_fini(struct ledger *ledger);

/* Whether `packet` is a wave of which nothing is left. */
bool packet_is_lost(const struct cop_packet *packet);

/* Note the next command, with `items` items. Returns its number. */
uint32_t ledger_command(struct ledger *ledger, uint32_t items);

/* Note that `packet` was received. */
void ledger_packet(struct ledger *ledger, const struct cop_packet *packet);

/* The tallies of all present and former members, one per call: `*i` counts from
 * 0. Returns whether there was another one. */
bool ledger_next_tally(const struct ledger *ledger,
                       uint32_t *i,
                       struct tally *tally);

/* Whether a sync need not wait for this back-end: it has ended, it leaves, or it
 * was no member when the last commands were sent. */
bool ledger_excuses(const struct ledger *ledger, const struct tally *tally);

/* Note which back-ends have left; the waiting packets are received next. */
void ledger_note_left(struct ledger *ledger);

/* A sync has returned 0, or 1 if `is_lossy`, and every waiting packet has been
 * received. */
void ledger_synced(struct ledger *ledger, bool is_lossy);

/* After the last sync, when no back-end sends unsolicited packets any more:
 * check that everything sent was received. `state` is the front-end's filter
 * state; NULL: none. */
void ledger_end(struct ledger *ledger, const struct cop_packet *state);
