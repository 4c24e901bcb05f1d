/* parts.c - the ledger of a stream of questions, an exact or a
 * stream of totals. */
#include "test/storm/parts.h"

#include <inttypes.h>

/* ---- questions and streams of whole waves: wave after wave ---- */

/* Packet by packet: check that `value` is the next that `rank` has sent. */
static void take_part(struct ledger *ledger,
                      uint32_t rank,
                      uint64_t value,
                      uint32_t epoch)
{
    struct part *part = &ledger->parts[rank];
    bool is_answer = ledger->kind == KIND_QUESTION;
    uint32_t index = is_answer ? ledger->answers : part->count;

    if (value != part_value(rank, ledger->flow, index)) {
        ledger->bad("%s: wave %u.%" PRIu64 " has %" PRIx64
                    " of rank %u, which is not its %s %u",
                    ledger->name, epoch, ledger->wave, value, rank,
                    is_answer ? "answer to question" : "packet", index);
        return;
    }
    if (!is_answer && ledger->wave != 1 &&
        (part->count == 0 || part->epoch != epoch ||
         part->wave != ledger->wave - 1))
        ledger->bad("%s: rank %u is in wave %u.%" PRIu64 ", but not in the one "
                    "before",
                    ledger->name, rank, epoch, ledger->wave);
    part->count++;
    part->epoch = epoch;
    part->wave = ledger->wave;
}

static void take_wave(struct ledger *ledger,
                      const struct cop_packet *packet,
                      uint32_t epoch)
{
    static const uint64_t none[RANKS_MAX];
    bool is_lost = ledger->kind == KIND_QUESTION && packet_is_lost(packet);
    uint32_t count = RANKS_MAX, rank, members = 0;
    const uint64_t *values = none;

    if (!is_lost && (cop_packet_unpack(packet, "%auld", &values, &count) < 0 ||
                     count != RANKS_MAX)) {
        ledger->bad("%s: a packet of format \"%s\"", ledger->name,
                    cop_packet_format(packet));
        return;
    }
    for (rank = 0; rank < RANKS_MAX; rank++) {
        if (values[rank] == 0)
            continue;
        take_part(ledger, rank, values[rank], epoch);
        members++;
    }
    if (members != cop_packet_contributors(packet))
        ledger->bad("%s: wave %u.%" PRIu64 " has %u members, but says %u",
                    ledger->name, epoch, ledger->wave, members,
                    cop_packet_contributors(packet));
    ledger->partial += members < ledger->member_count;
}

static void take_piece(struct ledger *ledger,
                       const struct cop_packet *packet,
                       uint32_t epoch)
{
    uint64_t value;
    uint32_t rank;

    if (cop_packet_unpack(packet, "%ud %uld", &rank, &value) < 0 ||
        rank >= RANKS_MAX || cop_packet_origin(packet) != rank)
        ledger->bad("%s: a packet of rank %u, format \"%s\"", ledger->name,
                    cop_packet_origin(packet), cop_packet_format(packet));
    else
        take_part(ledger, rank, value, epoch);
}

/* Check that waves arrive in order, without gaps. Without a filter, several
 * packets may be of one wave. */
static void check_order(struct ledger *ledger, uint64_t wave, uint32_t epoch)
{
    bool is_same = epoch == ledger->epoch && wave == ledger->wave;
    bool is_next = epoch == ledger->epoch ? wave == ledger->wave + 1
                                          : epoch > ledger->epoch && wave == 1;

    if (!is_next && !(is_same && ledger->kind == KIND_PIECES))
        ledger->bad("%s: wave %u.%" PRIu64 " came behind %u.%" PRIu64,
                    ledger->name, epoch, wave, ledger->epoch, ledger->wave);
    ledger->epoch = epoch;
    ledger->wave = wave;
    ledger->waves += !is_same;
    ledger->answers += ledger->kind == KIND_QUESTION;
}

void parts_packet(struct ledger *ledger, const struct cop_packet *packet)
{
    uint32_t epoch = cop_packet_epoch(packet);

    if (ledger->kind == KIND_TOTAL) {
        ledger->bad("%s: a packet came on a stream of totals", ledger->name);
        return;
    }
    if (cop_packet_is_late(packet) || cop_packet_is_compensation(packet))
        ledger->bad("%s: a packet is flagged", ledger->name);
    check_order(ledger, cop_packet_wave(packet), epoch);
    if (ledger->kind == KIND_PIECES)
        take_piece(ledger, packet, epoch);
    else
        take_wave(ledger, packet, epoch);
}

/* ---- streams of totals: totals ---- */

/* Check that the part of `rank` in a total is the sum of its first packets,
 * with all that the last sync covers. A killed back-end's part may be
 * missing. */
static void take_sum(struct ledger *ledger, uint32_t rank, uint64_t sum)
{
    struct part *part = &ledger->parts[rank];
    uint64_t known = part->sum;
    uint32_t count = part->synced;
    struct tally tally;

    /* Read after the total, so it counts every packet in the total. */
    if (!tally_read(ledger->folder, rank, &tally)) {
        if (sum != 0)
            ledger->bad("%s: the total has %" PRIx64 " of rank %u, of which "
                        "there is none",
                        ledger->name, sum, rank);
        return;
    }
    if (tally.is_killed && sum == 0)
        return;
    while (known != sum && count < tally.flows[ledger->flow].sent)
        known += part_value(rank, ledger->flow, count++);
    if (known != sum)
        ledger->bad("%s: the total has %" PRIx64 " of rank %u, which is not "
                    "the sum of its first packets: %u were synced, %u sent",
                    ledger->name, sum, rank, part->synced,
                    tally.flows[ledger->flow].sent);
    part->count = count;
}

void parts_total(struct ledger *ledger, const struct cop_packet *total)
{
    static const uint64_t none[RANKS_MAX];
    const uint64_t *sums = none;
    uint32_t count = RANKS_MAX, rank;

    if (total && (cop_packet_unpack(total, "%auld", &sums, &count) < 0 ||
                  count != RANKS_MAX)) {
        ledger->bad("%s: a total of format \"%s\"", ledger->name,
                    cop_packet_format(total));
        return;
    }
    for (rank = 0; rank < RANKS_MAX; rank++)
        take_sum(ledger, rank, sums[rank]);
    ledger->totals++;
}

/* ---- all ---- */

/* How many packets of a back-end a sync that returns 0 covers. A late joiner's
 * answers count from the first sync behind its coming. */
static uint32_t covered(const struct ledger *ledger, const struct tally *tally)
{
    const struct flow_tally *sent = &tally->flows[ledger->flow];
    const struct part *part = &ledger->parts[tally->rank];

    if (ledger->kind != KIND_QUESTION && part->has_left && !tally->is_killed)
        return sent->sent;
    if (ledger_excuses(ledger, tally))
        return 0;
    if (ledger->kind != KIND_QUESTION)
        return sent->settled;
    return tally->rank < ledger->first_joiner || part->is_aligned
               ? part->synced + ledger->number - ledger->synced
               : 0;
}

/* Note the packets that a sync of a stream of totals covers. */
static void note_synced(struct ledger *ledger, uint32_t rank, uint32_t count)
{
    struct part *part = &ledger->parts[rank];

    while (part->synced < count)
        part->sum += part_value(rank, ledger->flow, part->synced++);
}

void parts_synced(struct ledger *ledger, bool is_lossy)
{
    struct tally tally;
    uint32_t i = 0, count;

    ledger->syncs++;
    if (ledger->kind == KIND_QUESTION && ledger->answers != ledger->number)
        ledger->bad("%s: %u questions, %u answers", ledger->name,
                    ledger->number, ledger->answers);
    ledger->answers = ledger->kind == KIND_QUESTION ? ledger->number : 0;
    while (ledger_next_tally(ledger, &i, &tally)) {
        struct part *part = &ledger->parts[tally.rank];

        count = is_lossy ? 0 : covered(ledger, &tally);
        if (ledger->kind == KIND_TOTAL)
            note_synced(ledger, tally.rank, count);
        else if (part->count < count)
            ledger->bad("%s: sync %u returned 0, but of rank %u came %u "
                        "packets of %u",
                        ledger->name, ledger->syncs, tally.rank, part->count,
                        count);
        if (ledger->kind == KIND_QUESTION)
            part->synced = part->count;
    }
}

bool parts_are_all(const struct ledger *ledger, ledger_bad_fn bad)
{
    struct tally tally;
    bool is_well = true;
    uint32_t i = 0;

    while (ledger_next_tally(ledger, &i, &tally)) {
        const struct flow_tally *sent = &tally.flows[ledger->flow];
        const struct part *part = &ledger->parts[tally.rank];

        if (tally.is_killed ||
            (part->count == sent->sent && tally.leaves == tally.has_left))
            continue;
        is_well = false;
        if (bad)
            bad("%s: of rank %u came %u packets of %u%s", ledger->name,
                tally.rank, part->count, sent->sent,
                tally.leaves && !tally.has_left ? ", and it has not left" : "");
    }
    return is_well;
}
