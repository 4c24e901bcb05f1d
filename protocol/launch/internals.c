/* internals.c - a compact encoding of the internal nodes of a tree. */
#include "protocol/launch/internals.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/launch/roster.h"
#include "topology/array.h"
#include "wire/varint.h"

/* Limits: numbers in one address that may differ, digits of one number. */
#define NUMBERS_MAX 32
#define DIGITS_MAX  9
#define NUMBER_MAX  999999999

/* In place of the mask of changes: the whole text follows. */
#define AS_IT_IS 0

/* ---- texts ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Read the number at `*text` and advance past it. Returns false for a number
 * that write_decimal() would change: too many digits, or a leading zero. */
static bool read_decimal(const char **text, int64_t *value)
{
    const char *at = *text;

    *value = 0;
    while (is_digit(*at) && at - *text <= DIGITS_MAX)
        *value = 10 * *value + (*at++ - '0');
    if (at - *text > DIGITS_MAX || (**text == '0' && at - *text > 1))
        return false;
    *text = at;
    return true;
}

/* The changes of numbers that turn one text into another. */
struct changes {
    uint64_t mask; /* bit i: number i of the text changes */
    uint64_t by[NUMBERS_MAX];
    unsigned count;
};

/* Find the changes from `from` to `to`; false if more than numbers differ. */
static bool find_changes(const char *from, const char *to, struct changes *out)
{
    unsigned number = 0;
    int64_t before, after;

    out->mask = 0;
    out->count = 0;
    for (;;) {
        if (is_digit(*from) && is_digit(*to)) {
            if (number == NUMBERS_MAX || !read_decimal(&from, &before) ||
                !read_decimal(&to, &after))
                return false;
            if (before != after) {
                out->mask |= UINT64_C(1) << number;
                out->by[out->count++] = varint_fold(after - before);
            }
            number++;
        } else if (*from != *to) {
            return false;
        } else if (!*from) {
            return true;
        } else {
            from++;
            to++;
        }
    }
}

/* ---- writing ---- */

struct writer {
    unsigned char *bytes;
    size_t len;
    bool failed;
};

static void put_bytes(struct writer *writer, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len && !writer->failed; i++) {
        writer->failed = array_grow(&writer->bytes, writer->len, 1) < 0;
        if (!writer->failed)
            writer->bytes[writer->len++] = ((const unsigned char *)bytes)[i];
    }
}

static void put_number(struct writer *writer, uint64_t value)
{
    unsigned char bytes[VARINT_MAX];

    put_bytes(writer, bytes, varint_write(bytes, value));
}

static void put_address(struct writer *writer,
                        const char *before,
                        const char *address)
{
    struct changes changes;

    if (!find_changes(before, address, &changes)) {
        put_number(writer, AS_IT_IS);
        put_number(writer, strlen(address));
        put_bytes(writer, address, strlen(address));
        return;
    }
    put_number(writer, changes.mask + 1);
    for (unsigned i = 0; i < changes.count; i++)
        put_number(writer, changes.by[i]);
}

/* The parent's rank plus 1; 0: the node has no parent. */
static uint64_t parent_number(const struct roster_internal *node)
{
    return (uint32_t)(node->parent + 1);
}

/* The number of nodes from `list[0]` on that have its parent and fan-out, and
 * consecutive ranks. */
static uint32_t count_siblings(const struct roster_internal *list,
                               uint32_t count)
{
    uint32_t n = 1;

    while (n < count && list[n].parent == list->parent &&
           list[n].rank == list->rank + n && list[n].fan_out == list->fan_out)
        n++;
    return n;
}

/* The length of the run at `list`. `*each`: the children of each parent. */
static uint32_t run_length(const struct roster_internal *list,
                           uint32_t count,
                           uint32_t *each)
{
    uint64_t first = parent_number(list);
    uint32_t n = count_siblings(list, count);

    *each = n;
    while (n < count && list[n].rank == list->rank + n &&
           list[n].fan_out == list->fan_out &&
           parent_number(&list[n]) == first + n / *each &&
           count_siblings(list + n, count - n) == *each)
        n += *each;
    return n;
}

int internals_write(const struct roster_internal *list,
                    uint32_t count,
                    unsigned char **bytes,
                    size_t *len)
{
    struct writer writer = {0};
    uint64_t next_rank = 0, last_parent = 0;
    const char *address = "";
    uint32_t n, each;

    put_number(&writer, count);
    for (uint32_t i = 0; i < count; i += n) {
        n = run_length(list + i, count - i, &each);
        put_number(&writer,
                   varint_fold((int64_t)list[i].rank - (int64_t)next_rank));
        put_number(&writer, n - 1);
        put_number(&writer, varint_fold((int64_t)parent_number(&list[i]) -
                                        (int64_t)last_parent));
        put_number(&writer, each - 1);
        put_number(&writer, list[i].fan_out);
        for (uint32_t k = i; k < i + n; k++) {
            put_address(&writer, address, list[k].address);
            address = list[k].address;
        }
        next_rank = (uint64_t)list[i].rank + n;
        last_parent = parent_number(&list[i + n - 1]);
    }
    if (writer.failed) {
        free(writer.bytes);
        return -ENOMEM;
    }
    *bytes = writer.bytes;
    *len = writer.len;
    return 0;
}

/* ---- reading ---- */

/* Read a number of at most `most`. */
static int take_number(struct internals_reader *reader,
                       uint64_t most,
                       uint64_t *value)
{
    int r = varint_read(&reader->at, reader->end, value);

    return r < 0 || *value > most ? -EBADMSG : 0;
}

/* Read a signed difference, and add it. The sum is at most `most`. */
static int take_step(struct internals_reader *reader,
                     uint64_t most,
                     uint64_t *value)
{
    uint64_t folded;
    int64_t sum;

    if (take_number(reader, UINT64_C(1) << 34, &folded) < 0)
        return -EBADMSG;
    sum = (int64_t)*value + varint_unfold(folded);
    if (sum < 0 || (uint64_t)sum > most)
        return -EBADMSG;
    *value = (uint64_t)sum;
    return 0;
}

static int take_text(struct internals_reader *reader)
{
    uint64_t len;

    if (take_number(reader, INTERNALS_ADDRESS - 1, &len) < 0 ||
        len > (uint64_t)(reader->end - reader->at) ||
        memchr(reader->at, '\0', len))
        return -EBADMSG;
    memcpy(reader->address, reader->at, len);
    reader->address[len] = '\0';
    reader->at += len;
    return 0;
}

/* Write `value` in decimal to `out`, which has room. Returns the length. */
static size_t write_decimal(char *out, uint64_t value)
{
    char digits[DIGITS_MAX + 1];
    size_t len = 0;

    do
        digits[len++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    for (size_t i = 0; i < len; i++)
        out[i] = digits[len - 1 - i];
    return len;
}

/* Change the numbers of `mask` in the address. */
static int take_changes(struct internals_reader *reader, uint64_t mask)
{
    char text[INTERNALS_ADDRESS + DIGITS_MAX];
    const char *from = reader->address;
    uint64_t value;
    int64_t number;
    size_t len = 0;

    while (*from && mask > 0 && len < INTERNALS_ADDRESS) {
        const char *start = from;

        if (!is_digit(*from)) {
            text[len++] = *from++;
            continue;
        }
        if (!read_decimal(&from, &number))
            return -EBADMSG;
        value = (uint64_t)number;
        if (mask & 1 && take_step(reader, NUMBER_MAX, &value) < 0)
            return -EBADMSG;
        if (mask & 1)
            len += write_decimal(text + len, value);
        while (!(mask & 1) && start < from)
            text[len++] = *start++;
        mask >>= 1;
    }
    if (mask > 0 || len + strlen(from) >= INTERNALS_ADDRESS)
        return -EBADMSG;
    memmove(reader->address + len, from, strlen(from) + 1);
    memcpy(reader->address, text, len);
    return 0;
}

static int take_address(struct internals_reader *reader)
{
    uint64_t what;

    if (take_number(reader, UINT64_C(1) << NUMBERS_MAX, &what) < 0)
        return -EBADMSG;
    if (what == AS_IT_IS)
        return take_text(reader);
    return what == 1 ? 0 : take_changes(reader, what - 1);
}

static int take_run(struct internals_reader *reader)
{
    uint64_t fan_out;

    if (take_step(reader, LIMIT_NODES - 1, &reader->next_rank) < 0 ||
        take_number(reader, reader->left - 1, &reader->in_run) < 0 ||
        take_step(reader, UINT32_MAX, &reader->last_parent) < 0 ||
        take_number(reader, LIMIT_NODES, &reader->each) < 0 ||
        take_number(reader, UINT32_MAX, &fan_out) < 0)
        return -EBADMSG;
    reader->in_run++;
    reader->each++;
    reader->position = 0;
    reader->first_parent = reader->last_parent;
    reader->fan_out = (uint32_t)fan_out;
    return 0;
}

int internals_begin(struct internals_reader *reader,
                    const unsigned char *bytes,
                    size_t len)
{
    memset(reader, 0, sizeof(*reader));
    reader->at = bytes;
    reader->end = bytes + len;
    return take_number(reader, LIMIT_NODES, &reader->left);
}

int internals_next(struct internals_reader *reader, struct roster_internal *out)
{
    if (reader->left == 0)
        return reader->at == reader->end ? 0 : -EBADMSG;
    if (reader->in_run == 0 && take_run(reader) < 0)
        return -EBADMSG;
    reader->last_parent =
        reader->first_parent + reader->position / reader->each;
    if (reader->next_rank >= LIMIT_NODES || reader->last_parent > UINT32_MAX ||
        take_address(reader) < 0)
        return -EBADMSG;
    *out = (struct roster_internal){
        .rank = (uint32_t)reader->next_rank,
        .parent = (uint32_t)reader->last_parent - 1,
        .fan_out = reader->fan_out,
        .address = reader->address,
    };
    reader->next_rank++;
    reader->position++;
    reader->in_run--;
    reader->left--;
    return 1;
}
