/* scenario.c - the functions that scenarios are written with. */
#include "test/sim/scenario.h"

#include <stdarg.h>

#define NODES   2048
#define STREAMS 64
#define TELLS   (TELL_ENDED + 1)
#define WAIT_MS 60000

/* The contents of a trace, unless the scenario changes them. */
#define TRACE (SIM_TRACE_DELIVER | SIM_TRACE_TELL)

/* What the watcher has seen in the only world. */
static struct {
    unsigned told[NODES][TELLS];
    bool astray[NODES];
    int code[TELLS];
    uint32_t rank[TELLS];
    char text[TELLS][LIMIT_TEXT + 1];
    unsigned adopted[NODES];
    struct node_adoption adoption[NODES];
    unsigned taken[NODES][STREAMS];
    int last[NODES][STREAMS];
    int state; /* the value of the last TELL_STATE */
} seen;

/* The "%d" in `frame`; 0 if the frame has another format. */
static int read_int(const struct frame *frame)
{
    struct cop_packet *packet;
    int32_t value = 0;

    if (!frame->payload || packet_open(&packet, frame->payload) < 0)
        return 0;
    if (cop_packet_unpack(packet, "%d", &value) < 0)
        value = 0;
    cop_packet_free(packet);
    return value;
}

static void note_tell(struct sim *sim,
                      uint32_t index,
                      const struct action *tell,
                      void *arg)
{
    (void)arg;
    seen.told[index][tell->tell]++;
    for (uint32_t rank = 0;
         index == 0 && tell->tell == TELL_ENDED && rank < NODES; rank++)
        seen.astray[rank] = ranks_has(node_astray(sim_node(sim, 0)), rank);
    seen.code[tell->tell] = tell->code;
    seen.rank[tell->tell] = tell->rank;
    snprintf(seen.text[tell->tell], sizeof(seen.text[0]), "%s",
             tell->text ? tell->text : "");
    if (tell->tell == TELL_STATE)
        seen.state = read_int(&tell->frame);
    if (index != 0 || tell->tell != TELL_NODE_ADOPTED)
        return;
    CU_ASSERT_FATAL(tell->rank < NODES && tell->adoption);
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
    CU_ASSERT_FATAL(stream < STREAMS);
    seen.taken[index][stream]++;
    if (packet_open(&packet, frame->payload) < 0)
        return;
    if (cop_packet_unpack(packet, "%d", &value) == 0)
        seen.last[index][stream] = value;
    cop_packet_free(packet);
}

struct sim *sim_begin_as(const char *tree, const struct sim_config *config)
{
    struct sim_config copy = *config;
    struct sim_watch watch = {.taken = note_taken, .told = note_tell};
    struct sim *sim = NULL;

    memset(&seen, 0, sizeof(seen));
    if (!copy.trace)
        copy.trace = TRACE;
    CHECK_OK(sim_new(&sim, tree, &copy));
    CU_ASSERT_FATAL(sim_count(sim) <= NODES);
    sim_watch(sim, &watch);
    return sim;
}

struct sim *sim_launch_as(const char *tree, const struct sim_config *config)
{
    struct sim *sim = sim_begin_as(tree, config);

    sim_wait(sim, 0, TELL_LAUNCHED);
    sim_run(sim, 20); /* the table has reached every node */
    sim_trace(sim, TRACE);
    return sim;
}

char *sim_spread_tree(uint32_t victims)
{
    uint32_t rank = SIM_SPREAD + 2;
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream(&text, &len);

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("0(1(", file);
    for (uint32_t i = 0; i < victims; i++)
        fprintf(file, "%s%u", i > 0 ? "," : "", rank++);
    fputc(')', file);
    for (uint32_t i = 2; i < SIM_SPREAD + 2; i++)
        fprintf(file, ",%u(%u)", i, rank++);
    fputc(')', file);
    fclose(file);
    return text;
}

static void print_failure(struct sim *sim)
{
    printf("\n%s\n%s\n", sim_trace_text(sim),
           sim_failure(sim) ? sim_failure(sim) : "");
}

void sim_end(struct sim *sim)
{
    if (sim_failure(sim))
        print_failure(sim);
    CU_ASSERT(sim_failure(sim) == NULL);
    sim_free(sim);
}

void sim_run(struct sim *sim, uint64_t for_ms)
{
    int r = sim_run_until(sim, sim_now_ms(sim) + for_ms);

    if (r < 0)
        print_failure(sim);
    CHECK_OK(r);
}

void sim_kill_at(struct sim *sim, uint32_t rank, uint64_t in_ms)
{
    sim_crash_at(sim, rank, sim_now_ms(sim) + in_ms);
}

int sim_ask_defined(struct sim *sim,
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
    uint32_t rank;
    enum tell_type tell;
    unsigned count;
};

static bool is_told(struct sim *sim, void *arg)
{
    const struct waited *waited = arg;

    (void)sim;
    return seen.told[waited->rank][waited->tell] > waited->count;
}

/* Wait until `rank` was told `tell` more than `count` times. */
static void wait_more(struct sim *sim,
                      uint32_t rank,
                      enum tell_type tell,
                      unsigned count)
{
    struct waited waited = {rank, tell, count};
    int r = sim_run_while_not(sim, WAIT_MS, is_told, &waited);

    if (r < 0)
        print_failure(sim);
    CHECK_OK(r);
}

void sim_wait(struct sim *sim, uint32_t rank, enum tell_type tell)
{
    wait_more(sim, rank, tell, seen.told[rank][tell]);
}

uint32_t sim_open_defined(struct sim *sim,
                          const struct stream_definition *definition)
{
    unsigned count = seen.told[0][TELL_OPENED];
    uint32_t stream = 0;

    CHECK_OK(sim_ask_defined(sim, definition, &stream));
    wait_more(sim, 0, TELL_OPENED, count);
    CHECK_IS(sim_code(TELL_OPENED), 0);
    sim_trace_from_here(sim);
    return stream;
}

void sim_send_int(struct sim *sim, uint32_t rank, uint32_t stream, int value)
{
    int r = sim_send(sim, rank, stream, 100, "%d", value);

    if (r < 0)
        printf("\n%u sends %d on stream %u at %u ms:", rank, value, stream,
               (unsigned)sim_now_ms(sim));
    CHECK_OK(r);
}

void sim_send_set(struct sim *sim, uint32_t rank, uint32_t stream, int value)
{
    CHECK_OK(sim_send(sim, rank, stream, 100, "%ad", &value, UINT32_C(1)));
}

void sim_post_int(struct sim *sim, uint32_t rank, uint32_t stream, int value)
{
    struct payload *payload = NULL;

    CHECK_OK(packet_pack(&payload, "%d", value));
    sim_post(sim, rank, stream, 100, payload);
}

void sim_send_ints(
    struct sim *sim, uint32_t rank, uint32_t stream, int first, int last)
{
    for (int value = first; value <= last; value++)
        sim_send_int(sim, rank, stream, value);
}

void sim_send_all(
    struct sim *sim, uint32_t stream, uint32_t first, uint32_t last, int value)
{
    for (uint32_t rank = first; rank <= last; rank++)
        sim_send_int(sim, rank, stream, value);
}

bool sim_was_astray(uint32_t rank)
{
    return seen.astray[rank];
}

unsigned sim_told(struct sim *sim, uint32_t rank, enum tell_type tell)
{
    (void)sim;
    return seen.told[rank][tell];
}

int sim_code(enum tell_type tell)
{
    return seen.code[tell];
}

uint32_t sim_about(enum tell_type tell)
{
    return seen.rank[tell];
}

const char *sim_text(enum tell_type tell)
{
    return seen.text[tell];
}

unsigned sim_adopted(uint32_t rank, struct node_adoption *out)
{
    if (seen.adopted[rank] > 0)
        *out = seen.adoption[rank];
    return seen.adopted[rank];
}

int sim_sync_now(struct sim *sim, uint32_t stream)
{
    unsigned count = seen.told[0][TELL_SYNCED];

    CHECK_OK(sim_sync(sim, stream, NULL));
    wait_more(sim, 0, TELL_SYNCED, count);
    return seen.code[TELL_SYNCED];
}

int sim_state_now(struct sim *sim, uint32_t stream, int *value)
{
    unsigned count = seen.told[0][TELL_STATE];

    CHECK_OK(sim_ask_state(sim, stream));
    wait_more(sim, 0, TELL_STATE, count);
    if (value)
        *value = seen.state;
    return seen.code[TELL_STATE];
}

unsigned sim_taken(struct sim *sim, uint32_t rank, uint32_t stream)
{
    (void)sim;
    return seen.taken[rank][stream];
}

int sim_last(struct sim *sim, uint32_t rank, uint32_t stream)
{
    (void)sim;
    return seen.last[rank][stream];
}

static void echo_packet(struct sim *sim,
                        uint32_t index,
                        uint32_t stream,
                        const struct frame *frame,
                        void *arg)
{
    (void)arg;
    sim_post(sim, index, stream, frame->tag, payload_ref(frame->payload));
}

void sim_echo(struct sim *sim)
{
    struct sim_app app = {.taken = echo_packet};

    for (uint32_t i = 0; i < sim_count(sim); i++)
        if (sim_role(sim, i) == NODE_BACKEND)
            sim_set_app(sim, i, &app);
}

void sim_by_hand(struct sim *sim, uint32_t rank)
{
    struct sim_app app = {.by_hand = true};

    sim_set_app(sim, rank, &app);
}

struct ranks sim_ranks(size_t count, ...)
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

void sim_trace(struct sim *sim, unsigned trace)
{
    sim_trace_only(sim, trace);
    sim_trace_from_here(sim);
}

/* Whether the line that begins at `line` contains the parts of `text`. */
static bool is_like(const char *line, const char *text)
{
    while (*text) {
        size_t part = strcspn(text, "*");

        while (strncmp(line, text, part) != 0)
            if (*line++ == '\n')
                return false;
        line += part;
        text += part + (text[part] == '*');
    }
    return true;
}

/* The number of lines like `text`; `*at_ms` is the time of the last one. */
static unsigned find_lines(struct sim *sim, const char *text, unsigned *at_ms)
{
    const char *line = sim_trace_text(sim);
    unsigned count = 0;

    for (*at_ms = 0; *line; line = strchr(line, '\n') + 1) {
        if (!is_like(line, text))
            continue;
        count++;
        *at_ms = (unsigned)strtoul(line + 1, NULL, 10);
    }
    return count;
}

unsigned sim_lines(struct sim *sim, const char *text)
{
    unsigned at_ms;

    return find_lines(sim, text, &at_ms);
}

unsigned sim_line_ms(struct sim *sim, const char *text)
{
    unsigned at_ms;

    find_lines(sim, text, &at_ms);
    return at_ms;
}

bool sim_is_once(struct sim *sim, const char *text, const char *file, int line)
{
    unsigned count = sim_lines(sim, text);

    if (count != 1)
        printf("\n%s:%d: not once, but %u times: %s\n%s", file, line, count,
               text, sim_trace_text(sim));
    return count == 1;
}
