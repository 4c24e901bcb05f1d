/* history.c - the reported recoveries, kept for observers. */
#include "protocol/watch/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "protocol/watch/status.h"
#include "wire/packet.h"

/* Number of the next recovery; ranks and attempts; times. */
#define HISTORY_FORMAT "%uld %aud %auld"

/* Numbers and times of one entry. */
#define ENTRY_NUMBERS 4
#define ENTRY_TIMES   6

/* Entry number `number`, which must not have been overwritten. */
static struct history_entry *entry_at(const struct history *history,
                                      uint64_t number)
{
    return &history->list[number % LIMIT_STATUS_REPORTS];
}

void history_add(struct node *node,
                 uint32_t rank,
                 const struct node_adoption *adoption)
{
    struct history *history = &node->status.history;

    if (history->next < LIMIT_STATUS_REPORTS &&
        array_grow(&history->list, (size_t)history->next,
                   sizeof(*history->list)) < 0) {
        node->failed = true;
        return;
    }
    *entry_at(history, history->next++) =
        (struct history_entry){rank, node->now_ms, *adoption};
}

/* The first entry from `number` on that has not been overwritten. */
static uint64_t first_from(const struct history *history, uint64_t number)
{
    uint64_t oldest = history->next > LIMIT_STATUS_REPORTS
                          ? history->next - LIMIT_STATUS_REPORTS
                          : 0;

    if (number > history->next)
        return history->next;
    return number < oldest ? oldest : number;
}

uint32_t history_parent(const struct node *node,
                        uint32_t rank,
                        uint32_t launched)
{
    const struct history *history = &node->status.history;
    uint64_t first = first_from(history, 0), number = history->next;

    while (number-- > first)
        if (entry_at(history, number)->rank == rank)
            return entry_at(history, number)->adoption.parent;
    return first == 0 ? launched : RANK_NONE;
}

int history_encode(struct node *node, uint64_t from, struct frame *out)
{
    struct history *history = &node->status.history;
    uint64_t first = first_from(history, from), number;
    size_t count = (size_t)(history->next - first);
    uint32_t *numbers = calloc(count * ENTRY_NUMBERS + 1, sizeof(*numbers));
    uint64_t *times = calloc(count * ENTRY_TIMES + 1, sizeof(*times));
    int r = -ENOMEM;

    *out = msg_reports_encode(&(struct msg_reports){.first = first});
    for (number = first; numbers && times && number < history->next; number++) {
        const struct history_entry *entry = entry_at(history, number);
        const struct cop_recovery *recovery = &entry->adoption.recovery;
        uint32_t *n = numbers + (number - first) * ENTRY_NUMBERS;
        uint64_t *t = times + (number - first) * ENTRY_TIMES;

        n[0] = entry->rank;
        n[1] = entry->adoption.parent;
        n[2] = entry->adoption.lost_parent;
        n[3] = recovery->attempts;
        t[0] = recovery->choose_us;
        t[1] = recovery->connect_us;
        t[2] = recovery->compensate_us;
        t[3] = recovery->cleanup_us;
        t[4] = recovery->overall_us;
        t[5] = node->now_ms - entry->at_ms;
    }
    if (numbers && times)
        r = packet_pack(&out->payload, HISTORY_FORMAT, history->next, numbers,
                        (uint32_t)(count * ENTRY_NUMBERS), times,
                        (uint32_t)(count * ENTRY_TIMES));
    free(numbers);
    free(times);
    return r;
}

int history_decode(const struct frame *frame,
                   struct cop_recovered *list,
                   size_t room,
                   size_t *count,
                   uint64_t *next)
{
    struct cop_packet *packet = NULL;
    uint32_t number_count, time_count;
    struct msg_reports reports;
    const uint32_t *numbers;
    const uint64_t *times;
    uint64_t last;
    int r;

    r = msg_reports_decode(frame, &reports);
    if (r == 0)
        r = packet_open(&packet, reports.payload);
    if (r < 0)
        return r;
    r = cop_packet_unpack(packet, HISTORY_FORMAT, &last, &numbers,
                          &number_count, &times, &time_count);
    if (r < 0 || number_count % ENTRY_NUMBERS != 0 ||
        number_count / ENTRY_NUMBERS > LIMIT_STATUS_REPORTS ||
        time_count / ENTRY_TIMES != number_count / ENTRY_NUMBERS ||
        time_count % ENTRY_TIMES != 0 ||
        last - reports.first != number_count / ENTRY_NUMBERS) {
        cop_packet_free(packet);
        return r == -ENOMEM ? r : -EBADMSG;
    }
    *count = number_count / ENTRY_NUMBERS;
    if (*count > room)
        *count = room;
    for (size_t i = 0; i < *count; i++) {
        const uint32_t *n = numbers + i * ENTRY_NUMBERS;
        const uint64_t *t = times + i * ENTRY_TIMES;

        list[i] = (struct cop_recovered){
            .rank = n[0],
            .parent = n[1],
            .lost_parent = n[2],
            .age_ms = t[5],
            .recovery = {t[0], t[1], t[2], t[3], t[4], n[3]},
        };
    }
    *next = reports.first + *count;
    cop_packet_free(packet);
    return 0;
}

void history_fini(struct node *node)
{
    free(node->status.history.list);
}
