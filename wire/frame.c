/* frame.c - frames on a link: a header of 32 bytes and a payload. */
#include "wire/frame.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

/* Below this a direct read saves nothing over the shared buffer. */
#define DIRECT_LEN 16384

#define FLAGS_KNOWN                                                            \
    (FRAME_LAST | FRAME_LATE | FRAME_EMPTY | FRAME_COMPENSATING |              \
     FRAME_WAVES | FRAME_OVER | FRAME_ASK | FRAME_NEWCOMER)

/* The name of `type`; NULL if there is no such type. */
static const char *known_name(uint8_t type)
{
#define FRAME_NAME(name, number, text) [number] = text,
    static const char *const names[] = {FRAME_TYPES(FRAME_NAME)};
#undef FRAME_NAME

    return type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
}

const char *frame_name(uint8_t type)
{
    const char *name = known_name(type);

    return name ? name : "unknown";
}

static uint32_t body_len(const struct frame *frame)
{
    return frame->payload ? frame->payload->len : 0;
}

struct frame frame_ref(const struct frame *frame)
{
    struct frame copy = *frame;

    payload_ref(copy.payload);
    return copy;
}

static void put32(unsigned char *at, uint32_t value)
{
    value = htobe32(value);
    memcpy(at, &value, sizeof(value));
}

static uint32_t get32(const unsigned char *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return be32toh(value);
}

static void put64(unsigned char *at, uint64_t value)
{
    value = htobe64(value);
    memcpy(at, &value, sizeof(value));
}

static uint64_t get64(const unsigned char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof(value));
    return be64toh(value);
}

size_t frame_encode(const struct frame *frame,
                    unsigned char out[FRAME_HEAD_MAX])
{
    put32(out, body_len(frame));
    out[4] = frame->type;
    out[5] = frame->flags;
    out[6] = 0;
    out[7] = 0;
    put32(out + 8, frame->stream);
    put32(out + 12, (uint32_t)frame->tag);
    put32(out + 16, frame->origin);
    put32(out + 20, frame->count);
    put64(out + 24, frame->sequence);
    if (!(frame->flags & FRAME_WAVES))
        return FRAME_HEADER_LEN;
    put64(out + 32, frame->check);
    put32(out + 40, frame->generation);
    put32(out + 44, 0);
    return FRAME_HEAD_MAX;
}

size_t frame_writer_encode(struct frame_writer *writer,
                           const struct frame *frame,
                           unsigned char out[FRAME_HEAD_MAX])
{
    size_t len = frame_encode(frame, out);

    if (frame->type != FRAME_HEARTBEAT || frame->payload)
        return len;
    if (memcmp(writer->beat, out, FRAME_HEADER_LEN) == 0) {
        put32(out, UINT32_MAX);
        return FRAME_REPEAT_LEN;
    }
    memcpy(writer->beat, out, FRAME_HEADER_LEN);
    return len;
}

/* Read a whole header, and make room for its payload. */
static int decode_header(struct frame_reader *reader, const unsigned char *in)
{
    struct frame *frame = &reader->frame;
    uint32_t len = get32(in);
    bool waves = in[5] & FRAME_WAVES;

    if (!known_name(in[4]))
        return -EBADMSG;
    if ((in[5] & ~FLAGS_KNOWN) || in[6] || in[7])
        return -EBADMSG;
    if (waves && (in[4] != FRAME_DATA || get32(in + 44)))
        return -EBADMSG;
    reader->wanted = len;
    if (len > reader->limit)
        return -EMSGSIZE;
    *frame = (struct frame){
        .type = in[4],
        .flags = in[5],
        .stream = get32(in + 8),
        .tag = (int32_t)get32(in + 12),
        .origin = get32(in + 16),
        .count = get32(in + 20),
        .sequence = get64(in + 24),
        .check = waves ? get64(in + 32) : 0,
        .generation = waves ? get32(in + 40) : 0,
    };
    if (frame->type == FRAME_HEARTBEAT && len == 0)
        reader->beat = *frame;
    return len ? payload_new(&frame->payload, len) : 0;
}

/* The reader has the mark that repeats the last HEARTBEAT. */
static int repeat_beat(struct frame_reader *reader)
{
    if (reader->beat.type == 0)
        return -EBADMSG;
    reader->frame = reader->beat;
    return 0;
}

void frame_reader_init(struct frame_reader *reader, uint32_t limit)
{
    memset(reader, 0, sizeof(*reader));
    reader->limit = limit;
}

bool frame_reader_rests(const struct frame_reader *reader)
{
    return reader->header_len == 0 && !reader->headed;
}

void frame_reader_fini(struct frame_reader *reader)
{
    frame_fini(&reader->frame);
}

static size_t frame_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The length of a header, as far as its first `len` bytes determine it. */
static uint32_t head_len(const unsigned char *in, uint32_t len)
{
    if (len < FRAME_REPEAT_LEN || get32(in) == UINT32_MAX)
        return FRAME_REPEAT_LEN;
    return len >= FRAME_HEADER_LEN && in[5] & FRAME_WAVES ? FRAME_HEAD_MAX
                                                          : FRAME_HEADER_LEN;
}

/* `in` has a whole header of `len` bytes. */
static int take_header(struct frame_reader *reader,
                       const unsigned char *in,
                       uint32_t len)
{
    int r = len == FRAME_REPEAT_LEN ? repeat_beat(reader)
                                    : decode_header(reader, in);

    reader->headed = r == 0;
    reader->header_len = 0;
    return r;
}

/* Gather a header from pieces. Returns 0, or an error. */
static int gather_header(struct frame_reader *reader,
                         const unsigned char **bytes,
                         size_t *len)
{
    uint32_t want = head_len(reader->header, reader->header_len);

    while (*len > 0 && reader->header_len < want) {
        size_t n = frame_least(want - reader->header_len, *len);

        memcpy(reader->header + reader->header_len, *bytes, n);
        reader->header_len += (uint32_t)n;
        *bytes += n;
        *len -= n;
        want = head_len(reader->header, reader->header_len);
    }
    return reader->header_len < want
               ? 0
               : take_header(reader, reader->header, want);
}

/* Read a header. Usually all of it is there, and is read in place. */
static int read_header(struct frame_reader *reader,
                       const unsigned char **bytes,
                       size_t *len)
{
    uint32_t n;

    if (reader->header_len > 0 || *len < FRAME_HEAD_MAX)
        return gather_header(reader, bytes, len);
    n = head_len(*bytes, FRAME_HEAD_MAX);
    *bytes += n;
    *len -= n;
    return take_header(reader, *bytes - n, n);
}

/* The frame is whole: hand it over, and begin the next one. */
static int frame_whole(struct frame_reader *reader, struct frame *out)
{
    *out = reader->frame;
    reader->frame.payload = NULL;
    reader->headed = false;
    reader->body_len = 0;
    return 1;
}

int frame_reader_take(struct frame_reader *reader,
                      const unsigned char **bytes,
                      size_t *len,
                      struct frame *out)
{
    size_t n;
    int r;

    if (!reader->headed) {
        r = read_header(reader, bytes, len);
        if (r < 0 || !reader->headed)
            return r;
    }
    n = frame_least(body_len(&reader->frame) - reader->body_len, *len);
    if (n > 0)
        memcpy(reader->frame.payload->bytes + reader->body_len, *bytes, n);
    reader->body_len += (uint32_t)n;
    *bytes += n;
    *len -= n;
    if (reader->body_len < body_len(&reader->frame))
        return 0;
    return frame_whole(reader, out);
}

uint32_t frame_reader_wanted(const struct frame_reader *reader)
{
    return reader->wanted;
}

unsigned char *frame_reader_space(struct frame_reader *reader, size_t *len)
{
    uint32_t left;

    if (!reader->headed)
        return NULL;
    left = body_len(&reader->frame) - reader->body_len;
    if (left < DIRECT_LEN)
        return NULL;
    *len = left;
    return reader->frame.payload->bytes + reader->body_len;
}

int frame_reader_filled(struct frame_reader *reader,
                        size_t len,
                        struct frame *out)
{
    assert(len <= body_len(&reader->frame) - reader->body_len);
    reader->body_len += (uint32_t)len;
    if (reader->body_len < body_len(&reader->frame))
        return 0;
    return frame_whole(reader, out);
}
