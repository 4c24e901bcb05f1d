/* test_heal.c - merged stacks in a tree that loses commnodes: the front-end's
 * result is the same as without a loss. The simulated world runs the filter
 * itself; equal trees are equal bytes. */
#include "test/sim/scenario.h"

#define SHAPE   "0(1(3(7,8,9),4(10,11,12)),2(5(13,14,15),6(16,17,18)))"
#define INNER   6
#define FIRST   7
#define DAEMONS 12
#define SAMPLES 4
#define BYTES   4096

/* The packets of all daemons, sample by sample. */
struct packets {
    unsigned char bytes[DAEMONS][SAMPLES][BYTES];
    uint32_t len[DAEMONS][SAMPLES];
};

/* The last state reported to the front-end. */
static unsigned char state[1 << 20];
static size_t state_len;

static void told(struct sim *sim,
                 uint32_t index,
                 const struct action *tell,
                 void *arg)
{
    struct cop_packet *packet = NULL;
    const unsigned char *bytes;
    uint32_t len;

    (void)sim;
    (void)arg;
    if (index != 0 || tell->tell != TELL_STATE || !tell->frame.payload)
        return;
    CHECK_OK(packet_open(&packet, tell->frame.payload));
    CHECK_OK(cop_packet_unpack(packet, "%auc", &bytes, &len));
    CU_ASSERT_FATAL(len <= sizeof(state));
    memcpy(state, bytes, len);
    state_len = len;
    cop_packet_free(packet);
}

/* Let `samples` make up the packets for this seed. */
static void read_packets(struct packets *packets, unsigned seed)
{
    const char *build = getenv("BUILD");
    char line[2 * BYTES + 2], command[4096];
    unsigned byte;
    FILE *pipe;

    CU_ASSERT_PTR_NOT_NULL_FATAL(build);
    snprintf(command, sizeof(command), "'%s/test/stat/tree/samples' %u %d %d",
             build, seed, DAEMONS, SAMPLES);
    pipe = popen(command, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
    for (int i = 0; i < DAEMONS; i++) {
        for (int k = 0; k < SAMPLES; k++) {
            CU_ASSERT_PTR_NOT_NULL_FATAL(fgets(line, sizeof(line), pipe));
            packets->len[i][k] = (uint32_t)(strcspn(line, "\n") / 2);
            for (uint32_t at = 0; at < packets->len[i][k]; at++) {
                CU_ASSERT_FATAL(sscanf(line + 2 * at, "%2x", &byte) == 1);
                packets->bytes[i][k][at] = (unsigned char)byte;
            }
        }
    }
    CU_ASSERT_EQUAL(pclose(pipe), 0);
}

/* Send all packets while `kills` commnodes die; then store the state of the
 * front-end in `state`. */
static void run(const struct packets *packets, unsigned seed, unsigned kills)
{
    struct sim_config config = {.trace = 0};
    struct sim *sim = sim_launch_as(SHAPE, &config);
    struct sim_watch watch = {.told = told};
    struct random chance;
    uint32_t stream;

    random_seed(&chance, seed);
    stream = sim_open_filter(sim, "stat_merge");
    sim_trace_only(sim, 0);
    for (unsigned i = 0; i < kills; i++)
        sim_kill_at(sim, 1 + (uint32_t)random_between(&chance, 0, INNER - 1),
                    random_between(&chance, 0, (DAEMONS + 4) * SAMPLES));
    for (int k = 0; k < SAMPLES; k++) {
        for (uint32_t i = 0; i < DAEMONS; i++) {
            struct payload *payload;

            CHECK_OK(packet_pack(&payload, "%auc", packets->bytes[i][k],
                                 packets->len[i][k]));
            sim_post(sim, FIRST + i, stream, 100, payload);
            sim_run(sim, 1);
        }
    }
    sim_run(sim, 3000);
    CHECK_IS(sim_sync_now(sim, stream), 0);
    state_len = 0;
    sim_watch(sim, &watch); /* instead of the script's */
    CHECK_OK(sim_ask_state(sim, stream));
    sim_run(sim, 100);
    sim_end(sim);
}

/* PROTOCOL 9: failures do not change the tree. */
TEST(the_same_tree_with_failures)
{
    static struct packets packets;
    static unsigned char whole[sizeof(state)];

    for (unsigned seed = 1; seed <= 40; seed++) {
        size_t len;

        read_packets(&packets, seed);
        run(&packets, seed, 0);
        CU_ASSERT_FATAL(state_len > 0);
        len = state_len;
        memcpy(whole, state, len);
        for (unsigned kills = 1; kills <= INNER; kills += 2) {
            run(&packets, 100 * seed + kills, kills);
            if (state_len != len || memcmp(state, whole, len) != 0)
                printf("\nseed %u, %u killed: not the same tree\n", seed,
                       kills);
            CU_ASSERT(state_len == len && memcmp(state, whole, len) == 0);
        }
    }
}
