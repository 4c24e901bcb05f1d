/* image.c - the bytes of a packet's values: one tpl image.
 *
 * tpl would copy an array three times to pack it, and walk it by element and
 * copy it twice to unpack it. So this file computes tpl's layout once for each
 * signature (`struct plan`), keeps the plan, and writes and reads the values in
 * place. It uses this part of tpl's layout:
 *
 *     |"tpl"|flags|length u32|format, NUL|count of each # u32|fields...|
 *
 * in the byte order of the writer. tpl first inspects images of an unknown
 * signature. Images of the other byte order pass through tpl as a whole. */
#include "wire/image.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tpl.h>

#include "wire/format.h"
#include "wire/limits.h"

/* Debian's tpl.h forgets to declare it. */
extern tpl_hook_t tpl_hook;

#define FIELDS_MAX    (COP_VALUES_MAX + 1)
#define FORMAT_MAX    (2 * FIELDS_MAX) /* without NUL */
#define ALIGNMENT     8
#define FLAGS_AT      3
#define LENGTH_AT     4
#define FORMAT_AT     8
#define BIGENDIAN     1 /* in the flags */
#define PLANS         8 /* kept by each thread */
#define SIGN_SHAPE    4 /* bits to the left */
#define SIGN_EMPTY    0x40
#define SIGN_TYPE     0x0f
#define SIGNATURE_MAX (COP_VALUES_MAX + ALIGNMENT)

_Static_assert(offsetof(struct payload, bytes) % ALIGNMENT == 0,
               "a payload's bytes are aligned");

static const bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

/* How the image of one signature is laid out. */
struct plan {
    uint8_t count; /* values */
    uint8_t
        field_count;  /* the signature's and one for each that is not empty */
    uint8_t sign_len; /* with its zeros */
    uint8_t format_len;
    uint16_t counts_at;
    uint16_t sign_at;
    uint16_t data_at;
    unsigned char signature[SIGNATURE_MAX];
    uint8_t order[COP_VALUES_MAX]; /* which value field 1, 2, ... holds */
    char head[FORMAT_AT + FORMAT_MAX + 1];
};

/* The plans that this thread used last. Finding them costs a call of the
 * loader: do that once for each image. */
static _Thread_local struct {
    struct plan list[PLANS];
    unsigned newest; /* its index */
} kept;

/* The arguments of tpl_map() for one field. */
struct field {
    void *at;
    int count;
};

/* tpl's letter for the elements of each type. */
static const char letters[] = {
    [COP_CHAR] = 'c',   [COP_UCHAR] = 'c',  [COP_INT16] = 'j',
    [COP_UINT16] = 'v', [COP_INT32] = 'i',  [COP_UINT32] = 'u',
    [COP_INT64] = 'I',  [COP_UINT64] = 'U', [COP_FLOAT] = 'u',
    [COP_DOUBLE] = 'f', [COP_STRING] = 'c',
};

static size_t letter_len(char letter)
{
    switch (letter) {
    case 'c':
        return 1;
    case 'j':
    case 'v':
        return 2;
    case 'i':
    case 'u':
        return 4;
    case 'I':
    case 'U':
    case 'f':
        return 8;
    default:
        return 0;
    }
}

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
static tpl_node *image_map(char *format, const struct field fields[FIELDS_MAX])
{
#define F(n)  fields[n].at, fields[n].count
#define F4(n) F(n), F((n) + 1), F((n) + 2), F((n) + 3)
    _Static_assert(FIELDS_MAX == 33, "as many as are given here");
    return tpl_map(format, F4(0), F4(4), F4(8), F4(12), F4(16), F4(20), F4(24),
                   F4(28), F(32));
#undef F4
#undef F
}

/* ---- plans ---- */

static enum cop_type sign_type(unsigned char sign)
{
    return (enum cop_type)((sign & SIGN_TYPE) - 1);
}

static enum cop_shape sign_shape(unsigned char sign)
{
    return (enum cop_shape)(sign >> SIGN_SHAPE & 3);
}

static bool sign_is_valid(unsigned char sign)
{
    unsigned type = sign & SIGN_TYPE;
    unsigned shape = sign >> SIGN_SHAPE & 3;

    return type >= 1 && type <= COP_STRING + 1 && shape <= COP_ARRAY64 &&
           !(sign & 0x80) && !(sign & SIGN_EMPTY && shape == COP_SCALAR);
}

/* Order the fields of `plan`, the longest first, and write their format. */
static void arrange(struct plan *plan, char *format)
{
    char *at = format;

    *at++ = 'c';
    *at++ = '#';
    plan->field_count = 1;
    for (size_t len = ALIGNMENT; len >= 1; len /= 2) {
        for (int i = 0; i < plan->count; i++) {
            char letter = letters[sign_type(plan->signature[i])];

            if (letter_len(letter) != len || plan->signature[i] & SIGN_EMPTY)
                continue;
            *at++ = letter;
            *at++ = '#';
            plan->order[plan->field_count++ - 1] = (uint8_t)i;
        }
    }
    *at = '\0';
    plan->format_len = (uint8_t)(at - format);
}

/* Make the plan for `count` valid signs and keep it. Its head is what tpl
 * writes at the start of all images of this format, except for the length. */
static const struct plan *plan_make(const unsigned char *signature,
                                    size_t count)
{
    struct plan *plan;

    kept.newest = (kept.newest + 1) % PLANS;
    plan = &kept.list[kept.newest];
    memset(plan, 0, sizeof(*plan));
    plan->count = (uint8_t)count;
    memcpy(plan->signature, signature, count);
    memcpy(plan->head, "tpl", FLAGS_AT);
    plan->head[FLAGS_AT] = is_big ? BIGENDIAN : 0;
    arrange(plan, plan->head + FORMAT_AT);
    plan->counts_at = (uint16_t)(FORMAT_AT + plan->format_len + 1);
    plan->sign_at = (uint16_t)(plan->counts_at + 4 * plan->field_count);
    plan->data_at = (uint16_t)((plan->sign_at + count + ALIGNMENT - 1) /
                               ALIGNMENT * ALIGNMENT);
    plan->sign_len = (uint8_t)(plan->data_at - plan->sign_at);
    return plan;
}

/* The plan for `count` signs. */
static const struct plan *plan_for(const unsigned char *signature, size_t count)
{
    const struct plan *list = kept.list;
    unsigned newest = kept.newest;

    for (unsigned i = 0; i < PLANS; i++) {
        const struct plan *plan = &list[(newest - i) % PLANS];

        if (plan->count == count &&
            memcmp(plan->signature, signature, count) == 0)
            return plan;
    }
    return plan_make(signature, count);
}

/* ---- packing ---- */

static uint64_t string_len(const struct cop_value *value)
{
    const char *const *strings = value->data;
    uint64_t len = 0;

    for (uint64_t i = 0; i < value->count; i++) {
        if (!strings[i])
            return UINT64_MAX;
        len += strlen(strings[i]) + 1;
    }
    return len;
}

/* Find the sign of `value` and how many elements its field has. */
static int image_sign(const struct cop_value *value,
                      unsigned char *out,
                      uint64_t *element_count)
{
    if ((unsigned)value->type > COP_STRING ||
        (unsigned)value->shape > COP_ARRAY64 ||
        (value->shape == COP_SCALAR && value->count != 1) ||
        (value->count > 0 && !value->data))
        return -EINVAL;
    *out = (unsigned char)((value->type + 1) | value->shape << SIGN_SHAPE |
                           (value->count ? 0 : SIGN_EMPTY));
    *element_count = value->count;
    if (value->type == COP_STRING) {
        *element_count = string_len(value);
        if (*element_count == UINT64_MAX)
            return -EINVAL;
    }
    return *element_count > COP_PACKET_MAX ? -EMSGSIZE : 0;
}

static unsigned char *put_strings(unsigned char *at,
                                  const struct cop_value *value)
{
    const char *const *strings = value->data;

    for (uint64_t i = 0; i < value->count; i++)
        at = (unsigned char *)stpcpy((char *)at, strings[i]) + 1;
    return at;
}

static unsigned char *put_value(unsigned char *at,
                                const struct cop_value *value)
{
    size_t len;

    if (value->type == COP_STRING)
        return put_strings(at, value);
    len = value->count * format_element_len(value->type);
    switch (len) { /* so that the compiler sees the usual lengths */
    case 4:
        memcpy(at, value->data, 4);
        break;
    case 8:
        memcpy(at, value->data, 8);
        break;
    default:
        memcpy(at, value->data, len);
    }
    return at + len;
}

int image_pack(struct payload **out,
               const struct cop_value *values,
               size_t count)
{
    unsigned char signature[COP_VALUES_MAX];
    uint64_t element_counts[COP_VALUES_MAX];
    const struct plan *plan;
    struct payload *payload;
    unsigned char *at;
    uint64_t len;
    uint32_t number;
    size_t i;
    int r;

    if (count > COP_VALUES_MAX)
        return -EMSGSIZE;
    if (count == 0) {
        *out = NULL;
        return 0;
    }
    for (i = 0, len = 0; i < count; i++) {
        r = image_sign(&values[i], &signature[i], &element_counts[i]);
        if (r < 0)
            return r;
        len += element_counts[i] * letter_len(letters[sign_type(signature[i])]);
    }
    plan = plan_for(signature, count);
    len += plan->data_at;
    if (len > COP_PACKET_MAX)
        return -EMSGSIZE;
    r = payload_new(&payload, len);
    if (r < 0)
        return r;
    memcpy(payload->bytes, plan->head, plan->counts_at);
    memcpy(payload->bytes + LENGTH_AT, &payload->len, 4);
    number = plan->sign_len;
    memcpy(payload->bytes + plan->counts_at, &number, 4);
    memcpy(payload->bytes + plan->sign_at, plan->signature, plan->sign_len);
    at = payload->bytes + plan->data_at;
    for (i = 1; i < plan->field_count; i++) {
        number = (uint32_t)element_counts[plan->order[i - 1]];
        memcpy(payload->bytes + plan->counts_at + 4 * i, &number, 4);
        at = put_value(at, &values[plan->order[i - 1]]);
    }
    *out = payload;
    return 0;
}

/* ---- reading ---- */

/* Whether the image in `payload` has the head and the signature of `plan`. */
static bool plan_fits(const struct plan *plan, const struct payload *payload)
{
    return plan->count > 0 && payload->len >= plan->data_at &&
           memcmp(payload->bytes, plan->head, LENGTH_AT) == 0 &&
           memcmp(payload->bytes + FORMAT_AT, plan->head + FORMAT_AT,
                  plan->format_len + 1u) == 0 &&
           memcmp(payload->bytes + plan->sign_at, plan->signature,
                  plan->sign_len) == 0;
}

/* An image of unknown signature, as tpl_peek() reads it. */
struct peek {
    struct payload *payload;
    char *format;
    uint32_t count; /* of fields */
    uint32_t *counts;
    size_t data_at;
};

static int image_peek(void *arg)
{
    struct peek *peek = arg;
    struct payload *payload = peek->payload;

    peek->format = tpl_peek(TPL_MEM | TPL_FXLENS, payload->bytes,
                            (size_t)payload->len, &peek->count, &peek->counts);
    return peek->format ? 0 : -EBADMSG;
}

static void peek_fini(struct peek *peek)
{
    tpl_hook.free(peek->format);
    tpl_hook.free(peek->counts);
}

/* Whether all fields have the form of image_pack(), and fill the image. */
static bool peek_is_valid(struct peek *peek)
{
    size_t format_len = strlen(peek->format);
    uint64_t len;

    if (peek->count < 2 - (format_len == 2) || peek->count > FIELDS_MAX ||
        format_len != 2 * (size_t)peek->count)
        return false;
    peek->data_at = FORMAT_AT + format_len + 1 + 4 * (size_t)peek->count;
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

/* Inspect an image of unknown signature; then peek_fini(). */
static int peek_init(struct peek *out, struct payload *payload)
{
    struct peek peeked = {.payload = payload};
    int r = -EBADMSG;

    /* tpl would search the whole image for the end of the format. */
    if (payload->len > FORMAT_AT && memchr(payload->bytes + FORMAT_AT, '\0',
                                           payload->len - FORMAT_AT > FORMAT_MAX
                                               ? FORMAT_MAX + 1u
                                               : payload->len - FORMAT_AT))
        r = with_tpl(image_peek, &peeked);
    if (r == 0 && !peek_is_valid(&peeked)) {
        peek_fini(&peeked);
        r = -EBADMSG;
    }
    if (r == 0)
        *out = peeked;
    return r;
}

/* The plan of the image in `payload`, which is in native byte order. */
static int plan_of(const struct plan **out, struct payload *payload)
{
    const struct plan *list = kept.list;
    unsigned newest = kept.newest;
    const struct plan *plan;
    const unsigned char *signature;
    struct peek peeked;
    size_t count;
    int r;

    for (unsigned i = 0; i < PLANS; i++) {
        plan = &list[(newest - i) % PLANS];
        if (plan_fits(plan, payload)) {
            *out = plan;
            return 0;
        }
    }
    r = peek_init(&peeked, payload);
    if (r < 0)
        return r;
    signature = payload->bytes + peeked.data_at;
    for (count = 0; count < peeked.counts[0] && signature[count]; count++)
        if (count == COP_VALUES_MAX || !sign_is_valid(signature[count]))
            break;
    if (count == 0 || (count < peeked.counts[0] && signature[count]))
        r = -EBADMSG;
    else
        plan = plan_make(signature, count);
    peek_fini(&peeked);
    if (r < 0)
        return r;
    if (!plan_fits(plan, payload))
        return -EBADMSG;
    *out = plan;
    return 0;
}

struct turning {
    struct peek peeked;
    struct field fields[FIELDS_MAX];
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

/* Convert an image of the other byte order to native byte order. */
static int image_turn(struct payload **out, struct payload *payload)
{
    struct turning turning = {.native = NULL};
    unsigned char *scratch = NULL;
    size_t at = 0;
    int r;

    r = peek_init(&turning.peeked, payload);
    if (r < 0)
        return r;
    scratch = malloc(payload->len + FIELDS_MAX * ALIGNMENT);
    if (!scratch) {
        r = -ENOMEM;
        goto out;
    }
    for (uint32_t i = 0; i < turning.peeked.count; i++) {
        size_t len =
            turning.peeked.counts[i] * letter_len(turning.peeked.format[2 * i]);

        turning.fields[i].at = scratch + at;
        turning.fields[i].count = (int)turning.peeked.counts[i];
        at += (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
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

/* The number of strings in `len` bytes at `at`; 0 if the last has no end. */
static uint64_t string_count(const char *at, uint64_t len)
{
    const char *end = at + len;
    uint64_t count = 0;

    if (end[-1] != '\0')
        return 0;
    while (at < end) {
        at = (const char *)memchr(at, '\0', (size_t)(end - at)) + 1;
        count++;
    }
    return count;
}

/* Where the value in field number `i` lies and how many elements it has. */
static int read_field(struct cop_value *value,
                      const struct plan *plan,
                      const struct payload *payload,
                      unsigned i,
                      uint64_t *at)
{
    unsigned char sign = plan->signature[plan->order[i - 1]];
    size_t element_len = letter_len(letters[sign_type(sign)]);
    uint32_t count;

    memcpy(&count, payload->bytes + plan->counts_at + 4 * i, 4);
    if (count == 0 || count > (payload->len - *at) / element_len)
        return -EBADMSG;
    value->data = payload->bytes + *at;
    value->count = count;
    *at += count * element_len;
    if (sign_type(sign) == COP_STRING)
        value->count = string_count(value->data, count);
    if (value->count == 0 ||
        (sign_shape(sign) == COP_SCALAR && value->count != 1) ||
        (sign_shape(sign) == COP_ARRAY && value->count > UINT32_MAX))
        return -EBADMSG;
    return 0;
}

/* Find all values. Returns how many pointers to strings they need. */
static int64_t read_values(struct cop_value *values,
                           const struct plan *plan,
                           const struct payload *payload)
{
    uint64_t at = plan->data_at;
    int64_t string_total = 0;
    uint32_t number;
    int r;

    memcpy(&number, payload->bytes + LENGTH_AT, 4);
    if (number != payload->len)
        return -EBADMSG;
    memcpy(&number, payload->bytes + plan->counts_at, 4);
    if (number != plan->sign_len)
        return -EBADMSG;
    for (unsigned i = 0; i < plan->count; i++) {
        values[i].type = sign_type(plan->signature[i]);
        values[i].shape = sign_shape(plan->signature[i]);
        values[i].count = 0;
        values[i].data = NULL;
    }
    for (unsigned i = 1; i < plan->field_count; i++) {
        struct cop_value *value = &values[plan->order[i - 1]];

        r = read_field(value, plan, payload, i, &at);
        if (r < 0)
            return r;
        if (value->type == COP_STRING)
            string_total += (int64_t)value->count;
    }
    return at == payload->len ? string_total : -EBADMSG;
}

/* Point `strings` to the strings of `value`. Returns the next pointer. */
static const char **image_point(struct cop_value *value, const char **strings)
{
    const char *at = value->data;

    value->data = strings;
    for (uint64_t i = 0; i < value->count; i++) {
        *strings++ = at;
        at += strlen(at) + 1;
    }
    return strings;
}

static void write_format(char *out,
                         const struct cop_value *values,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out += format_item_write(out, values[i].type, values[i].shape);
        *out++ = ' ';
    }
    if (count > 0)
        out--;
    *out = '\0';
}

/* Make a view of `count` values, whose strings are still raw bytes. */
static struct image_view *view_new(const struct cop_value *values,
                                   size_t count,
                                   size_t string_total,
                                   void *room,
                                   size_t room_len)
{
    size_t values_len = sizeof(struct image_view) + count * sizeof(*values);
    size_t strings_len = string_total * sizeof(char *);
    size_t len = values_len + strings_len + count * FORMAT_ITEM_MAX + 1;
    bool in_room = room && len <= room_len;
    struct image_view *view = in_room ? room : malloc(len);
    const char **strings;
    char *format;

    if (!view)
        return NULL;
    view->in_room = in_room;
    strings = (const char **)(void *)((char *)view + values_len);
    format = (char *)view + values_len + strings_len;
    view->count = (uint32_t)count;
    view->foreign = NULL;
    view->format = format;
    write_format(format, values, count);
    for (size_t i = 0; i < count; i++) {
        view->values[i] = values[i];
        if (values[i].type == COP_STRING && values[i].count > 0)
            strings = image_point(&view->values[i], strings);
    }
    return view;
}

int image_view_new(struct image_view **out,
                   struct payload *payload,
                   void *room,
                   size_t room_len)
{
    struct cop_value values[COP_VALUES_MAX];
    struct payload *foreign = NULL;
    const struct plan *plan;
    struct image_view *view;
    int64_t string_total = 0;
    size_t count = 0;
    int r;

    if (payload) {
        if (payload->len <= FORMAT_AT)
            return -EBADMSG;
        if ((payload->bytes[FLAGS_AT] & BIGENDIAN) != is_big) {
            r = image_turn(&foreign, payload);
            if (r < 0)
                return r;
            payload = foreign;
        }
        r = plan_of(&plan, payload);
        if (r < 0)
            goto out;
        count = plan->count;
        string_total = read_values(values, plan, payload);
        if (string_total < 0) {
            r = (int)string_total;
            goto out;
        }
    }
    view = view_new(values, count, (size_t)string_total, room, room_len);
    r = view ? 0 : -ENOMEM;
    if (view) {
        view->foreign = foreign;
        foreign = NULL; /* now the view's */
        *out = view;
    }
out:
    payload_free(foreign);
    return r;
}

void image_view_free(struct image_view *view)
{
    if (!view)
        return;
    payload_free(view->foreign);
    if (!view->in_room)
        free(view);
}
