/* trace.c - the trace: text for people and for comparison. */
#include "sim/sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/members/control.h"
#include "protocol/stream/total.h"
#include "sim/memory.h"
#include "sim/world.h"
#include "wire/packet.h"

/* The most elements of an array, and characters of a text, that are shown. A
 * hash of the payload follows if that is not all of it. */
#define TRACE_ELEMENTS 8
#define TRACE_TEXT     60

static const char *const tell_names[] = {
    [TELL_LAUNCHED] = "launched",
    [TELL_LAUNCH_FAILED] = "launch failed",
    [TELL_OPENED] = "opened",
    [TELL_SYNCED] = "synced",
    [TELL_LOSSY] = "lossy",
    [TELL_JOURNAL_FAILED] = "journal failed",
    [TELL_STATE] = "state",
    [TELL_REDO] = "redo",
    [TELL_VIEW] = "view",
    [TELL_CLOSED] = "closed",
    [TELL_NODE_SUSPECTED] = "node suspected",
    [TELL_NODE_BACK] = "node back",
    [TELL_NODE_LOST] = "node lost",
    [TELL_NODE_ADOPTED] = "node adopted",
    [TELL_NODE_JOINED] = "node joined",
    [TELL_NODE_MOVED] = "moved",
    [TELL_MOVE_FAILED] = "not moved",
    [TELL_NODE_LEFT] = "node left",
    [TELL_DRAINED] = "drained",
    [TELL_DRAIN_FAILED] = "not drained",
    [TELL_REPLACE_FAILED] = "not replaced",
    [TELL_BACKEND_LOST] = "back-end lost",
    [TELL_BACKEND_JOINED] = "back-end joined",
    [TELL_FILTER_ERROR] = "filter error",
    [TELL_STREAM_FAILED] = "stream failed",
    [TELL_NODE_REFUSED] = "node refused",
    [TELL_ENDED] = "ended",
};

static const char *const control_names[] = {
    [CONTROL_OPEN] = "open",
    [CONTROL_CLOSE] = "close",
    [CONTROL_PARAMETERS] = "parameters",
    [CONTROL_ENTER] = "enter",
    [CONTROL_LOST] = "lost",
    [CONTROL_SHUTDOWN] = "shutdown",
    [CONTROL_FAIL] = "fail",
    [CONTROL_REDO] = "redo",
    [CONTROL_LEFT] = "left",
    [CONTROL_ENDING] = "ending",
    [CONTROL_VIEW] = "view",
};

static const struct {
    unsigned flag;
    const char *name;
} flag_names[] = {
    {FRAME_LAST, "last"},   {FRAME_LATE, "late"},
    {FRAME_EMPTY, "empty"}, {FRAME_COMPENSATING, "compensating"},
    {FRAME_OVER, "over"},   {FRAME_NEWCOMER, "newcomer"},
    {FRAME_ASK, "ask"},
};

static void append(struct sim *sim, const char *text)
{
    size_t len = strlen(text);

    while (sim->trace_len + len + 1 > sim->trace_room) {
        sim->trace_room = sim->trace_room ? 2 * sim->trace_room : 4096;
        sim->trace = memory_resize(sim->trace, sim->trace_room);
    }
    memcpy(sim->trace + sim->trace_len, text, len + 1);
    sim->trace_len += len;
}

void sim_trace_only(struct sim *sim, unsigned trace)
{
    sim->config.trace = trace;
}

void sim_trace_from_here(struct sim *sim)
{
    sim->trace_from_ms = sim->now_ms;
    sim->trace_len = 0;
    if (sim->trace)
        sim->trace[0] = '\0';
}

const char *sim_trace_text(struct sim *sim)
{
    append(sim, "");
    return sim->trace;
}

void sim_note(struct sim *sim, unsigned trace, const char *format, ...)
{
    char line[1024];
    va_list args;
    int len;

    if (!(sim->config.trace & trace))
        return;
    len = snprintf(line, sizeof(line), "[%3" PRIu64 "] ",
                   sim->now_ms - sim->trace_from_ms);
    va_start(args, format);
    vsnprintf(line + len, sizeof(line) - (size_t)len, format, args);
    va_end(args);
    append(sim, line);
    append(sim, "\n");
}

/* ---- values ---- */

/* Write an element. Returns whether that is all of it. */
static bool write_element(FILE *file, const struct cop_value *value, uint64_t i)
{
    const void *data = value->data;
    const char *text;

    switch (value->type) {
    case COP_CHAR:
        fprintf(file, "%d", ((const signed char *)data)[i]);
        return true;
    case COP_UCHAR:
        fprintf(file, "%u", ((const unsigned char *)data)[i]);
        return true;
    case COP_INT16:
        fprintf(file, "%d", ((const int16_t *)data)[i]);
        return true;
    case COP_UINT16:
        fprintf(file, "%u", ((const uint16_t *)data)[i]);
        return true;
    case COP_INT32:
        fprintf(file, "%" PRId32, ((const int32_t *)data)[i]);
        return true;
    case COP_UINT32:
        fprintf(file, "%" PRIu32, ((const uint32_t *)data)[i]);
        return true;
    case COP_INT64:
        fprintf(file, "%" PRId64, ((const int64_t *)data)[i]);
        return true;
    case COP_UINT64:
        fprintf(file, "%" PRIu64, ((const uint64_t *)data)[i]);
        return true;
    case COP_FLOAT:
        fprintf(file, "%g", (double)((const float *)data)[i]);
        return false;
    case COP_DOUBLE:
        fprintf(file, "%g", ((const double *)data)[i]);
        return false;
    case COP_STRING:
        text = ((const char *const *)data)[i];
        fprintf(file, "'%.*s'", TRACE_TEXT, text);
        return strlen(text) <= TRACE_TEXT;
    }
    return false;
}

/* Write a value. Returns whether that is all of it. */
static bool write_value(FILE *file, const struct cop_value *value)
{
    bool whole = value->count <= TRACE_ELEMENTS;

    if (value->shape == COP_SCALAR) {
        fputc(' ', file);
        return write_element(file, value, 0);
    }
    fputs(" [", file);
    for (uint64_t i = 0; i < value->count && i < TRACE_ELEMENTS; i++) {
        if (i > 0)
            fputs(", ", file);
        whole &= write_element(file, value, i);
    }
    if (value->count > TRACE_ELEMENTS)
        fprintf(file, ", ... %" PRIu64, value->count);
    fputc(']', file);
    return whole;
}

/* FNV-1a. */
static uint64_t hash_bytes(const struct payload *payload)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (uint32_t i = 0; i < payload->len; i++)
        hash = (hash ^ payload->bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

static void write_payload(FILE *file, const struct payload *payload)
{
    struct cop_packet *packet;
    const char *format;
    struct cop_value value;
    bool whole;

    if (!payload) {
        fputs(" no values", file);
        return;
    }
    if (packet_open(&packet, (struct payload *)payload) < 0)
        return;
    format = cop_packet_format(packet);
    whole = format != NULL;
    fprintf(file, " \"%s\"", format ? format : "damaged");
    for (size_t i = 0; cop_packet_value(packet, i, &value) == 0; i++)
        whole &= write_value(file, &value);
    if (!whole)
        fprintf(file, " #%016" PRIx64, hash_bytes(payload));
    cop_packet_free(packet);
}

/* Upwards, a number consists of an epoch and a wave (PROTOCOL 4.1). */
static void write_sequence(FILE *file, uint64_t sequence)
{
    if (sequence >> PACKET_WAVE_BITS)
        fprintf(file, " %" PRIu64 ".", sequence >> PACKET_WAVE_BITS);
    else
        fputc(' ', file);
    fprintf(file, "%" PRIu64, sequence & PACKET_WAVE_MASK);
}

/* Whose part is in a total, what they have settled, and the total (17.4). */
static void write_total(FILE *file, const struct frame *frame)
{
    struct total total = {0};

    if (total_decode(frame, &total) < 0)
        fputs(" damaged", file);
    for (size_t i = 0; i < total.set.count; i++)
        fprintf(file, " %u-%u", total.set.runs[i].first,
                total.set.runs[i].last);
    fprintf(file, " settled %u.%" PRIu64 "%s:", total.settled.epoch,
            total.settled.number, total.is_doubted ? " doubted" : "");
    if (total.is_empty)
        fputs(" nothing", file);
    else
        write_payload(file, total.payload);
    total_fini(&total);
}

/* ---- lines ---- */

void world_trace_packet(struct sim *sim,
                        unsigned kind,
                        const struct world_node *node,
                        const char *verb,
                        uint32_t stream,
                        const struct frame *frame)
{
    char *text = NULL;
    size_t len;
    FILE *file;

    if (!(sim->config.trace & kind))
        return;
    file = open_memstream(&text, &len);
    if (!file)
        return;
    fprintf(file, "%d %s stream %u", (int)node->rank, verb, stream);
    if (node->role == NODE_FRONTEND && frame->wave) {
        fputs(" wave", file);
        write_sequence(file, frame->wave);
    }
    if (frame->flags & FRAME_LATE)
        fputs(" late", file);
    fputc(':', file);
    if (frame->flags & FRAME_EMPTY)
        fprintf(file, " lost, and %" PRIu64 " before it", frame->run - 1);
    else
        write_payload(file, frame->payload);
    if (node->role == NODE_FRONTEND && frame->contributors)
        fprintf(file, " (%u back-end%s)", frame->contributors,
                frame->contributors == 1 ? "" : "s");
    fclose(file);
    sim_note(sim, kind, "%s", text);
    free(text);
}

void world_trace_frame(struct sim *sim,
                       const struct world_node *node,
                       uint32_t from,
                       const struct frame *frame)
{
    char *text = NULL;
    size_t len;
    FILE *file;

    if (!(sim->config.trace & SIM_TRACE_FRAME))
        return;
    file = open_memstream(&text, &len);
    if (!file)
        return;
    fprintf(file, "%d <- %d %s", (int)node->rank, (int)from,
            frame_name(frame->type));
    if (frame->type == FRAME_CONTROL && frame->tag > 0 &&
        (size_t)frame->tag < sizeof(control_names) / sizeof(control_names[0]))
        fprintf(file, " %s", control_names[frame->tag]);
    fprintf(file, " stream %u tag %d seq", frame->stream, frame->tag);
    write_sequence(file, frame->sequence);
    fprintf(file, " origin %d count %u", (int)frame->origin, frame->count);
    if (frame->flags & FRAME_WAVES)
        fprintf(file, " generation %u check %016" PRIx64, frame->generation,
                frame->check);
    for (size_t i = 0; i < sizeof(flag_names) / sizeof(flag_names[0]); i++)
        if (frame->flags & flag_names[i].flag)
            fprintf(file, " %s", flag_names[i].name);
    if (frame->payload)
        fputc(':', file);
    if (frame->type == FRAME_TOTAL)
        write_total(file, frame);
    else if (frame->payload)
        write_payload(file, frame->payload);
    fclose(file);
    sim_note(sim, SIM_TRACE_FRAME, "%s", text);
    free(text);
}

void world_trace_call(struct sim *sim,
                      const struct world_node *node,
                      const struct node_call *call)
{
    char *text = NULL;
    size_t len;
    FILE *file;

    if (!(sim->config.trace & SIM_TRACE_FILTER))
        return;
    file = open_memstream(&text, &len);
    if (!file)
        return;
    fprintf(file, "%d filter %s stream %u", (int)node->rank,
            call->init                 ? "init"
            : call->slots == CALL_JOIN ? "join"
            : call->slots == CALL_PACK ? "pack"
            : call->upward             ? "up"
                                       : "down",
            call->stream);
    if (!call->init) {
        fputs(" wave", file);
        write_sequence(file, call->sequence);
        fputs(": from", file);
    }
    for (size_t i = 0; i < call->input_count; i++) {
        fprintf(file, " %d", (int)call->inlets[i]);
        if (call->slots != CALL_WITHOUT_SLOTS)
            fprintf(file, " into slot %u", call->keys[i]);
    }
    for (size_t i = 0; i < call->kept_count; i++)
        fprintf(file, "%s %u", i == 0 ? ", keeps" : "", call->kept[i]);
    if (call->parameters) {
        fputs(", with", file);
        write_payload(file, call->parameters);
    }
    fprintf(file, ", gives %zu up, %zu down%s%s", node->answer.up_count,
            node->answer.down_count, *node->answer.text ? ": " : "",
            node->answer.text);
    fclose(file);
    sim_note(sim, SIM_TRACE_FILTER, "%s", text);
    free(text);
}

/* The result of a sync, or a state. */
static void write_synced(const struct action *tell, char *out, size_t size)
{
    snprintf(out, size, " stream %u of %" PRIu64 "%s", tell->stream,
             tell->sequence, tell->code == 1 ? " lossy" : "");
    if (tell->rank > 0)
        snprintf(out + strlen(out), size - strlen(out), ", %u withheld",
                 tell->rank);
}

void world_trace_tell(struct sim *sim,
                      const struct world_node *node,
                      const struct action *tell)
{
    char what[64] = "";
    bool with_text = tell->text != NULL;

    switch (tell->tell) {
    case TELL_OPENED:
    case TELL_CLOSED:
        snprintf(what, sizeof(what), " stream %u", tell->stream);
        break;
    case TELL_STATE:
    case TELL_SYNCED:
        write_synced(tell, what, sizeof(what));
        break;
    case TELL_REDO:
        snprintf(what, sizeof(what),
                 " %u of stream %u from %" PRIu64 ".%" PRIu64, tell->rank,
                 tell->stream, tell->sequence >> PACKET_WAVE_BITS,
                 tell->sequence & PACKET_WAVE_MASK);
        break;
    case TELL_VIEW:
        snprintf(what, sizeof(what), " %" PRIu64, tell->sequence);
        break;
    case TELL_LOSSY:
        snprintf(what, sizeof(what), " stream %u, link to %u", tell->stream,
                 tell->rank);
        break;
    case TELL_NODE_ADOPTED:
    case TELL_NODE_MOVED:
    case TELL_NODE_SUSPECTED:
    case TELL_NODE_BACK:
    case TELL_NODE_LOST:
    case TELL_NODE_LEFT:
    case TELL_NODE_JOINED:
    case TELL_BACKEND_LOST:
    case TELL_BACKEND_JOINED:
        with_text = false;
        snprintf(what, sizeof(what), " %u", tell->rank);
        if (tell->tell == TELL_NODE_JOINED && tell->sequence > 0)
            snprintf(what, sizeof(what), " %u in place of %" PRIu64, tell->rank,
                     tell->sequence);
        break;
    case TELL_FILTER_ERROR:
    case TELL_STREAM_FAILED:
        snprintf(what, sizeof(what), " stream %u at %u", tell->stream,
                 tell->rank);
        break;
    case TELL_NODE_REFUSED:
    case TELL_REPLACE_FAILED:
    case TELL_MOVE_FAILED:
    case TELL_DRAIN_FAILED:
        snprintf(what, sizeof(what), " %u", tell->rank);
        break;
    case TELL_LAUNCHED:
    case TELL_LAUNCH_FAILED:
    case TELL_DRAINED:
    case TELL_JOURNAL_FAILED:
    case TELL_ENDED:
        break;
    }
    sim_note(sim, SIM_TRACE_TELL, "%d told %s%s%s%s%s%s", (int)node->rank,
             tell_names[tell->tell], what, tell->code < 0 ? ", " : "",
             tell->code < 0 ? strerror(-tell->code) : "", with_text ? ": " : "",
             with_text ? tell->text : "");
    if (tell->tell == TELL_STATE && tell->code >= 0)
        world_trace_packet(sim, SIM_TRACE_TELL, node, "packed", tell->stream,
                           &tell->frame);
}

/* ---- comparing ---- */

static size_t line_len(const char *text)
{
    return strcspn(text, "\n");
}

bool sim_trace_is(struct sim *sim,
                  const char *expected,
                  const char *file,
                  int number)
{
    const char *is = sim_trace_text(sim);

    if (strcmp(is, expected) == 0)
        return true;
    printf("\n%s:%d: the trace is (- expected, + happened):\n", file, number);
    while (*is || *expected) {
        size_t is_len = line_len(is);
        size_t expected_len = line_len(expected);

        if (is_len == expected_len && strncmp(is, expected, is_len) == 0) {
            printf("  %.*s\n", (int)is_len, is);
        } else {
            if (*expected)
                printf("- %.*s\n", (int)expected_len, expected);
            if (*is)
                printf("+ %.*s\n", (int)is_len, is);
        }
        is += is_len + (is[is_len] == '\n');
        expected += expected_len + (expected[expected_len] == '\n');
    }
    return false;
}
