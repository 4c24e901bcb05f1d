/* test_scenario_reconfiguration.c - an adoption with every algorithm (PROTOCOL
 * 7.3, 8.4). */
#include "test/sim/scenario.h"
#include "topology/adopter.h"

/* The children of 3 are orphans of height 1, those of 9 are back-ends. */
#define TREE "0(1(5(11,12),6(13)),2(7(14),8(15)),3(9(16,17),10(18,19)))"

/* A world in which all nodes use the algorithm `name`. */
static struct sim *begin_with(const char *name)
{
    int algorithm = adopter_find(name);

    CHECK_OK(algorithm);
    return sim_launch(TREE, .algorithm = (uint32_t)algorithm);
}

static bool is_among(uint32_t parent, const uint32_t *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ranks[i] == parent)
            return true;
    }
    return false;
}

/* Two failures, one after the other: one of the candidates adopts each orphan,
 * and afterwards every back-end is a member. */
TEST(each_algorithm_heals)
{
    static const uint32_t far[] = {0, 1, 2, 5, 6, 7, 8};

    for (uint32_t algorithm = 0; algorithm < ADOPTER_ALGORITHMS; algorithm++) {
        const char *name = adopter_name(algorithm);
        /* one; the front-end and its children; or all */
        size_t first = strchr(name, '+') || name[0] == 'N' ? 3
                       : name[0] == 'A'                    ? 7
                                                           : 1;
        struct sim *sim = begin_with(name);
        uint32_t stream = sim_open_filter(sim, "int_union");

        sim_crash(sim, 3);
        sim_run(sim, 500);
        CU_ASSERT(is_among(sim_parent(sim, 9), far, first));
        CU_ASSERT(is_among(sim_parent(sim, 10), far, first));
        sim_crash(sim, 9);
        sim_run(sim, 500);
        for (uint32_t i = 16; i <= 17; i++)
            CU_ASSERT(sim_parent(sim, i) != SIM_NONE);
        for (uint32_t i = 11; i <= 19; i++)
            sim_send_int(sim, i, stream, (int)i);
        CHECK_IS(sim_sync_now(sim, stream), 0);
        sim_end(sim);
    }
}

/* PROTOCOL 8.4: only ANY may raise the tree. 6 to 8 have the fewest children;
 * with orphans of height 1 below them the height is 4. */
TEST(only_any_raises_the_tree)
{
    struct sim *sim = begin_with("ANY-WM");

    sim_crash(sim, 3);
    sim_run(sim, 500);
    CU_ASSERT_EQUAL(sim_parent(sim, 9), 6);
    CU_ASSERT_EQUAL(sim_parent(sim, 10), 7);
    sim_end(sim);

    sim = begin_with("NHI-WM");
    sim_crash(sim, 3);
    sim_run(sim, 500);
    CU_ASSERT_EQUAL(sim_parent(sim, 9), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, 10), 1);
    sim_end(sim);
}

/* PROTOCOL 7.3: the grandparent is the nearest live ancestor. 3 and 9 die at
 * once: with GP, 16 and 17 go to the front-end, the parent of 3. */
TEST(a_grandparent_may_be_dead_too)
{
    struct sim *sim = begin_with("GP");

    sim_crash(sim, 3);
    sim_crash(sim, 9);
    sim_run(sim, 2000);
    CU_ASSERT_EQUAL(sim_parent(sim, 10), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, 16), 0);
    CU_ASSERT_EQUAL(sim_parent(sim, 17), 0);
    sim_end(sim);
}

/* The same world twice: choices depend on ranks and incarnations only. */
TEST(random_choices_repeat)
{
    static const char *const names[] = {"ANY-R", "NHI-WR"};

    for (size_t i = 0; i < 2; i++) {
        uint32_t parents[2][2];

        for (int run = 0; run < 2; run++) {
            struct sim *sim = begin_with(names[i]);

            sim_crash(sim, 3);
            sim_run(sim, 500);
            parents[run][0] = sim_parent(sim, 9);
            parents[run][1] = sim_parent(sim, 10);
            sim_end(sim);
        }
        CU_ASSERT(memcmp(parents[0], parents[1], sizeof parents[0]) == 0);
    }
}
