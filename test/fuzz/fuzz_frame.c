/* fuzz_frame.c - the bytes of a link, in two different cuts, give the same
 * frames and error.
 *
 * The first byte of the input seeds the second cut; the others are the link. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"

#define LIMIT (1u << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The results of reading a link. */
struct outcome {
    uint64_t frame_count;
    uint64_t hash;
    int error;
};

static void note(struct outcome *outcome,
                 const unsigned char *bytes,
                 size_t len)
{
    for (size_t i = 0; i < len; i++)
        outcome->hash = (outcome->hash ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static void note_frame(struct outcome *outcome, struct frame *frame)
{
    unsigned char header[FRAME_HEAD_MAX];

    note(outcome, header, frame_encode(frame, header));
    if (frame->payload)
        note(outcome, frame->payload->bytes, frame->payload->len);
    outcome->frame_count++;
    frame_fini(frame);
}

/* Read `len` bytes, `step` at a time, directly if the reader allows it. */
static struct outcome read_link(const uint8_t *data, size_t len, size_t step)
{
    struct outcome outcome = {.frame_count = 0};
    struct frame_reader reader;
    struct frame frame;
    int r = 0;

    frame_reader_init(&reader, LIMIT);
    while (len > 0 && r >= 0) {
        size_t part = len < step ? len : step;
        size_t room = 0;
        unsigned char *space = frame_reader_space(&reader, &room);
        const unsigned char *at = data;
        size_t left = part;

        if (space) {
            part = part < room ? part : room;
            memcpy(space, data, part);
            r = frame_reader_filled(&reader, part, &frame);
            left = 0;
            if (r == 1)
                note_frame(&outcome, &frame);
        }
        while (left > 0 && r >= 0) {
            r = frame_reader_take(&reader, &at, &left, &frame);
            if (r == 1)
                note_frame(&outcome, &frame);
            if (r == 0 && left > 0)
                abort();
        }
        data += part;
        len -= part;
    }
    frame_reader_fini(&reader);
    outcome.error = r < 0 ? r : 0;
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct outcome whole;
    struct outcome cut;

    if (len == 0)
        return 0;
    whole = read_link(data + 1, len - 1, SIZE_MAX);
    cut = read_link(data + 1, len - 1, 1u + data[0]);
    if (whole.frame_count != cut.frame_count || whole.hash != cut.hash ||
        whole.error != cut.error)
        abort();
    if (whole.error && whole.error != -EBADMSG && whole.error != -EMSGSIZE &&
        whole.error != -ENOMEM)
        abort();
    return 0;
}
