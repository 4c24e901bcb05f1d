/* spares.c - large blocks of memory, which are kept for reuse. */
#include "wire/spares.h"

#include <string.h>
#include <sys/mman.h>

/* Returns false while another thread is inside. */
static bool enter(struct spares *spares)
{
    return !__atomic_test_and_set(&spares->busy, __ATOMIC_ACQUIRE);
}

static void leave(struct spares *spares)
{
    __atomic_clear(&spares->busy, __ATOMIC_RELEASE);
}

size_t spare_len(size_t len)
{
    size_t step = SPARE_MIN / 8;

    if (len < SPARE_MIN || len > SPARE_MAX)
        return 0;
    while (step * 16 <= len)
        step *= 2;
    return (len + step - 1) / step * step;
}

static void *block_new(size_t len)
{
    void *block = mmap(NULL, len, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return block == MAP_FAILED ? NULL : block;
}

/* NULL is fine. */
static void block_free(struct spare spare)
{
    if (spare.block)
        munmap(spare.block, spare.len);
}

/* `spares` is entered. */
static struct spare remove_spare(struct spares *spares, uint32_t index)
{
    struct spare *at = &spares->list[index];
    struct spare removed = *at;

    spares->bytes -= at->len;
    spares->count--;
    memmove(at, at + 1, (spares->count - index) * sizeof(*at));
    return removed;
}

void *spares_take(struct spares *spares, size_t block_len)
{
    struct spare found = {.block = NULL};

    if (enter(spares)) {
        for (uint32_t i = spares->count; i > 0 && !found.block; i--)
            if (spares->list[i - 1].len == block_len)
                found = remove_spare(spares, i - 1);
        leave(spares);
    }
    return found.block ? found.block : block_new(block_len);
}

/* `spares` is entered. Whether one more block of `block_len` is too much. */
static bool is_full(const struct spares *spares, size_t block_len)
{
    return spares->count == SPARES_MAX ||
           spares->bytes + block_len > SPARES_BYTES_MAX;
}

void spares_put(struct spares *spares, void *block, size_t block_len)
{
    struct spare put = {.block = block, .len = block_len};
    struct spare oldest;

    do {
        oldest = (struct spare){.block = NULL};
        if (!enter(spares))
            break;
        if (is_full(spares, block_len)) {
            oldest = remove_spare(spares, 0);
        } else {
            put.period = spares->period;
            spares->list[spares->count++] = put;
            spares->bytes += block_len;
            put.block = NULL;
        }
        leave(spares);
        block_free(oldest);
    } while (oldest.block);
    block_free(put);
}

/* When a kept block goes, if the set is aged in every period. */
static uint64_t last_period(const struct spare *spare)
{
    return spare->period + (spare->len < SPARE_LONG ? 1 : SPARE_LONG_PERIODS);
}

/* Free the blocks whose last period was before `period`. */
static void give_back_older(struct spares *spares, uint64_t period)
{
    struct spare gone;
    uint32_t i;

    do {
        gone = (struct spare){.block = NULL};
        if (!enter(spares))
            break;
        for (i = 0; i < spares->count; i++)
            if (last_period(&spares->list[i]) < period)
                break;
        if (i < spares->count)
            gone = remove_spare(spares, i);
        leave(spares);
        block_free(gone);
    } while (gone.block);
}

void spares_age(struct spares *spares, uint64_t now_ms)
{
    uint64_t period = 0;

    if (!enter(spares))
        return;
    if (now_ms >= spares->period_end_ms) {
        period = ++spares->period;
        spares->period_end_ms = now_ms + SPARE_PERIOD_MS;
    }
    leave(spares);
    give_back_older(spares, period);
}

void spares_clear(struct spares *spares)
{
    give_back_older(spares, UINT64_MAX);
}
