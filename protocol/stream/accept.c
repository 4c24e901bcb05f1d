/* accept.c - streams of whole waves at the front-end: which wave is whole, and
 * when to begin a redo (PROTOCOL 16.4, 16.7, 16.10, 16.11, 16.13). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "protocol/state.h"
#include "protocol/stream/waves.h"
#include "wire/packet.h"

static uint32_t epoch_of(uint64_t wave)
{
    return (uint32_t)(wave >> PACKET_WAVE_BITS);
}

/* The index of `rank` in `late`; late_count if it is not there. */
static size_t find_late(const struct accepting *accept, uint32_t rank)
{
    size_t i = 0;

    while (i < accept->late_count && accept->late[i].rank != rank)
        i++;
    return i;
}

/* The first epoch in which `rank` is expected. */
static uint32_t first_epoch(const struct accepting *accept, uint32_t rank)
{
    size_t i = find_late(accept, rank);

    return i < accept->late_count ? accept->late[i].epoch : 0;
}

void accept_changed(struct stream *stream)
{
    stream->waves->accept.wanted = false;
}

/* The members that are expected now in an epoch. Returns 0 or -ENOMEM. */
static int list_expected(const struct stream *stream,
                         uint32_t epoch,
                         struct ranks *out)
{
    const struct accepting *accept = &stream->waves->accept;
    struct ranks later = {0};
    int r = ranks_copy(out, &stream->definition.members);

    for (size_t i = 0; r == 0 && i < accept->late_count; i++)
        if (accept->late[i].epoch > epoch)
            r = ranks_add(&later, accept->late[i].rank, accept->late[i].rank);
    if (r == 0)
        r = ranks_subtract(out, &later);
    ranks_fini(&later);
    return r;
}

/* Compute the check that the next wave must have. */
static void compute_want(struct node *node, struct stream *stream)
{
    struct accepting *accept = &stream->waves->accept;
    uint32_t epoch = epoch_of(stream->waves->final), rank = RANK_NONE;
    struct ranks expected = {0};

    if (accept->wanted)
        return;
    if (list_expected(stream, epoch, &expected) < 0)
        node->failed = true;
    accept->want = 0;
    accept->want_count = 0;
    while ((rank = ranks_after(&expected, rank)) != RANK_NONE) {
        accept->want += waves_hash(rank);
        accept->want_count++;
    }
    accept->wanted = true;
    ranks_fini(&expected);
}

/* Whether the next wave is whole: with the present members, or also with the
 * back-ends given up last (16.4). `*settled`: how many of those given up are in
 * no later wave. */
static bool is_whole(struct node *node, struct stream *stream, size_t *settled)
{
    struct accepting *accept = &stream->waves->accept;
    uint32_t epoch = epoch_of(stream->waves->final), count;
    uint64_t sum = tally_sum(stream->waves->tally), want;
    bool whole;

    compute_want(node, stream);
    want = accept->want;
    count = accept->want_count;
    *settled = accept->gone_count;
    whole = count > 0 && sum == want;
    for (size_t i = accept->gone_count; i-- > 0;) {
        if (accept->gone[i].epoch > epoch)
            continue;
        want += waves_hash(accept->gone[i].rank);
        count++;
        if (sum != want)
            continue;
        whole = true;
        *settled = i;
    }
    return whole;
}

/* ---- syncs ---- */

static bool is_awaited(const struct joined *joined)
{
    return joined->awaited && joined->epoch == WAVES_UNNAMED;
}

void accept_sync(struct stream *stream)
{
    struct accepting *accept = &stream->waves->accept;

    for (size_t i = 0; i < accept->late_count; i++)
        accept->late[i].awaited = accept->late[i].epoch == WAVES_UNNAMED;
}

void accept_sync_sent(struct stream *stream)
{
    stream->waves->accept.sync_epoch = stream->root->sent.epoch + 1;
}

/* Whether the pending sync waits until a marker names one of `ranks`; NULL: any
 * joiner. */
static bool accept_awaits(const struct stream *stream,
                          const struct ranks *ranks)
{
    const struct accepting *accept = &stream->waves->accept;

    for (size_t i = 0; i < accept->late_count; i++)
        if (is_awaited(&accept->late[i]) &&
            (!ranks || ranks_has(ranks, accept->late[i].rank)))
            return true;
    return false;
}

bool accept_delays_sync(struct stream *stream, const struct ranks *named)
{
    if (!accept_awaits(stream, named))
        return false;
    stream->waves->accept.sync_epoch = stream->root->sent.epoch + 2;
    return true;
}

/* A sync returns when the epochs before its marker are final (16.10), and no
 * joiner is awaited (16.11). */
static void answer_sync(struct node *node, struct stream *stream)
{
    struct stream_root *root = stream->root;
    uint32_t epoch = stream->waves->accept.sync_epoch;
    struct action *news;

    if (!root->sync || epoch_of(stream->waves->final) < epoch ||
        accept_awaits(stream, NULL))
        return;
    news = node_tell(node, TELL_SYNCED, 0, stream->definition.id, NULL);
    news->sequence = root->sync;
    root->sync = 0;
    root->synced_epoch = epoch;
}

/* ---- members ---- */

static int add_joined(struct joined **list, size_t *count, struct joined joined)
{
    if (array_grow(list, *count, sizeof(**list)) < 0)
        return -ENOMEM;
    (*list)[(*count)++] = joined;
    return 0;
}

void accept_entered(struct node *node,
                    struct stream *stream,
                    const struct ranks *ranks)
{
    struct accepting *accept = &stream->waves->accept;
    uint32_t rank = RANK_NONE;

    while ((rank = ranks_after(ranks, rank)) != RANK_NONE)
        if (add_joined(&accept->late, &accept->late_count,
                       (struct joined){rank, WAVES_UNNAMED, false}) < 0)
            node->failed = true;
    accept_changed(stream);
}

void accept_named(struct node *node,
                  struct stream *stream,
                  const struct ranks *ranks,
                  struct payload **names)
{
    struct accepting *accept = &stream->waves->accept;
    uint32_t epoch = stream->root->sent.epoch;

    for (size_t i = 0; i < accept->late_count; i++)
        if (accept->late[i].epoch == WAVES_UNNAMED &&
            ranks_has(ranks, accept->late[i].rank))
            accept->late[i].epoch = epoch;
    accept_changed(stream);
    if (packet_pack(names, "%aud", ranks_pairs(ranks),
                    (uint32_t)(2 * ranks->count)) < 0)
        node->failed = true;
}

void accept_lost(struct node *node,
                 struct stream *stream,
                 const struct ranks *ranks)
{
    struct accepting *accept = &stream->waves->accept;
    uint32_t rank = RANK_NONE;

    while ((rank = ranks_after(ranks, rank)) != RANK_NONE) {
        uint32_t epoch = first_epoch(accept, rank);
        size_t at = find_late(accept, rank);

        if (!ranks_has(&stream->definition.members, rank))
            continue;
        if (at < accept->late_count)
            accept->late[at] = accept->late[--accept->late_count];
        if (epoch != WAVES_UNNAMED &&
            add_joined(&accept->gone, &accept->gone_count,
                       (struct joined){rank, epoch, false}) < 0)
            node->failed = true;
    }
    accept_changed(stream);
    answer_sync(node, stream);
}

/* ---- waves ---- */

/* Waves up to the tally's level are final now. The record precedes the wave: a
 * front-end that takes over goes on behind it (23.8). */
static void rise(struct node *node, struct stream *stream, bool ask)
{
    uint64_t final = tally_level(stream->waves->tally).wave;

    if (journal_is_kept(node)) {
        struct frame record = msg_final_encode(&(struct msg_final){
            .stream = stream->definition.id,
            .level = final,
        });

        journal_add(node, &record);
    }
    if (epoch_of(final) != epoch_of(stream->waves->final))
        accept_changed(stream);
    waves_rise(node, stream, final, ask);
    answer_sync(node, stream);
}

static void accept_wave(struct node *node,
                        struct stream *stream,
                        size_t settled)
{
    struct accepting *accept = &stream->waves->accept;
    struct tally_set set;
    bool over;

    accept->gone_count -= settled;
    if (settled > 0 && accept->gone_count > 0)
        memmove(accept->gone, accept->gone + settled,
                accept->gone_count * sizeof(*accept->gone));
    if (tally_accept(stream->waves->tally, &set, &over) < 0) {
        node->failed = true;
        return;
    }
    rise(node, stream, set.ask);
    stream->waves->call = set.number;
    if (!over)
        upward_release(node, stream, &set.set);
}

/* Whether the branches cover all members that are expected now. */
static bool is_covered(struct node *node, struct stream *stream)
{
    struct waves *waves = stream->waves;
    struct ranks expected = {0};
    bool covered;

    if (list_expected(stream, epoch_of(waves->final), &expected) < 0)
        node->failed = true;
    for (uint32_t slot = 0; slot < waves->set_count; slot++)
        if (ranks_subtract(&expected, &waves->sets[slot]) < 0)
            node->failed = true;
    covered = expected.count == 0;
    ranks_fini(&expected);
    return covered;
}

/* Whether all members that are expected have answered the next wave. If it is
 * not whole, it will not become whole. */
static bool is_answered(struct node *node, struct stream *stream)
{
    return tally_is_answered(stream->waves->tally) && is_covered(node, stream);
}

static uint32_t redo_limit(const struct stream *stream)
{
    return stream->definition.redo_limit ? stream->definition.redo_limit
                                         : LIMIT_REDOS;
}

/* Have all back-ends send again the packets that are not final (16.7). */
static void begin_redo(struct node *node, struct stream *stream)
{
    struct waves *waves = stream->waves;
    struct accepting *accept = &waves->accept;
    struct control control = {
        .type = CONTROL_REDO,
        .stream = stream->definition.id,
        .generation = waves->generation + 1,
        .after = waves->final,
    };
    struct action *news;

    if (accept->redo_final != waves->final)
        accept->redos = 0;
    accept->redo_final = waves->final;
    if (accept->redos++ == redo_limit(stream)) {
        accept->hopeless = true;
        node_due(node, stream, DUE_FAILURE);
        return;
    }
    news = node_tell(node, TELL_REDO, control.generation, control.stream, NULL);
    news->sequence = waves->final + 1;
    news->code = (int)accept->want_count;
    zero_send(node, &control);
}

void accept_redo(struct node *node, struct stream *stream)
{
    size_t settled;

    if (stream->closing || is_whole(node, stream, &settled) ||
        stream->waves->accept.want_count == 0 || !is_answered(node, stream))
        return;
    begin_redo(node, stream);
    waves_return_credit(node, stream);
}

/* ---- taking over (23.8) ---- */

void accept_take_final(struct stream *stream, uint64_t final)
{
    struct waves *waves = stream->waves;

    waves->final = final;
    tally_enter(waves->tally, waves->generation, final);
    accept_changed(stream);
}

void accept_take_names(struct node *node,
                       struct stream *stream,
                       const struct ranks *named)
{
    struct accepting *accept = &stream->waves->accept;

    for (size_t i = 0; i < accept->late_count; i++)
        if (accept->late[i].epoch == WAVES_UNNAMED &&
            ranks_has(named, accept->late[i].rank))
            accept->late[i].epoch = stream->root->sent.epoch;
    if (ranks_subtract(&stream->root->entering, named) < 0)
        node->failed = true;
    accept_changed(stream);
}

void accept_take_over(struct node *node, struct stream *stream)
{
    struct waves *waves = stream->waves;

    waves->accept.gone_count = 0; /* all that they had sent is sent no more */
    if (stream->root->sent.epoch < epoch_of(waves->final))
        stream->root->sent.epoch = epoch_of(waves->final);
    compute_want(node, stream);
    begin_redo(node, stream);
    waves->accept.redos = 0; /* it is no wave's fault */
}

/* Accept the next wave, or end an epoch; else have a redo begin, if the wave can
 * no longer become whole. Returns false if the wave must wait. */
static bool accept_next(struct node *node, struct stream *stream)
{
    struct waves *waves = stream->waves;
    size_t settled;

    if (is_whole(node, stream, &settled)) {
        accept_wave(node, stream, settled);
        return true;
    }
    if (waves->accept.want_count > 0) {
        if (is_answered(node, stream))
            node_due(node, stream, DUE_REDO);
        return false;
    }
    if (epoch_of(waves->final) >= stream->root->sent.epoch) {
        tally_lend(waves->tally);
        return false;
    }
    tally_end_epoch(waves->tally); /* no member that counts is left */
    rise(node, stream, false);
    return true;
}

void accept_run(struct node *node, struct stream *stream)
{
    bool more = !stream->waves->accept.hopeless;

    answer_sync(node, stream); /* all members may have ended the epoch before */
    while (more && stream->loaded && !stream->closing &&
           upward_may_release(node, stream)) {
        if (node->filter.is_out &&
            (stream->filters.up || stream->filters.down)) {
            stream->queued = true;
            return;
        }
        more = accept_next(node, stream);
    }
}

/* The text names the wave for which every redo has failed, and the back-ends
 * that were lost. */
void accept_end_hopeless(struct node *node, struct stream *stream)
{
    const struct accepting *accept = &stream->waves->accept;
    uint64_t wave = stream->waves->final + 1;
    struct ranks lost = {0};
    char names[256] = "none", text[LIMIT_TEXT];

    if (stream->closing)
        return;
    for (size_t i = 0; i < accept->gone_count; i++)
        if (ranks_add(&lost, accept->gone[i].rank, accept->gone[i].rank) < 0)
            node->failed = true;
    if (lost.count > 0)
        node_name_ranks(node, &lost, names, sizeof(names));
    snprintf(text, sizeof(text),
             "wave %u.%" PRIu64 " did not become whole in %u redos: a packet "
             "of it may crash a filter, or nodes fail faster than a wave can "
             "pass; back-ends lost meanwhile: %s",
             epoch_of(wave), wave & PACKET_WAVE_MASK, redo_limit(stream),
             names);
    ranks_fini(&lost);
    failure_end(node, stream, 0, text);
}
