/* test_reconfigurations.c - each reconfiguration algorithm, chosen by its name at
 * launch, in one adoption by real processes. */
#include "test/frontend/tree.h"
#include "test/process/feeding.h"
#include "topology/adopter.h"

#define ALGORITHMS 19 /* DET, and the eighteen of chapter 7 */

/* Rank 1 of 2x2x2 dies: 3 and 4, with two back-ends each, are adopted. */
static void check_adoption(const char *name)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct feeding feeding;
    pid_t nodes[NODES_MAX];

    launch.topology_shape = "2x2x2";
    launch.reconfiguration = name;
    CHECK_OK(feeding_begin(&feeding, launch, 50, 100));
    CU_ASSERT_FATAL(feeding_await(&feeding, 1));
    CU_ASSERT_EQUAL_FATAL(nodes_all(nodes), 6);
    CHECK_OK(kill(nodes[0], SIGKILL));
    CU_ASSERT(feeding_await_events(&feeding, 1, 2));
    CU_ASSERT(feeding.was_lost[1]);
    CU_ASSERT(feeding.was_adopted[3] && feeding.was_adopted[4]);
    CU_ASSERT_EQUAL(feeding.moved, 0);
    CU_ASSERT(feeding_end(&feeding));
    CU_ASSERT(tree_is_clean(TREE_PATIENCE_MS));
}

TEST(each_algorithm_adopts)
{
    unsigned failures;
    const char *name;
    uint32_t i;

    for (i = 0; (name = adopter_name(i)); i++) {
        failures = CU_get_number_of_failures();
        check_adoption(name);
        if (CU_get_number_of_failures() > failures)
            printf("\nthe algorithm was %s\n", name);
    }
    CU_ASSERT_EQUAL(i, ALGORITHMS);
}
