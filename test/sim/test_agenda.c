/* test_agenda.c - the order of events in the simulated world, and chance. */
#include "sim/agenda.h"

#include "sim/random.h"
#include "test/check.h"

/* Entries come in the order of time, and at equal times of creation. */
TEST(entries_come_in_order)
{
    struct agenda agenda = {0};
    struct agenda_entry entry = {.type = AGENDA_TICK};
    struct agenda_entry before = {0};
    struct random random;
    size_t count = 0;

    random_seed(&random, 1);
    CU_ASSERT_EQUAL(agenda_next_ms(&agenda), UINT64_MAX);
    for (int i = 0; i < 2000; i++) {
        entry.at_ms = random_between(&random, 0, 100);
        agenda_add(&agenda, entry);
    }
    while (agenda_next_ms(&agenda) != UINT64_MAX) {
        uint64_t next_ms = agenda_next_ms(&agenda);

        CU_ASSERT_TRUE_FATAL(agenda_take(&agenda, &entry));
        CU_ASSERT_EQUAL(entry.at_ms, next_ms);
        if (count++ > 0)
            CU_ASSERT(
                before.at_ms < entry.at_ms ||
                (before.at_ms == entry.at_ms && before.serial < entry.serial));
        before = entry;
    }
    CU_ASSERT_EQUAL(count, 2000);
    CU_ASSERT_FALSE(agenda_take(&agenda, &entry));
    agenda_fini(&agenda);
}

/* A delayed entry keeps its place among the entries of the same time. */
TEST(delayed_entries_keep_their_order)
{
    struct agenda agenda = {0};
    struct agenda_entry entry = {.type = AGENDA_TICK};

    for (uint32_t i = 0; i < 10; i++) {
        entry.at_ms = i;
        entry.node = i;
        agenda_add(&agenda, entry);
    }
    for (uint32_t i = 0; i < 10; i++) {
        CU_ASSERT_TRUE_FATAL(agenda_take(&agenda, &entry));
        entry.at_ms = 50;
        agenda_delay(&agenda, entry);
    }
    for (uint32_t i = 0; i < 10; i++) {
        CU_ASSERT_TRUE_FATAL(agenda_take(&agenda, &entry));
        CU_ASSERT_EQUAL(entry.node, i);
    }
    agenda_fini(&agenda);
}

/* xoshiro256** seeded by splitmix64(0): the published first numbers. */
TEST(chance_is_the_same_everywhere)
{
    struct random random;

    random_seed(&random, 0);
    CU_ASSERT_EQUAL(random.state[0], UINT64_C(0xe220a8397b1dcdaf));
    CU_ASSERT_EQUAL(random.state[1], UINT64_C(0x6e789e6aa1b965f4));
    CU_ASSERT_EQUAL(random_next(&random), UINT64_C(0x99ec5f36cb75f2b4));
    CU_ASSERT_EQUAL(random_next(&random), UINT64_C(0xbf6e1f784956452a));
    for (int i = 0; i < 1000; i++) {
        uint64_t drawn = random_between(&random, 3, 5);

        CU_ASSERT(drawn >= 3 && drawn <= 5);
        CU_ASSERT_TRUE(random_chance(&random, 100));
        CU_ASSERT_FALSE(random_chance(&random, 0));
    }
}
