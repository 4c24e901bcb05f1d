/* arena.c - one piece of memory: a bump, and free lists by size. */
#include "test/models/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA_LEN  ((size_t)64 << 20)
#define ARENA_STEP ((size_t)32) /* sizes are rounded up to it */
#define ARENA_SMALL                                                            \
    ((size_t)128) /* steps with a free list of their own; larger               \
                     blocks are not used again */

/* Before each block. */
struct block {
    size_t len; /* without this */
    struct block *next;
};

/* At the arena's beginning, and so kept and put back with it. */
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

/* All bytes are zero, so that equal states have equal padding. */
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
