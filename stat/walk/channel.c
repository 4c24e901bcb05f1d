/* channel.c - see channel.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "stat/walk/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How much room a read has at least. */
#define READ_SIZE 65536

/* Each value begins at such a boundary. */
#define ALIGN 8

/* The beginning of a message. */
struct head {
    uint64_t len; /* of what follows */
    int32_t number;
    int32_t tag;
    uint32_t value_count; /* UINT32_MAX: no packet */
    uint32_t unused;
};

/* The beginning of a value. Its elements follow: strings each with a NUL. */
struct value_head {
    uint64_t count;
    uint64_t len; /* of the elements */
    uint32_t type;
    uint32_t shape;
};

/* Bytes, from `at` on. */
struct bytes {
    unsigned char *data;
    size_t at;
    size_t len;
    size_t room;
};

struct channel {
    int fd;
    bool closed; /* by the other end */
    struct bytes in;
    struct bytes out; /* the message that is being sent */
};

int channel_new(struct channel **out, int fd)
{
    struct channel *channel = calloc(1, sizeof(*channel));

    if (!channel)
        return -ENOMEM;
    channel->fd = fd;
    *out = channel;
    return 0;
}

void channel_free(struct channel *channel)
{
    if (!channel)
        return;
    close(channel->fd);
    free(channel->in.data);
    free(channel->out.data);
    free(channel);
}

int channel_fd(const struct channel *channel)
{
    return channel->fd;
}

/* Make room for `more` bytes behind the present ones. */
static int bytes_reserve(struct bytes *bytes, size_t more)
{
    unsigned char *grown;
    size_t room;

    if (bytes->at > 0 && bytes->at == bytes->len)
        bytes->at = bytes->len = 0;
    if (bytes->len + more <= bytes->room)
        return 0;
    room = 2 * bytes->room > bytes->len + more ? 2 * bytes->room
                                               : bytes->len + more;
    grown = realloc(bytes->data, room);
    if (!grown)
        return -ENOMEM;
    bytes->data = grown;
    bytes->room = room;
    return 0;
}

/* Append `len` bytes, and zeros up to the next boundary. */
static int bytes_add(struct bytes *bytes, const void *data, size_t len)
{
    size_t padded = (len + ALIGN - 1) / ALIGN * ALIGN;

    if (bytes_reserve(bytes, padded) < 0)
        return -ENOMEM;
    if (len > 0)
        memcpy(bytes->data + bytes->len, data, len);
    memset(bytes->data + bytes->len + len, 0, padded - len);
    bytes->len += padded;
    return 0;
}

/* Bytes of one element; 0: a string. */
static size_t type_size(enum cop_type type)
{
    switch (type) {
    case COP_CHAR:
    case COP_UCHAR:
        return 1;
    case COP_INT16:
    case COP_UINT16:
        return 2;
    case COP_INT32:
    case COP_UINT32:
    case COP_FLOAT:
        return 4;
    case COP_INT64:
    case COP_UINT64:
    case COP_DOUBLE:
        return 8;
    case COP_STRING:
        break;
    }
    return 0;
}

static int add_strings(struct bytes *bytes, const struct cop_value *value)
{
    const char *const *strings = value->data;
    int r = 0;

    for (uint64_t i = 0; r == 0 && i < value->count; i++) {
        size_t len = strlen(strings[i]) + 1;

        r = bytes_reserve(bytes, len);
        if (r == 0) {
            memcpy(bytes->data + bytes->len, strings[i], len);
            bytes->len += len;
        }
    }
    return r;
}

static int add_value(struct bytes *bytes, const struct cop_value *value)
{
    struct value_head head = {value->count, 0, value->type, value->shape};
    size_t at = bytes->len, begin, size = type_size(value->type);
    int r = bytes_add(bytes, &head, sizeof(head));

    begin = bytes->len;
    if (r == 0 && size > 0)
        r = bytes_add(bytes, value->data, value->count * size);
    else if (r == 0)
        r = add_strings(bytes, value);
    if (r < 0)
        return r;
    head.len = size > 0 ? value->count * size : bytes->len - begin;
    memcpy(bytes->data + at, &head, sizeof(head));
    /* up to the next boundary */
    begin = (ALIGN - bytes->len % ALIGN) % ALIGN;
    r = bytes_reserve(bytes, begin);
    if (r == 0) {
        memset(bytes->data + bytes->len, 0, begin);
        bytes->len += begin;
    }
    return r;
}

/* Write the message to send. */
static int write_message(struct bytes *bytes,
                         const struct cop_packet *packet,
                         int32_t number)
{
    int count = packet ? cop_packet_value_count(packet) : 0;
    struct head head = {.number = number, .value_count = UINT32_MAX};
    struct cop_value value;
    int r;

    if (count < 0)
        return count;
    if (packet) {
        head.tag = cop_packet_tag(packet);
        head.value_count = (uint32_t)count;
    }
    bytes->at = bytes->len = 0;
    r = bytes_add(bytes, &head, sizeof(head));
    for (int i = 0; r == 0 && i < count; i++) {
        r = cop_packet_value(packet, (size_t)i, &value);
        if (r == 0)
            r = add_value(bytes, &value);
    }
    if (r < 0) {
        bytes->at = bytes->len = 0;
        return r;
    }
    head.len = bytes->len - sizeof(head);
    memcpy(bytes->data, &head, sizeof(head));
    return 0;
}

/* Read what is there. Returns 0 or -ENOMEM. */
static int fill(struct channel *channel)
{
    struct bytes *in = &channel->in;
    ssize_t len;

    if (bytes_reserve(in, READ_SIZE) < 0)
        return -ENOMEM;
    len =
        recv(channel->fd, in->data + in->len, in->room - in->len, MSG_DONTWAIT);
    if (len > 0)
        in->len += (size_t)len;
    else if (len == 0 || (errno != EAGAIN && errno != EINTR))
        channel->closed = true;
    return 0;
}

int channel_send(struct channel *channel,
                 const struct cop_packet *packet,
                 int32_t number,
                 int wait_ms)
{
    struct bytes *out = &channel->out;
    int r = out->at < out->len ? 0 : write_message(out, packet, number);

    while (r == 0 && out->at < out->len) {
        struct pollfd ready = {channel->fd, POLLIN | POLLOUT, 0};
        ssize_t len;

        len = send(channel->fd, out->data + out->at, out->len - out->at,
                   MSG_DONTWAIT | MSG_NOSIGNAL);
        if (len > 0) {
            out->at += (size_t)len;
            continue;
        }
        if ((len < 0 && errno != EAGAIN && errno != EINTR) || channel->closed)
            return -EPIPE;
        if (poll(&ready, 1, wait_ms) == 0)
            return -EAGAIN;
        if (ready.revents & ~POLLOUT)
            r = fill(channel);
    }
    return r;
}

/* Set `value`'s elements from `data`; `strings` become those of a string. */
static int read_elements(struct cop_value *value,
                         const char ***strings,
                         const unsigned char *data,
                         uint64_t len)
{
    const char *text = (const char *)data;
    size_t size = type_size(value->type);

    value->data = data;
    if (size > 0)
        return len / size == value->count ? 0 : -EBADMSG;
    if (value->count > len)
        return -EBADMSG;
    *strings = calloc(value->count + 1, sizeof(**strings));
    if (!*strings)
        return -ENOMEM;
    for (uint64_t i = 0; i < value->count; i++) {
        const char *end = memchr(text, '\0', len);

        if (!end)
            return -EBADMSG;
        (*strings)[i] = text;
        len -= (uint64_t)(end + 1 - text);
        text = end + 1;
    }
    value->data = *strings;
    return 0;
}

/* Make the packet of a message whose values are at `data`. */
static int read_packet(struct cop_packet **packet,
                       const struct head *head,
                       const unsigned char *data)
{
    struct cop_value values[COP_VALUES_MAX] = {{.count = 0}};
    const char **strings[COP_VALUES_MAX] = {NULL};
    uint64_t left = head->len;
    uint32_t count = head->value_count, i;
    int r = count <= COP_VALUES_MAX ? 0 : -EBADMSG;

    for (i = 0; r == 0 && i < count; i++) {
        struct value_head value;
        uint64_t padded;

        if (left < sizeof(value)) {
            r = -EBADMSG;
            break;
        }
        memcpy(&value, data, sizeof(value));
        left -= sizeof(value);
        data += sizeof(value);
        padded = (value.len + ALIGN - 1) / ALIGN * ALIGN;
        if (value.len > left || padded > left) {
            r = -EBADMSG;
            break;
        }
        values[i] =
            (struct cop_value){value.type, value.shape, value.count, NULL};
        r = read_elements(&values[i], &strings[i], data, value.len);
        left -= padded;
        data += padded;
    }
    if (r == 0)
        r = cop_packet_new_values(packet, head->tag, values, count);
    for (i = 0; i < count && i < COP_VALUES_MAX; i++)
        free(strings[i]);
    return r;
}

/* Take a message that has arrived. Returns 0, -EAGAIN or another error. */
static int take_message(struct bytes *in,
                        struct cop_packet **packet,
                        int32_t *number)
{
    struct head head;
    int r = 0;

    if (in->len - in->at < sizeof(head))
        return -EAGAIN;
    memcpy(&head, in->data + in->at, sizeof(head));
    if (head.len > in->len - in->at - sizeof(head))
        return -EAGAIN;
    *packet = NULL;
    if (head.value_count != UINT32_MAX)
        r = read_packet(packet, &head, in->data + in->at + sizeof(head));
    *number = head.number;
    in->at += sizeof(head) + head.len;
    return r;
}

int channel_receive(struct channel *channel,
                    struct cop_packet **packet,
                    int32_t *number,
                    int wait_ms)
{
    struct pollfd ready = {channel->fd, POLLIN, 0};
    int r = take_message(&channel->in, packet, number);

    while (r == -EAGAIN) {
        if (channel->closed)
            return -EPIPE;
        if (poll(&ready, 1, wait_ms) == 0)
            return -EAGAIN;
        r = fill(channel);
        if (r == 0)
            r = take_message(&channel->in, packet, number);
    }
    return r;
}
