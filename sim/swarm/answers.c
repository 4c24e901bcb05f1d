/* answers.c - the expected answers of a stream of waves only. */
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

struct payload *answers_pack(uint32_t rank, uint32_t serial, uint32_t room)
{
    uint32_t count = room ? room : 1;
    uint64_t *values = memory_new(count * sizeof(*values));
    struct payload *payload = NULL;
    int r;

    values[room ? rank : 0] = value_of(rank, serial + 1);
    r = packet_pack(&payload, "%auld", values, count);
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
    const uint64_t *values;
    uint32_t count;

    if (packet_open(&packet, frame->payload) < 0)
        return "a packet cannot be read";
    if (cop_packet_unpack(packet, "%auld", &values, &count) < 0)
        wrong = "a packet has another format";
    for (uint32_t i = 0; !wrong && i < count; i++)
        if (values[i] != 0)
            wrong = each(answers, values[i], arg);
    cop_packet_free(packet);
    return wrong;
}

static const char *add_sent(struct answers *answers, uint64_t value, void *arg)
{
    struct answers_sent sent = *(struct answers_sent *)arg;

    sent.value = value;
    memory_grow(&answers->sent, &answers->sent_room, answers->sent_count,
                sizeof(sent));
    answers->sent[answers->sent_count++] = sent;
    return NULL;
}

void answers_send(struct answers *answers,
                  uint64_t wave,
                  const struct frame *frame,
                  bool is_early)
{
    struct answers_sent sent = {.wave = wave, .is_early = is_early};

    read_values(frame, add_sent, answers, &sent);
}

/* Find a value of the last wave among those sent. */
static const char *take_value(struct answers *answers,
                              uint64_t value,
                              void *arg)
{
    ++*(uint32_t *)arg;
    for (size_t i = 0; i < answers->sent_count; i++) {
        struct answers_sent *sent = &answers->sent[i];

        if (sent->value != value)
            continue;
        if (sent->wave != answers->wave)
            return "an answer has a part of another question";
        if (sent->is_taken)
            return "a part of an answer was taken twice";
        sent->is_taken = true;
        return NULL;
    }
    return "an answer has a part that nobody sent";
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

const char *answers_take(struct answers *answers, const struct frame *frame)
{
    uint64_t run = frame->flags & FRAME_EMPTY ? frame->run : 1;
    uint64_t before = answers->wave;
    uint32_t count = 0;
    const char *wrong;

    answers->wave = frame->wave;
    if (frame->flags & (FRAME_LATE | FRAME_COMPENSATING))
        return "a packet that is late came";
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
    if (!is_answered(answers, frame->wave, NULL))
        return "a wave came that nobody has answered";
    if (frame->flags & FRAME_EMPTY)
        return frame->contributors ? "a lost wave has contributors" : NULL;
    wrong = read_values(frame, take_value, answers, &count);
    if (!wrong && count != frame->contributors)
        wrong = "an answer has not as many parts as contributors";
    return wrong;
}

const char *answers_check(struct answers *answers,
                          const struct ranks *living,
                          uint64_t upto,
                          bool lossy)
{
    if (lossy)
        answers->due = upto;
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

void answers_fini(struct answers *answers)
{
    free(answers->sent);
    free(answers->ends);
    *answers = (struct answers){0};
}
