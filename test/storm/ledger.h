/* ledger.h - what one stream must deliver, compared with what it has delivered.
 *
 * The front-end writes down each command that it sends and each packet that
 * comes. After a sync the ledger says what is missing or too much. */
#pragma once

#include "test/storm/round.h"

/* Report a violation. */
typedef void (*ledger_bad_fn)(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* The strings of one back-end: answers and unsolicited ones. */
struct seen {
    unsigned char *has[2]; /* by index */
    uint32_t room[2];
    uint32_t count[2];
};

/* Of one back-end on an exact or cumulative stream. */
struct part {
    uint32_t count;  /* packets that have come, or are in the last total */
    uint32_t synced; /* cumulative: packets that a sync has covered ... */
    uint64_t sum;    /* ... and their sum */
    bool is_known;   /* it had come before the last sync */
    uint32_t epoch;  /* the last wave with it */
    uint64_t wave;
};

struct ledger {
    const char *folder; /* of the round; borrowed */
    ledger_bad_fn bad;
    uint32_t flow;
    enum kind kind;
    char name[96]; /* for messages */
    bool grows;
    uint32_t members[RANKS_MAX]; /* from the beginning */
    uint32_t member_count;
    uint32_t first_joiner; /* ranks from here on are late joiners */
    uint32_t number;       /* of the last command */
    uint32_t synced;       /* the last one before the last sync */
    uint32_t items;        /* of all commands */
    uint64_t strings;
    int64_t floor[KEYS]; /* what the answers say of each key */
    int64_t peaks[KEYS];
    int64_t slots[SLOTS];
    struct seen seen[RANKS_MAX];
    struct part parts[RANKS_MAX];
    uint32_t epoch; /* exact: of the last wave that came */
    uint64_t wave;
    uint32_t syncs;
    uint32_t totals; /* cumulative: that were vouched for */
};

/* Free what the ledger holds. */
void ledger_fini(struct ledger *ledger);

/* The next command is sent: with so many items. Returns its number. */
uint32_t ledger_command(struct ledger *ledger, uint32_t items);

/* `packet` came. */
void ledger_packet(struct ledger *ledger, const struct cop_packet *packet);

/* The tallies of all that are or were members, one after another: `*i` counts
 * from 0. Returns whether there was one more. */
bool ledger_next_tally(const struct ledger *ledger,
                       uint32_t *i,
                       struct tally *tally);

/* A sync has returned 0, or 1 if `is_lossy`, and all that was there has been
 * received. */
void ledger_synced(struct ledger *ledger, bool is_lossy);

/* After the last sync, when no back-end sends unsolicited packets any more:
 * everything that was sent has come. `state` is the front-end's filter state;
 * NULL: none. */
void ledger_end(struct ledger *ledger, const struct cop_packet *state);
