/* test_spares.c - freed large blocks are kept within a bound, and returned. */
#include "wire/spares.h"

#include <pthread.h>

#include "test/check.h"

#define ROUNDS 20000

static struct spares spares;

/* Returns a new block, from a set that keeps none. */
static void *block_of(size_t len)
{
    static struct spares none;
    void *block = spares_take(&none, len);

    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    memset(block, 1, 64);
    return block;
}

/* A block has the requested length, or up to an eighth more. Blocks of nearly
 * equal lengths have the same length. */
TEST(lengths_are_rounded)
{
    size_t block_len;

    CU_ASSERT_EQUAL(spare_len(SPARE_MIN - 1), 0);
    CU_ASSERT_EQUAL(spare_len(SPARE_MAX + 1), 0);
    CU_ASSERT_EQUAL(spare_len(SPARE_MIN), SPARE_MIN);
    CU_ASSERT_EQUAL(spare_len(SPARE_MAX), SPARE_MAX);
    CU_ASSERT_EQUAL(spare_len((1 << 20) + 50), spare_len((1 << 20) + 9000));
    for (size_t len = SPARE_MIN; len <= SPARE_MAX; len += 4093) {
        block_len = spare_len(len);
        CU_ASSERT(block_len >= len && block_len <= len + len / 8);
        CU_ASSERT_EQUAL(spare_len(block_len), block_len);
    }
}

/* The block that was put last is reused first, only for its own length, and by
 * one user. */
TEST(the_newest_is_used_first)
{
    size_t len = spare_len(100000);
    void *first = block_of(len);
    void *second = block_of(len);
    void *other;

    spares_put(&spares, first, len);
    spares_put(&spares, second, len);
    other = spares_take(&spares, spare_len(200000));
    CU_ASSERT_PTR_NOT_NULL(other);
    CU_ASSERT_EQUAL(spares.count, 2);
    CU_ASSERT_PTR_EQUAL(spares_take(&spares, len), second);
    CU_ASSERT_PTR_EQUAL(spares_take(&spares, len), first);
    CU_ASSERT_EQUAL(spares.count, 0);
    CU_ASSERT_EQUAL(spares.bytes, 0);
    spares_put(&spares, other, spare_len(200000));
    spares_put(&spares, first, len);
    spares_put(&spares, second, len);
    spares_clear(&spares);
}

/* Above the bound for blocks or for bytes, the oldest blocks are freed. */
TEST(no_more_is_kept_than_the_bound)
{
    void *block = NULL;

    for (int i = 0; i < SPARES_MAX + 5; i++) {
        block = block_of(SPARE_MIN);
        spares_put(&spares, block, SPARE_MIN);
    }
    CU_ASSERT_EQUAL(spares.count, SPARES_MAX);
    CU_ASSERT_EQUAL(spares.bytes, SPARES_MAX * SPARE_MIN);
    CU_ASSERT_PTR_EQUAL(spares.list[SPARES_MAX - 1].block, block);
    for (size_t i = 0; i < SPARES_BYTES_MAX / SPARE_MAX + 1; i++) {
        block = block_of(SPARE_MAX);
        spares_put(&spares, block, SPARE_MAX);
        CU_ASSERT(spares.bytes <= SPARES_BYTES_MAX);
    }
    CU_ASSERT_EQUAL(spares.count, SPARES_BYTES_MAX / SPARE_MAX);
    CU_ASSERT_PTR_EQUAL(spares.list[spares.count - 1].block, block);
    spares_clear(&spares);
    CU_ASSERT_EQUAL(spares.count, 0);
    CU_ASSERT_EQUAL(spares.bytes, 0);
}

/* Blocks used in each period stay; others are freed after one or two. */
TEST(what_is_not_used_is_given_back)
{
    size_t len = SPARE_MIN;
    void *used;

    spares_age(&spares, 1000);
    spares_put(&spares, block_of(len), len);
    spares_put(&spares, block_of(len), len);
    for (uint64_t now_ms = 1000; now_ms < 1000 + SPARE_PERIOD_MS; now_ms++)
        spares_age(&spares, now_ms);
    CU_ASSERT_EQUAL(spares.count, 2);
    spares_age(&spares, 1000 + SPARE_PERIOD_MS);
    CU_ASSERT_EQUAL(spares.count, 2);
    used = spares_take(&spares, len);
    spares_put(&spares, used, len);
    spares_age(&spares, 1000 + 2 * SPARE_PERIOD_MS);
    CU_ASSERT_EQUAL(spares.count, 1);
    CU_ASSERT_PTR_EQUAL(spares.list[0].block, used);
    spares_age(&spares, 1000 + 3 * SPARE_PERIOD_MS);
    CU_ASSERT_EQUAL(spares.count, 0);
    CU_ASSERT_EQUAL(spares.bytes, 0);
}

/* Long blocks stay for longer than short ones that were put after them. */
TEST(long_blocks_are_given_back_later)
{
    static struct spares set;
    uint64_t now_ms = 1000;
    void *used = block_of(SPARE_LONG);

    spares_age(&set, now_ms);
    spares_put(&set, used, SPARE_LONG);
    spares_put(&set, block_of(SPARE_MIN), SPARE_MIN);
    for (int i = 0; i < SPARE_LONG_PERIODS; i++)
        spares_age(&set, now_ms += SPARE_PERIOD_MS);
    CU_ASSERT_EQUAL(set.count, 1);
    CU_ASSERT_PTR_EQUAL(set.list[0].block, used);
    spares_age(&set, now_ms + SPARE_PERIOD_MS);
    CU_ASSERT_EQUAL(set.count, 0);
    CU_ASSERT_EQUAL(set.bytes, 0);
}

/* While another thread has locked the set (in a forked child perhaps for ever),
 * blocks come from the system and return to it. */
TEST(a_busy_set_is_done_without)
{
    void *block;

    spares_put(&spares, block_of(SPARE_MIN), SPARE_MIN);
    __atomic_test_and_set(&spares.busy, __ATOMIC_ACQUIRE);
    block = spares_take(&spares, SPARE_MIN);
    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    memset(block, 1, SPARE_MIN);
    spares_put(&spares, block, SPARE_MIN);
    spares_age(&spares, 1 << 20);
    spares_clear(&spares);
    CU_ASSERT_EQUAL(spares.count, 1);
    __atomic_clear(&spares.busy, __ATOMIC_RELEASE);
    spares_clear(&spares);
    CU_ASSERT_EQUAL(spares.count, 0);
}

/* Take, mark, check and put blocks; several threads run this at once. */
static void *exchange(void *arg)
{
    uint32_t *own = arg;
    uint32_t *held[4] = {NULL};
    uint32_t seed = *own;

    for (int i = 0; i < ROUNDS; i++) {
        uint32_t place = (seed = seed * 1664525u + 1013904223u) >> 30;
        size_t len = SPARE_MIN << (seed >> 20 & 1);

        if (i % 64 == 0)
            spares_age(&spares, (uint64_t)i * 100);
        if (held[place]) {
            if (held[place][1] != *own)
                return arg;
            spares_put(&spares, held[place], held[place][0]);
            held[place] = NULL;
            continue;
        }
        held[place] = spares_take(&spares, len);
        if (!held[place])
            return arg;
        held[place][0] = (uint32_t)len;
        held[place][1] = *own;
    }
    for (int i = 0; i < 4; i++)
        if (held[i])
            spares_put(&spares, held[i], held[i][0]);
    return NULL;
}

/* No block has two users, and the count of bytes is right. */
TEST(threads_share_the_set)
{
    pthread_t threads[3];
    uint32_t seeds[3] = {1, 2, 3};
    size_t kept_bytes = 0;
    void *wrong;

    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&threads[i], NULL, exchange, &seeds[i]), 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &wrong);
        CU_ASSERT_PTR_NULL(wrong);
    }
    for (uint32_t i = 0; i < spares.count; i++)
        kept_bytes += spares.list[i].len;
    CU_ASSERT_EQUAL(spares.bytes, kept_bytes);
    spares_clear(&spares);
    CU_ASSERT_EQUAL(spares.bytes, 0);
}
