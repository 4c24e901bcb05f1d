/* script.h - scenarios of the simulated world, short enough to read.
 *
 *     struct sim *sim = SIM_TREE("0(1(3,4),2)");
 *     uint32_t stream = SIM_OPEN(sim, "sum");
 *
 *     SIM_SEND(sim, 3, stream, 10);
 *     SIM_KILL_AT(sim, 4, 25);
 *     SIM_RUN(sim, 100);
 *     SIM_TRACE(sim, "[ 26] 0 told back-end lost 4\n" ...);
 *     SIM_END(sim);
 *
 * A hop takes exactly 1 ms; times in a trace count from the last SIM_TREE,
 * SIM_OPEN or sim_trace_from_here(). Nodes are named by rank. One scenario
 * has one world at a time. */
#ifndef TEST_SCRIPT_H
#define TEST_SCRIPT_H

#include "sim/sim.h"
#include "test/check.h"

#include "wire/limits.h"
#include "wire/packet.h"

#define SIM_TREE(text)        script_tree(text, NULL)
#define SIM_OPEN(sim, filter) script_open_filter(sim, filter)
#define SIM_SEND(sim, rank, stream, value)                                     \
    CHECK_OK(sim_send(sim, script_at(sim, rank), stream, 100, "%d", value))
#define SIM_KILL_AT(sim, rank, ms)                                             \
    sim_crash_at(sim, script_at(sim, rank), sim_now_ms(sim) + (ms))
#define SIM_RUN(sim, ms) CHECK_OK(sim_run_until(sim, sim_now_ms(sim) + (ms)))
#define SIM_TRACE(sim, expected)                                               \
    CU_ASSERT(sim_trace_is(sim, expected, __FILE__, __LINE__))
#define SIM_END(sim) script_end(sim)

/* What a script shows unless it says otherwise. */
#define SCRIPT_TRACE (SIM_TRACE_DELIVER | SIM_TRACE_TELL)

/* A world that has launched; `config` may be NULL. The trace is empty. */
struct sim *script_tree(const char *text, const struct sim_config *config);

/* A world of which only the front-end runs yet. */
struct sim *script_begin(const char *text, const struct sim_config *config);

/* Check that the machine did nothing that it may not; free the world. */
void script_end(struct sim *sim);

/* The index of `rank`, which must exist. */
uint32_t script_at(struct sim *sim, uint32_t rank);

/* Open a stream for everyone with these upstream filters and wait until it is
 * open; the trace is then empty. Returns its number. */
uint32_t script_open_filter(struct sim *sim, const char *filter);

/* The same with everything that a definition may say. A NULL name is "", no
 * members means everyone; `id` is ignored. */
uint32_t script_open(struct sim *sim,
                     const struct stream_definition *definition);

/* Ask for it, without waiting. Returns sim_open()'s answer. */
int script_ask_open(struct sim *sim,
                    const struct stream_definition *definition,
                    uint32_t *stream);

/* Let time pass until node `rank` has been told `tell` once more than when
 * this was called; at most a minute. */
void script_wait(struct sim *sim, uint32_t rank, enum tell_type tell);

/* How often `rank` was told `tell`; the code, rank and text of the
 * last time. */
unsigned script_told(struct sim *sim, uint32_t rank, enum tell_type tell);
int script_code(enum tell_type tell);
uint32_t script_about(enum tell_type tell);
const char *script_text(enum tell_type tell);

/* How often the front-end was told that `rank` was adopted, and how, the last
 * time. */
unsigned script_adopted(uint32_t rank, struct node_adoption *out);

/* Sync and wait for it. Returns TELL_SYNCED's code. */
int script_sync(struct sim *sim, uint32_t stream);

/* How many packets `rank` has taken on `stream`, of how many back-ends the
 * last consisted, and its first value, a "%d". */
unsigned script_taken(struct sim *sim, uint32_t rank, uint32_t stream);
int script_last(struct sim *sim, uint32_t rank, uint32_t stream);

/* Every back-end answers each packet with its own copy. */
void script_echo(struct sim *sim);

/* `rank` takes packets only when the script says so. */
void script_by_hand(struct sim *sim, uint32_t rank);

/* A set of `count` ranks, to be freed with ranks_fini(). */
struct ranks script_ranks(size_t count, ...);

#endif
