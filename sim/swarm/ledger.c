/* ledger.c - the items that members of a stream of totals have sent. */
#include "sim/swarm/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"
#include "wire/packet.h"

void ledger_init(struct ledger *ledger, uint32_t ranks)
{
    *ledger = (struct ledger){
        .members = memory_new(ranks * sizeof(*ledger->members)),
        .ranks = ranks,
    };
}

void ledger_fini(struct ledger *ledger)
{
    free(ledger->members);
    *ledger = (struct ledger){0};
}

struct payload *ledger_post(struct ledger *ledger, uint32_t rank)
{
    struct ledger_member *member = &ledger->members[rank];
    uint32_t len = ledger->ranks * LEDGER_ITEMS;
    struct payload *payload = NULL;
    unsigned char *items;

    if (member->posted == LEDGER_ITEMS)
        return NULL;
    items = memory_new(len);
    items[rank * LEDGER_ITEMS + member->posted++] = 1;
    packet_pack(&payload, "%auc", items, len);
    free(items);
    return payload;
}

/* The array of items in `frame`, or NULL if it has none. The caller frees
 * `*packet`, which has the array. */
static const unsigned char *read_items(const struct ledger *ledger,
                                       const struct frame *frame,
                                       struct cop_packet **packet)
{
    const unsigned char *items = NULL;
    uint32_t count = 0;

    if (packet_open(packet, frame->payload) < 0 ||
        cop_packet_unpack(*packet, "%auc", &items, &count) < 0 ||
        count != ledger->ranks * LEDGER_ITEMS)
        return NULL;
    return items;
}

void ledger_give(struct ledger *ledger,
                 uint32_t rank,
                 const struct frame *frame,
                 uint32_t epoch)
{
    struct ledger_member *member = &ledger->members[rank];
    struct cop_packet *packet = NULL;
    const unsigned char *items = read_items(ledger, frame, &packet);

    for (uint32_t i = 0; items && i < LEDGER_ITEMS; i++) {
        if (items[rank * LEDGER_ITEMS + i] == 0)
            continue;
        member->given[i] = true;
        member->epochs[i] = epoch;
    }
    cop_packet_free(packet);
}

void ledger_lose(struct ledger *ledger,
                 uint32_t rank,
                 const char *text,
                 uint64_t now_ms)
{
    if (rank >= ledger->ranks)
        return;
    ledger->members[rank].lost = true;
    ledger->members[rank].left = text && strcmp(text, "it has left") == 0;
    ledger->members[rank].lost_ms = now_ms;
}

const char *ledger_part(const struct ledger *ledger, uint32_t rank)
{
    const struct ledger_member *member = &ledger->members[rank];

    for (uint32_t i = 0; i < LEDGER_ITEMS; i++)
        if (member->given[i] && !member->left)
            return "its items are not kept";
    return NULL;
}

void ledger_ask(struct ledger *ledger, uint64_t now_ms)
{
    ledger->asked = true;
    ledger->asked_ms = now_ms;
    ledger->asked_due = ledger->due;
}

/* The error if item `item` of `rank` is in the total `count` times; NULL: none.
 * The item of a member that was lost while the total was packed may be in it or
 * not. */
static const char *judge(const struct ledger *ledger,
                         uint32_t rank,
                         uint32_t item,
                         unsigned count)
{
    const struct ledger_member *member = &ledger->members[rank];
    bool gone = member->lost && member->lost_ms < ledger->asked_ms;

    if (count > 1)
        return "counts more than once";
    if (count > 0 && !member->given[item])
        return "counts, and was not given";
    if (count > 0 && gone && !member->left)
        return "counts, and its member was given up";
    if (count > 0 || !member->given[item])
        return NULL;
    if (gone && member->left)
        return "is missing, and its member has left";
    if (!member->lost && member->epochs[item] < ledger->asked_due)
        return "is missing, and a sync covers it";
    return NULL;
}

char *ledger_check(struct ledger *ledger, const struct frame *total)
{
    uint32_t len = ledger->ranks * LEDGER_ITEMS, i;
    const unsigned char *items = NULL;
    struct cop_packet *packet = NULL;
    const char *wrong = NULL;
    char text[128] = "";

    if (total->payload)
        items = read_items(ledger, total, &packet);
    if (total->payload && !items)
        wrong = "is not what the filter makes";
    for (i = 0; i < len && !wrong; i++) {
        wrong = judge(ledger, i / LEDGER_ITEMS, i % LEDGER_ITEMS,
                      items ? items[i] : 0);
        if (wrong)
            snprintf(text, sizeof(text), "item %u of %u %s", i % LEDGER_ITEMS,
                     i / LEDGER_ITEMS, wrong);
    }
    if (wrong && !text[0])
        snprintf(text, sizeof(text), "the total %s", wrong);
    cop_packet_free(packet);
    return wrong ? memory_text(text) : NULL;
}
