/* topk_filter.c - a filter of one's own: the K largest numbers of all.
 *
 * A packet is "%ald", some numbers; parameters are "%ud", how many to keep.
 * Build it as topk.so and name its directory in the filter path. */
#include <coppice/filter.h>

#include <stdlib.h>
#include <string.h>

static int larger_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

/* Append the numbers of packet `index` to `*all`. */
static int gather(struct cop_filter_call *call,
                  size_t index,
                  int64_t **all,
                  uint32_t *count)
{
    const int64_t *numbers;
    uint32_t more;
    int64_t *grown;

    if (cop_packet_unpack(cop_filter_packet(call, index), "%ald", &numbers,
                          &more) < 0)
        return cop_filter_fail(call, "rank %u sent no \"%%ald\"",
                               cop_filter_inlet(call, index));
    if (more == 0)
        return 0;
    grown = realloc(*all, (*count + (size_t)more) * sizeof(**all));
    if (!grown)
        return cop_filter_fail(call, "out of memory");
    memcpy(grown + *count, numbers, more * sizeof(*numbers));
    *all = grown;
    *count += more;
    return 0;
}

static int filter(void *state, struct cop_filter_call *call)
{
    const struct cop_packet *parameters = cop_filter_parameters(call);
    struct cop_packet *packet;
    int64_t *all = NULL;
    uint32_t count = 0;
    uint32_t keep;
    int r = 0;

    (void)state;
    if (!parameters || cop_packet_unpack(parameters, "%ud", &keep) < 0)
        return cop_filter_fail(call, "topk needs parameters, \"%%ud\"");
    for (size_t i = 0; r == 0 && i < cop_filter_packet_count(call); i++)
        r = gather(call, i, &all, &count);
    if (r < 0)
        goto out;
    if (count > 0)
        qsort(all, count, sizeof(*all), larger_first);
    r = cop_packet_new(&packet, cop_packet_tag(cop_filter_packet(call, 0)),
                       "%ald", all, count < keep ? count : keep);
    if (r == 0)
        r = cop_filter_emit(call, packet);
out:
    free(all);
    return r;
}

static const struct cop_filter topk = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(topk),
    .name = "topk",
    .summary = "the largest numbers of all",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_STATELESS,
    .filter = filter,
};

COP_FILTER_EXPORT(topk);
