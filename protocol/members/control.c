/* control.c - the packets of stream 0. */
#include "protocol/members/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/limits.h"
#include "wire/packet.h"

#define OPEN_FORMAT "%ud %uc %ud %uc %aud %s %s %s %s %auc"
#define WAVES_FORMAT                                                           \
    OPEN_FORMAT " %uld" /* stream of whole waves: with `keep` */
#define CLOSE_FORMAT      "%ud %uld"
#define PARAMETERS_FORMAT "%ud %uld %auc"
#define ENTER_FORMAT      "%aud %aud %auld %auld %aud"
#define LOST_FORMAT       "%aud"
#define FAIL_FORMAT       "%ud"
#define REDO_FORMAT       "%ud %ud %uld"
#define VIEW_FORMAT       "%uld %uld"

/* OPEN has `grow`, the stream's kind and `compensates` in one byte. */
#define OPEN_GROWS       1
#define OPEN_KIND_SHIFT  1
#define OPEN_KIND        3
#define OPEN_COMPENSATES 8

void definition_fini(struct stream_definition *definition)
{
    ranks_fini(&definition->members);
    free(definition->up_filter);
    free(definition->up_filter_frontend);
    free(definition->up_filter_backend);
    free(definition->down_filter);
    payload_free(definition->parameters);
    memset(definition, 0, sizeof(*definition));
}

static int copy_text(char **to, const char *from)
{
    *to = strdup(from ? from : "");
    return *to ? 0 : -ENOMEM;
}

int definition_copy(struct stream_definition *to,
                    const struct stream_definition *from)
{
    struct stream_definition copy = {
        .id = from->id,
        .kind = from->kind,
        .sync = from->sync,
        .wave_timeout_ms = from->wave_timeout_ms,
        .grow = from->grow,
        .compensates = from->compensates,
        .waves_only = from->waves_only,
        .keep = from->keep,
        .redo_limit = from->redo_limit,
        .parameters = payload_ref(from->parameters),
    };

    if (ranks_copy(&copy.members, &from->members) < 0 ||
        copy_text(&copy.up_filter, from->up_filter) < 0 ||
        copy_text(&copy.up_filter_frontend, from->up_filter_frontend) < 0 ||
        copy_text(&copy.up_filter_backend, from->up_filter_backend) < 0 ||
        copy_text(&copy.down_filter, from->down_filter) < 0) {
        definition_fini(&copy);
        return -ENOMEM;
    }
    definition_fini(to);
    *to = copy;
    return 0;
}

void control_fini(struct control *control)
{
    definition_fini(&control->definition);
    payload_free(control->parameters);
    ranks_fini(&control->ranks);
    free(control->streams);
    free(control->starts);
    free(control->markers);
    free(control->epochs);
    memset(control, 0, sizeof(*control));
}

static uint32_t pair_count(const struct ranks *set)
{
    return (uint32_t)(2 * set->count);
}

static int encode_open(const struct stream_definition *d, struct payload **out)
{
    int flags = (d->grow ? OPEN_GROWS : 0) | (int)d->kind << OPEN_KIND_SHIFT |
                (d->compensates ? OPEN_COMPENSATES : 0);

    return packet_pack(
        out, d->kind == STREAM_WAVES ? WAVES_FORMAT : OPEN_FORMAT, d->id,
        (int)d->sync, d->wave_timeout_ms, flags, ranks_pairs(&d->members),
        pair_count(&d->members), d->up_filter, d->up_filter_frontend,
        d->up_filter_backend, d->down_filter,
        d->parameters ? d->parameters->bytes : NULL,
        d->parameters ? d->parameters->len : (uint32_t)0, d->keep);
}

int control_encode(const struct control *control, struct frame *out)
{
    const struct payload *p = control->parameters;

    memset(out, 0, sizeof(*out));
    out->type = FRAME_CONTROL;
    out->tag = (int32_t)control->type;
    switch (control->type) {
    case CONTROL_OPEN:
        return encode_open(&control->definition, &out->payload);
    case CONTROL_CLOSE:
        return packet_pack(&out->payload, CLOSE_FORMAT, control->stream,
                           control->after);
    case CONTROL_PARAMETERS:
        return packet_pack(&out->payload, PARAMETERS_FORMAT, control->stream,
                           control->after, p ? p->bytes : NULL,
                           p ? p->len : (uint32_t)0);
    case CONTROL_ENTER:
        return packet_pack(
            &out->payload, ENTER_FORMAT, ranks_pairs(&control->ranks),
            pair_count(&control->ranks), control->streams,
            control->stream_count, control->starts, control->stream_count,
            control->markers, control->stream_count, control->epochs,
            control->stream_count);
    case CONTROL_LOST:
    case CONTROL_LEFT:
    case CONTROL_ENDING:
        return packet_pack(&out->payload, LOST_FORMAT,
                           ranks_pairs(&control->ranks),
                           pair_count(&control->ranks));
    case CONTROL_SHUTDOWN:
        return 0;
    case CONTROL_FAIL:
        return packet_pack(&out->payload, FAIL_FORMAT, control->stream);
    case CONTROL_REDO:
        return packet_pack(&out->payload, REDO_FORMAT, control->stream,
                           control->generation, control->after);
    case CONTROL_VIEW:
        return packet_pack(&out->payload, VIEW_FORMAT, control->view,
                           control->stable);
    }
    return 0;
}

/* Copy bytes into a new payload. Without bytes `out` stays untouched. */
static int copy_bytes(struct payload **out, const void *bytes, uint32_t len)
{
    int r;

    if (len == 0)
        return 0;
    r = payload_new(out, len);
    if (r == 0)
        memcpy((*out)->bytes, bytes, len);
    return r;
}

static int decode_open(struct cop_packet *packet, struct control *control)
{
    const char *format = cop_packet_format(packet);
    bool waves = format && strcmp(format, WAVES_FORMAT) == 0;
    struct stream_definition raw = {0};
    unsigned char sync, flags;
    const uint32_t *pairs;
    uint32_t count, len;
    const void *bytes;
    int r;

    r = cop_packet_unpack(packet, waves ? WAVES_FORMAT : OPEN_FORMAT, &raw.id,
                          &sync, &raw.wave_timeout_ms, &flags, &pairs, &count,
                          &raw.up_filter, &raw.up_filter_frontend,
                          &raw.up_filter_backend, &raw.down_filter, &bytes,
                          &len, &raw.keep);
    if (r < 0)
        return r;
    raw.grow = flags & OPEN_GROWS;
    raw.kind = (enum stream_guarantee)(flags >> OPEN_KIND_SHIFT & OPEN_KIND);
    raw.compensates = flags & OPEN_COMPENSATES;
    if (raw.id == 0 || sync > COP_TIME_OUT || flags >= 2 * OPEN_COMPENSATES ||
        raw.kind > STREAM_TOTAL ||
        (raw.compensates && raw.kind != STREAM_PLAIN) ||
        waves != (raw.kind == STREAM_WAVES) ||
        (waves && sync != COP_WAIT_FOR_ALL) ||
        strlen(raw.up_filter) > LIMIT_FILTER_NAME ||
        strlen(raw.up_filter_frontend) > LIMIT_FILTER_NAME ||
        strlen(raw.up_filter_backend) > LIMIT_FILTER_NAME ||
        strlen(raw.down_filter) > LIMIT_FILTER_NAME)
        return -EBADMSG;
    raw.sync = (enum cop_sync)sync;
    r = definition_copy(&control->definition, &raw);
    if (r < 0)
        return r;
    r = copy_bytes(&control->definition.parameters, bytes, len);
    if (r < 0)
        return r;
    control->stream = raw.id;
    return ranks_from_pairs(&control->definition.members, pairs, count);
}

static int decode_parameters(struct cop_packet *packet, struct control *control)
{
    const void *bytes;
    uint32_t len;
    int r;

    r = cop_packet_unpack(packet, PARAMETERS_FORMAT, &control->stream,
                          &control->after, &bytes, &len);
    return r < 0 ? r : copy_bytes(&control->parameters, bytes, len);
}

/* Copy `count` elements of `size` bytes to `out`, a pointer to a pointer. */
static int copy_array(void *out, const void *from, uint32_t count, size_t size)
{
    void *copy;

    if (count == 0)
        return 0;
    copy = malloc(count * size);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, from, count * size);
    memcpy(out, &copy, sizeof(copy));
    return 0;
}

static int decode_enter(struct cop_packet *packet, struct control *control)
{
    const uint32_t *pairs, *streams, *epochs;
    const uint64_t *starts, *markers;
    uint32_t pair_len, count, start_count, marker_count, epoch_count;
    int r;

    r = cop_packet_unpack(packet, ENTER_FORMAT, &pairs, &pair_len, &streams,
                          &count, &starts, &start_count, &markers,
                          &marker_count, &epochs, &epoch_count);
    if (r < 0)
        return r;
    if (start_count != count || marker_count != count || epoch_count != count)
        return -EBADMSG;
    if (copy_array(&control->streams, streams, count, sizeof(*streams)) < 0 ||
        copy_array(&control->starts, starts, count, sizeof(*starts)) < 0 ||
        copy_array(&control->markers, markers, count, sizeof(*markers)) < 0 ||
        copy_array(&control->epochs, epochs, count, sizeof(*epochs)) < 0)
        return -ENOMEM;
    control->stream_count = count;
    return ranks_from_pairs(&control->ranks, pairs, pair_len);
}

static int decode_lost(struct cop_packet *packet, struct control *control)
{
    const uint32_t *pairs;
    uint32_t count;
    int r;

    r = cop_packet_unpack(packet, LOST_FORMAT, &pairs, &count);
    return r < 0 ? r : ranks_from_pairs(&control->ranks, pairs, count);
}

static int decode_view(struct cop_packet *packet, struct control *control)
{
    int r = cop_packet_unpack(packet, VIEW_FORMAT, &control->view,
                              &control->stable);

    return r == 0 && control->stable > control->view ? -EBADMSG : r;
}

static int decode_packet(struct cop_packet *packet, struct control *control)
{
    switch (control->type) {
    case CONTROL_OPEN:
        return decode_open(packet, control);
    case CONTROL_CLOSE:
        return cop_packet_unpack(packet, CLOSE_FORMAT, &control->stream,
                                 &control->after);
    case CONTROL_PARAMETERS:
        return decode_parameters(packet, control);
    case CONTROL_ENTER:
        return decode_enter(packet, control);
    case CONTROL_LOST:
    case CONTROL_LEFT:
    case CONTROL_ENDING:
        return decode_lost(packet, control);
    case CONTROL_SHUTDOWN:
        return 0;
    case CONTROL_FAIL:
        return cop_packet_unpack(packet, FAIL_FORMAT, &control->stream);
    case CONTROL_REDO:
        return cop_packet_unpack(packet, REDO_FORMAT, &control->stream,
                                 &control->generation, &control->after);
    case CONTROL_VIEW:
        return decode_view(packet, control);
    }
    return -EBADMSG;
}

int control_decode(const struct frame *frame, struct control *out)
{
    struct control control = {0};
    struct cop_packet *packet = NULL;
    int r;

    if (frame->tag < CONTROL_OPEN || frame->tag > CONTROL_VIEW)
        return -EBADMSG;
    control.type = (enum control_type)frame->tag;
    r = packet_open(&packet, frame->payload);
    if (r == 0)
        r = decode_packet(packet, &control);
    cop_packet_free(packet);
    if (r < 0) {
        control_fini(&control);
        return r == -EINVAL ? -EBADMSG : r;
    }
    *out = control;
    return 0;
}
