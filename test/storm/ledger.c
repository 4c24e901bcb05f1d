/* ledger.c - compares the packets of one stream with those it must deliver. */
#include "test/storm/ledger.h"

#include <inttypes.h>
#include <stdlib.h>

#include "test/storm/parts.h"

#define INDEX_MAX   1000000
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

/* Find which string `text` is. Returns whether it is one of this flow. */
static bool string_read(const struct ledger *ledger,
                        const char *text,
                        uint32_t *rank,
                        int *class,
                        uint32_t *index)
{
    uint32_t flow;
    char letter;
    int end = 0;

    if (sscanf(text, "%u.%c.%u.%u%n", &flow, &letter, rank, index, &end) != 4 ||
        text[end] || flow != ledger->flow || (letter != 'a' && letter != 'u') ||
        *rank >= RANKS_MAX || *index >= INDEX_MAX)
        return false;
    *class = letter == 'a' ? ANSWERS : UNASKED;
    return true;
}

static void take_string(struct ledger *ledger, const char *text)
{
    uint32_t rank, index, room;
    struct seen *seen;
    int class;

    if (!string_read(ledger, text, &rank, &class, &index)) {
        ledger->bad("%s: a string that nobody sends: %s", ledger->name, text);
        return;
    }
    seen = &ledger->seen[rank];
    for (room = seen->room[class]; room <= index;)
        room = room ? 2 * room : 64;
    if (room > seen->room[class]) {
        seen->has[class] = realloc(seen->has[class], room);
        if (!seen->has[class])
            abort();
        memset(&seen->has[class][seen->room[class]], 0,
               room - seen->room[class]);
        seen->room[class] = room;
    }
    if (seen->has[class][index]) {
        ledger->bad("%s: string %s was delivered twice", ledger->name, text);
        return;
    }
    seen->has[class][index] = 1;
    seen->count[class]++;
    ledger->strings++;
}

static void take_strings(struct ledger *ledger, const struct cop_packet *packet)
{
    const char **strings;
    uint32_t count;

    if (cop_packet_unpack(packet, "%as", &strings, &count) < 0) {
        ledger->bad("%s: a packet of format \"%s\"", ledger->name,
                    cop_packet_format(packet));
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        take_string(ledger, strings[i]);
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

static void take_sums(struct ledger *ledger, const struct cop_packet *packet)
{
    const int64_t *values;
    uint32_t count;

    if (packet_is_lost(packet))
        return;
    if (cop_packet_unpack(packet, "%ald", &values, &count) < 0 ||
        count != SLOTS) {
        ledger->bad("%s: a packet of format \"%s\"", ledger->name,
                    cop_packet_format(packet));
        return;
    }
    for (uint32_t i = 0; i < SLOTS; i++)
        ledger->slots[i] += values[i];
}

void ledger_packet(struct ledger *ledger, const struct cop_packet *packet)
{
    if (ledger->kind == KIND_SET)
        take_strings(ledger, packet);
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

/* How many of the first `count` are missing; `*first`: the first of them. */
static uint32_t missing(const struct seen *seen,
                        int class,
                        uint32_t count,
                        uint32_t *first)
{
    uint32_t i, lacks = 0;

    for (i = 0; i < count; i++)
        if (i >= seen->room[class] || !seen->has[class][i]) {
            if (lacks++ == 0)
                *first = i;
        }
    return lacks;
}

static void check_strings(struct ledger *ledger, int class)
{
    struct tally tally;
    uint32_t i = 0, first = 0;

    while (ledger_next_tally(ledger, &i, &tally)) {
        const struct flow_tally *sent = &tally.flows[ledger->flow];
        const struct seen *seen = &ledger->seen[tally.rank];
        uint32_t count = class == ANSWERS ? sent->answered : sent->unasked;
        uint32_t lacks = missing(seen, class, count, &first);

        if (lacks > 0 && !ledger_excuses(ledger, &tally))
            ledger->bad("%s: %u of the %u %s strings of rank %u are missing, "
                        "the first is %u",
                        ledger->name, lacks, count,
                        class == ANSWERS ? "answered" : "unsolicited",
                        tally.rank, first);
        else if (seen->count[class] > count)
            ledger->bad("%s: rank %u has sent %u strings, but %u came",
                        ledger->name, tally.rank, count, seen->count[class]);
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

/* Check the answers to the commands since the last sync. Those of members that
 * are excused may be missing. */
static void check_sums(struct ledger *ledger, bool is_lossy)
{
    int64_t expected[SLOTS] = {0}, excused = 0;
    struct tally tally;
    uint32_t i = 0, number;

    while (ledger_next_tally(ledger, &i, &tally)) {
        const struct flow_tally *got = &tally.flows[ledger->flow];

        if (ledger_excuses(ledger, &tally)) {
            excused++;
            continue;
        }
        for (number = ledger->synced + 1; number <= ledger->number; number++)
            if (got->first > 0 && got->first <= number && got->last >= number)
                expected[number % SLOTS] +=
                    sum_value(tally.rank, ledger->flow, number);
    }
    for (i = 0; i < SLOTS; i++) {
        int64_t came = ledger->slots[i] >> 40, wanted = expected[i] >> 40;

        if (came > wanted + excused || (!is_lossy && came < wanted) ||
            (came == wanted && excused == 0 && ledger->slots[i] != expected[i]))
            ledger->bad("%s: sync returned %d behind command %u, and slot %u "
                        "has %" PRId64 " answers of %" PRId64
                        ", values %" PRId64 " of %" PRId64,
                        ledger->name, is_lossy, ledger->number, i, came, wanted,
                        ledger->slots[i] & 0xffffffffff,
                        expected[i] & 0xffffffffff);
    }
    memset(ledger->slots, 0, sizeof(ledger->slots));
}

void ledger_synced(struct ledger *ledger, bool is_lossy)
{
    uint32_t i;

    check_commands(ledger);
    if (ledger->kind == KIND_SET)
        check_strings(ledger, ANSWERS);
    else if (ledger->kind == KIND_PEAKS)
        check_peaks(ledger);
    else if (ledger->kind == KIND_SUM)
        check_sums(ledger, is_lossy);
    else
        parts_synced(ledger, is_lossy);
    for (i = 0; i < RANKS_MAX; i++)
        ledger->parts[i].is_aligned = ledger->parts[i].is_member;
    ledger->synced = ledger->number;
}

/* Check that the state has each delivered string once. */
static void check_state_strings(struct ledger *ledger,
                                const struct cop_packet *state)
{
    uint32_t count = 0, rank, index, i;
    const char **strings;
    int class;

    if (state && cop_packet_unpack(state, "%as", &strings, &count) < 0)
        ledger->bad("%s: a state of format \"%s\"", ledger->name,
                    cop_packet_format(state));
    if (count != ledger->strings)
        ledger->bad("%s: %" PRIu64 " strings came, but the state has %u",
                    ledger->name, ledger->strings, count);
    for (i = 0; i < count; i++) {
        struct seen *seen;

        if (!string_read(ledger, strings[i], &rank, &class, &index)) {
            ledger->bad("%s: the state has %s", ledger->name, strings[i]);
            return;
        }
        seen = &ledger->seen[rank];
        if (index >= seen->room[class] || !seen->has[class][index]) {
            ledger->bad("%s: the state has %s twice, or it never came",
                        ledger->name, strings[i]);
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
        check_strings(ledger, UNASKED);
        check_state_strings(ledger, state);
    } else if (ledger->kind == KIND_PEAKS) {
        check_end_peaks(ledger, state);
    }
}
