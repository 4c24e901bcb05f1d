/* peek.c - see peek.h. */
#include "wire/peek.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tpl.h>

#include "wire/limits.h"

/* Debian's tpl.h forgets to declare it. */
extern tpl_hook_t tpl_hook;

/* The arguments of tpl_map() for one field. */
struct field {
    void *at;
    int count;
};

/* ---- hooks that keep tpl from printing and exiting ---- */

static pthread_once_t hooked = PTHREAD_ONCE_INIT;
static tpl_hook_t other_hook; /* the application's, or tpl's own */
static _Thread_local jmp_buf *fatal_to;

static __attribute__((format(printf, 1, 2))) int on_oops(const char *format,
                                                         ...)
{
    char text[LIMIT_TEXT];
    va_list args;

    if (fatal_to)
        return 0;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return other_hook.oops("%s", text);
}

static __attribute__((format(printf, 1, 2))) void on_fatal(const char *format,
                                                           ...)
{
    char text[LIMIT_TEXT];
    va_list args;

    if (fatal_to)
        longjmp(*fatal_to, 1);
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    other_hook.fatal("%s", text);
}

static void hook_tpl(void)
{
    other_hook = tpl_hook;
    tpl_hook.oops = on_oops;
    tpl_hook.fatal = on_fatal;
}

/* Run `call`, which uses tpl. tpl is fatal only when memory is out: what it had
 * allocated so far is leaked. */
static int with_tpl(int (*call)(void *), void *arg)
{
    jmp_buf here;
    int r;

    pthread_once(&hooked, hook_tpl);
    if (setjmp(here)) {
        fatal_to = NULL;
        return -ENOMEM;
    }
    fatal_to = &here;
    r = call(arg);
    fatal_to = NULL;
    return r;
}

/* Map `fields`; those after the end of `format` are ignored. tpl_map() offers
 * no other way for a format that is known only at run time. */
static tpl_node *image_map(char *format,
                           const struct field fields[IMAGE_FIELDS_MAX])
{
#define F(n)  fields[n].at, fields[n].count
#define F4(n) F(n), F((n) + 1), F((n) + 2), F((n) + 3)
    _Static_assert(IMAGE_FIELDS_MAX == 33, "as many as are given here");
    return tpl_map(format, F4(0), F4(4), F4(8), F4(12), F4(16), F4(20), F4(24),
                   F4(28), F(32));
#undef F4
#undef F
}

/* ---- reading ---- */

static int image_peek(void *arg)
{
    struct peek *peek = arg;
    struct payload *payload = peek->payload;

    peek->format = tpl_peek(TPL_MEM | TPL_FXLENS, payload->bytes,
                            (size_t)payload->len, &peek->count, &peek->counts);
    return peek->format ? 0 : -EBADMSG;
}

void peek_fini(struct peek *peek)
{
    tpl_hook.free(peek->format);
    tpl_hook.free(peek->counts);
}

/* Whether all fields have the form of image_pack(), and fill the image. */
static bool peek_is_valid(struct peek *peek)
{
    size_t format_len = strlen(peek->format);
    uint64_t len;

    if (peek->count < 2 - (format_len == 2) || peek->count > IMAGE_FIELDS_MAX ||
        format_len != 2 * (size_t)peek->count)
        return false;
    peek->data_at = IMAGE_FORMAT_AT + format_len + 1 + 4 * (size_t)peek->count;
    len = peek->data_at;
    for (uint32_t i = 0; i < peek->count; i++) {
        size_t element_len = letter_len(peek->format[2 * i]);

        if (element_len == 0 || peek->format[2 * i + 1] != '#' ||
            peek->counts[i] == 0 || peek->counts[i] > COP_PACKET_MAX)
            return false;
        len += element_len * (uint64_t)peek->counts[i];
    }
    return peek->format[0] == 'c' && len == peek->payload->len;
}

int peek_init(struct peek *out, struct payload *payload)
{
    struct peek peeked = {.payload = payload};
    int r = -EBADMSG;

    /* tpl would search the whole image for the end of the format. */
    if (payload->len > IMAGE_FORMAT_AT &&
        memchr(payload->bytes + IMAGE_FORMAT_AT, '\0',
               payload->len - IMAGE_FORMAT_AT > IMAGE_FORMAT_MAX
                   ? IMAGE_FORMAT_MAX + 1u
                   : payload->len - IMAGE_FORMAT_AT))
        r = with_tpl(image_peek, &peeked);
    if (r == 0 && !peek_is_valid(&peeked)) {
        peek_fini(&peeked);
        r = -EBADMSG;
    }
    if (r == 0)
        *out = peeked;
    return r;
}

struct turning {
    struct peek peeked;
    struct field fields[IMAGE_FIELDS_MAX];
    struct payload *native;
};

/* Load the foreign image and write it in native byte order. */
static int turn_byte_order(void *arg)
{
    struct turning *turning = arg;
    struct payload *payload = turning->peeked.payload;
    tpl_node *node;
    int r = -EBADMSG;

    node = image_map(turning->peeked.format, turning->fields);
    if (!node)
        return -EBADMSG;
    if (tpl_load(node, TPL_MEM, payload->bytes, (size_t)payload->len) == 0 &&
        tpl_unpack(node, 0) > 0 && tpl_pack(node, 0) == 0 &&
        tpl_dump(node, TPL_MEM | TPL_PREALLOCD, turning->native->bytes,
                 (size_t)turning->native->len) == 0)
        r = 0;
    tpl_free(node);
    return r;
}

int peek_turn(struct payload **out, struct payload *payload)
{
    struct turning turning = {.native = NULL};
    unsigned char *scratch = NULL;
    size_t at = 0;
    int r;

    r = peek_init(&turning.peeked, payload);
    if (r < 0)
        return r;
    scratch = malloc(payload->len + IMAGE_FIELDS_MAX * IMAGE_ALIGNMENT);
    if (!scratch) {
        r = -ENOMEM;
        goto out;
    }
    for (uint32_t i = 0; i < turning.peeked.count; i++) {
        size_t len =
            turning.peeked.counts[i] * letter_len(turning.peeked.format[2 * i]);

        turning.fields[i].at = scratch + at;
        turning.fields[i].count = (int)turning.peeked.counts[i];
        at += (len + IMAGE_ALIGNMENT - 1) / IMAGE_ALIGNMENT * IMAGE_ALIGNMENT;
    }
    r = payload_new(&turning.native, payload->len);
    if (r < 0)
        goto out;
    r = with_tpl(turn_byte_order, &turning);
    if (r < 0)
        goto out;
    *out = turning.native;
    turning.native = NULL;
out:
    payload_free(turning.native);
    free(scratch);
    peek_fini(&turning.peeked);
    return r;
}
