/* arena.c - one piece of memory: a bump allocator, and free lists by size. */
#include "test/models/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "wire/fifo.h"

#define ARENA_LEN  ((size_t)64 << 20)
#define ARENA_STEP ((size_t)32) /* sizes are rounded up to a multiple */
#define ARENA_SMALL                                                            \
    ((size_t)128) /* blocks of up to this many steps have a free list; larger
                     ones are not reused */

/* The header of each block. */
struct block {
    size_t len;         /* without this header */
    struct block *next; /* in a free list */
};

/* The alignment of blocks. */
#define ARENA_GRAIN sizeof(struct block)

/* The head lies in the arena, so that it is kept and put back with the rest. */
struct head {
    size_t used; /* bytes from the arena's beginning */
    struct block *unused[ARENA_SMALL + 1];
};

static unsigned char *base;
static bool in_use;

void *__real_malloc(size_t len);
void *__real_calloc(size_t count, size_t len);
void *__real_realloc(void *old, size_t len);
void __real_free(void *old);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t len);
void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t count, size_t len);
void *__wrap_realloc(void *old, size_t len);
void *__wrap_reallocarray(void *old, size_t count, size_t len);
void __wrap_free(void *old);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t len);

static bool is_ours(const void *old)
{
    const unsigned char *at = old;

    return base && at >= base && at < base + ARENA_LEN;
}

/* Returns zeroed bytes, so that equal states have equal padding. */
static void *arena_take(size_t len)
{
    struct head *head = (struct head *)base;
    size_t steps = (len + ARENA_STEP - 1) / ARENA_STEP;
    struct block *block;

    steps += steps == 0;
    if (steps <= ARENA_SMALL && head->unused[steps]) {
        block = head->unused[steps];
        head->unused[steps] = block->next;
    } else {
        block = (struct block *)(base + head->used);
        head->used += sizeof(*block) + steps * ARENA_STEP;
        if (head->used > ARENA_LEN) {
            fprintf(stderr, "the arena is full\n");
            abort();
        }
    }
    *block = (struct block){.len = steps * ARENA_STEP};
    return memset(block + 1, 0, block->len);
}

static void arena_give(void *old)
{
    struct head *head = (struct head *)base;
    struct block *block = (struct block *)old - 1;
    size_t steps = block->len / ARENA_STEP;

    if (steps > ARENA_SMALL)
        return;
    block->next = head->unused[steps];
    head->unused[steps] = block;
}

void *__wrap_malloc(size_t len)
{
    return in_use ? arena_take(len) : __real_malloc(len);
}

void *__wrap_calloc(size_t count, size_t len)
{
    if (!in_use)
        return __real_calloc(count, len);
    return len && count > SIZE_MAX / len ? NULL : arena_take(count * len);
}

void *__wrap_realloc(void *old, size_t len)
{
    void *grown;
    size_t had;

    if (old ? !is_ours(old) : !in_use)
        return __real_realloc(old, len);
    had = old ? ((struct block *)old - 1)->len : 0;
    if (old && len <= had)
        return old;
    grown = arena_take(len);
    if (old) {
        memcpy(grown, old, had);
        arena_give(old);
    }
    return grown;
}

void *__wrap_reallocarray(void *old, size_t count, size_t len)
{
    if (len && count > SIZE_MAX / len)
        return NULL;
    return __wrap_realloc(old, count * len);
}

void __wrap_free(void *old)
{
    if (is_ours(old))
        arena_give(old);
    else
        __real_free(old);
}

char *__wrap_strdup(const char *text)
{
    size_t len = strlen(text) + 1;

    return in_use ? memcpy(arena_take(len), text, len) : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t len)
{
    size_t had = strnlen(text, len);

    if (!in_use)
        return __real_strndup(text, len);
    return memcpy(arena_take(had + 1), text, had);
}

void arena_begin(void)
{
    if (!base) {
        base = mmap(NULL, ARENA_LEN, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) {
            perror("mmap");
            exit(2);
        }
    }
    memset(base, 0, sizeof(struct head));
    ((struct head *)base)->used = sizeof(struct head);
    in_use = true;
}

void arena_use(bool use)
{
    in_use = use;
}

void arena_keep(struct arena_image *image)
{
    size_t len = ((struct head *)base)->used;

    if (len > image->room) {
        __real_free(image->bytes);
        image->bytes = __real_malloc(len);
        image->room = len;
        if (!image->bytes) {
            fprintf(stderr, "out of memory\n");
            exit(2);
        }
    }
    memcpy(image->bytes, base, len);
    image->len = len;
}

void arena_put_back(const struct arena_image *image)
{
    memcpy(base, image->bytes, image->len);
}

/* ---- the digest ---- */

struct queued __real_fifo_pop(struct fifo *fifo);
struct queued __wrap_fifo_pop(struct fifo *fifo);

/* Move a queue to the beginning of its ring, and zero the rest, so that equal
 * queues have equal bytes. */
struct queued __wrap_fifo_pop(struct fifo *fifo)
{
    struct queued queued = __real_fifo_pop(fifo);

    if (!fifo->ring)
        return queued;
    memmove(fifo->ring, fifo->ring + fifo->head,
            fifo->count * sizeof(*fifo->ring));
    memset(fifo->ring + fifo->count, 0,
           (fifo->room - fifo->count) * sizeof(*fifo->ring));
    fifo->head = 0;
    return queued;
}

/* A place where a block may begin. */
struct place {
    uint32_t round; /* the digest in which a block was found here */
    uint32_t order; /* of the block's first visit, from 1 on; 0: not visited */
};

static struct place *places;
static const struct block **met;
static uint32_t met_count;
static uint32_t round_now;

static uint64_t mix_word(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9fb21c651e98df25);
    return sum ^ sum >> 32;
}

/* Note where each block begins. */
static void find_blocks(void)
{
    const struct head *head = (const struct head *)base;
    size_t at = sizeof(struct head);

    if (!places) {
        places = __real_calloc(ARENA_LEN / ARENA_GRAIN, sizeof(*places));
        met = __real_calloc(ARENA_LEN / ARENA_GRAIN, sizeof(*met));
        if (!places || !met) {
            fprintf(stderr, "out of memory\n");
            exit(2);
        }
    }
    round_now++;
    met_count = 0;
    while (at < head->used) {
        const struct block *block = (const struct block *)(base + at);

        places[at / ARENA_GRAIN] = (struct place){round_now, 0};
        at += sizeof(*block) + block->len;
    }
}

/* A word's contribution: the word, or for an address the number of its block,
 * in the order of visits, and the offset in the block. */
static uint64_t word_of(uint64_t word)
{
    const struct head *head = (const struct head *)base;
    uint64_t offset = word - (uintptr_t)base;
    size_t at;

    if (offset < sizeof(struct head) || offset >= head->used)
        return word;
    at = offset / ARENA_GRAIN;
    while (places[at].round != round_now)
        at--;
    if (places[at].order == 0) {
        met[met_count++] = (const struct block *)(base + at * ARENA_GRAIN);
        places[at].order = met_count;
    }
    return (uint64_t)places[at].order << 32 | (offset - at * ARENA_GRAIN);
}

uint64_t arena_digest(const void *root)
{
    uint64_t sum = 1;

    find_blocks();
    word_of((uintptr_t)root);
    for (uint32_t i = 0; i < met_count; i++) {
        const uint64_t *words = (const uint64_t *)(met[i] + 1);

        for (size_t k = 0; k < met[i]->len / sizeof(*words); k++)
            sum = mix_word(sum, word_of(words[k]));
    }
    return sum;
}
