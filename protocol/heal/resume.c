/* resume.c - what a front-end records, and how another one takes it over
 * (PROTOCOL 23).
 *
 *     the old one                                  the new one
 *     launch, stream 0, packets -> ACTION_RECORD ... EVENT_RECORD -> its state
 *                                                  EVENT_START: it adopts
 *
 * A record is a frame that is never sent. Its type says what it is:
 *
 *     READY     the launched tree; number: the first rank for joiners
 *     JOINED    number: lower ranks may have been given to joiners
 *     NODE      commnodes that have joined
 *     CONTROL   of stream 0; the origin of OPEN is what OPEN has not
 *     DATA, MARKER  of a stream, as they enter the feed
 *     FINAL     a wave was accepted (23.8)
 *     FAREWELL  the totals of a back-end; LEFT follows, or it is void
 *     STABLE    a closed stream was removed
 *     ADOPTED   a front-end has taken over; number: the how-many-eth time */
#include "protocol/heal/resume.h"

#include <errno.h>

#include "protocol/state.h"
#include "wire/destinations.h"

/* Ranks for joiners that one record covers. */
#define RANKS_AHEAD 64

/* The highest round that a child may have seen (6.9). More would leave too few
 * numbers for later rounds. */
#define ROUND_MAX (UINT32_MAX / 2)

#define REDO_LIMIT_MAX (UINT32_MAX >> 1)

/* Packets that a front-end may have numbered and not recorded: they waited for
 * its filter (3.5). */
#define NUMBERED_MAX (LIMIT_UNSTABLE / FRAME_HEADER_LEN)

bool resume_is_possible(const struct node_config *config)
{
    if (config->resumes && (config->role != NODE_FRONTEND ||
                            config->child_count > 0 || config->survive_ms == 0))
        return false;
    /* not built: views and replaced commnodes have no records (23.10) */
    return config->survive_ms == 0 || (!config->views && config->replace == 0);
}

/* ---- records ---- */

void resume_record_launch(struct node *node)
{
    struct frame frame;

    if (!journal_is_kept(node))
        return;
    if (roster_encode(&node->roster, FRAME_READY, &frame) < 0) {
        node->failed = true;
        return;
    }
    frame.number = node->first_joiner;
    node->resuming.ranks = node->first_joiner;
    journal_add(node, &frame);
    frame_fini(&frame);
}

/* What OPEN has not: whether the application gets waves only, and `redo_limit`. */
static uint32_t pack_open(const struct stream_definition *definition)
{
    uint32_t limit = definition->redo_limit;

    if (limit > REDO_LIMIT_MAX)
        limit = REDO_LIMIT_MAX;
    return limit << 1 | definition->waves_only;
}

static void unpack_open(struct stream_definition *definition, uint32_t packed)
{
    definition->waves_only = packed & 1;
    definition->redo_limit = packed >> 1;
}

void resume_record_control(struct node *node,
                           const struct control *control,
                           const struct frame *frame)
{
    struct frame record = *frame;

    if (control->type == CONTROL_OPEN)
        record.origin = pack_open(&control->definition);
    journal_add(node, &record);
}

void resume_record_rank(struct node *node)
{
    if (!journal_is_kept(node) || node->next_rank < node->resuming.ranks)
        return;
    node->resuming.ranks = node->next_rank + RANKS_AHEAD;
    journal_add(node, &(struct frame){.type = FRAME_JOINED,
                                      .number = node->resuming.ranks});
}

/* ---- taking over ---- */

/* The launched tree. */
static int take_launch(struct node *node, const struct frame *frame)
{
    struct frame table;
    int r;

    if (node->launched || frame->number == 0 || frame->number > LIMIT_NODES)
        return -EBADMSG;
    r = roster_decode(frame, &node->roster);
    if (r == 0)
        r = roster_encode(&node->roster, FRAME_TABLE, &table);
    if (r < 0)
        return r;
    node->table = table.payload;
    r = roster_table(table.payload, &node->heal.table);
    if (r < 0)
        return r;
    if (ranks_after(&node->roster.backends, (uint32_t)frame->number - 1) !=
            RANK_NONE ||
        ranks_has(&node->roster.backends, 0))
        return -EBADMSG;
    node->first_joiner = node->next_rank = (uint32_t)frame->number;
    node->resuming.ranks = node->next_rank;
    node->launched = node->reported = true;
    launch_fini(node);
    record_begin(node);
    if (ranks_copy(&node->backends, &node->roster.backends) < 0 ||
        ranks_copy(&node->streams[0]->definition.members, &node->backends) < 0)
        return -ENOMEM;
    return 0;
}

static int take_ranks(struct node *node, const struct frame *frame)
{
    if (frame->number < node->next_rank ||
        frame->number > LIMIT_NODES + RANKS_AHEAD)
        return -EBADMSG;
    node->next_rank = node->resuming.ranks = (uint32_t)frame->number;
    return 0;
}

/* The joiners of ENTER have been given their ranks, and are in no marker that
 * is known here. */
static int take_joiners(struct node *node, const struct control *control)
{
    if (control->ranks.count > 0 &&
        (ranks_after(&control->ranks, node->next_rank - 1) != RANK_NONE ||
         ranks_has(&control->ranks, 0)))
        return -EBADMSG;
    for (uint32_t i = 0; i < control->stream_count; i++) {
        struct stream *stream = node_stream(node, control->streams[i]);

        if (!stream || control->streams[i] == 0)
            return -EBADMSG;
        if (ranks_unite(&stream->root->entering, &control->ranks) < 0)
            return -ENOMEM;
    }
    return ranks_unite(&node->backends, &control->ranks);
}

/* A control that names a stream must name one that there is. */
static bool may_follow(const struct node *node, const struct control *control)
{
    const struct stream *stream = node_stream(node, control->stream);

    switch (control->type) {
    case CONTROL_OPEN:
        return control->definition.id > node->last_stream &&
               node->stream_count < LIMIT_STREAMS;
    case CONTROL_CLOSE:
    case CONTROL_PARAMETERS:
    case CONTROL_FAIL: /* a closed stream may have been removed here already */
        return control->stream > 0 && control->stream <= node->last_stream;
    case CONTROL_REDO:
        return stream && stream->waves &&
               control->generation == stream->waves->generation + 1 &&
               control->after == stream->waves->final;
    case CONTROL_VIEW:
        return false;
    case CONTROL_ENTER:
    case CONTROL_LOST:
    case CONTROL_LEFT:
    case CONTROL_ENDING:
    case CONTROL_SHUTDOWN:
        break;
    }
    return !node->closing;
}

/* Keep the totals of a back-end, if it has left by this control. */
static int take_farewell(struct node *node, const struct control *control)
{
    struct frame *farewell = &node->resuming.farewell;
    int r = 0;

    if (farewell->type != 0 && control->type == CONTROL_LEFT &&
        ranks_has(&control->ranks, farewell->origin))
        r = farewell_keep(node, farewell);
    frame_fini(farewell);
    farewell->type = 0;
    return r;
}

static int take_control(struct node *node, const struct frame *frame)
{
    struct stream *zero = node->streams[0], *opened;
    struct frame copy = frame_ref(frame);
    struct control control = {0};
    int r = control_decode(frame, &control);

    if (r == 0 &&
        (frame->number != zero->down.last + 1 || !may_follow(node, &control)))
        r = -EBADMSG;
    if (r == 0 && control.type == CONTROL_ENTER)
        r = take_joiners(node, &control);
    if (r == 0)
        r = take_farewell(node, &control);
    if (r == 0) {
        zero->down.last = frame->number;
        copy.origin = 0;
        r = zero_take(node, &copy);
        opened = node_stream(node, control.stream);
        if (r == 0 && control.type == CONTROL_OPEN && opened)
            unpack_open(&opened->definition, frame->origin);
    }
    frame_fini(&copy);
    control_fini(&control);
    return r;
}

static void take_marker(struct node *node,
                        struct stream *stream,
                        const struct msg_marker *marker)
{
    struct ranks named = {0};

    stream->root->sent = (struct mark){marker->number, marker->epoch};
    if (!stream->waves)
        return;
    waves_names(marker, &named);
    accept_take_names(node, stream, &named);
    ranks_fini(&named);
}

static int take_final(struct node *node, const struct frame *frame)
{
    struct stream *stream = node_stream(node, frame->stream);
    struct msg_final final;

    if (!stream || !stream->waves || msg_final_decode(frame, &final) < 0 ||
        final.level <= stream->waves->final || stream->closing)
        return -EBADMSG;
    accept_take_final(stream, final.level);
    return 0;
}

static int take_packet(struct node *node, const struct frame *frame)
{
    struct stream *stream = node_stream(node, frame->stream);
    struct msg_marker marker = {0};

    if (!stream || frame->stream == 0 || stream->closing ||
        frame->number != stream->down.last + 1 ||
        (frame->type == FRAME_MARKER &&
         (msg_marker_decode(frame, &marker) < 0 ||
          marker.epoch <= stream->root->sent.epoch)) ||
        (frame->flags & FRAME_SOME && !destinations_are_there(frame->payload)))
        return -EBADMSG;
    stream->down.last = frame->number;
    if (frame->type == FRAME_MARKER)
        take_marker(node, stream, &marker);
    else
        stream->root->packets++;
    downward_commit(node, stream, frame_ref(frame), 0);
    downward_pending(node, stream);
    return 0;
}

static int take_removal(struct node *node, const struct frame *frame)
{
    struct stream *stream = node_stream(node, frame->stream);

    if (frame->stream == 0 || frame->stream > node->last_stream)
        return -EBADMSG;
    if (!stream) /* its CLOSE has removed it, as it has no children here */
        return 0;
    if (!stream->closing)
        return -EBADMSG;
    node_remove_stream(node, stream);
    return 0;
}

static int take_record(struct node *node, const struct frame *frame)
{
    if (!node->launched && frame->type != FRAME_READY)
        return -EBADMSG;
    switch (frame->type) {
    case FRAME_READY:
        return take_launch(node, frame);
    case FRAME_JOINED:
        return take_ranks(node, frame);
    case FRAME_CONTROL:
        return take_control(node, frame);
    case FRAME_DATA:
    case FRAME_MARKER:
        return take_packet(node, frame);
    case FRAME_NODE:
        return joined_take(node, NULL, frame);
    case FRAME_FINAL:
        return take_final(node, frame);
    case FRAME_FAREWELL:
        frame_fini(&node->resuming.farewell);
        node->resuming.farewell = frame_ref(frame);
        return 0;
    case FRAME_STABLE:
        return take_removal(node, frame);
    case FRAME_ADOPTED:
        if (frame->number != (uint64_t)node->resuming.term + 1 ||
            frame->number > UINT32_MAX)
            return -EBADMSG;
        node->resuming.term++;
        return 0;
    default:
        return -EBADMSG;
    }
}

/* What the last front-end has done is not done again. */
int resume_take(struct node *node, const struct frame *frame)
{
    struct actions unused = {0}, *out = node->out;
    struct frame record = *frame;
    int r = -EPERM;

    if (node->resuming.resumes && !node->started) {
        node->out = &unused;
        r = take_record(node, &record);
        node->out = out;
        actions_fini(&unused);
    }
    frame_fini(&record);
    return r;
}

/* The last number that CLOSE or PARAMETERS name. */
static uint64_t last_named(const struct stream *stream)
{
    return stream->pending_count > 0
               ? stream->pending[stream->pending_count - 1].after
               : 0;
}

/* CLOSE and PARAMETERS name numbers that nobody has seen: the packets waited for
 * the last front-end's filter. Use these numbers up (23.5). */
static void fill_numbers(struct node *node, struct stream *stream)
{
    uint64_t number = last_named(stream);

    if (number > stream->down.last + NUMBERED_MAX)
        return; /* resume_ends_stream() ends it */
    while (stream->down.last < number)
        downward_commit(node, stream,
                        (struct frame){
                            .type = FRAME_DATA,
                            .flags = FRAME_EMPTY,
                            .stream = stream->definition.id,
                            .number = ++stream->down.last,
                        },
                        0);
}

/* Have the filters of `stream` loaded, and its opening proved again. */
static void take_over_stream(struct node *node, struct stream *stream)
{
    fill_numbers(node, stream);
    stream->root->opening = !stream->closing;
    stream->root->open_deadline_ms = node->now_ms + node->times.open_timeout_ms;
    stream->root->skips = true;
    node_act(node, ACTION_LOAD)->definition = &stream->definition;
    if (stream->kind->take_over && !stream->closing)
        stream->kind->take_over(node, stream);
    if (stream->closing)
        node_tell(node, TELL_CLOSED, 0, stream->definition.id, NULL);
}

/* Children of rank 0 that died while nobody led have no record, nor have commnodes
 * that joined if all died that knew of them. */
static void doubt_children(struct node *node)
{
    const char *address;
    uint32_t rank;

    for (uint32_t i = 0; table_joined(node->heal.table, i, &rank, &address);
         i++)
        record_doubt(node, rank, JOINED_INCARNATION);
    for (uint32_t i = 0; i < node->roster.internal_count; i++) {
        const struct roster_internal *inner = &node->roster.internals[i];

        if (inner->rank != 0 && inner->parent == 0)
            record_doubt(node, inner->rank, 0);
    }
}

int resume_start(struct node *node)
{
    if (!node->resuming.resumes) {
        launch_start(node);
        return 0;
    }
    if (!node->launched)
        return -EBADMSG;
    if (node->closing)
        return -ESHUTDOWN;
    node->started = true;
    node->begin_ms = node->now_ms;
    node->shifted = true;
    node->next_stream = node->last_stream + 1;
    node->resuming.term++;
    node->status.round = (uint64_t)node->resuming.term << 32;
    frame_fini(&node->resuming.farewell);
    journal_add(node, &(struct frame){.type = FRAME_ADOPTED,
                                      .number = node->resuming.term});
    for (size_t i = 1; i < node->stream_count; i++)
        take_over_stream(node, node->streams[i]);
    doubt_children(node);
    cover_update(node);
    node_tell(node, TELL_LAUNCHED, node->rank, 0, NULL);
    return 0;
}

void resume_heard(struct node *node,
                  uint32_t rank,
                  uint32_t incarnation,
                  uint32_t parent)
{
    if (!node->resuming.resumes || parent != node->rank)
        return;
    for (uint32_t slot = 0; slot < node->peer_count; slot++)
        if (node_child(node, slot) && node->peers[slot]->rank == rank)
            return;
    record_doubt(node, rank, incarnation);
}

bool resume_answers(const struct node *node, uint32_t rank)
{
    struct table_entry entry;

    return node->resuming.resumes &&
           table_entry(node->heal.table, rank, &entry) == 0 && !entry.awaited &&
           entry.parent != node->rank;
}

bool resume_ends_stream(struct node *node, struct stream *stream)
{
    if (!node->resuming.resumes || !stream->root->skips ||
        (stream_is_replayable(stream) &&
         last_named(stream) <= stream->down.last))
        return false;
    failure_end(node, stream, 0,
                "its downstream filter numbers packets anew: what the last "
                "front-end had sent cannot be sent again");
    return true;
}

void resume_rounds(struct node *node, uint32_t round)
{
    if (!node->resuming.resumes || round <= node->heal.round ||
        round > ROUND_MAX)
        return;
    node->heal.round = round;
    suspect_renumber(node);
}
