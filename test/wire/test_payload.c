/* test_payload.c - payloads are shared by reference, from many threads. */
#include "wire/payload.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

#include "test/check.h"
#include "wire/limits.h"

#define ROUNDS 20000

/* A payload has the requested length, and every byte is writable. */
TEST(a_payload_has_its_length)
{
    struct payload *payload;

    CHECK_OK(payload_new(&payload, 0));
    CU_ASSERT_EQUAL(payload->len, 0);
    payload_free(payload);
    CHECK_OK(payload_new(&payload, 1000));
    CU_ASSERT_EQUAL(payload->len, 1000);
    memset(payload->bytes, 0xff, 1000);
    payload_free(payload);
}

/* A length above the limit is refused. */
TEST(too_long_is_refused)
{
    struct payload *payload = NULL;

    CHECK_IS(payload_new(&payload, (size_t)LIMIT_FRAME + 1), -EMSGSIZE);
    CHECK_IS(payload_new(&payload, SIZE_MAX), -EMSGSIZE);
    CU_ASSERT_PTR_NULL(payload);
}

/* Only the last reference frees the payload; NULL is fine (PROTOCOL 2.3). */
TEST(references_are_counted)
{
    struct payload *payload;

    CHECK_OK(payload_new(&payload, 1));
    payload->bytes[0] = 7;
    CU_ASSERT_PTR_EQUAL(payload_ref(payload), payload);
    payload_free(payload);
    CU_ASSERT_EQUAL(payload->bytes[0], 7);
    payload_free(payload);
    payload_free(NULL);
    CU_ASSERT_PTR_NULL(payload_ref(NULL));
}

#ifndef __SANITIZE_ADDRESS__ /* to see uses after free, none is kept */
/* The page faults of writing and freeing a payload of `len` bytes. */
static long faults_of(size_t len)
{
    struct payload *payload;
    struct rusage before, after;

    getrusage(RUSAGE_SELF, &before);
    CHECK_OK(payload_new(&payload, len));
    memset(payload->bytes, 1, len);
    payload_free(payload);
    getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

/* The next large payload reuses the memory of the last one. That memory is
 * returned some time after the last large payload, or on request. */
TEST(memory_of_large_payloads_is_kept)
{
    const size_t len = 8 << 20;
    long first = faults_of(len);

    CU_ASSERT(first > 0);
    for (int i = 0; i < 100; i++)
        CU_ASSERT(faults_of(len) <= first / 8);
    for (uint64_t now_ms = 0; now_ms <= 3000; now_ms += 500)
        payload_age(now_ms);
    CU_ASSERT(faults_of(len) > first / 2);
    payload_give_back();
    CU_ASSERT(faults_of(len) > first / 2);
}
#endif

static void *take_and_give(void *arg)
{
    struct payload *payload = arg;

    for (int i = 0; i < ROUNDS; i++)
        payload_ref(payload);
    for (int i = 0; i < ROUNDS; i++)
        payload_free(payload);
    return NULL;
}

/* Two threads that take and drop references leave the count unchanged. */
TEST(the_count_is_atomic)
{
    struct payload *payload;
    pthread_t threads[2];

    CHECK_OK(payload_new(&payload, 1));
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&threads[i], NULL, take_and_give, payload), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CU_ASSERT_EQUAL(payload->refs, 1);
    payload_free(payload);
}

/* Make, fill, check and free large payloads in a random order. */
static void *shuffle(void *arg)
{
    struct payload *held[6] = {NULL};
    uint32_t seed = *(uint32_t *)arg;
    uint32_t mark = seed << 24;

    for (int i = 0; i < 2000; i++) {
        struct payload **place;
        uint32_t last;

        seed = seed * 1664525u + 1013904223u;
        place = &held[(seed >> 8) % 6];
        if (*place) {
            memcpy(&last, (*place)->bytes + (*place)->len - 4, 4);
            if (memcmp((*place)->bytes, &last, 4) != 0)
                return arg;
            payload_free(*place);
            *place = NULL;
            continue;
        }
        /* Around the lengths between which memory is kept. */
        if (payload_new(place, 60000 + (seed >> 12) % 70000 * (i % 31)) < 0)
            return arg;
        last = mark + (uint32_t)i;
        memcpy((*place)->bytes, &last, 4);
        memcpy((*place)->bytes + (*place)->len - 4, &last, 4);
    }
    for (int i = 0; i < 6; i++)
        payload_free(held[i]);
    return NULL;
}

/* Large blocks are kept and reused by any thread; no two payloads share one. */
TEST(large_payloads_are_apart)
{
    pthread_t threads[3];
    uint32_t seeds[3] = {1, 2, 3};
    void *wrong;

    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&threads[i], NULL, shuffle, &seeds[i]), 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &wrong);
        CU_ASSERT_PTR_NULL(wrong);
    }
}
