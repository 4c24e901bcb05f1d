/* ledger.h - what the members of a cumulative stream have given, and whether a
 * total is the truth.
 *
 * Each packet is one item of its member: a 1 in an array of bytes, which the
 * filter `sum` adds up. So a total shows how often each item counts. */
#pragma once

#include "protocol/node.h"

/* The most items of one member. */
#define LEDGER_ITEMS 32

/* One member. */
struct ledger_member {
    uint32_t posted;               /* items that were to be sent ... */
    bool given[LEDGER_ITEMS];      /* ... and that were */
    uint32_t epochs[LEDGER_ITEMS]; /* the sync that covers each */
    bool lost;
    bool left;        /* with its farewell: what it gave stays */
    uint64_t lost_ms; /* when the front-end was told */
};

/* Caller's storage; all zero but for ledger_init(). */
struct ledger {
    struct ledger_member *members; /* by rank */
    uint32_t ranks;
    uint32_t due; /* what was given for syncs below it is in every total */
    bool asked;   /* for a total; it has not come ... */
    uint64_t asked_ms;
    uint32_t asked_due; /* ... and what was due then */
};

/* Begin without items; ranks are lower than `ranks`. Free it. */
void ledger_init(struct ledger *ledger, uint32_t ranks);
void ledger_fini(struct ledger *ledger);

/* The next item of `rank`, or NULL if it has no more to give. */
struct payload *ledger_post(struct ledger *ledger, uint32_t rank);

/* `rank` has sent the item in `frame`, which sync number `epoch` covers. */
void ledger_give(struct ledger *ledger,
                 uint32_t rank,
                 const struct frame *frame,
                 uint32_t epoch);

/* The front-end was told that `rank` is lost, and why. */
void ledger_lose(struct ledger *ledger,
                 uint32_t rank,
                 const char *text,
                 uint64_t now_ms);

/* The total was asked for. */
void ledger_ask(struct ledger *ledger, uint64_t now_ms);

/* Check a total that is vouched for: it has each item of a member at most once,
 * each item that is due once, and no item of a member that was given up.
 * Returns NULL, or what is wrong: the caller frees the text. */
char *ledger_check(struct ledger *ledger, const struct frame *total);
