/* ledger.c - compares the packets of one stream with those it must deliver. */
#include "test/storm/ledger.h"

#include <inttypes.h>
#include <stdlib.h>

#include "test/storm/parts.h"

#define JOINERS_MAX 8 /* the maximum number of ranks of late joiners */

enum {
    ANSWERS,
    UNASKED
};

void ledger_fini(struct ledger *ledger)
{
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++) {
        free(ledger->seen[rank].has[ANSWERS]);
        free(ledger->seen[rank].has[UNASKED]);
    }
}

bool packet_is_lost(const struct cop_packet *packet)
{
    return cop_packet_contributors(packet) == 0 &&
           !cop_packet_is_compensation(packet) &&
           cop_packet_format(packet)[0] == '\0';
}

uint32_t ledger_command(struct ledger *ledger, uint32_t items)
{
    ledger->items += items;
    return ++ledger->number;
}

/* Note that the front-end has item `index` of `rank`. */
static void take_item(struct ledger *ledger,
                      uint32_t rank,
                      int class,
                      uint32_t index)
{
    struct seen *seen = &ledger->seen[rank];
    uint32_t room = seen->room[class];

    while (room <= index)
        room = room ? 2 * room : 64;
    if (room > seen->room[class]) {
        seen->has[class] = realloc(seen->has[class], room);
        if (!seen->has[class])
            abort();
        memset(&seen->has[class][seen->room[class]], 0,
               room - seen->room[class]);
        seen->room[class] = room;
    }
    if (seen->has[class][index])
        ledger->bad("%s: %u of rank %u was delivered twice", ledger->name,
                    index, rank);
    seen->count[class] += !seen->has[class][index];
    seen->has[class][index] = 1;
}

/* Read what set_number() has made for this flow. */
static bool read_number(const struct ledger *ledger,
                        int32_t number,
                        uint32_t *rank,
                        int *class,
                        uint32_t *index)
{
    *rank = (uint32_t)number >> 21 & (RANKS_MAX - 1);
    *class = (uint32_t)number >> 20 & 1 ? UNASKED : ANSWERS;
    *index = (uint32_t)number & 0xfffff;
    return (uint32_t)number >> 28 == ledger->flow;
}

static void take_numbers(struct ledger *ledger, const struct cop_packet *packet)
{
    const int32_t *numbers;
    uint32_t count, rank, index;
    int class;

    if (cop_packet_unpack(packet, "%ad", &numbers, &count) < 0) {
        ledger->bad("%s: a packet of format \"%s\"", ledger->name,
                    cop_packet_format(packet));
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if (read_number(ledger, numbers[i], &rank, &class, &index))
            take_item(ledger, rank, class, index);
        else
            ledger->bad("%s: a number that nobody sends: %d", ledger->name,
                        numbers[i]);
    ledger->numbers += count;
}

/* Raise `peaks` to the values of the keys in `packet`. */
static void take_peaks(const struct ledger *ledger,
                       const struct cop_packet *packet,
                       int64_t *peaks)
{
    uint32_t key_count, count;
    const uint32_t *keys;
    const int64_t *values;

    if (cop_packet_unpack(packet, "%aud %ald", &keys, &key_count, &values,
                          &count) < 0 ||
        key_count != count) {
        ledger->bad("%s: a packet of format \"%s\"", ledger->name,
                    cop_packet_format(packet));
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if (keys[i] < KEYS && values[i] > peaks[keys[i]])
            peaks[keys[i]] = values[i];
}

/* Note the answers to commands since the last sync: one of a back-end in each
 * packet. */
static void take_sums(struct ledger *ledger, const struct cop_packet *packet)
{
    const uint64_t *values;
    uint32_t count, rank, number;

    if (packet_is_lost(packet))
        return;
    if (cop_packet_unpack(packet, "%auld", &values, &count) < 0 ||
        count != RANKS_MAX) {
        ledger->bad("%s: a packet of format \"%s\"", ledger->name,
                    cop_packet_format(packet));
        return;
    }
    for (rank = 0; rank < RANKS_MAX; rank++) {
        if (values[rank] == 0)
            continue;
        number = ledger->number;
        while (number > ledger->synced &&
               part_value(rank, ledger->flow, number) != values[rank])
            number--;
        if (number > ledger->synced)
            take_item(ledger, rank, ANSWERS, number);
        else
            ledger->bad("%s: %" PRIx64 " of rank %u is no answer since the "
                        "last sync",
                        ledger->name, values[rank], rank);
    }
}

void ledger_packet(struct ledger *ledger, const struct cop_packet *packet)
{
    if (ledger->kind == KIND_SET)
        take_numbers(ledger, packet);
    else if (ledger->kind == KIND_PEAKS)
        take_peaks(ledger, packet, ledger->peaks);
    else if (ledger->kind == KIND_SUM)
        take_sums(ledger, packet);
    else
        parts_packet(ledger, packet);
}

bool ledger_next_tally(const struct ledger *ledger,
                       uint32_t *i,
                       struct tally *tally)
{
    while (*i < ledger->member_count + JOINERS_MAX) {
        uint32_t n = (*i)++;
        bool is_joiner = n >= ledger->member_count;
        uint32_t rank = is_joiner
                            ? ledger->first_joiner + n - ledger->member_count
                            : ledger->members[n];

        if (is_joiner && !ledger->grows)
            break;
        if (tally_read(ledger->folder, rank, tally))
            return true;
        if (!is_joiner)
            ledger->bad("%s: rank %u has no tally", ledger->name, rank);
    }
    return false;
}

bool ledger_excuses(const struct ledger *ledger, const struct tally *tally)
{
    return tally->is_killed || tally->leaves ||
           (tally->rank >= ledger->first_joiner &&
            !ledger->parts[tally->rank].is_member);
}

void ledger_note_left(struct ledger *ledger)
{
    struct tally tally;
    uint32_t i = 0;

    while (ledger_next_tally(ledger, &i, &tally))
        ledger->parts[tally.rank].has_left = tally.has_left;
}

/* How many from `from` to below `end` are missing; `*first`: the first. */
static uint32_t missing(const struct seen *seen,
                        int class,
                        uint32_t from,
                        uint32_t end,
                        uint32_t *first)
{
    uint32_t i, lacks = 0;

    for (i = from; i < end; i++)
        if (i >= seen->room[class] || !seen->has[class][i]) {
            if (lacks++ == 0)
                *first = i;
        }
    return lacks;
}

/* Check that the front-end has all numbers of a set or, of a sum, all answers
 * since the last sync. */
static void check_items(struct ledger *ledger, int class)
{
    bool is_sum = ledger->kind == KIND_SUM;
    struct tally tally;
    uint32_t i = 0, first = 0;

    while (ledger_next_tally(ledger, &i, &tally)) {
        const struct flow_tally *sent = &tally.flows[ledger->flow];
        const struct seen *seen = &ledger->seen[tally.rank];
        uint32_t end = is_sum             ? sent->last + 1
                       : class == ANSWERS ? sent->answered
                                          : sent->unasked;
        uint32_t from = is_sum ? ledger->synced + 1 : 0;
        uint32_t lacks;

        if (is_sum && from < sent->first)
            from = sent->first;
        lacks = missing(seen, class, from, end, &first);
        if (is_sum && tally.rank >= ledger->first_joiner &&
            !ledger->parts[tally.rank].is_aligned)
            continue;
        if (lacks > 0 && !ledger_excuses(ledger, &tally))
            ledger->bad("%s: %u of the %u %s items of rank %u are missing, "
                        "the first is %u",
                        ledger->name, lacks, end - from,
                        class == ANSWERS ? "answered" : "unsolicited",
                        tally.rank, first);
        else if (!is_sum && seen->count[class] > end)
            ledger->bad("%s: rank %u has sent %u numbers, but %u came",
                        ledger->name, tally.rank, end, seen->count[class]);
    }
}

/* Check that each member took each command; a late joiner from its first on. */
static void check_commands(struct ledger *ledger)
{
    struct tally tally;
    uint32_t i = 0;

    while (ledger_next_tally(ledger, &i, &tally)) {
        const struct flow_tally *got = &tally.flows[ledger->flow];
        bool is_joiner = tally.rank >= ledger->first_joiner;

        if (tally.wrong[0])
            ledger->bad("rank %u: %s", tally.rank, tally.wrong);
        if (ledger_excuses(ledger, &tally))
            continue;
        if (got->last != ledger->number || (!is_joiner && got->first != 1))
            ledger->bad("%s: rank %u took the commands %u to %u, but 1 to %u "
                        "were sent",
                        ledger->name, tally.rank, got->first, got->last,
                        ledger->number);
        if (!is_joiner && ledger->kind == KIND_SET &&
            got->answered != ledger->items)
            ledger->bad("%s: rank %u has answered %u items of %u", ledger->name,
                        tally.rank, got->answered, ledger->items);
    }
}

/* Check that the maxima are at least those that the members had sent when they
 * answered the last command. */
static void check_peaks(struct ledger *ledger)
{
    struct tally tally;
    uint32_t i = 0, key;

    while (ledger_next_tally(ledger, &i, &tally)) {
        const int64_t *sent = tally.flows[ledger->flow].settled_peaks;

        for (key = 0; key < KEYS && !ledger_excuses(ledger, &tally); key++)
            if (ledger->peaks[key] < sent[key])
                ledger->bad("%s: the greatest value of key %u is %" PRId64
                            ", but rank %u answered %" PRId64,
                            ledger->name, key, ledger->peaks[key], tally.rank,
                            sent[key]);
    }
}

void ledger_synced(struct ledger *ledger, bool is_lossy)
{
    uint32_t i;

    check_commands(ledger);
    if (ledger->kind == KIND_SET)
        check_items(ledger, ANSWERS);
    else if (ledger->kind == KIND_PEAKS)
        check_peaks(ledger);
    else if (ledger->kind != KIND_SUM)
        parts_synced(ledger, is_lossy);
    else if (!is_lossy)
        check_items(ledger, ANSWERS);
    for (i = 0; i < RANKS_MAX; i++)
        ledger->parts[i].is_aligned = ledger->parts[i].is_member;
    ledger->synced = ledger->number;
}

/* Check that the state has each delivered number once. */
static void check_state_set(struct ledger *ledger,
                            const struct cop_packet *state)
{
    uint32_t count = 0, rank, index, i;
    const int32_t *numbers;
    int class;

    if (state && cop_packet_unpack(state, "%ad", &numbers, &count) < 0)
        ledger->bad("%s: a state of format \"%s\"", ledger->name,
                    cop_packet_format(state));
    if (count != ledger->numbers)
        ledger->bad("%s: %" PRIu64 " numbers came, but the state has %u",
                    ledger->name, ledger->numbers, count);
    for (i = 0; i < count; i++) {
        bool is_read = read_number(ledger, numbers[i], &rank, &class, &index);
        struct seen *seen = &ledger->seen[rank];

        if (!is_read || index >= seen->room[class] ||
            !seen->has[class][index]) {
            ledger->bad("%s: the state has %d twice, or it never came",
                        ledger->name, numbers[i]);
            return;
        }
        seen->has[class][index] = 0;
    }
}

static void check_end_peaks(struct ledger *ledger,
                            const struct cop_packet *state)
{
    int64_t in_state[KEYS] = {0}, sent[KEYS] = {0}, all[KEYS] = {0};
    struct tally tally;
    uint32_t i = 0, key;

    if (state)
        take_peaks(ledger, state, in_state);
    while (ledger_next_tally(ledger, &i, &tally))
        for (key = 0; key < KEYS; key++) {
            int64_t peak = tally.flows[ledger->flow].peaks[key];

            if (peak > all[key])
                all[key] = peak;
            if (peak > sent[key] && !ledger_excuses(ledger, &tally))
                sent[key] = peak;
        }
    for (key = 0; key < KEYS; key++)
        if (ledger->peaks[key] < sent[key] || ledger->peaks[key] > all[key] ||
            in_state[key] != ledger->peaks[key])
            ledger->bad("%s: the greatest value of key %u is %" PRId64
                        ", %" PRId64 " came, the state has %" PRId64,
                        ledger->name, key, sent[key], ledger->peaks[key],
                        in_state[key]);
}

void ledger_end(struct ledger *ledger, const struct cop_packet *state)
{
    if (ledger->kind == KIND_SET) {
        check_items(ledger, UNASKED);
        check_state_set(ledger, state);
    } else if (ledger->kind == KIND_PEAKS) {
        check_end_peaks(ledger, state);
    }
}
