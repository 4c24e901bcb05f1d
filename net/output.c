/* output.c - the bytes queued for a socket. */
#include "net/output.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "net/helm.h"

/* Payloads of this length or more are queued by reference. */
#define REFERENCE_LEN 16384

/* output_write() stops after this many bytes. */
#define TURN_LEN (1 << 20)

/* The first buffer of a queue; the longest buffer that an empty queue keeps;
 * the next longer buffer, whose memory the process shares (wire/payload.h). Of
 * that one, only the used part is ever touched. */
#define FIRST_LEN 256
#define IDLE_LEN  2048
#define LARGE_LEN 65536

/* Parts of one sendmsg(). */
#define PARTS_MAX 64

/* A payload, and how many copied bytes go before it. */
struct output_piece {
    size_t copied;
    struct payload *payload;
};

bool output_is_empty(const struct output *output)
{
    return output->start == output->end &&
           output->piece_start == output->piece_end;
}

/* Release the buffer if it is large. */
static void drop_bytes(struct output *output)
{
    output->start = 0;
    output->end = 0;
    if (!output->buffer || output->buffer->len <= IDLE_LEN)
        return;
    payload_free(output->buffer);
    output->buffer = NULL;
}

void output_drop(struct output *output)
{
    for (; output->piece_start < output->piece_end; output->piece_start++)
        payload_free(output->pieces[output->piece_start].payload);
    output->piece_start = 0;
    output->piece_end = 0;
    output->piece_sent = 0;
    output->tail = 0;
    drop_bytes(output);
}

void output_fini(struct output *output)
{
    output_drop(output);
    payload_free(output->buffer);
    free(output->pieces);
}

static unsigned char *first_byte(const struct output *output)
{
    return output->buffer ? output->buffer->bytes + output->start : NULL;
}

/* Make room for `len` more copied bytes. Returns 0 or an error. */
static int reserve(struct output *output, size_t len)
{
    size_t used = output->end - output->start;
    size_t room = output->buffer ? output->buffer->len : FIRST_LEN;
    struct payload *buffer;
    int r;

    if (output->start > 0 && used + len <= room) {
        memmove(output->buffer->bytes, first_byte(output), used);
        output->start = 0;
        output->end = used;
        return 0;
    }
    while (room < used + len)
        room = room < IDLE_LEN || room >= LARGE_LEN ? 2 * room : LARGE_LEN;
    r = payload_new(&buffer, room);
    if (r < 0)
        return r;
    if (used > 0)
        memcpy(buffer->bytes, first_byte(output), used);
    payload_free(output->buffer);
    output->buffer = buffer;
    output->start = 0;
    output->end = used;
    return 0;
}

int output_put_bytes(struct output *output, const unsigned char *in, size_t len)
{
    int r;

    if (!output->buffer || output->end + len > output->buffer->len) {
        r = reserve(output, len);
        if (r < 0)
            return r;
    }
    memcpy(output->buffer->bytes + output->end, in, len);
    output->end += len;
    output->tail += len;
    return 0;
}

/* Queue a payload by reference; it is taken on success. */
static int put_piece(struct output *output, struct payload *payload)
{
    struct output_piece *pieces;
    size_t room;

    if (output->piece_end == output->piece_room && output->piece_start > 0) {
        output->piece_end -= output->piece_start;
        memmove(output->pieces, output->pieces + output->piece_start,
                output->piece_end * sizeof(*pieces));
        output->piece_start = 0;
    } else if (output->piece_end == output->piece_room) {
        room = output->piece_room ? 2 * output->piece_room : 4;
        pieces = realloc(output->pieces, room * sizeof(*pieces));
        if (!pieces)
            return -ENOMEM;
        output->pieces = pieces;
        output->piece_room = room;
    }
    output->pieces[output->piece_end++] =
        (struct output_piece){.copied = output->tail, .payload = payload};
    output->tail = 0;
    return 0;
}

int output_put_frame(struct output *output, struct frame *frame)
{
    unsigned char header[FRAME_HEAD_MAX];
    size_t len = frame_writer_encode(&output->writer, frame, header);
    int r;

    r = output_put_bytes(output, header, len);
    if (r < 0 || !frame->payload)
        return r;
    if (frame->payload->len < REFERENCE_LEN)
        return output_put_bytes(output, frame->payload->bytes,
                                frame->payload->len);
    r = put_piece(output, frame->payload);
    if (r == 0)
        frame->payload = NULL;
    return r;
}

/* Drop `len` bytes from the head of the queue: they were written. */
static void drop_written(struct output *output, size_t len)
{
    struct output_piece *piece;
    size_t n;

    while (output->piece_start < output->piece_end && len > 0) {
        piece = &output->pieces[output->piece_start];
        n = len < piece->copied ? len : piece->copied;
        piece->copied -= n;
        output->start += n;
        len -= n;
        if (piece->copied > 0)
            break;
        n = piece->payload->len - output->piece_sent;
        n = len < n ? len : n;
        output->piece_sent += n;
        len -= n;
        if (output->piece_sent < piece->payload->len)
            break;
        payload_free(piece->payload);
        output->piece_sent = 0;
        output->piece_start++;
    }
    if (output->piece_start == output->piece_end) {
        output->piece_start = 0;
        output->piece_end = 0;
        output->start += len;
        output->tail -= len;
    }
    if (output->start == output->end)
        drop_bytes(output);
}

/* List the head of the queue in `parts`. Returns how many parts. */
static size_t list_parts(const struct output *output, struct iovec *parts)
{
    unsigned char *at = first_byte(output);
    size_t sent = output->piece_sent;
    size_t count = 0;
    size_t i;

    for (i = output->piece_start;
         i < output->piece_end && count + 3 <= PARTS_MAX; i++) {
        if (output->pieces[i].copied > 0)
            parts[count++] = (struct iovec){at, output->pieces[i].copied};
        at += output->pieces[i].copied;
        parts[count++] = (struct iovec){output->pieces[i].payload->bytes + sent,
                                        output->pieces[i].payload->len - sent};
        sent = 0;
    }
    if (i == output->piece_end && output->tail > 0)
        parts[count++] = (struct iovec){at, output->tail};
    return count;
}

static size_t parts_len(const struct iovec *parts, size_t count)
{
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        len += parts[i].iov_len;
    return len;
}

ssize_t output_write(struct output *output, int fd)
{
    struct iovec parts[PARTS_MAX];
    struct msghdr message = {.msg_iov = parts};
    size_t total = 0;
    size_t len;
    ssize_t n;

    while (!output_is_empty(output) && total < TURN_LEN) {
        message.msg_iovlen = list_parts(output, parts);
        len = parts_len(parts, message.msg_iovlen);
        n = message.msg_iovlen == 1
                ? send(fd, parts[0].iov_base, len, MSG_NOSIGNAL)
                : sendmsg(fd, &message, MSG_NOSIGNAL); /* PROTOCOL 1.4 */
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            return -errno;
        if (n < 0)
            break;
        drop_written(output, (size_t)n);
        total += (size_t)n;
        if ((size_t)n < len)
            break;
    }
    return (ssize_t)total;
}

/* Wait until `fd` is writable. Returns false at `until_ms`. */
static bool wait_writable(int fd, uint64_t until_ms)
{
    struct pollfd waited = {.fd = fd, .events = POLLOUT};
    uint64_t now_ms = helm_clock_us() / 1000;

    return now_ms < until_ms && poll(&waited, 1, (int)(until_ms - now_ms)) == 1;
}

static bool write_all(int fd,
                      const unsigned char *bytes,
                      size_t len,
                      uint64_t until_ms)
{
    ssize_t n;

    while (len > 0) {
        n = send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        } else if ((errno != EAGAIN && errno != EINTR) ||
                   !wait_writable(fd, until_ms)) {
            return false;
        }
    }
    return true;
}

bool output_write_last(const struct output *output,
                       int fd,
                       const unsigned char *last,
                       size_t len,
                       uint64_t until_ms)
{
    const unsigned char *at = first_byte(output);
    size_t sent = output->piece_sent;

    for (size_t i = output->piece_start; i < output->piece_end; i++) {
        const struct output_piece *piece = &output->pieces[i];

        if (!write_all(fd, at, piece->copied, until_ms) ||
            !write_all(fd, piece->payload->bytes + sent,
                       piece->payload->len - sent, until_ms))
            return false;
        at += piece->copied;
        sent = 0;
    }
    return write_all(fd, at, output->tail, until_ms) &&
           write_all(fd, last, len, until_ms);
}
