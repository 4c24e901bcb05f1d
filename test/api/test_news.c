/* test_news.c - events that wait while the application takes none. */
#include <errno.h>

#include "api/news.h"
#include "test/check.h"
#include "wire/limits.h"

static void add(struct news *news, enum cop_event_type type, uint32_t rank)
{
    CHECK_OK(news_add(news, &(struct cop_event){.type = type, .rank = rank},
                      "text"));
}

/* How many events of that type and rank wait; all are taken. */
static size_t taken(struct news *news, enum cop_event_type type, uint32_t rank)
{
    struct cop_event event = COP_EVENT_INIT;
    size_t count = 0;

    while (news_take(news, &event) == 0)
        count += event.type == type && event.rank == rank;
    CHECK_IS(news_take(news, &event), -EAGAIN);
    return count;
}

/* One node floods: the events of others stay, and its own last ones. */
TEST(a_flood_pushes_no_other_event_out)
{
    static const enum cop_event_type floods[] = {
        COP_EVENT_FILTER_ERROR, COP_EVENT_NODE_ADOPTED, COP_EVENT_NODE_LOST,
        COP_EVENT_NODE_REFUSED};
    struct news news = {0};

    for (size_t i = 0; i < 4; i++) {
        add(&news, COP_EVENT_FILTER_ERROR, 3);
        add(&news, COP_EVENT_BACKEND_LOST, 5);
        for (int k = 0; k < 3 * LIMIT_EVENTS; k++)
            add(&news, floods[i], 7);
        CU_ASSERT_EQUAL(news.count, LIMIT_EVENTS_OF_NODE + 2);
        CU_ASSERT_EQUAL(taken(&news, COP_EVENT_BACKEND_LOST, 5), 1);
        add(&news, COP_EVENT_FILTER_ERROR, 3);
        add(&news, COP_EVENT_BACKEND_LOST, 7);
        for (int k = 0; k < 3 * LIMIT_EVENTS; k++)
            add(&news, floods[i], 7);
        CU_ASSERT_EQUAL(taken(&news, COP_EVENT_BACKEND_LOST, 7), 1);
        CU_ASSERT_EQUAL(news.count, 0);
        CU_ASSERT_PTR_NULL(news.nodes);
    }
    add(&news, COP_EVENT_NODE_LOST, 7);
    news_fini(&news);
}

/* The last ones of a node are kept, in order, among those of others. */
TEST(the_oldest_of_the_node_goes)
{
    struct cop_event event = COP_EVENT_INIT;
    struct news news = {0};

    for (uint32_t number = 0; number < 2 * LIMIT_EVENTS_OF_NODE; number++) {
        CHECK_OK(news_add(&news,
                          &(struct cop_event){.type = COP_EVENT_FILTER_ERROR,
                                              .rank = 7,
                                              .stream_id = number},
                          NULL));
        if (number == LIMIT_EVENTS_OF_NODE - 1)
            add(&news, COP_EVENT_BACKEND_LOST, 5);
    }
    CHECK_OK(news_take(&news, &event));
    CU_ASSERT_EQUAL(event.type, COP_EVENT_BACKEND_LOST);
    for (uint32_t number = LIMIT_EVENTS_OF_NODE;
         number < 2 * LIMIT_EVENTS_OF_NODE; number++) {
        CHECK_OK(news_take(&news, &event));
        CU_ASSERT_EQUAL(event.stream_id, number);
    }
    CHECK_IS(news_take(&news, &event), -EAGAIN);
    news_fini(&news);
}

/* Events of all together have a limit, too. */
TEST(the_oldest_of_all_goes)
{
    struct cop_event event = COP_EVENT_INIT;
    struct news news = {0};

    for (uint32_t rank = 0; rank <= LIMIT_EVENTS; rank++)
        add(&news, COP_EVENT_NODE_LOST, rank);
    CU_ASSERT_EQUAL(news.count, LIMIT_EVENTS);
    CHECK_OK(news_take(&news, &event));
    CU_ASSERT_EQUAL(event.rank, 1);
    news_fini(&news);
}
