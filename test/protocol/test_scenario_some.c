/* test_scenario_some.c - packets for some of the members (PROTOCOL 10.7). */
#include "test/sim/scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"
#include "sim/random.h"

#define TREE  "0(1(3(7,8),4(9,10)),2(5(11,12),6(13,14)))"
#define FIRST 7
#define LAST  14
#define ROOM  20 /* ranks, joiners included */
#define MOST  2000

/* The numbers that each back-end has taken, and those that it should take. */
struct books {
    int taken[ROOM][MOST], taken_count[ROOM];
    int wanted[ROOM][MOST], wanted_count[ROOM];
    bool dead[ROOM];
    uint32_t joiners;
    unsigned data, skips, all_data;
    uint32_t from, to; /* count frames of this link */
};

static void take_number(struct sim *sim,
                        uint32_t index,
                        uint32_t stream,
                        const struct frame *frame,
                        void *arg)
{
    struct books *books = arg;
    uint32_t rank = sim_rank(sim, index);
    struct cop_packet *packet = NULL;
    int number = -1;

    (void)stream;
    CHECK_OK(packet_open(&packet, frame->payload));
    CHECK_OK(cop_packet_unpack(packet, "%d", &number));
    cop_packet_free(packet);
    CU_ASSERT_FATAL(rank < ROOM && books->taken_count[rank] < MOST);
    books->taken[rank][books->taken_count[rank]++] = number;
}

static struct books *keep_books(struct sim *sim)
{
    struct books *books = calloc(1, sizeof(*books));

    CU_ASSERT_PTR_NOT_NULL_FATAL(books);
    for (uint32_t rank = FIRST; rank <= LAST; rank++)
        sim_set_app(sim, rank,
                    &(struct sim_app){.taken = take_number, .arg = books});
    return books;
}

static int ask_to(struct sim *sim,
                  uint32_t stream,
                  const uint32_t *ranks,
                  size_t count,
                  int number)
{
    struct payload *payload = NULL;

    CHECK_OK(packet_pack(&payload, "%d", number));
    return sim_send_to(sim, stream, ranks, count, payload);
}

static void want(struct books *books, uint32_t rank, int number)
{
    books->wanted[rank][books->wanted_count[rank]++] = number;
}

/* Send `number` to `count` of the back-ends, from `first` on. */
static void send_to(struct sim *sim,
                    struct books *books,
                    uint32_t stream,
                    uint32_t first,
                    uint32_t count,
                    int number)
{
    uint32_t ranks[ROOM];

    for (uint32_t i = 0; i < count; i++) {
        ranks[i] = first + i;
        want(books, ranks[i], number);
    }
    CHECK_OK(ask_to(sim, stream, ranks, count, number));
}

static bool is_even(struct sim *sim, void *arg)
{
    const struct books *books = arg;

    (void)sim;
    for (uint32_t rank = 0; rank < ROOM; rank++)
        if (books->taken_count[rank] < books->wanted_count[rank] &&
            !books->dead[rank])
            return false;
    return true;
}

/* Whether each has taken exactly what it should, in order. */
static bool balances(const struct books *books)
{
    for (uint32_t rank = 0; rank < ROOM; rank++)
        if (books->taken_count[rank] > books->wanted_count[rank] ||
            (books->taken_count[rank] < books->wanted_count[rank] &&
             !books->dead[rank]) ||
            memcmp(books->taken[rank], books->wanted[rank],
                   sizeof(int) * (size_t)books->taken_count[rank]) != 0) {
            printf("rank %u: %d taken, %d wanted\n", rank,
                   books->taken_count[rank], books->wanted_count[rank]);
            return false;
        }
    return true;
}

static void count_frames(struct sim *sim,
                         uint32_t index,
                         uint32_t peer,
                         const struct frame *frame,
                         size_t len,
                         void *arg)
{
    struct books *books = arg;

    (void)len;
    if (sim_rank(sim, index) > peer && index != 0)
        return;
    books->all_data += frame->type == FRAME_DATA;
    if (index != books->from || peer != books->to)
        return;
    books->data += frame->type == FRAME_DATA;
    books->skips += frame->type == FRAME_SKIP;
}

/* PROTOCOL 10.7: only the links on the way to the member carry the packet; the
 * others get one SKIP with a heartbeat. */
SCENARIO(only_the_branch_that_needs_it, TREE)
{
    uint32_t stream = sim_open_filter(sim, "", .sync = COP_DO_NOT_WAIT);
    struct books *books = keep_books(sim);

    books->from = 0;
    books->to = 2;
    sim_watch(sim, &(struct sim_watch){.wrote = count_frames, .arg = books});
    for (int k = 0; k < 100; k++)
        send_to(sim, books, stream, 7, 1, k);
    sim_run(sim, 50);
    CU_ASSERT(balances(books));
    CU_ASSERT_EQUAL(books->all_data, 300);
    CU_ASSERT_EQUAL(books->data, 0);
    sim_run(sim, 2000);
    CU_ASSERT(books->skips >= 1 && books->skips <= 2);
    free(books);
}

/* PROTOCOL 10.7: in order with packets for all. */
SCENARIO(in_order_with_packets_for_all, TREE)
{
    uint32_t stream = sim_open_filter(sim, "", .sync = COP_DO_NOT_WAIT);
    struct books *books = keep_books(sim);

    for (int k = 0; k < 200; k++) {
        if (k % 5 == 0) {
            sim_send_int(sim, 0, stream, k);
            for (uint32_t rank = FIRST; rank <= LAST; rank++)
                want(books, rank, k);
        } else {
            send_to(sim, books, stream, FIRST + (uint32_t)k % 6, 1 + k % 3, k);
        }
    }
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT(balances(books));
    free(books);
}

/* PROTOCOL 10.7: which ranks may be named. */
SCENARIO(ranks_that_are_no_members, TREE)
{
    uint32_t stream = sim_open_filter(sim, "", .sync = COP_DO_NOT_WAIT);
    uint32_t waits = sim_open_filter(sim, "");
    struct books *books = keep_books(sim);
    uint32_t dead = 9, twice[] = {8, 8, 10, 8};

    CHECK_IS(ask_to(sim, stream, &(uint32_t){0}, 1, 1), -EINVAL);
    CHECK_IS(ask_to(sim, stream, &(uint32_t){3}, 1, 1), -EINVAL);
    CHECK_IS(ask_to(sim, stream, &(uint32_t){99}, 1, 1), -EINVAL);
    CHECK_IS(ask_to(sim, stream, &(uint32_t){RANK_NONE}, 1, 1), -EINVAL);
    CHECK_IS(ask_to(sim, stream, twice, 0, 1), -EINVAL);
    CHECK_IS(ask_to(sim, waits, twice, 4, 1), -EINVAL);
    CHECK_OK(ask_to(sim, stream, twice, 4, 5));
    want(books, 8, 5);
    want(books, 10, 5);
    sim_run(sim, 100);
    CU_ASSERT(balances(books));
    sim_crash(sim, dead);
    sim_wait(sim, 0, TELL_BACKEND_LOST);
    CHECK_IS(ask_to(sim, stream, &dead, 1, 1), -ENODEV);
    CHECK_OK(ask_to(sim, stream, (uint32_t[]){dead, 7}, 2, 6));
    want(books, 7, 6);
    sim_run(sim, 100);
    CU_ASSERT(balances(books));
    free(books);
}

/* ---- much, and nothing to wait for ---- */

/* Send `bytes` to `rank` now, or as soon as the front-end may (3.5). */
static void send_bytes(struct sim *sim,
                       uint32_t stream,
                       uint32_t rank,
                       uint32_t bytes)
{
    int r;

    do {
        struct payload *payload = NULL;
        char *filler = calloc(1, bytes);

        CU_ASSERT_PTR_NOT_NULL_FATAL(filler);
        CHECK_OK(packet_pack(&payload, "%ac", filler, bytes));
        r = sim_send_to(sim, stream, &rank, 1, payload);
        free(filler);
        if (r == -EAGAIN)
            sim_run(sim, 1);
    } while (r == -EAGAIN);
    CHECK_OK(r);
}

/* PROTOCOL 10.7: a run of skipped numbers stays one frame on every level, also
 * if claims are wanted at once. */
SCENARIO(a_long_run_is_few_frames, TREE)
{
    uint32_t stream = sim_open_filter(sim, "", .sync = COP_DO_NOT_WAIT);
    struct books *books = keep_books(sim);

    for (uint32_t rank = FIRST; rank <= LAST; rank++)
        sim_set_app(sim, rank, &(struct sim_app){0});
    books->from = 2;
    books->to = 5;
    sim_watch(sim, &(struct sim_watch){.wrote = count_frames, .arg = books});
    for (int k = 0; k < 900; k++)
        send_bytes(sim, stream, 7, 8 << 10);
    sim_run(sim, 50);
    CU_ASSERT_EQUAL(books->data, 0);
    CU_ASSERT(books->skips >= 3 && books->skips <= 8);
    free(books);
}

/* PROTOCOL 10.7, 3.5: what is sent to one member, or to all in turn, does not
 * wait for a heartbeat every 4 MiB. */
SCENARIO(much_waits_for_no_heartbeat, TREE)
{
    uint32_t stream = sim_open_filter(sim, "", .sync = COP_DO_NOT_WAIT);

    for (uint32_t members = 1; members <= 8; members += 7) {
        uint64_t begin_ms = sim_now_ms(sim);

        for (uint32_t k = 0; k < 200; k++)
            send_bytes(sim, stream, FIRST + k % members, 100 << 10);
        CU_ASSERT(sim_now_ms(sim) - begin_ms < LIMIT_HEARTBEAT_MS);
    }
}

/* PROTOCOL 10.7, 3.1b: the numbers before a CLOSE are told at once, on every
 * level, whether CLOSE comes before or behind them. */
SCENARIO(a_close_waits_for_no_heartbeat, TREE)
{
    uint32_t stream = sim_open_filter(sim, "", .sync = COP_DO_NOT_WAIT);
    struct books *books = keep_books(sim);

    sim_run(sim, 3 * LIMIT_HEARTBEAT_MS + 20);
    for (int k = 0; k < 3; k++)
        send_to(sim, books, stream, 7, 1, k);
    sim_run(sim, 10);
    for (int k = 3; k < 6; k++)
        send_to(sim, books, stream, 7, 1, k);
    CHECK_OK(sim_close(sim, 0, stream));
    sim_run(sim, 20);
    CU_ASSERT(balances(books));
    for (uint32_t rank = FIRST; rank <= LAST; rank++)
        CU_ASSERT_EQUAL(sim_told(sim, rank, TELL_CLOSED), 1);
    free(books);
}

/* ---- filters ---- */

/* PROTOCOL 10.7, 5.5: a one-to-one downstream filter is called on the way to
 * the members only, and its output is for them. */
SCENARIO(a_downstream_filter_on_the_way, TREE)
{
    uint32_t stream = sim_open_filter(sim, "", .sync = COP_DO_NOT_WAIT,
                                      .down_filter = (char[]){"count"});
    struct books *books = keep_books(sim);
    uint64_t begin_ms;

    sim_set_filter_ms(sim, 2, 1000); /* not on the way to 7 and 8 */
    begin_ms = sim_now_ms(sim);
    for (int k = 0; k < 20; k++)
        send_to(sim, books, stream, 7, 1 + k % 2, k);
    sim_run(sim, 50);
    CU_ASSERT(balances(books));
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT(sim_now_ms(sim) - begin_ms < 1000);
    sim_set_filter_ms(sim, 2, 0);
    send_to(sim, books, stream, 10, 4, 20);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT(balances(books));
    free(books);
}

/* PROTOCOL 10.7, 5.5: if filters number packets anew nothing is sent twice, and
 * the stream goes on after an adoption. */
SCENARIO(numbers_of_a_filter, TREE)
{
    uint32_t stream = sim_open_filter(sim, "", .sync = COP_DO_NOT_WAIT,
                                      .down_filter = (char[]){"int_union"});
    uint32_t before;

    for (int32_t k = 0; k < 6; k++) {
        uint32_t ranks[] = {7, 13};
        struct payload *payload = NULL;

        if (k == 3) {
            sim_crash(sim, 3);
            sim_run(sim, 5000);
        }
        before = sim_taken(sim, 13, stream);
        CHECK_OK(packet_pack(&payload, "%ad", &k, (uint32_t)1));
        CHECK_OK(sim_send_to(sim, stream, ranks, 2, payload));
        sim_run(sim, 2000);
        CU_ASSERT_EQUAL(sim_taken(sim, 13, stream), before + 1);
    }
    for (uint32_t rank = 9; rank <= 12; rank++)
        CU_ASSERT_EQUAL(sim_taken(sim, rank, stream), 0);
}

/* ---- hostile parents ---- */

/* A node that reads `skip` closes the link, and is adopted again. */
static void refuses_skip(struct sim *sim, struct frame skip)
{
    struct node_adoption last;
    unsigned count = sim_adopted(1, &last);

    skip.type = FRAME_SKIP;
    sim_inject(sim, 0, 1, &skip);
    sim_run(sim, 3000);
    CU_ASSERT_EQUAL(sim_adopted(1, &last), count + 1);
}

/* PROTOCOL 2.5, 10.7: numbers that no parent skips. */
SCENARIO(skips_that_make_no_sense, "0(1(2))")
{
    uint32_t stream = sim_open_filter(sim, "", .sync = COP_DO_NOT_WAIT);
    struct frame skip = {.type = FRAME_SKIP, .stream = stream, .tag = 1};

    refuses_skip(sim, (struct frame){.stream = 0, .origin = 1, .number = 1});
    refuses_skip(sim, (struct frame){.stream = 9, .origin = 1, .number = 1});
    refuses_skip(sim, (struct frame){.stream = stream, .number = 1});
    refuses_skip(sim,
                 (struct frame){.stream = stream, .origin = 2, .number = 1});
    refuses_skip(sim, (struct frame){.stream = stream,
                                     .origin = LIMIT_SKIPS + 1,
                                     .number = LIMIT_SKIPS + 1});
    refuses_skip(
        sim,
        (struct frame){.stream = stream, .tag = -1, .origin = 1, .number = 1});
    sim_send_int(sim, 0, stream, 5);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_taken(sim, 2, stream), 1);
    /* a FEED for each that the parent could not know, and no more */
    skip.tag = 0;
    skip.number = 4;
    skip.origin = 2;
    skip.count = 4;
    sim_inject(sim, 0, 1, &skip);
    sim_run(sim, 100);
    sim_send_int(sim, 0, stream, 6);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    CU_ASSERT_EQUAL(sim_taken(sim, 2, stream), 2);
    /* behind a gap */
    refuses_skip(sim,
                 (struct frame){
                     .stream = stream, .origin = 1, .count = 90, .number = 90});
}

/* PROTOCOL 3.5: what a parent may have skipped without an answer is limited. */
SCENARIO(no_endless_run, "0(1(2))")
{
    uint32_t stream = sim_open_filter(sim, "", .sync = COP_DO_NOT_WAIT);
    struct frame skip = {
        .type = FRAME_SKIP,
        .stream = stream,
        .tag = INT32_MAX,
        .origin = LIMIT_SKIPS,
    };

    sim_crash(sim, 2); /* nobody takes them */
    for (int k = 1; k <= 20 && sim_parent(sim, 1) == 0; k++) {
        skip.number = (uint64_t)k * LIMIT_SKIPS;
        skip.count = (uint32_t)skip.number;
        sim_inject(sim, 0, 1, &skip);
        if (node_stream(sim_node(sim, 1), stream))
            CU_ASSERT(node_held_bytes(sim_node(sim, 1), stream) <=
                      8 * LIMIT_SKIPS * 32);
    }
}

/* ---- random worlds ---- */

#define STEPS 400

/* Send `number` to all members, or to each with a probability of `percent`. */
static void send_some(struct sim *sim,
                      struct books *books,
                      struct random *random,
                      uint32_t stream,
                      unsigned percent,
                      int number)
{
    const struct ranks *members = node_members(sim_node(sim, 0), stream);
    uint32_t ranks[ROOM], count = 0, rank = RANK_NONE;

    while ((rank = ranks_after(members, rank)) != RANK_NONE)
        if (random_chance(random, percent))
            ranks[count++] = rank;
    if (count == 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        want(books, ranks[i], number);
    if (percent == 100)
        sim_send_int(sim, 0, stream, number);
    else
        CHECK_OK(ask_to(sim, stream, ranks, count, number));
}

/* A back-end joins. */
static void attach(struct sim *sim, struct books *books, uint32_t node)
{
    uint32_t index;

    if (books->joiners == ROOM - LAST - 1 || !sim_is_alive(sim, node))
        return;
    books->joiners++;
    index = sim_attach(sim, node);
    sim_set_app(sim, index,
                &(struct sim_app){.taken = take_number, .arg = books});
}

/* One thing that happens in a random world. */
static void step(struct sim *sim,
                 struct books *books,
                 struct random *random,
                 uint32_t stream,
                 int number)
{
    uint64_t what = random_between(random, 0, 999);
    uint32_t node = (uint32_t)random_between(random, 1, 6);
    uint32_t leaf = (uint32_t)random_between(random, FIRST, LAST);

    if (what < 700)
        send_some(sim, books, random, stream, 15, number);
    else if (what < 800)
        send_some(sim, books, random, stream, 100, number);
    else if (what < 815 && sim_is_alive(sim, node))
        sim_crash(sim, node);
    else if (what < 825 && sim_is_alive(sim, node) &&
             sim_parent(sim, node) != SIM_NONE)
        sim_cut(sim, node, sim_parent(sim, node));
    else if (what < 835 && sim_is_alive(sim, leaf) &&
             sim_parent(sim, leaf) != SIM_NONE)
        sim_cut(sim, leaf, sim_parent(sim, leaf));
    else if (what < 845 && sim_is_alive(sim, node))
        sim_freeze(sim, node, random_between(random, 1, 5000));
    else if (what < 855)
        sim_sync(sim, stream, NULL);
    else if (what < 865)
        attach(sim, books, node);
    else if (what < 867 && sim_is_alive(sim, leaf)) {
        sim_crash(sim, leaf);
        books->dead[leaf] = true;
    }
    if (random_between(random, 0, 3) == 0)
        sim_run(sim, random_between(random, 0, 100));
}

/* PROTOCOL 10.7: nodes die, stop and join, and links break: each back-end has
 * taken exactly what was for it, in order. */
TEST(exactly_those_for_it_in_order_whatever_dies)
{
    const char *seeds = getenv("SOME_SEEDS"), *begin = getenv("SOME_FROM");
    uint64_t from = begin ? strtoull(begin, NULL, 10) : 1;
    uint64_t upto = from + (seeds ? strtoull(seeds, NULL, 10) : 300);

    for (uint64_t seed = from; seed < upto; seed++) {
        struct sim *sim = sim_launch(TREE, .seed = seed, .delay_min_ms = 1,
                                     .delay_max_ms = 1 + seed % 20);
        char none[] = "", count[] = "count"; /* a filter on the way, or not */
        uint32_t stream =
            sim_open_filter(sim, "", .sync = COP_DO_NOT_WAIT, .grow = true,
                            .down_filter = seed % 2 ? count : none);
        struct books *books = keep_books(sim);
        struct random random;
        bool is_right;

        random_seed(&random, seed);
        for (uint32_t node = 0; seed % 2 && node < FIRST; node++)
            sim_set_filter_ms(sim, node,
                              (uint32_t)random_between(&random, 0, 20));
        for (int k = 0; k < STEPS; k++)
            step(sim, books, &random, stream, k);
        sim_run_while_not(sim, 120000, is_even, books);
        sim_run(sim, 80000); /* those that have died are given up */
        is_right = balances(books) && sim_sync_now(sim, stream) >= 0;
        if (!is_right || sim_failure(sim))
            printf("seed %llu: %s\n", (unsigned long long)seed,
                   sim_failure(sim) ? sim_failure(sim) : "");
        CU_ASSERT(is_right);
        free(books);
        sim_end(sim);
    }
}
