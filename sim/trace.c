/* trace.c - the trace: text for people and for comparison. */
#include "sim/sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"
#include "sim/world.h"
#include "wire/packet.h"

/* The most elements of an array, and characters of a text, that are shown. */
#define TRACE_ELEMENTS 8
#define TRACE_TEXT     60

static const char *const tell_names[] = {
    [TELL_LAUNCHED] = "launched",
    [TELL_LAUNCH_FAILED] = "launch failed",
    [TELL_OPENED] = "opened",
    [TELL_SYNCED] = "synced",
    [TELL_LOSSY] = "lossy",
    [TELL_STATE] = "state",
    [TELL_REDO] = "redo",
    [TELL_CLOSED] = "closed",
    [TELL_NODE_SUSPECTED] = "node suspected",
    [TELL_NODE_BACK] = "node back",
    [TELL_NODE_LOST] = "node lost",
    [TELL_NODE_ADOPTED] = "node adopted",
    [TELL_BACKEND_LOST] = "back-end lost",
    [TELL_BACKEND_JOINED] = "back-end joined",
    [TELL_FILTER_ERROR] = "filter error",
    [TELL_STREAM_FAILED] = "stream failed",
    [TELL_NODE_REFUSED] = "node refused",
    [TELL_ENDED] = "ended",
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

static void write_element(FILE *file, const struct cop_value *value, uint64_t i)
{
    const void *data = value->data;

    switch (value->type) {
    case COP_CHAR:
        fprintf(file, "%d", ((const signed char *)data)[i]);
        return;
    case COP_UCHAR:
        fprintf(file, "%u", ((const unsigned char *)data)[i]);
        return;
    case COP_INT16:
        fprintf(file, "%d", ((const int16_t *)data)[i]);
        return;
    case COP_UINT16:
        fprintf(file, "%u", ((const uint16_t *)data)[i]);
        return;
    case COP_INT32:
        fprintf(file, "%" PRId32, ((const int32_t *)data)[i]);
        return;
    case COP_UINT32:
        fprintf(file, "%" PRIu32, ((const uint32_t *)data)[i]);
        return;
    case COP_INT64:
        fprintf(file, "%" PRId64, ((const int64_t *)data)[i]);
        return;
    case COP_UINT64:
        fprintf(file, "%" PRIu64, ((const uint64_t *)data)[i]);
        return;
    case COP_FLOAT:
        fprintf(file, "%g", (double)((const float *)data)[i]);
        return;
    case COP_DOUBLE:
        fprintf(file, "%g", ((const double *)data)[i]);
        return;
    case COP_STRING:
        fprintf(file, "'%.*s'", TRACE_TEXT, ((const char *const *)data)[i]);
        return;
    }
}

static void write_value(FILE *file, const struct cop_value *value)
{
    if (value->shape == COP_SCALAR) {
        fputc(' ', file);
        write_element(file, value, 0);
        return;
    }
    fputs(" [", file);
    for (uint64_t i = 0; i < value->count && i < TRACE_ELEMENTS; i++) {
        if (i > 0)
            fputs(", ", file);
        write_element(file, value, i);
    }
    if (value->count > TRACE_ELEMENTS)
        fprintf(file, ", ... %" PRIu64, value->count);
    fputc(']', file);
}

static void write_payload(FILE *file, const struct payload *payload)
{
    struct cop_packet *packet;
    const char *format;
    struct cop_value value;

    if (!payload) {
        fputs(" no values", file);
        return;
    }
    if (packet_open(&packet, (struct payload *)payload) < 0)
        return;
    format = cop_packet_format(packet);
    fprintf(file, " \"%s\"", format ? format : "damaged");
    for (size_t i = 0; cop_packet_value(packet, i, &value) == 0; i++)
        write_value(file, &value);
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
    fprintf(file, " stream %u tag %d seq", frame->stream, frame->tag);
    write_sequence(file, frame->sequence);
    fprintf(file, " origin %d count %u", (int)frame->origin, frame->count);
    if (frame->flags & FRAME_LAST)
        fputs(" last", file);
    if (frame->flags & FRAME_LATE)
        fputs(" late", file);
    if (frame->flags & FRAME_EMPTY)
        fputs(" empty", file);
    if (frame->payload) {
        fputc(':', file);
        write_payload(file, frame->payload);
    }
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
            call->init     ? "init"
            : call->upward ? "up"
                           : "down",
            call->stream);
    if (!call->init) {
        fputs(" wave", file);
        write_sequence(file, call->sequence);
        fputs(": from", file);
    }
    for (size_t i = 0; i < call->input_count; i++)
        fprintf(file, " %d", (int)call->inlets[i]);
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
        snprintf(what, sizeof(what), " stream %u%s", tell->stream,
                 tell->code == 1 ? " lossy" : "");
        break;
    case TELL_SYNCED:
        snprintf(what, sizeof(what), " stream %u%s", tell->stream,
                 tell->code == 1 ? " lossy" : "");
        if (tell->rank > 0)
            snprintf(what + strlen(what), sizeof(what) - strlen(what),
                     ", %u withheld", tell->rank);
        break;
    case TELL_REDO:
        snprintf(what, sizeof(what), " %u of stream %u", tell->rank,
                 tell->stream);
        break;
    case TELL_LOSSY:
        snprintf(what, sizeof(what), " stream %u, link to %u", tell->stream,
                 tell->rank);
        break;
    case TELL_NODE_ADOPTED:
    case TELL_NODE_SUSPECTED:
    case TELL_NODE_BACK:
    case TELL_NODE_LOST:
    case TELL_BACKEND_LOST:
    case TELL_BACKEND_JOINED:
        with_text = false;
        snprintf(what, sizeof(what), " %u", tell->rank);
        break;
    case TELL_FILTER_ERROR:
    case TELL_STREAM_FAILED:
        snprintf(what, sizeof(what), " stream %u at %u", tell->stream,
                 tell->rank);
        break;
    case TELL_NODE_REFUSED:
        snprintf(what, sizeof(what), " %u", tell->rank);
        break;
    case TELL_LAUNCHED:
    case TELL_LAUNCH_FAILED:
    case TELL_ENDED:
        break;
    }
    sim_note(sim, SIM_TRACE_TELL, "%d told %s%s%s%s%s%s", (int)node->rank,
             tell_names[tell->tell], what, tell->code < 0 ? ", " : "",
             tell->code < 0 ? strerror(-tell->code) : "", with_text ? ": " : "",
             with_text ? tell->text : "");
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
