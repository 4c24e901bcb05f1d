/* test_scenario_reconfiguration.c - every algorithm through an adoption
 * (PROTOCOL 7.3, 8.4). */
#include "test/sim/script.h"
#include "topology/adopter.h"

/* The children of 3 are orphans of height 1, those of 9 back-ends. */
#define TREE "0(1(5(11,12),6(13)),2(7(14),8(15)),3(9(16,17),10(18,19)))"

/* A world whose nodes all choose by `name`. */
static struct sim *begin(const char *name)
{
    int algorithm = adopter_find(name);
    struct sim_config config = {.trace = SCRIPT_TRACE,
                                .algorithm = (uint32_t)algorithm};

    CHECK_OK(algorithm);
    return script_tree(TREE, &config);
}

static uint32_t parent_of(struct sim *sim, uint32_t rank)
{
    return sim_parent(sim, script_at(sim, rank));
}

static bool is_among(struct sim *sim,
                     uint32_t parent,
                     const uint32_t *ranks,
                     size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (script_at(sim, ranks[i]) == parent)
            return true;
    }
    return false;
}

/* Two failures, one after another, of which all orphans are adopted by one of
 * the candidates; all is in afterwards. */
TEST(each_algorithm_heals)
{
    static const uint32_t far[] = {0, 1, 2, 5, 6, 7, 8};
    uint32_t algorithm;

    for (algorithm = 0; algorithm < ADOPTER_ALGORITHMS; algorithm++) {
        const char *name = adopter_name(algorithm);
        /* one; the front-end and its children; or all */
        size_t first = strchr(name, '+') || name[0] == 'N' ? 3
                       : name[0] == 'A'                    ? 7
                                                           : 1;
        struct sim *sim = begin(name);
        uint32_t stream = SIM_OPEN(sim, "int_union");
        uint32_t i;

        sim_crash(sim, script_at(sim, 3));
        SIM_RUN(sim, 500);
        CU_ASSERT(is_among(sim, parent_of(sim, 9), far, first));
        CU_ASSERT(is_among(sim, parent_of(sim, 10), far, first));
        sim_crash(sim, script_at(sim, 9));
        SIM_RUN(sim, 500);
        for (i = 16; i <= 17; i++)
            CU_ASSERT(parent_of(sim, i) != SIM_NONE);
        for (i = 11; i <= 19; i++)
            SIM_SEND(sim, i, stream, (int)i);
        CHECK_IS(script_sync(sim, stream), 0);
        SIM_END(sim);
    }
}

/* PROTOCOL 8.4: only ANY may raise the tree. 6 to 8 have the fewest children;
 * below them the orphans of height 1 make it 4 high. */
TEST(only_any_raises_the_tree)
{
    struct sim *sim = begin("ANY-WM");

    sim_crash(sim, script_at(sim, 3));
    SIM_RUN(sim, 500);
    CU_ASSERT_EQUAL(parent_of(sim, 9), script_at(sim, 6));
    CU_ASSERT_EQUAL(parent_of(sim, 10), script_at(sim, 7));
    SIM_END(sim);

    sim = begin("NHI-WM");
    sim_crash(sim, script_at(sim, 3));
    SIM_RUN(sim, 500);
    CU_ASSERT_EQUAL(parent_of(sim, 9), script_at(sim, 0));
    CU_ASSERT_EQUAL(parent_of(sim, 10), script_at(sim, 1));
    SIM_END(sim);
}

/* PROTOCOL 7.3: the grandparent is the nearest ancestor that lives. 3 and 9
 * die at once: 16 and 17 go to the front-end, the parent of 3, with GP. */
TEST(a_grandparent_may_be_dead_too)
{
    struct sim *sim = begin("GP");

    sim_crash(sim, script_at(sim, 3));
    sim_crash(sim, script_at(sim, 9));
    SIM_RUN(sim, 2000);
    CU_ASSERT_EQUAL(parent_of(sim, 10), script_at(sim, 0));
    CU_ASSERT_EQUAL(parent_of(sim, 16), script_at(sim, 0));
    CU_ASSERT_EQUAL(parent_of(sim, 17), script_at(sim, 0));
    SIM_END(sim);
}

/* The same world twice: what is random comes from ranks and incarnations. */
TEST(random_choices_repeat)
{
    static const char *const names[] = {"ANY-R", "NHI-WR"};
    size_t i;

    for (i = 0; i < 2; i++) {
        uint32_t parents[2][2];
        int run;

        for (run = 0; run < 2; run++) {
            struct sim *sim = begin(names[i]);

            sim_crash(sim, script_at(sim, 3));
            SIM_RUN(sim, 500);
            parents[run][0] = parent_of(sim, 9);
            parents[run][1] = parent_of(sim, 10);
            SIM_END(sim);
        }
        CU_ASSERT(memcmp(parents[0], parents[1], sizeof parents[0]) == 0);
    }
}

int main(void)
{
    return check_run("scenario reconfiguration");
}
