/* test_rows.c - arbitrary rows of untrusted senders: the cost of processing
 * them is bounded by their number. */
#include "protocol/watch/rows.h"

#include <errno.h>

#include "test/check.h"
#include "wire/limits.h"
#include "wire/ranks.h"

#define ROUNDS 20000
#define FEW    9

static uint32_t seed = 1;

/* A small private generator: the same numbers on every machine. */
static uint32_t next_number(uint32_t below)
{
    seed = seed * UINT32_C(1664525) + UINT32_C(1013904223);
    return (seed >> 8) % below;
}

static bool is_live(uint32_t state)
{
    return state == ROW_UP || state == ROW_DEGRADED;
}

static uint32_t known_ms(uint32_t age_ms)
{
    return age_ms == ROW_UNKNOWN ? 0 : age_ms;
}

/* The rule, literally: walk up from each row that is not live; a node on the
 * path is degraded since the later of its own and that row's time. */
static void degrade_slowly(struct rows *rows)
{
    uint32_t since[FEW] = {0};

    for (uint32_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->list[i];
        uint32_t age_ms = known_ms(row->age_ms);

        for (uint32_t n = 0; !is_live(rows->list[i].state) && n < 3 * FEW;
             n++) {
            row = rows_find(rows, row->parent);
            if (!row)
                break;
            if (!is_live(row->state))
                continue;
            row->state = ROW_DEGRADED;
            if (since[row - rows->list] < age_ms)
                since[row - rows->list] = age_ms;
            if (known_ms(row->age_ms) < age_ms)
                age_ms = known_ms(row->age_ms);
        }
    }
    for (uint32_t i = 0; i < rows->count; i++)
        if (rows->list[i].state == ROW_DEGRADED)
            rows->list[i].age_ms = since[i];
}

/* Hosts, labels and reasons come back with their rows. A label that no back-end
 * may have is refused. */
TEST(texts_stay_with_their_rows)
{
    static const char *const labels[] = {"rank 12", "", "", "x", "a\nb"};

    for (uint32_t count = 4; count <= 5; count++) {
        struct rows rows = {0}, back = {0};
        struct frame frame;
        int r;

        for (uint32_t rank = 0; rank < count; rank++)
            CHECK_OK(rows_add(&rows,
                              &(struct row){
                                  .rank = rank,
                                  .parent = RANK_NONE,
                                  .host = (char[]){"h"},
                                  .label = (char *)(uintptr_t)labels[rank],
                                  .reason = rank % 2 ? (char[]){"lost"} : NULL,
                              }));
        CHECK_OK(rows_encode(&rows, 0, NULL, &frame));
        r = rows_decode(&frame, &back, NULL, 0);
        CHECK_IS(r, count == 5 ? -EBADMSG : 0);
        for (uint32_t rank = 0; rank < back.count; rank++) {
            CU_ASSERT_STRING_EQUAL(back.list[rank].label, labels[rank]);
            CU_ASSERT_EQUAL(back.list[rank].reason != NULL, rank % 2);
        }
        frame_fini(&frame);
        rows_fini(&rows);
        rows_fini(&back);
    }
}

/* Trees and cycles of any shape: one pass gives the same as the paths. */
TEST(one_pass_finds_what_paths_say)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct rows once = {0}, slowly = {0};

        for (uint32_t rank = 0; rank < FEW; rank++) {
            struct row row = {
                .rank = rank,
                .parent = next_number(FEW + 1),
                .state = next_number(ROW_STATES),
                .age_ms = next_number(8) ? next_number(5) * 100 : ROW_UNKNOWN,
            };

            CHECK_OK(rows_add(&once, &row));
            CHECK_OK(rows_add(&slowly, &row));
        }
        CHECK_OK(rows_degrade(&once));
        degrade_slowly(&slowly);
        for (uint32_t i = 0; i < FEW; i++) {
            CU_ASSERT_EQUAL(once.list[i].state, slowly.list[i].state);
            CU_ASSERT_EQUAL(once.list[i].age_ms, slowly.list[i].age_ms);
        }
        rows_fini(&once);
        rows_fini(&slowly);
    }
}

/* The maximum number of rows in one chain, none of them live: a path for each
 * would take two billion steps, each with a search. */
TEST(the_longest_path_is_walked_once)
{
    struct rows rows = {0};

    for (uint32_t rank = 0; rank < LIMIT_STATUS_ROWS; rank++) {
        struct row row = {
            .rank = rank,
            .parent = rank ? rank - 1 : RANK_NONE,
            .state = rank ? ROW_SILENT : ROW_UP,
            .age_ms = rank ? rank : ROW_UNKNOWN - 1,
        };

        CHECK_OK(rows_add(&rows, &row));
    }
    CHECK_OK(rows_degrade(&rows));
    CU_ASSERT_EQUAL(rows.list[0].state, ROW_DEGRADED);
    CU_ASSERT_EQUAL(rows.list[0].age_ms, LIMIT_STATUS_ROWS - 1);
    rows_fini(&rows);
}

/* Two senders each report that all nodes were left out: the sum stays one that
 * the next reader accepts, so the honest node between keeps its link. */
TEST(what_is_left_off_stays_readable)
{
    struct rows rows = {0}, more = {.left_off = LIMIT_NODES};
    struct frame frame;

    CHECK_OK(rows_append(&rows, &more));
    more.left_off = LIMIT_NODES;
    CHECK_OK(rows_append(&rows, &more));
    CHECK_OK(rows_encode(&rows, 0, NULL, &frame));
    CHECK_OK(rows_decode(&frame, &rows, NULL, 0));
    CU_ASSERT_EQUAL(rows.left_off, LIMIT_NODES);
    frame_fini(&frame);
    rows_fini(&rows);
}
