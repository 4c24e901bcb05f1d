/* test_control.c - claims, control packets and rosters: written and read again;
 * damaged ones. */
#include "protocol/members/control.h"

#include <errno.h>

#include "protocol/launch/roster.h"
#include "protocol/stream/claim.h"
#include "test/check.h"
#include "wire/packet.h"

#define MUTATIONS 3000

static uint32_t seed = 3;

static uint32_t next_number(uint32_t below)
{
    seed = seed * UINT32_C(1664525) + UINT32_C(1013904223);
    return (seed >> 8) % below;
}

/* A copy of `frame` with a few bytes changed, or cut. */
static struct frame mutate(const struct frame *frame)
{
    struct frame copy = *frame;
    uint32_t len = frame->payload->len, i;

    if (next_number(4) == 0)
        len = next_number(len);
    CHECK_OK(payload_new(&copy.payload, len));
    memcpy(copy.payload->bytes, frame->payload->bytes, len);
    for (i = next_number(4); len > 0 && i > 0; i--)
        copy.payload->bytes[next_number(len)] = (unsigned char)next_number(256);
    return copy;
}

/* Check that a damaged payload gave one of the allowed results. */
static void check_result(int r)
{
    CU_ASSERT(r == 0 || r == -EBADMSG || r == -ENOMEM);
}

TEST(a_claim_comes_back)
{
    struct claim claim = {.received = 9,
                          .settled = {7, 2},
                          .loss.lossy = 3,
                          .read = 11,
                          .recoverable = true,
                          .error_rank = 4};
    struct claim back = {0};
    struct frame frame;

    CHECK_OK(ranks_add(&claim.members, 3, 9));
    CHECK_OK(ranks_add(&claim.members, 20, 20));
    CHECK_OK(ranks_add(&claim.loss.losers, 8, 9));
    claim.error = strdup("no such filter");
    CHECK_OK(claim_encode(&claim, 5, &frame));
    CU_ASSERT_EQUAL(frame.stream, 5);
    CHECK_OK(claim_decode(&frame, &back));
    CU_ASSERT(ranks_equal(&back.members, &claim.members));
    CU_ASSERT_EQUAL(back.read, 11);
    CU_ASSERT(back.received == 9 && back.settled.number == 7 &&
              back.settled.epoch == 2);
    CU_ASSERT(ranks_equal(&back.loss.losers, &claim.loss.losers));
    CU_ASSERT(back.loss.lossy == 3 && back.recoverable && !back.replayable);
    CU_ASSERT_STRING_EQUAL(back.error, "no such filter");
    CU_ASSERT_EQUAL(back.error_rank, 4);
    claim_fini(&claim);
    claim_fini(&back);
    frame_fini(&frame);
}

/* PROTOCOL 10.1: settled is at most received. */
TEST(a_claim_that_contradicts_itself_is_refused)
{
    struct claim claim = {.received = 1, .settled = {2, 0}};
    struct claim back = {.settled = {0, 77}};
    struct frame frame;

    CHECK_OK(claim_encode(&claim, 1, &frame));
    CHECK_IS(claim_decode(&frame, &back), -EBADMSG);
    CU_ASSERT_EQUAL(back.settled.epoch, 77);
    frame_fini(&frame);
}

TEST(damaged_claims_do_no_harm)
{
    struct claim claim = {.received = 5, .error = NULL};
    struct frame frame;

    CHECK_OK(ranks_add(&claim.members, 1, 1000));
    CHECK_OK(claim_encode(&claim, 1, &frame));
    for (int i = 0; i < MUTATIONS; i++) {
        struct frame bad = mutate(&frame);
        struct claim back = {0};

        check_result(claim_decode(&bad, &back));
        claim_fini(&back);
        frame_fini(&bad);
    }
    claim_fini(&claim);
    frame_fini(&frame);
}

static struct control an_opening(void)
{
    struct control control = {.type = CONTROL_OPEN};
    struct stream_definition raw = {
        .id = 6, .sync = COP_TIME_OUT, .wave_timeout_ms = 30, .grow = true};

    CHECK_OK(ranks_add(&raw.members, 4, 8));
    CHECK_OK(packet_pack(&raw.parameters, "%d %s", 5, "five"));
    raw.up_filter = (char *)"sum";
    CHECK_OK(definition_copy(&control.definition, &raw));
    ranks_fini(&raw.members);
    payload_free(raw.parameters);
    return control;
}

TEST(an_opening_comes_back)
{
    struct control control = an_opening(), back = {0};
    const struct stream_definition *d = &back.definition;
    struct frame frame;

    CHECK_OK(control_encode(&control, &frame));
    CHECK_OK(control_decode(&frame, &back));
    CU_ASSERT(back.type == CONTROL_OPEN && d->id == 6 && d->grow);
    CU_ASSERT(d->sync == COP_TIME_OUT && d->wave_timeout_ms == 30);
    CU_ASSERT_EQUAL(ranks_size(&d->members), 5);
    CU_ASSERT_STRING_EQUAL(d->up_filter, "sum");
    CU_ASSERT_STRING_EQUAL(d->down_filter, "");
    CU_ASSERT_EQUAL(d->parameters->len, control.definition.parameters->len);
    frame_fini(&frame);
    control_fini(&control);
    control_fini(&back);
}

/* PROTOCOL 21.1: no later view than the last one is stable. */
TEST(a_view_comes_back)
{
    struct control control = {.type = CONTROL_VIEW,
                              .view = UINT64_C(1) << 40,
                              .stable = UINT64_C(1) << 39};
    struct control back = {0};
    struct frame frame;

    CHECK_OK(control_encode(&control, &frame));
    CHECK_OK(control_decode(&frame, &back));
    CU_ASSERT(back.type == CONTROL_VIEW && back.view == control.view &&
              back.stable == control.stable);
    frame_fini(&frame);
    control.stable = control.view + 1;
    CHECK_OK(control_encode(&control, &frame));
    CHECK_IS(control_decode(&frame, &back), -EBADMSG);
    frame_fini(&frame);
}

/* `grow`, the kind and `compensates` share a byte. Unknown kinds are refused,
 * and so is compensation of any stream except a plain one. */
TEST(the_kind_of_a_stream_comes_back)
{
    struct control control = an_opening(), back = {0};
    struct frame frame;
    unsigned int kind;

    control.definition.sync = COP_WAIT_FOR_ALL;
    control.definition.keep = 12345;
    for (kind = STREAM_PLAIN; kind <= STREAM_TOTAL; kind++) {
        control.definition.kind = (enum stream_guarantee)kind;
        control.definition.grow = !control.definition.grow;
        control.definition.compensates = kind == STREAM_PLAIN;
        CHECK_OK(control_encode(&control, &frame));
        CHECK_OK(control_decode(&frame, &back));
        CU_ASSERT_EQUAL(back.definition.kind, kind);
        CU_ASSERT_EQUAL(back.definition.keep, kind == STREAM_WAVES ? 12345 : 0);
        CU_ASSERT_EQUAL(back.definition.grow, control.definition.grow);
        CU_ASSERT_EQUAL(back.definition.compensates, kind == STREAM_PLAIN);
        frame_fini(&frame);
        control_fini(&back);
    }
    control.definition.kind = (enum stream_guarantee)kind;
    CHECK_OK(control_encode(&control, &frame));
    CHECK_IS(control_decode(&frame, &back), -EBADMSG);
    frame_fini(&frame);
    control.definition.kind = STREAM_TOTAL;
    control.definition.compensates = true;
    CHECK_OK(control_encode(&control, &frame));
    CHECK_IS(control_decode(&frame, &back), -EBADMSG);
    frame_fini(&frame);
    control.definition.compensates = false;
    control.definition.kind = STREAM_WAVES;
    control.definition.sync = COP_DO_NOT_WAIT;
    CHECK_OK(control_encode(&control, &frame));
    CHECK_IS(control_decode(&frame, &back), -EBADMSG);
    frame_fini(&frame);
    control_fini(&control);
}

TEST(the_others_come_back)
{
    uint32_t streams[] = {1, 4}, epochs[] = {0, 3};
    uint64_t starts[] = {10, 40}, markers[] = {0, 38};
    struct control enter = {.type = CONTROL_ENTER,
                            .streams = streams,
                            .starts = starts,
                            .markers = markers,
                            .epochs = epochs,
                            .stream_count = 2};
    struct control close = {.type = CONTROL_CLOSE, .stream = 3, .after = 12};
    struct control back = {0};
    struct frame frame;

    CHECK_OK(ranks_add(&enter.ranks, 100, 100));
    CHECK_OK(control_encode(&enter, &frame));
    CHECK_OK(control_decode(&frame, &back));
    CU_ASSERT_EQUAL(back.stream_count, 2);
    CU_ASSERT(back.streams[1] == 4 && back.starts[1] == 40);
    CU_ASSERT(back.markers[1] == 38 && back.epochs[1] == 3);
    CU_ASSERT(ranks_has(&back.ranks, 100));
    frame_fini(&frame);
    control_fini(&back);
    CHECK_OK(control_encode(&close, &frame));
    CHECK_OK(control_decode(&frame, &back));
    CU_ASSERT(back.stream == 3 && back.after == 12);
    frame_fini(&frame);
    control_fini(&back);
    frame = (struct frame){.type = FRAME_CONTROL, .tag = 99};
    CHECK_IS(control_decode(&frame, &back), -EBADMSG);
    ranks_fini(&enter.ranks);
}

TEST(damaged_openings_do_no_harm)
{
    struct control control = an_opening();
    struct frame frame;

    CHECK_OK(control_encode(&control, &frame));
    for (int i = 0; i < MUTATIONS; i++) {
        struct frame bad = mutate(&frame);
        struct control back = {0};

        bad.tag = (int32_t)next_number(8);
        check_result(control_decode(&bad, &back));
        control_fini(&back);
        frame_fini(&bad);
    }
    control_fini(&control);
    frame_fini(&frame);
}

TEST(a_roster_comes_back)
{
    struct roster roster = {0}, back = {0};
    struct frame frame;

    CHECK_OK(ranks_add(&roster.backends, 5, 90));
    for (int i = 0; i < 9; i++)
        CHECK_OK(
            roster_add_internal(&roster, (uint32_t)i, 0, 7, "127.0.0.1 4000"));
    CHECK_OK(roster_add_note(&roster.missing, 3, "n3", "no route to host"));
    CHECK_OK(roster_add_note(&roster.names, 40, "n40", "rank 12"));
    CHECK_OK(roster_add_note(&roster.names, 5, "n5", ""));
    CHECK_OK(roster_encode(&roster, FRAME_READY, &frame));
    CHECK_OK(roster_decode(&frame, &back));
    roster_sort(&back);
    CU_ASSERT_STRING_EQUAL(roster_find(&back.names, 40)->text, "rank 12");
    CU_ASSERT_STRING_EQUAL(roster_find(&back.names, 5)->host, "n5");
    CU_ASSERT_PTR_NULL(roster_find(&back.names, 6));
    CU_ASSERT_EQUAL(back.internal_count, 9);
    CU_ASSERT_STRING_EQUAL(back.internals[8].address, "127.0.0.1 4000");
    CU_ASSERT_STRING_EQUAL(back.missing.list[0].host, "n3");
    CU_ASSERT_EQUAL(ranks_size(&back.backends), 86);
    for (int i = 0; i < MUTATIONS; i++) {
        struct frame bad = mutate(&frame);
        struct roster other = {0};

        check_result(roster_decode(&bad, &other));
        roster_fini(&other);
        frame_fini(&bad);
    }
    frame_fini(&frame);
    roster_fini(&roster);
    roster_fini(&back);
}
