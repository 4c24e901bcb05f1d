/* poison.c - an upstream filter for tests: the greatest "%d" so far. That is
 * also its state, so its streams are recoverable. In the front-end and in
 * commnodes a number of POISON or above crashes the process, in the way that
 * enum poison says. */
#include <coppice/filter.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/frontend/poison.h"

/* Use up the stack. */
static int dig(volatile int *above)
{
    volatile int here[1024];

    here[0] = *above + 1;
    return here[0] == 0 ? 0 : dig(here) + here[0];
}

static bool stopped; /* by POISON_STOP */

static void die(int how, uint32_t rank)
{
    volatile uintptr_t nowhere = 16;
    volatile int zero = 0;
    char *block;

    switch (how) {
    case POISON_FAULT:
        *(volatile int *)nowhere = 1;
        break;
    case POISON_ABORT:
        abort();
    case POISON_EXIT:
        exit(3);
    case POISON_STACK:
        dig(&zero);
        break;
    case POISON_HEAP: /* free() aborts, and may hold the heap's lock */
        block = malloc(2000);
        if (block)
            for (int i = 0; i < 4000; i++)
                ((volatile char *)block)[i] = 0x55;
        free(block);
        free(malloc(5000));
        break;
    case POISON_RAISE:
        raise(SIGSEGV);
        break;
    case POISON_KILL:
        if (rank == 1)
            kill(getpid(), SIGKILL);
        break;
    case POISON_STOP: /* once, as the wave has this number from each child: a
                         second stop delays the signal that ends us */
        if (rank == 1 && !stopped)
            kill(getpid(), SIGSTOP);
        stopped = true;
    }
}

static int begin(void **state, struct cop_filter_call *call)
{
    int *most = malloc(sizeof(*most));

    (void)call;
    if (!most)
        return -1;
    *most = INT_MIN;
    *state = most;
    return 0;
}

static int run(void *state, struct cop_filter_call *call)
{
    size_t count = cop_filter_packet_count(call);
    struct cop_packet *packet;
    int *most = state;
    int number;
    int r;

    for (size_t i = 0; i < count; i++) {
        r = cop_packet_unpack(cop_filter_packet(call, i), "%d", &number);
        if (r < 0)
            return cop_filter_fail(call, "no number");
        if (number >= POISON && !cop_filter_is_leaf(call))
            die(number - POISON, cop_filter_rank(call));
        if (number > *most)
            *most = number;
    }
    r = cop_packet_new(&packet, 100, "%d", *most);
    return r < 0 ? r : cop_filter_emit(call, packet);
}

static int get_state(void *state, struct cop_packet **out)
{
    const int *most = state;

    *out = NULL;
    return *most == INT_MIN ? 0 : cop_packet_new(out, 100, "%d", *most);
}

static const struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(filter),
    .name = "poison",
    .summary = "a maximum; some numbers crash it",
    .laws = COP_ASSOCIATIVE | COP_COMMUTATIVE | COP_IDEMPOTENT,
    .init = begin,
    .free = free,
    .filter = run,
    .get_state = get_state,
};

COP_FILTER_EXPORT(filter);
