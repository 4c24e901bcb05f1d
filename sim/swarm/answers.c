/* answers.c - the expected packets of a stream of whole waves or one of waves
 * only. */
#include "sim/swarm/answers.h"

#include <stdlib.h>

#include "sim/memory.h"
#include "wire/packet.h"

static uint64_t value_of(uint32_t rank, uint32_t serial)
{
    return (uint64_t)rank << 32 | serial;
}

static uint32_t rank_of(uint64_t value)
{
    return (uint32_t)(value >> 32);
}

struct payload *answers_pack(const struct answers *answers,
                             uint32_t rank,
                             uint32_t serial,
                             uint32_t weight)
{
    uint32_t count = answers->room ? answers->room : 1;
    uint64_t *values = memory_new(count * sizeof(*values));
    char *ballast = memory_new(weight + 1);
    struct payload *payload = NULL;
    int r;

    values[answers->room ? rank : 0] = value_of(rank, serial + 1);
    if (answers->exact && !answers->room)
        r = packet_pack(&payload, "%auld %ac", values, count, ballast, weight);
    else
        r = packet_pack(&payload, "%auld", values, count);
    free(ballast);
    free(values);
    return r < 0 ? NULL : payload;
}

/* Call `each` with each value in a packet; returns its first error. */
static const char *read_values(const struct frame *frame,
                               const char *(*each)(struct answers *answers,
                                                   uint64_t value,
                                                   void *arg),
                               struct answers *answers,
                               void *arg)
{
    struct cop_packet *packet;
    const char *wrong = NULL;
    struct cop_value value;

    if (packet_open(&packet, frame->payload) < 0)
        return "a packet cannot be read";
    if (cop_packet_value(packet, 0, &value) < 0 || value.type != COP_UINT64) {
        wrong = "a packet has another format";
        value.count = 0;
    }
    for (uint64_t i = 0; !wrong && i < value.count; i++)
        if (((const uint64_t *)value.data)[i] != 0)
            wrong = each(answers, ((const uint64_t *)value.data)[i], arg);
    cop_packet_free(packet);
    return wrong;
}

/* The place of `rank` in the order in which members were given up. */
static size_t place_of(const struct answers *answers, uint32_t rank)
{
    size_t place = 0;

    while (place < answers->gone_count && answers->gone[place] != rank)
        place++;
    return place;
}

static const char *add_sent(struct answers *answers, uint64_t value, void *arg)
{
    struct answers_sent sent = *(struct answers_sent *)arg;

    sent.value = value;
    memory_grow(&answers->sent, &answers->sent_room, answers->sent_count,
                sizeof(sent));
    answers->sent[answers->sent_count++] = sent;
    return answers->exact && sent.wave <= answers->wave &&
                   place_of(answers, rank_of(value)) == answers->gone_count
               ? "a wave was taken before a member sent it"
               : NULL;
}

const char *answers_send(struct answers *answers,
                         uint64_t wave,
                         const struct frame *frame,
                         bool is_early)
{
    struct answers_sent sent = {.wave = wave, .is_early = is_early};

    return read_values(frame, add_sent, answers, &sent);
}

/* The packet with this value; NULL if nobody has sent it. */
static struct answers_sent *find_sent(const struct answers *answers,
                                      uint64_t value)
{
    for (size_t i = answers->sent_count; i-- > 0;)
        if (answers->sent[i].value == value)
            return &answers->sent[i];
    return NULL;
}

/* Find a value of the last wave among those sent. */
static const char *take_value(struct answers *answers,
                              uint64_t value,
                              void *arg)
{
    struct answers_sent *sent = find_sent(answers, value);

    ++*(uint32_t *)arg;
    if (!sent)
        return "an answer has a part that nobody sent";
    if (sent->wave != answers->wave)
        return "an answer has a part of another question";
    if (sent->is_taken)
        return "a part of an answer was taken twice";
    sent->is_taken = true;
    return NULL;
}

/* Check that the last wave of a stream of whole waves has all that was sent in
 * it, but for the packets of the first members that were given up. */
static const char *check_wave(struct answers *answers)
{
    size_t settled = answers->settled;

    for (int taken = 0; taken < 2; taken++)
        for (size_t i = 0; i < answers->sent_count; i++) {
            const struct answers_sent *sent = &answers->sent[i];
            size_t place = place_of(answers, rank_of(sent->value));

            if (sent->wave != answers->wave || sent->is_taken != taken)
                continue;
            if (taken ? place < settled : place == answers->gone_count)
                return "a wave is not what was sent in it";
            if (!taken && place >= settled)
                settled = place + 1;
        }
    answers->settled = settled;
    return NULL;
}

/* Whether anybody has answered `wave`, or each member of `all`, if not NULL. */
static bool is_answered(const struct answers *answers,
                        uint64_t wave,
                        const struct ranks *all)
{
    struct ranks by = {0};
    uint32_t rank = RANK_NONE;
    bool has;

    for (size_t i = 0; i < answers->sent_count; i++) {
        const struct answers_sent *sent = &answers->sent[i];

        if (sent->wave == wave)
            ranks_add(&by, rank_of(sent->value), rank_of(sent->value));
    }
    has = by.count > 0;
    while (all && has && (rank = ranks_after(all, rank)) != RANK_NONE)
        has = ranks_has(&by, rank);
    ranks_fini(&by);
    return has;
}

/* Whether the front-end has taken `wave`, or had to take it as a lost one. */
static bool has_place(const struct answers *answers, uint64_t wave)
{
    for (size_t i = 0; i < answers->end_count; i++)
        if (answers->ends[i] >> PACKET_WAVE_BITS == wave >> PACKET_WAVE_BITS)
            return answers->ends[i] >= wave;
    return answers->wave >> PACKET_WAVE_BITS == wave >> PACKET_WAVE_BITS &&
           answers->wave >= wave;
}

/* Check that `frame` has the wave behind the last one. */
static const char *check_question(struct answers *answers,
                                  const struct frame *frame)
{
    uint64_t run = frame->flags & FRAME_EMPTY ? frame->run : 1;
    uint64_t before = answers->wave;

    if (answers->jumps)
        before = answers->wave = frame->wave - run;
    answers->jumps = false;
    if (frame->wave >> PACKET_WAVE_BITS != before >> PACKET_WAVE_BITS) {
        if (frame->wave < before)
            return "an answer of an earlier epoch came";
        memory_grow(&answers->ends, &answers->end_room, answers->end_count,
                    sizeof(before));
        answers->ends[answers->end_count++] = before;
        before = frame->wave & ~(uint64_t)PACKET_WAVE_MASK;
    }
    if (frame->wave - run != before)
        return "an answer is not that of the next question";
    return is_answered(answers, frame->wave, NULL)
               ? NULL
               : "a wave came that nobody has answered";
}

const char *answers_take(struct answers *answers, const struct frame *frame)
{
    const char *wrong = NULL;
    uint32_t count = 0;

    if (!answers->exact)
        wrong = check_question(answers, frame);
    else if (frame->wave < answers->wave)
        wrong = "a wave came after a later one";
    else if (frame->wave > answers->wave)
        wrong = check_wave(answers);
    answers->wave = frame->wave;
    if (frame->flags & (FRAME_LATE | FRAME_COMPENSATING))
        return "a packet that is late came";
    if (wrong)
        return wrong;
    if (frame->flags & FRAME_EMPTY)
        return frame->contributors ? "a lost wave has contributors" : NULL;
    wrong = read_values(frame, take_value, answers, &count);
    if (!wrong && count != frame->contributors)
        wrong = "an answer has not as many parts as contributors";
    return wrong;
}

void answers_lose(struct answers *answers, uint32_t rank)
{
    if (ranks_has(&answers->parted, rank))
        return;
    memory_grow(&answers->gone, &answers->gone_room, answers->gone_count,
                sizeof(*answers->gone));
    answers->gone[answers->gone_count++] = rank;
}

void answers_part(struct answers *answers, uint32_t rank)
{
    size_t kept = 0, settled = answers->settled;

    ranks_add(&answers->parted, rank, rank);
    for (size_t i = 0; i < answers->gone_count; i++) {
        if (answers->gone[i] == rank)
            answers->settled -= i < settled;
        else
            answers->gone[kept++] = answers->gone[i];
    }
    answers->gone_count = kept;
}

bool answers_has(const struct answers *answers, uint32_t rank, uint32_t serial)
{
    const struct answers_sent *sent =
        find_sent(answers, value_of(rank, serial + 1));

    return sent && sent->is_taken;
}

/* Check that everything that the members sent on a stream of whole waves in the
 * waves below `upto` was taken. */
static const char *check_exact(struct answers *answers,
                               const struct ranks *living,
                               uint64_t upto)
{
    for (size_t i = 0; i < answers->sent_count; i++) {
        const struct answers_sent *sent = &answers->sent[i];
        uint32_t rank = rank_of(sent->value);

        if (sent->wave < upto && !sent->is_taken &&
            (ranks_has(living, rank) || ranks_has(&answers->parted, rank)))
            return "a wave is missing behind the sync that covers it";
    }
    return check_wave(answers);
}

const char *answers_check(struct answers *answers,
                          const struct ranks *living,
                          uint64_t upto,
                          bool lossy)
{
    if (answers->exact)
        return check_exact(answers, living, upto);
    if (lossy)
        answers->due = upto;
    if (answers->lost) {
        answers->lost = false;
        answers->covered = upto;
    }
    for (size_t i = 0; i < answers->sent_count; i++) {
        const struct answers_sent *sent = &answers->sent[i];

        if (sent->wave >= upto || sent->is_early ||
            !ranks_has(living, rank_of(sent->value)))
            continue;
        if (sent->wave >= answers->due && !sent->is_taken)
            return "a part of an answer is missing behind a sync of 0";
        if (sent->wave >= answers->covered && !has_place(answers, sent->wave) &&
            is_answered(answers, sent->wave, living))
            return "a wave that all members have answered did not come";
    }
    answers->covered = upto;
    return NULL;
}

void answers_taken_over(struct answers *answers)
{
    answers->jumps = answers->lost = !answers->exact;
}

void answers_fini(struct answers *answers)
{
    free(answers->sent);
    free(answers->ends);
    free(answers->gone);
    ranks_fini(&answers->parted);
    *answers = (struct answers){0};
}
