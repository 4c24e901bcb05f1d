/* script.c - what scenarios are written with. */
#include "test/sim/script.h"

#include <stdarg.h>

#define SCRIPT_NODES   2048
#define SCRIPT_STREAMS 64
#define SCRIPT_TELLS   (TELL_ENDED + 1)
#define SCRIPT_WAIT_MS 60000

/* What the watcher has seen in the one world that there is. */
static struct {
    unsigned told[SCRIPT_NODES][SCRIPT_TELLS];
    int code[SCRIPT_TELLS];
    uint32_t rank[SCRIPT_TELLS];
    char text[SCRIPT_TELLS][LIMIT_TEXT + 1];
    unsigned adopted[SCRIPT_NODES];
    struct node_adoption adoption[SCRIPT_NODES];
    unsigned taken[SCRIPT_NODES][SCRIPT_STREAMS];
    int last[SCRIPT_NODES][SCRIPT_STREAMS];
} seen;

static void note_tell(struct sim *sim,
                      uint32_t index,
                      const struct action *tell,
                      void *arg)
{
    (void)sim;
    (void)arg;
    seen.told[index][tell->tell]++;
    seen.code[tell->tell] = tell->code;
    seen.rank[tell->tell] = tell->rank;
    snprintf(seen.text[tell->tell], sizeof(seen.text[0]), "%s",
             tell->text ? tell->text : "");
    if (index != 0 || tell->tell != TELL_NODE_ADOPTED)
        return;
    CU_ASSERT_FATAL(tell->rank < SCRIPT_NODES && tell->adoption);
    seen.adopted[tell->rank]++;
    seen.adoption[tell->rank] = *tell->adoption;
}

static void note_taken(struct sim *sim,
                       uint32_t index,
                       uint32_t stream,
                       const struct frame *frame,
                       void *arg)
{
    struct cop_packet *packet;
    int32_t value;

    (void)sim;
    (void)arg;
    CU_ASSERT_FATAL(stream < SCRIPT_STREAMS);
    seen.taken[index][stream]++;
    if (packet_open(&packet, frame->payload) < 0)
        return;
    if (cop_packet_unpack(packet, "%d", &value) == 0)
        seen.last[index][stream] = value;
    cop_packet_free(packet);
}

struct sim *script_begin(const char *text, const struct sim_config *config)
{
    struct sim_config plain = {.trace = SCRIPT_TRACE};
    struct sim_watch watch = {.taken = note_taken, .told = note_tell};
    struct sim *sim = NULL;

    memset(&seen, 0, sizeof(seen));
    CHECK_OK(sim_new(&sim, text, config ? config : &plain));
    CU_ASSERT_FATAL(sim_count(sim) <= SCRIPT_NODES);
    sim_watch(sim, &watch);
    return sim;
}

struct sim *script_tree(const char *text, const struct sim_config *config)
{
    struct sim *sim = script_begin(text, config);

    script_wait(sim, 0, TELL_LAUNCHED);
    SIM_RUN(sim, 20); /* the table has come everywhere */
    sim_trace_only(sim, SCRIPT_TRACE);
    sim_trace_from_here(sim);
    return sim;
}

void script_end(struct sim *sim)
{
    if (sim_failure(sim))
        printf("\n%s\n%s\n", sim_trace_text(sim), sim_failure(sim));
    CU_ASSERT(sim_failure(sim) == NULL);
    sim_free(sim);
}

uint32_t script_at(struct sim *sim, uint32_t rank)
{
    uint32_t index = sim_find(sim, rank);

    CU_ASSERT_FATAL(index != SIM_NONE);
    return index;
}

int script_ask_open(struct sim *sim,
                    const struct stream_definition *definition,
                    uint32_t *stream)
{
    static char none[] = "";
    struct stream_definition whole = *definition;
    char **names[] = {
        &whole.up_filter,
        &whole.up_filter_frontend,
        &whole.up_filter_backend,
        &whole.down_filter,
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!*names[i])
            *names[i] = none;
    if (whole.members.count == 0)
        whole.members = *node_backends(sim_node(sim, 0));
    return sim_open(sim, &whole, stream);
}

struct waited {
    uint32_t index;
    enum tell_type tell;
    unsigned count;
};

static bool is_told(struct sim *sim, void *arg)
{
    const struct waited *waited = arg;

    (void)sim;
    return seen.told[waited->index][waited->tell] > waited->count;
}

uint32_t script_open(struct sim *sim,
                     const struct stream_definition *definition)
{
    /* It may be over within the call. */
    struct waited waited = {
        .tell = TELL_OPENED,
        .count = seen.told[0][TELL_OPENED],
    };
    uint32_t stream = 0;

    CHECK_OK(script_ask_open(sim, definition, &stream));
    CHECK_OK(sim_run_while_not(sim, SCRIPT_WAIT_MS, is_told, &waited));
    CHECK_IS(script_code(TELL_OPENED), 0);
    sim_trace_from_here(sim);
    return stream;
}

uint32_t script_open_filter(struct sim *sim, const char *filter)
{
    char name[LIMIT_FILTER_NAME + 1];
    struct stream_definition definition = {.up_filter = name};

    snprintf(name, sizeof(name), "%s", filter);
    return script_open(sim, &definition);
}

void script_wait(struct sim *sim, uint32_t rank, enum tell_type tell)
{
    struct waited waited = {.index = script_at(sim, rank), .tell = tell};
    int r;

    waited.count = seen.told[waited.index][tell];
    r = sim_run_while_not(sim, SCRIPT_WAIT_MS, is_told, &waited);
    if (r < 0)
        printf("\n%s%s\n", sim_trace_text(sim),
               sim_failure(sim) ? sim_failure(sim) : "");
    CHECK_OK(r);
}

unsigned script_told(struct sim *sim, uint32_t rank, enum tell_type tell)
{
    return seen.told[script_at(sim, rank)][tell];
}

int script_code(enum tell_type tell)
{
    return seen.code[tell];
}

uint32_t script_about(enum tell_type tell)
{
    return seen.rank[tell];
}

const char *script_text(enum tell_type tell)
{
    return seen.text[tell];
}

unsigned script_adopted(uint32_t rank, struct node_adoption *out)
{
    if (seen.adopted[rank] > 0)
        *out = seen.adoption[rank];
    return seen.adopted[rank];
}

int script_sync(struct sim *sim, uint32_t stream)
{
    /* It may be over within the call. */
    struct waited waited = {
        .tell = TELL_SYNCED,
        .count = seen.told[0][TELL_SYNCED],
    };

    CHECK_OK(sim_sync(sim, stream, NULL));
    CHECK_OK(sim_run_while_not(sim, SCRIPT_WAIT_MS, is_told, &waited));
    return seen.code[TELL_SYNCED];
}

unsigned script_taken(struct sim *sim, uint32_t rank, uint32_t stream)
{
    return seen.taken[script_at(sim, rank)][stream];
}

int script_last(struct sim *sim, uint32_t rank, uint32_t stream)
{
    return seen.last[script_at(sim, rank)][stream];
}

static void echo(struct sim *sim,
                 uint32_t index,
                 uint32_t stream,
                 const struct frame *frame,
                 void *arg)
{
    (void)arg;
    sim_post(sim, index, stream, frame->tag, payload_ref(frame->payload));
}

void script_echo(struct sim *sim)
{
    struct sim_app app = {.taken = echo};

    for (uint32_t i = 0; i < sim_count(sim); i++)
        if (sim_role(sim, i) == NODE_BACKEND)
            sim_set_app(sim, i, &app);
}

void script_by_hand(struct sim *sim, uint32_t rank)
{
    struct sim_app app = {.by_hand = true};

    sim_set_app(sim, script_at(sim, rank), &app);
}

struct ranks script_ranks(size_t count, ...)
{
    struct ranks set = {0};
    va_list args;

    va_start(args, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t rank = va_arg(args, uint32_t);

        CHECK_OK(ranks_add(&set, rank, rank));
    }
    va_end(args);
    return set;
}
