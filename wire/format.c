/* format.c - formats such as "%d %alf": lists of types and shapes. */
#include "wire/format.h"

#include <errno.h>
#include <string.h>

struct spelling {
    char text[4];
    uint8_t text_len;
    uint8_t element_len;
};

static const struct spelling spellings[] = {
    [COP_CHAR] = {"c", 1, 1},
    [COP_UCHAR] = {"uc", 2, 1},
    [COP_INT16] = {"hd", 2, 2},
    [COP_UINT16] = {"uhd", 3, 2},
    [COP_INT32] = {"d", 1, 4},
    [COP_UINT32] = {"ud", 2, 4},
    [COP_INT64] = {"ld", 2, 8},
    [COP_UINT64] = {"uld", 3, 8},
    [COP_FLOAT] = {"f", 1, 4},
    [COP_DOUBLE] = {"lf", 2, 8},
    [COP_STRING] = {"s", 1, sizeof(char *)},
};

size_t format_element_len(enum cop_type type)
{
    return spellings[type].element_len;
}

/* Read a type, such as "ud", and return where it ends; NULL if it is none. */
static const char *parse_type(const char *at, uint8_t *type)
{
    bool is_unsigned = *at == 'u';

    if (is_unsigned)
        at++;
    switch (*at++) {
    case 'c':
        *type = is_unsigned ? COP_UCHAR : COP_CHAR;
        return at;
    case 'd':
        *type = is_unsigned ? COP_UINT32 : COP_INT32;
        return at;
    case 'h':
        *type = is_unsigned ? COP_UINT16 : COP_INT16;
        return *at == 'd' ? at + 1 : NULL;
    case 'l':
        if (*at == 'f' && !is_unsigned) {
            *type = COP_DOUBLE;
            return at + 1;
        }
        *type = is_unsigned ? COP_UINT64 : COP_INT64;
        return *at == 'd' ? at + 1 : NULL;
    case 'f':
        *type = COP_FLOAT;
        return is_unsigned ? NULL : at;
    case 's':
        *type = COP_STRING;
        return is_unsigned ? NULL : at;
    default:
        return NULL;
    }
}

/* Read an item after its percent sign. */
static const char *parse_item(const char *at, struct format_item *item)
{
    item->shape = COP_SCALAR;
    if (*at == 'a')
        item->shape = COP_ARRAY;
    else if (*at == 'A')
        item->shape = COP_ARRAY64;
    if (item->shape != COP_SCALAR)
        at++;
    return parse_type(at, &item->type);
}

int format_parse(struct format *out, const char *text)
{
    const char *at = text;
    uint32_t count = 0;

    for (;;) {
        while (*at == ' ')
            at++;
        if (!*at)
            break;
        if (*at != '%')
            return -EINVAL;
        if (count == COP_VALUES_MAX)
            return -EMSGSIZE;
        at = parse_item(at + 1, &out->items[count]);
        if (!at || (*at && *at != ' '))
            return -EINVAL;
        count++;
    }
    out->count = count;
    return 0;
}

size_t format_item_write(char *out, enum cop_type type, enum cop_shape shape)
{
    const struct spelling *spelling = &spellings[type];
    size_t len = 0;

    out[len++] = '%';
    if (shape != COP_SCALAR)
        out[len++] = shape == COP_ARRAY ? 'a' : 'A';
    memcpy(out + len, spelling->text, spelling->text_len);
    return len + spelling->text_len;
}
