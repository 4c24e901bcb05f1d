/* round.h - what the programs of one round of the storm share: the plan that
 * is drawn from the seed, and the tallies of the back-ends.
 *
 * Only the public headers of Coppice are used, here and in the whole folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <coppice/coppice.h>

#define RANKS_MAX 128 /* nodes of the largest tree, with late joiners */
#define DEPTH_MAX 4
#define FLOWS     6   /* streams of a round */
#define KEYS      16  /* of the stream of maxima */
#define SLOTS     8   /* of the stream of sums: questions between two syncs */
#define ITEMS_MAX 16  /* answers to one command */
#define WRONG_LEN 256 /* a violation that a back-end has found */

#define TAG_COMMAND (COP_TAG_FIRST + 0)
#define TAG_ANSWER  (COP_TAG_FIRST + 1)

/* A command: flow, kind, number, items, flags. The answer has that many items;
 * on an exact or cumulative stream it is so many packets, see part_count(). */
#define COMMAND_FORMAT "%ud %ud %ud %ud %ud"
enum {
    FLAG_UNASKED = 1, /* send unsolicited packets, too */
    FLAG_STOP = 2,    /* send no unsolicited packet any more */
};

enum kind {
    KIND_SET,
    KIND_PEAKS,
    KIND_SUM,
    KIND_EXACT,  /* an exact stream, "sum" */
    KIND_PIECES, /* an exact stream without a filter */
    KIND_TOTAL   /* a cumulative stream, "sum" */
};

/* What the streams of a round are. */
enum streams {
    ORDINARY,
    EXACT, /* exact and cumulative ones */
    STREAMS
};

/* What happens to the nodes of a round. */
enum weather {
    CALM,
    KILLS,
    STOPS,
    RESETS,
    ALL,
    FRONT,
    JOINER,
    MEMBERS, /* exact and cumulative streams only */
    WEATHERS
};

/* What a back-end has done on one stream. It is written before the packet is
 * sent, to a file that outlives the back-end. */
struct flow_tally {
    uint32_t first;    /* the first command that came; 0: none */
    uint32_t last;     /* the last one */
    uint32_t answered; /* items sent in answer */
    uint32_t unasked;  /* items sent unsolicited */
    uint32_t sent;     /* exact, cumulative: packets, also the one that a send
                          waits with */
    uint32_t settled;  /* the same, when the last command was answered */
    int64_t peaks[KEYS];
};

struct tally {
    uint32_t rank;
    int32_t pid;
    bool is_killed;        /* written by the driver, before it does so */
    bool leaves;           /* it takes no command any more */
    bool has_left;         /* all that it had sent was accepted */
    char wrong[WRONG_LEN]; /* "": nothing */
    struct flow_tally flows[FLOWS];
};

struct shape {
    const char *text;
    uint32_t depth;
    uint32_t fan_out[DEPTH_MAX];
};

/* A pseudo-random number below `below`; the state is the seed (splitmix64). */
static inline uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = mix(*state);
    return (uint32_t)(*state >> 32) % below;
}

/* The item number `item` of the answer of `rank` to command `number`: the same
 * at the back-end and at the front-end that checks it. */
static inline uint32_t item_value(uint32_t rank,
                                  uint32_t flow,
                                  uint32_t number,
                                  uint32_t item)
{
    return (uint32_t)(mix(((uint64_t)rank << 48) ^ ((uint64_t)flow << 40) ^
                          ((uint64_t)number << 8) ^ item) &
                      0xfffff);
}

/* What one answer adds to its slot of a sum: a one to count it, and a value to
 * tell the answers apart. */
static inline int64_t sum_value(uint32_t rank, uint32_t flow, uint32_t number)
{
    return (INT64_C(1) << 40) | item_value(rank, flow, number, 0);
}

/* What back-end `rank` sends as its packet number `index` on an exact or
 * cumulative stream; never 0. */
static inline uint64_t part_value(uint32_t rank, uint32_t flow, uint32_t index)
{
    return mix(((uint64_t)rank << 40) | ((uint64_t)flow << 32) | index) | 1;
}

/* How many packets `rank` answers command `number` with: not all the same, so
 * that some have sent all of an epoch before others have. */
static inline uint32_t part_count(uint32_t rank,
                                  uint32_t flow,
                                  uint32_t number,
                                  uint32_t items)
{
    return 1 + item_value(rank, flow, number, 0) % (1 + items / 4);
}

static inline uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The file with the tally of `rank`, in the folder of the round. */
static inline void tally_path(char *path,
                              size_t room,
                              const char *folder,
                              uint32_t rank)
{
    snprintf(path, room, "%s/tally.%u", folder, rank);
}

/* Returns whether there is one. */
static inline bool tally_read(const char *folder,
                              uint32_t rank,
                              struct tally *tally)
{
    char path[512];
    bool is_whole;
    FILE *file;

    tally_path(path, sizeof(path), folder, rank);
    file = fopen(path, "re");
    is_whole =
        file && fread(tally, sizeof(*tally), 1, file) == 1 && tally->pid != 0;
    if (file)
        fclose(file);
    return is_whole;
}
