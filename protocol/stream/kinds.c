/* kinds.c - the operations of each kind of streams. */
#include "protocol/state.h"
#include "protocol/stream/waves.h"

const struct stream_kind plain_kind = {
    .has_states = true,
    .is_lossy = true,
    .open_branch = plain_open_branch,
    .resumed = plain_resumed,
    .leave = plain_leave,
    .owe = plain_owe,
    .part_ended = plain_part_ended,
    .unlink = plain_unlink,
    .take = plain_take,
    .run = plain_run,
    .packed = plain_packed,
    .close = plain_close,
    .orphaned = plain_orphaned,
    .adopted = plain_adopted,
    .count_anew = plain_count_anew,
    .stand = plain_stand,
    .enter = plain_enter,
};

const struct stream_kind waves_kind = {
    .syncs_by_wave = true,
    .extra_len = FRAME_WAVES_LEN,
    .refusal = "a stream of whole waves has no states",
    .begin = waves_begin,
    .end = waves_end,
    .open_branch = waves_open_branch,
    .opened = waves_opened,
    .resumed = waves_resumed,
    .claimed = waves_claimed,
    .trimmed = waves_trimmed,
    .leave = waves_leave,
    .unlink = waves_unlink,
    .take = waves_take,
    .run = waves_run,
    .is_stale = waves_is_stale,
    .against = waves_against,
    .stamp = waves_stamp,
    .sent = waves_sent,
    .accepts = retain_accepts,
    .bytes = waves_bytes,
    .close_read = retain_close,
    .close = waves_close,
    .orphaned = waves_orphaned,
    .adopted = upward_claim_anew, /* RESUME goes first (16.9) */
    .count_anew = waves_count_anew,
    .stand = waves_stand,
    .count = waves_count,
    .announce = waves_announce,
    .claim_sent = waves_claim_sent,
    .is_recounted = waves_is_recounted,
    .beat = waves_beat,
    .marker = retain_marker,
    .settle = retain_settle,
    .leaving = retain_leave,
    .entered = accept_entered,
    .lost = accept_lost,
    .enter = retain_enter,
    .take_over = accept_take_over,
    .sync_asked = accept_sync,
    .sync_sent = accept_sync_sent,
    .delays_sync = accept_delays_sync,
    .named = accept_named,
    .redo = waves_redo,
    .snapshot = waves_snapshot,
    .kept = retain_kept,
};

const struct stream_kind total_kind = {
    .has_states = true,
    .slots = CALL_JOIN,
    .refusal = "a stream of totals has no compensations",
    .begin = totals_begin,
    .end = totals_end,
    .open_branch = plain_open_branch,
    .resumed = plain_resumed,
    .claimed = slot_claimed,
    .settled = totals_settled,
    .leave = plain_leave,
    .part_ended = slot_end,
    .unlink = plain_unlink,
    .take = plain_take,
    .run = totals_run,
    .sort = totals_sort,
    .waits = totals_wait,
    .missed = totals_missed,
    .packed = totals_packed,
    .close = plain_close,
    .orphaned = totals_orphaned,
    .adopted = plain_adopted,
    .count_anew = plain_count_anew,
    .precedes_claim = totals_precede_claim,
    .is_whole = totals_are_whole,
    .beat = totals_beat,
    .enter = plain_enter,
};

const struct stream_kind *kind_of(const struct stream_definition *definition)
{
    switch (definition->kind) {
    case STREAM_WAVES:
        return &waves_kind;
    case STREAM_TOTAL:
        return &total_kind;
    case STREAM_PLAIN:
        break;
    }
    return &plain_kind;
}
