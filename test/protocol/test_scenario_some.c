/* test_scenario_some.c - packets for some of the members (PROTOCOL 10.7). */
#include "test/sim/scenario.h"

#include <stdlib.h>
#include <string.h>

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
    CHECK_OK(sim_send_to(sim, stream, ranks, count, number));
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

    CHECK_IS(sim_send_to(sim, stream, &(uint32_t){0}, 1, 1), -EINVAL);
    CHECK_IS(sim_send_to(sim, stream, &(uint32_t){3}, 1, 1), -EINVAL);
    CHECK_IS(sim_send_to(sim, stream, &(uint32_t){99}, 1, 1), -EINVAL);
    CHECK_IS(sim_send_to(sim, stream, &(uint32_t){RANK_NONE}, 1, 1), -EINVAL);
    CHECK_IS(sim_send_to(sim, stream, twice, 0, 1), -EINVAL);
    CHECK_IS(sim_send_to(sim, waits, twice, 4, 1), -EINVAL);
    CHECK_OK(sim_send_to(sim, stream, twice, 4, 5));
    want(books, 8, 5);
    want(books, 10, 5);
    sim_run(sim, 100);
    CU_ASSERT(balances(books));
    sim_crash(sim, dead);
    sim_wait(sim, 0, TELL_BACKEND_LOST);
    CHECK_IS(sim_send_to(sim, stream, &dead, 1, 1), -ENODEV);
    CHECK_OK(sim_send_to(sim, stream, (uint32_t[]){dead, 7}, 2, 6));
    want(books, 7, 6);
    sim_run(sim, 100);
    CU_ASSERT(balances(books));
    free(books);
}

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
        CHECK_OK(sim_send_to(sim, stream, ranks, count, number));
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
        uint32_t stream =
            sim_open_filter(sim, "", .sync = COP_DO_NOT_WAIT, .grow = true);
        struct books *books = keep_books(sim);
        struct random random;
        bool is_right;

        random_seed(&random, seed);
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
