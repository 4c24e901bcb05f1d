/* agenda.c - a binary heap by time and serial number. */
#include "sim/agenda.h"

#include <stdlib.h>

#include "sim/memory.h"

static bool before(const struct agenda_entry *a, const struct agenda_entry *b)
{
    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms;
    return a->serial < b->serial;
}

void agenda_delay(struct agenda *agenda, struct agenda_entry entry)
{
    size_t i = agenda->count;

    memory_grow(&agenda->heap, &agenda->room, agenda->count, sizeof(entry));
    agenda->count++;
    while (i > 0 && before(&entry, &agenda->heap[(i - 1) / 2])) {
        agenda->heap[i] = agenda->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    agenda->heap[i] = entry;
}

void agenda_add(struct agenda *agenda, struct agenda_entry entry)
{
    entry.serial = agenda->serial++;
    agenda_delay(agenda, entry);
}

uint64_t agenda_next_ms(const struct agenda *agenda)
{
    return agenda->count ? agenda->heap[0].at_ms : UINT64_MAX;
}

bool agenda_take(struct agenda *agenda, struct agenda_entry *out)
{
    struct agenda_entry last;
    size_t i = 0;

    if (agenda->count == 0)
        return false;
    *out = agenda->heap[0];
    last = agenda->heap[--agenda->count];
    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < agenda->count &&
            before(&agenda->heap[child + 1], &agenda->heap[child]))
            child++;
        if (child >= agenda->count || !before(&agenda->heap[child], &last))
            break;
        agenda->heap[i] = agenda->heap[child];
        i = child;
    }
    agenda->heap[i] = last;
    return true;
}

void agenda_fini(struct agenda *agenda)
{
    free(agenda->heap);
    *agenda = (struct agenda){0};
}
