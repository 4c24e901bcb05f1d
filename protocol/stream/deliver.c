/* deliver.c - packets for the application, and what it has taken. */
#include "protocol/state.h"
#include "wire/packet.h"

void deliver_frame(struct node *node, struct stream *stream, struct frame frame)
{
    struct action *action;

    stream->app.delivered++;
    stream->app.untaken++;
    if (stream->root) /* a back-end returns credit instead: downward_taken() */
        stream->app.untaken_bytes += frame_len(&frame);
    action = node_act(node, ACTION_DELIVER);
    action->stream = stream->definition.id;
    action->frame = frame;
}

void deliver_taken(struct node *node, struct stream *stream, size_t len)
{
    struct reading *app = &stream->app;

    if (app->untaken > 0)
        app->untaken--;
    app->taken_at = ++node->takes;
    app->untaken_bytes -= len < app->untaken_bytes ? len : app->untaken_bytes;
}

void deliver_drop(struct stream *stream)
{
    stream->app.untaken = 0;
    stream->app.untaken_bytes = 0;
}

/* Whether the application has not asked for such packets (4.3b). */
static bool is_withheld(const struct stream *stream, const struct frame *frame)
{
    return stream->definition.waves_only &&
           (frame->flags & (FRAME_LATE | FRAME_COMPENSATING));
}

/* Front-end: a late packet names its wave, of which nothing may come on time. */
static void name_wave(struct stream_root *root, uint64_t wave)
{
    uint64_t epoch = wave >> PACKET_WAVE_BITS;
    uint64_t known = root->named >> PACKET_WAVE_BITS;

    if (wave > root->over && (root->named <= root->over || epoch < known ||
                              (epoch == known && wave > root->named)))
        root->named = wave;
}

/* A packet of `epoch` is withheld. */
static void note_withheld(struct stream_root *root, uint32_t epoch)
{
    if (epoch > root->withheld_epoch) {
        root->withheld += root->withheld_last;
        root->withheld_last = 0;
        root->withheld_epoch = epoch;
    }
    if (epoch == root->withheld_epoch)
        root->withheld_last++;
    else
        root->withheld++;
}

void deliver_upward(struct node *node,
                    struct stream *stream,
                    struct frame frame)
{
    bool withheld = is_withheld(stream, &frame);

    if (stream->error) { /* it is not open: its filters did not have this */
        frame_fini(&frame);
        return;
    }
    if (!withheld && !(frame.flags & FRAME_EMPTY)) {
        deliver_frame(node, stream, frame);
        return;
    }
    /* A joiner is no member of the waves that it misses (12.3). */
    if (withheld && !(frame.flags & FRAME_NEWCOMER) &&
        stream->root->withheld < UINT32_MAX) {
        note_withheld(stream->root, (uint32_t)(frame.wave >> PACKET_WAVE_BITS));
        name_wave(stream->root, frame.wave);
    }
    frame_fini(&frame);
}

/* Front-end: each wave up to `level` has been released, or nothing of it has
 * come and nothing will. Deliver the lost ones as empty packets (4.3b). */
void deliver_lost(struct node *node, struct stream *stream, uint64_t level)
{
    uint64_t over = level & ~(uint64_t)PACKET_WAVE_MASK; /* of this epoch */
    uint64_t named = stream->root->named;

    if (named > stream->root->over && named < over) {
        stream->root->named = 0;
        deliver_lost(node, stream, named);
    }
    if (over < stream->root->over)
        over = stream->root->over;
    if (level <= over)
        return;
    stream->root->lost_wave = true;
    stream->root->lost_epoch = (uint32_t)((level - 1) >> PACKET_WAVE_BITS);
    if (stream->root->skips) {
        /* orphans name the end of an earlier epoch first (4.5) */
        stream->root->skips =
            level >> PACKET_WAVE_BITS < stream->root->sent.epoch;
        stream->root->over = level;
        return;
    }
    deliver_frame(node, stream,
                  (struct frame){
                      .type = FRAME_DATA,
                      .flags = FRAME_EMPTY,
                      .stream = stream->definition.id,
                      .wave = level,
                      .run = level - over,
                  });
    stream->root->over = level;
}

void deliver_end_epochs(struct node *node,
                        struct stream *stream,
                        uint32_t epoch)
{
    uint64_t begin = (uint64_t)epoch << PACKET_WAVE_BITS;

    if (!stream->definition.waves_only)
        return;
    deliver_lost(node, stream, begin);
    if (stream->root->over < begin)
        stream->root->over = begin;
}
