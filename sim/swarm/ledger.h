/* ledger.h - the items that members of a stream of totals have sent, and
 * checks of its totals.
 *
 * Each packet is one item of its member: a 1 in an array of bytes, which the
 * filter `sum` adds up. So a total shows how often each item counts. */
#pragma once

#include "protocol/node.h"

/* The most items of one member. */
#define LEDGER_ITEMS 32

/* One member. */
struct ledger_member {
    uint32_t posted;               /* items to be sent ... */
    bool given[LEDGER_ITEMS];      /* ... and items that were sent */
    uint32_t epochs[LEDGER_ITEMS]; /* the sync that covers each */
    bool lost;
    bool left;        /* sent FAREWELL: its items stay */
    uint64_t lost_ms; /* when the front-end was told */
};

/* Caller's storage; use ledger_init(). */
struct ledger {
    struct ledger_member *members; /* by rank */
    uint32_t ranks;
    uint32_t due; /* items sent for earlier syncs are in every total */
    bool asked;   /* a total was requested and has not arrived ... */
    uint64_t asked_ms;
    uint32_t asked_due; /* ... and what was due then */
};

/* Start without items; ranks are lower than `ranks`. Free the ledger. */
void ledger_init(struct ledger *ledger, uint32_t ranks);
void ledger_fini(struct ledger *ledger);

/* The next item of `rank`, or NULL if it has no more items. */
struct payload *ledger_post(struct ledger *ledger, uint32_t rank);

/* Record that `rank` has sent the item in `frame`, covered by sync `epoch`. */
void ledger_give(struct ledger *ledger,
                 uint32_t rank,
                 const struct frame *frame,
                 uint32_t epoch);

/* Record that the front-end was told of the loss of `rank`, and why. */
void ledger_lose(struct ledger *ledger,
                 uint32_t rank,
                 const char *text,
                 uint64_t now_ms);

/* Member `rank` says that it has left. Returns NULL, or the error: the
 * front-end has not said so before. */
const char *ledger_part(const struct ledger *ledger, uint32_t rank);

/* Record that the total was requested. */
void ledger_ask(struct ledger *ledger, uint64_t now_ms);

/* Check a total that is reported as exact: it has each item of a member at most
 * once, each item that is due once, and no item of a member that was given up.
 * Returns NULL, or the error: the caller frees the text. */
char *ledger_check(struct ledger *ledger, const struct frame *total);
