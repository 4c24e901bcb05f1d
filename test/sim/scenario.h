/* scenario.h - what scenarios use besides sim.h: launch a world, make requests,
 * wait, and check the results.
 *
 *     SCENARIO(a_death_is_told, "0(1(3,4),2)")
 *     {
 *         uint32_t stream = sim_open_filter(sim, "sum");
 *
 *         sim_send_int(sim, 3, stream, 10);
 *         sim_kill_at(sim, 4, 25);
 *         sim_run(sim, 100);
 *         expect(sim, "0 told back-end lost 4");
 *     }
 *
 * A hop takes exactly 1 ms; times in a trace count from the last sim_launch(),
 * sim_open_stream() or sim_trace_from_here(). Nodes are named by rank. There is
 * one world at a time. A failure in these functions fails the test. */
#pragma once

#include "sim/sim.h"
#include "test/check.h"

#include "wire/limits.h"
#include "wire/packet.h"

/* ---- the world ---- */

/* A world that has launched, with an empty trace of deliveries and news. */
struct sim *sim_launch_as(const char *tree, const struct sim_config *config);

/* A world of which only the front-end runs yet. */
struct sim *sim_begin_as(const char *tree, const struct sim_config *config);

/* The same with fields of a configuration, such as `.seed = 7`, or none. */
#define sim_launch(tree, ...)                                                  \
    sim_launch_as(tree, &(struct sim_config){__VA_ARGS__})
#define sim_begin(tree, ...)                                                   \
    sim_begin_as(tree, &(struct sim_config){__VA_ARGS__})

/* Commnodes of the tree below, but for the one that dies. */
#define SIM_SPREAD 16

/* A tree, to be freed: node 1 has so many back-ends, and each of SIM_SPREAD
 * other commnodes has one. Back-ends have the ranks behind all commnodes. */
char *sim_spread_tree(uint32_t victims);

/* Check that the machine broke no rule; free the world. */
void sim_end(struct sim *sim);

/* SCENARIO(name, tree) { ... } is a test in a world `sim` that has launched, and
 * that ends behind the test. Fields of a configuration may follow the tree. */
#define SCENARIO(name, ...)                                                    \
    static void play_##name(struct sim *sim);                                  \
    TEST(name)                                                                 \
    {                                                                          \
        struct sim *sim = sim_launch(__VA_ARGS__);                             \
                                                                               \
        play_##name(sim);                                                      \
        sim_end(sim);                                                          \
    }                                                                          \
    static void play_##name(struct sim *sim)

/* Let so much time pass. */
void sim_run(struct sim *sim, uint64_t for_ms);

/* Kill the node after `in_ms`. */
void sim_kill_at(struct sim *sim, uint32_t rank, uint64_t in_ms);

/* ---- traffic ---- */

/* Open a stream with this definition, wait, and empty the trace. A NULL name is
 * "", no members means all back-ends; `id` is ignored. Returns its number. */
uint32_t sim_open_defined(struct sim *sim,
                          const struct stream_definition *definition);

/* Request such a stream, without waiting. Returns the result of sim_open(). */
int sim_ask_defined(struct sim *sim,
                    const struct stream_definition *definition,
                    uint32_t *stream);

/* sim_open_defined() with fields of a definition, such as `.grow = true`. */
#define sim_open_stream(sim, ...)                                              \
    sim_open_defined(sim, &(struct stream_definition){__VA_ARGS__})
#define sim_ask_open(sim, stream, ...)                                         \
    sim_ask_defined(sim, &(struct stream_definition){__VA_ARGS__}, stream)

/* Likewise, with this upstream filter, a literal; fields may follow. */
#define sim_open_filter(sim, filter, ...)                                      \
    sim_open_stream(sim, .up_filter = (char[]){filter}, __VA_ARGS__)

/* Send `value` as "%d". */
void sim_send_int(struct sim *sim, uint32_t rank, uint32_t stream, int value);

/* Send the set of this one value, as "%ad". */
void sim_send_set(struct sim *sim, uint32_t rank, uint32_t stream, int value);

/* Send `value` as "%d", now or as soon as there is credit. */
void sim_post_int(struct sim *sim, uint32_t rank, uint32_t stream, int value);

/* Send each value from `first` to `last` as "%d". */
void sim_send_ints(
    struct sim *sim, uint32_t rank, uint32_t stream, int first, int last);

/* Each of the ranks from `first` to `last` sends `value`. */
void sim_send_all(
    struct sim *sim, uint32_t stream, uint32_t first, uint32_t last, int value);

/* Sync and wait for the end. Returns the code of TELL_SYNCED. */
int sim_sync_now(struct sim *sim, uint32_t stream);

/* Every back-end answers each packet with its own copy. */
void sim_echo(struct sim *sim);

/* Let `rank` take packets only when the scenario says so. */
void sim_by_hand(struct sim *sim, uint32_t rank);

/* A set of `count` ranks, to be freed with ranks_fini(). */
struct ranks sim_ranks(size_t count, ...);

/* ---- results ---- */

/* Let time pass until node `rank` is told `tell` once more; at most a
 * minute. */
void sim_wait(struct sim *sim, uint32_t rank, enum tell_type tell);

/* Whether the front-end did not know of the end of `rank` when it ended. */
bool sim_was_astray(uint32_t rank);

/* How often `rank` was told `tell`; the code, rank and text of the last TELL of
 * any node. */
unsigned sim_told(struct sim *sim, uint32_t rank, enum tell_type tell);
int sim_code(enum tell_type tell);
uint32_t sim_about(enum tell_type tell);
const char *sim_text(enum tell_type tell);

/* How often the front-end was told that `rank` was adopted; `out`: the last
 * adoption. */
unsigned sim_adopted(uint32_t rank, struct node_adoption *out);

/* Request a stream's state, and wait. Returns the code of TELL_STATE. `value`,
 * unless NULL, gets the state's "%d", or 0 if it has another format. */
int sim_state_now(struct sim *sim, uint32_t stream, int *value);

/* The number of packets that `rank` has taken on `stream`, and the first value,
 * a "%d", of the last packet. */
unsigned sim_taken(struct sim *sim, uint32_t rank, uint32_t stream);
int sim_last(struct sim *sim, uint32_t rank, uint32_t stream);

/* Check that the front-end was told `what` `count` times, the last time about
 * `about`. */
#define expect_told(sim, what, count, about)                                   \
    do {                                                                       \
        CU_ASSERT_EQUAL(sim_told(sim, 0, TELL_##what), count);                 \
        CU_ASSERT_EQUAL(sim_about(TELL_##what), about);                        \
    } while (0)

/* Check that `rank` has taken `count` packets, the last with `value`. */
#define expect_taken(sim, rank, stream, count, value)                          \
    do {                                                                       \
        CU_ASSERT_EQUAL(sim_taken(sim, rank, stream), count);                  \
        CU_ASSERT_EQUAL(sim_last(sim, rank, stream), value);                   \
    } while (0)

/* The number of trace lines that contain `text`, whose parts are separated by
 * '*'; also the time of the last such line, or 0. */
unsigned sim_lines(struct sim *sim, const char *text);
unsigned sim_line_ms(struct sim *sim, const char *text);

/* Begin a new trace, which shows `trace`. */
void sim_trace(struct sim *sim, unsigned trace);

/* Check that the trace is exactly `text`. */
#define expect_trace(sim, text)                                                \
    CU_ASSERT(sim_trace_is(sim, text, __FILE__, __LINE__))

/* Check that one line of the trace contains `text`; '*' separates its parts. */
#define expect(sim, text) CU_ASSERT(sim_is_once(sim, text, __FILE__, __LINE__))

/* Whether that is so; if not, print the trace. */
bool sim_is_once(struct sim *sim, const char *text, const char *file, int line);
