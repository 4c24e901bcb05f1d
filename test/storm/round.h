/* round.h - shared by the programs of one round of the storm: the plan drawn
 * from the seed, and the tallies of the back-ends.
 *
 * The whole folder uses only the public headers of Coppice. */
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
#define ITEMS_MAX 16  /* answers to one command */
#define WRONG_LEN 256 /* a violation that a back-end has found */

#define TAG_COMMAND (COP_TAG_FIRST + 0)
#define TAG_ANSWER  (COP_TAG_FIRST + 1)

/* A command: flow, kind, number, items, flags. Its answer has that many items;
 * on an exact or stream of totals, part_count() packets; to a question, one
 * packet. */
#define COMMAND_FORMAT "%ud %ud %ud %ud %ud"
enum {
    FLAG_UNASKED = 1, /* also send unsolicited packets */
    FLAG_STOP = 2,    /* stop sending unsolicited packets */
};

enum kind {
    KIND_SET,
    KIND_PEAKS,
    KIND_SUM,
    KIND_QUESTION, /* numbered questions, as in the README: "sum" or "max" */
    KIND_EXACT,    /* a stream of whole waves, "sum" */
    KIND_PIECES,   /* a stream of whole waves without a filter */
    KIND_TOTAL,    /* a stream of totals, "sum" */
    KINDS
};

/* The kinds of harm to the nodes of a round. */
enum weather {
    CALM,
    KILLS,
    STOPS,
    RESETS,
    ALL,
    FRONT,
    MEMBERS,
    WEATHERS
};

/* What a back-end has sent on one stream. It is written before the packet is
 * sent, to a file that outlives the back-end. */
struct flow_tally {
    uint32_t first;    /* the first command received; 0: none */
    uint32_t last;     /* the last one */
    uint32_t answered; /* items sent in answer */
    uint32_t unasked;  /* items sent unsolicited */
    uint32_t sent;     /* exact, cumulative: packets, including one whose send
                          is blocked */
    uint32_t settled;  /* packets when the last command was answered */
    int64_t peaks[KEYS];
    int64_t settled_peaks[KEYS];
};

struct tally {
    uint32_t rank;
    int32_t pid;
    bool is_killed;        /* written by the driver, before it kills; or it has
                              left without knowing what was accepted */
    bool leaves;           /* it takes no more commands */
    bool has_left;         /* all its packets were accepted */
    uint32_t timeouts;     /* calls of cop_network_leave() that timed out */
    char wrong[WRONG_LEN]; /* "": nothing */
    struct flow_tally flows[FLOWS];
};

struct shape {
    const char *text;
    uint32_t depth;
    uint32_t fan_out[DEPTH_MAX];
};

/* The mixing function of splitmix64. */
static inline uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* A pseudo-random number below `below`; `state`, at first the seed, advances. */
static inline uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = mix(*state);
    return (uint32_t)(*state >> 32) % below;
}

/* Item `item` of the answer of `rank` to command `number`: computed both in the
 * back-end and in the front-end, which checks it. */
static inline uint32_t item_value(uint32_t rank,
                                  uint32_t flow,
                                  uint32_t number,
                                  uint32_t item)
{
    return (uint32_t)(mix(((uint64_t)rank << 48) ^ ((uint64_t)flow << 40) ^
                          ((uint64_t)number << 8) ^ item) &
                      0xfffff);
}

/* The number with this `index` that `rank` sends on the stream of a set, in
 * answers or unsolicited: `index` in the lowest 20 bits. */
static inline int32_t set_number(uint32_t rank,
                                 uint32_t flow,
                                 bool is_unasked,
                                 uint32_t index)
{
    return (int32_t)(flow << 28 | rank << 21 | (uint32_t)is_unasked << 20 |
                     index);
}

/* The packet with this `index` that back-end `rank` sends on an exact or
 * stream of totals, or its answer to the command with this number; never 0. */
static inline uint64_t part_value(uint32_t rank, uint32_t flow, uint32_t index)
{
    return mix(((uint64_t)rank << 40) | ((uint64_t)flow << 32) | index) | 1;
}

/* The number of packets with which `rank` answers command `number`: unequal, so
 * that some members finish an epoch before others. */
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

/* The path of the tally of `rank`, in the folder of the round. */
static inline void tally_path(char *path,
                              size_t room,
                              const char *folder,
                              uint32_t rank)
{
    snprintf(path, room, "%s/tally.%u", folder, rank);
}

/* Returns whether `rank` has a tally. */
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
