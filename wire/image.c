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
#include <stdlib.h>
#include <string.h>

#include "wire/format.h"
#include "wire/peek.h"

#define FLAGS_AT      3
#define LENGTH_AT     4
#define BIGENDIAN     1 /* in the flags */
#define PLANS         8 /* kept by each thread */
#define SIGN_SHAPE    4 /* bits to the left */
#define SIGN_EMPTY    0x40
#define SIGN_TYPE     0x0f
#define SIGNATURE_MAX (COP_VALUES_MAX + IMAGE_ALIGNMENT)

_Static_assert(offsetof(struct payload, bytes) % IMAGE_ALIGNMENT == 0,
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
    char head[IMAGE_FORMAT_AT + IMAGE_FORMAT_MAX + 1];
};

/* The plans that this thread used last. Finding them costs a call of the
 * loader: do that once for each image. */
static _Thread_local struct {
    struct plan list[PLANS];
    unsigned newest; /* its index */
} kept;

/* tpl's letter for the elements of each type. */
static const char letters[] = {
    [COP_CHAR] = 'c',   [COP_UCHAR] = 'c',  [COP_INT16] = 'j',
    [COP_UINT16] = 'v', [COP_INT32] = 'i',  [COP_UINT32] = 'u',
    [COP_INT64] = 'I',  [COP_UINT64] = 'U', [COP_FLOAT] = 'u',
    [COP_DOUBLE] = 'f', [COP_STRING] = 'c',
};

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
    for (size_t len = IMAGE_ALIGNMENT; len >= 1; len /= 2) {
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
    arrange(plan, plan->head + IMAGE_FORMAT_AT);
    plan->counts_at = (uint16_t)(IMAGE_FORMAT_AT + plan->format_len + 1);
    plan->sign_at = (uint16_t)(plan->counts_at + 4 * plan->field_count);
    plan->data_at = (uint16_t)((plan->sign_at + count + IMAGE_ALIGNMENT - 1) /
                               IMAGE_ALIGNMENT * IMAGE_ALIGNMENT);
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

/* Whether the image in `payload` has the head and the signature of `plan`. A
 * signature that ends where its zeros would begin may be the beginning of another
 * one, so its length counts. */
static bool plan_fits(const struct plan *plan, const struct payload *payload)
{
    uint32_t sign_len = plan->sign_len;

    return plan->count > 0 && payload->len >= plan->data_at &&
           memcmp(payload->bytes + plan->counts_at, &sign_len, 4) == 0 &&
           memcmp(payload->bytes, plan->head, LENGTH_AT) == 0 &&
           memcmp(payload->bytes + IMAGE_FORMAT_AT,
                  plan->head + IMAGE_FORMAT_AT, plan->format_len + 1u) == 0 &&
           memcmp(payload->bytes + plan->sign_at, plan->signature,
                  plan->sign_len) == 0;
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
        if (payload->len <= IMAGE_FORMAT_AT)
            return -EBADMSG;
        if ((payload->bytes[FLAGS_AT] & BIGENDIAN) != is_big) {
            r = peek_turn(&foreign, payload);
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
