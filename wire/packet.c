/* packet.c - one typed message: tag, format, values. */
#include "wire/packet.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "wire/format.h"
#include "wire/image.h"
#include "wire/ranks.h"

/* Bytes for the view of a packet of one or two values. */
#define ROOM_LEN 96

struct cop_packet {
    uint32_t refs;
    bool room_used; /* or in use, by the first reader */
    struct frame frame;
    struct image_view *view; /* made when first asked for; then for life */
    _Alignas(max_align_t) unsigned char room[ROOM_LEN];
};

/* ---- making ---- */

int packet_from_frame(struct cop_packet **out, struct frame *frame)
{
    struct cop_packet *packet;

    packet = malloc(sizeof(*packet));
    if (!packet) {
        frame_fini(frame);
        return -ENOMEM;
    }
    packet->refs = 1;
    packet->room_used = false;
    packet->frame = *frame;
    packet->view = NULL;
    frame->payload = NULL;
    *out = packet;
    return 0;
}

/* One scalar's storage while it is packed. */
union scalar {
    char c;
    int16_t h;
    int32_t d;
    int64_t l;
    float f;
    double lf;
    const char *s;
};

/* The remaining arguments, in a struct so that functions can share them. */
struct arguments {
    va_list list;
};

static const void *take_scalar(union scalar *out,
                               enum cop_type type,
                               struct arguments *args)
{
    switch (type) {
    case COP_CHAR:
    case COP_UCHAR:
        out->c = (char)va_arg(args->list, int);
        break;
    case COP_INT16:
    case COP_UINT16:
        out->h = (int16_t)va_arg(args->list, int);
        break;
    case COP_INT32:
    case COP_UINT32:
        out->d = va_arg(args->list, int32_t);
        break;
    case COP_INT64:
    case COP_UINT64:
        out->l = va_arg(args->list, int64_t);
        break;
    case COP_FLOAT:
        out->f = (float)va_arg(args->list, double);
        break;
    case COP_DOUBLE:
        out->lf = va_arg(args->list, double);
        break;
    case COP_STRING:
        out->s = va_arg(args->list, const char *);
        break;
    }
    return out;
}

static int pack_arguments(struct payload **out,
                          const char *text,
                          struct arguments *args)
{
    struct cop_value values[COP_VALUES_MAX];
    union scalar scalars[COP_VALUES_MAX];
    struct format format;
    int r;

    r = format_parse(&format, text);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < format.count; i++) {
        struct cop_value *value = &values[i];

        value->type = format.items[i].type;
        value->shape = format.items[i].shape;
        if (value->shape == COP_SCALAR) {
            value->data = take_scalar(&scalars[i], value->type, args);
            value->count = 1;
            continue;
        }
        value->data = va_arg(args->list, const void *);
        if (value->shape == COP_ARRAY)
            value->count = va_arg(args->list, uint32_t);
        else
            value->count = va_arg(args->list, uint64_t);
    }
    return image_pack(out, values, format.count);
}

int packet_pack_va(struct payload **out, const char *format, va_list list)
{
    struct arguments args;
    int r;

    va_copy(args.list, list);
    r = pack_arguments(out, format, &args);
    va_end(args.list);
    return r;
}

/* A packet made here; `payload` is taken. */
static int packet_make(struct cop_packet **out,
                       int32_t tag,
                       struct payload *payload)
{
    struct frame frame = {
        .type = FRAME_DATA,
        .tag = tag,
        .origin = RANK_NONE, /* until a node sends it */
        .payload = payload,
    };

    return packet_from_frame(out, &frame);
}

int cop_packet_new_va(struct cop_packet **out,
                      int32_t tag,
                      const char *format,
                      va_list list)
{
    struct payload *payload;
    int r;

    r = packet_pack_va(&payload, format, list);
    if (r < 0)
        return r;
    return packet_make(out, tag, payload);
}

int cop_packet_new(struct cop_packet **out,
                   int32_t tag,
                   const char *format,
                   ...)
{
    va_list list;
    int r;

    va_start(list, format);
    r = cop_packet_new_va(out, tag, format, list);
    va_end(list);
    return r;
}

int cop_packet_new_values(struct cop_packet **out,
                          int32_t tag,
                          const struct cop_value *values,
                          size_t count)
{
    struct payload *payload;
    int r;

    r = image_pack(&payload, values, count);
    if (r < 0)
        return r;
    return packet_make(out, tag, payload);
}

int packet_pack(struct payload **out, const char *format, ...)
{
    struct arguments args;
    int r;

    va_start(args.list, format);
    r = pack_arguments(out, format, &args);
    va_end(args.list);
    return r;
}

int packet_open(struct cop_packet **out, struct payload *payload)
{
    return packet_make(out, 0, payload_ref(payload));
}

const struct frame *packet_frame(const struct cop_packet *packet)
{
    return &packet->frame;
}

struct cop_packet *cop_packet_ref(const struct cop_packet *packet)
{
    /* The reference count may change: it is not part of the content. */
    struct cop_packet *counted = (struct cop_packet *)packet;

    __atomic_fetch_add(&counted->refs, 1, __ATOMIC_RELAXED);
    return counted;
}

void cop_packet_free(struct cop_packet *packet)
{
    if (!packet || __atomic_sub_fetch(&packet->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    image_view_free(packet->view);
    frame_fini(&packet->frame);
    free(packet);
}

/* ---- reading ---- */

/* The packet's values, decoded by the first thread that asks. */
static int view_of(const struct image_view **out,
                   const struct cop_packet *packet)
{
    struct cop_packet *made = (struct cop_packet *)packet;
    struct image_view **place = &made->view;
    struct image_view *view;
    struct image_view *other = NULL;
    int r;

    view = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (!view) {
        bool used =
            __atomic_exchange_n(&made->room_used, true, __ATOMIC_RELAXED);

        r = image_view_new(&view, packet->frame.payload,
                           used ? NULL : made->room, ROOM_LEN);
        if (r < 0)
            return r;
        if (!__atomic_compare_exchange_n(place, &other, view, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            image_view_free(view);
            view = other;
        }
    }
    *out = view;
    return 0;
}

static bool format_is(const struct format *format,
                      const struct image_view *view)
{
    if (format->count != view->count)
        return false;
    for (uint32_t i = 0; i < view->count; i++)
        if (format->items[i].type != view->values[i].type ||
            format->items[i].shape != view->values[i].shape)
            return false;
    return true;
}

/* Write `value` to where the next arguments point. */
static void packet_give(const struct cop_value *value, struct arguments *args)
{
    void *out = va_arg(args->list, void *);

    switch (value->shape) {
    case COP_SCALAR:
        memcpy(out, value->data, format_element_len(value->type));
        break;
    case COP_ARRAY:
        *(const void **)out = value->data;
        *va_arg(args->list, uint32_t *) = (uint32_t)value->count;
        break;
    case COP_ARRAY64:
        *(const void **)out = value->data;
        *va_arg(args->list, uint64_t *) = value->count;
        break;
    }
}

int cop_packet_unpack(const struct cop_packet *packet, const char *text, ...)
{
    const struct image_view *view;
    struct arguments args;
    struct format format;
    int r;

    if (format_parse(&format, text) < 0)
        return -EINVAL;
    r = view_of(&view, packet);
    if (r < 0)
        return r;
    if (!format_is(&format, view))
        return -EINVAL;
    va_start(args.list, text);
    for (uint32_t i = 0; i < view->count; i++)
        packet_give(&view->values[i], &args);
    va_end(args.list);
    return 0;
}

int cop_packet_value(const struct cop_packet *packet,
                     size_t index,
                     struct cop_value *value)
{
    const struct image_view *view;
    int r;

    r = view_of(&view, packet);
    if (r < 0)
        return r;
    if (index >= view->count)
        return -ENOENT;
    *value = view->values[index];
    return 0;
}

int cop_packet_value_count(const struct cop_packet *packet)
{
    const struct image_view *view;
    int r;

    r = view_of(&view, packet);
    return r < 0 ? r : (int)view->count;
}

const char *cop_packet_format(const struct cop_packet *packet)
{
    const struct image_view *view;

    return view_of(&view, packet) < 0 ? NULL : view->format;
}

int32_t cop_packet_tag(const struct cop_packet *packet)
{
    return packet->frame.tag;
}

uint32_t cop_packet_origin(const struct cop_packet *packet)
{
    return packet->frame.origin;
}

uint32_t cop_packet_contributors(const struct cop_packet *packet)
{
    return packet->frame.contributors;
}

uint64_t cop_packet_wave(const struct cop_packet *packet)
{
    return packet->frame.wave & PACKET_WAVE_MASK;
}

uint32_t cop_packet_epoch(const struct cop_packet *packet)
{
    return (uint32_t)(packet->frame.wave >> PACKET_WAVE_BITS);
}

bool cop_packet_is_late(const struct cop_packet *packet)
{
    return packet->frame.flags & FRAME_LATE;
}

bool cop_packet_is_compensation(const struct cop_packet *packet)
{
    return packet->frame.flags & FRAME_COMPENSATING;
}

size_t cop_packet_size(const struct cop_packet *packet)
{
    return packet->frame.payload ? packet->frame.payload->len : 0;
}
