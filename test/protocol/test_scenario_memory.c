/* test_scenario_memory.c - each allocation of the machine fails, one after the
 * other. The node concerned is gone; the others notice that, continue, and end.
 * Nothing leaks, and no freed memory is used (under AddressSanitizer). */
#include "test/sim/scenario.h"

void *__real_malloc(size_t len);
void *__real_calloc(size_t count, size_t len);
void *__real_realloc(void *block, size_t len);
void *__real_reallocarray(void *block, size_t count, size_t len);
char *__real_strdup(const char *text);

void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t count, size_t len);
void *__wrap_realloc(void *block, size_t len);
void *__wrap_reallocarray(void *block, size_t count, size_t len);
char *__wrap_strdup(const char *text);

/* The fault heap: within a step, allocation number `fails_at` fails. */
static struct {
    bool in_step;
    unsigned long count;
    unsigned long fails_at; /* 0: none */
} heap;

static bool must_fail(void)
{
    return heap.in_step && ++heap.count == heap.fails_at;
}

void *__wrap_malloc(size_t len)
{
    return must_fail() ? NULL : __real_malloc(len);
}

void *__wrap_calloc(size_t count, size_t len)
{
    return must_fail() ? NULL : __real_calloc(count, len);
}

void *__wrap_realloc(void *block, size_t len)
{
    return must_fail() ? NULL : __real_realloc(block, len);
}

void *__wrap_reallocarray(void *block, size_t count, size_t len)
{
    return must_fail() ? NULL : __real_reallocarray(block, count, len);
}

char *__wrap_strdup(const char *text)
{
    return must_fail() ? NULL : __real_strdup(text);
}

static void stepping(bool begins)
{
    heap.in_step = begins;
}

/* A short life: launch, join, open, send, parameters, sync, close, end. */
static void live_once(unsigned long fails_at)
{
    char count[] = "count";
    uint32_t stream = 0;
    struct sim *sim;

    heap.count = 0;
    heap.fails_at = fails_at;
    sim = sim_begin("0(1(3,4),2)", .trace = SIM_TRACE_LIFE | SIM_TRACE_TELL,
                    .stepping = stepping);
    sim_echo(sim);
    sim_run(sim, 20);
    if (sim_is_alive(sim, 1))
        sim_attach(sim, 1);
    sim_run(sim, 20);
    if (sim_is_alive(sim, 0))
        sim_ask_open(sim, &stream, .up_filter = (char[]){"sum"},
                     .down_filter = count, .grow = true);
    sim_run(sim, 20);
    for (int i = 0; i < 3; i++)
        sim_send(sim, 0, stream, 100, "%d", i);
    sim_parameters(sim, stream, "%d", 1);
    sim_sync(sim, stream, NULL);
    sim_run(sim, 2000);
    sim_close(sim, 0, stream);
    sim_run(sim, 20);
    sim_shutdown(sim, 0);
    sim_run(sim, 90000); /* longer than orphan_timeout */
    for (uint32_t i = 0; i < sim_count(sim); i++) {
        if (sim_is_alive(sim, i))
            printf("\nfailing allocation %lu leaves %u:\n%s", fails_at, i,
                   sim_trace_text(sim));
        CU_ASSERT_FALSE(sim_is_alive(sim, i));
    }
    sim_end(sim);
}

TEST(every_allocation_may_fail)
{
    unsigned long n;
    unsigned long all;

    live_once(0);
    all = heap.count;
    CU_ASSERT(all > 100);
    for (n = 1; n <= all; n++)
        live_once(n);
}
