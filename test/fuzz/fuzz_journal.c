/* fuzz_journal.c - the file in which a front-end keeps its records. Each record is
 * within the bytes; what is read is the same as when it was written. */
#include "net/journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* A frame that is read is the same when it is written again. */
static void check_frame(const uint8_t *body, size_t len)
{
    unsigned char head[FRAME_HEAD_MAX];
    struct frame frame = {0};
    int r = journal_frame(body, len, &frame);
    size_t head_len;

    must(r == 0 || r == -EBADMSG);
    if (r < 0)
        return;
    head_len = frame_encode(&frame, head);
    must(head_len + (frame.payload ? frame.payload->len : 0) == len);
    must(memcmp(head, body, head_len) == 0);
    frame_fini(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct journal_reader reader;
    const unsigned char *body;
    size_t body_len, before;
    uint32_t kind;
    int r;

    check_frame(data, len);
    if (journal_reader_begin(&reader, data, len) < 0)
        return 0;
    do {
        before = reader.at;
        r = journal_reader_next(&reader, &kind, &body, &body_len);
        must(r == 1 || r == 0 || r == -EBADMSG);
        must(reader.at <= len && (reader.at > before) == (r == 1));
        if (r == 1) {
            must(body >= data + before && body + body_len <= data + reader.at);
            check_frame(body, body_len);
        }
    } while (r == 1);
    return 0;
}
