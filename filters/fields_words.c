/* fields_words.c - see fields.h. */
#include "filters/fields.h"

#include <stdlib.h>
#include <string.h>

/* Most elements of a "top". */
#define TOP_MAX 65536

static const struct {
    const char *text; /* with ":", a number follows */
    bool takes_strings;
} words[] = {
    [FIELD_SUM] = {"sum", false},  [FIELD_MIN] = {"min", false},
    [FIELD_MAX] = {"max", false},  [FIELD_AVG] = {"avg", false},
    [FIELD_SAME] = {"same", true}, [FIELD_CONCAT] = {"concat", true},
    [FIELD_TOP] = {"top:", false}, [FIELD_WITH] = {"with:", true},
};

const char *field_word(const struct field *field)
{
    return words[field->op].text;
}

bool field_needs_numbers(const struct field *field)
{
    return !words[field->op].takes_strings;
}

const struct field *field_leader(const struct fields *fields, int v)
{
    const struct field *field = &fields->list[v];

    return field->op == FIELD_WITH ? &fields->list[field->number] : field;
}

/* Read one word. Returns whether there is such a word. */
static bool read_word(struct field *field, const char *text)
{
    for (size_t op = 0; op < sizeof(words) / sizeof(words[0]); op++) {
        size_t len = strlen(words[op].text);
        bool takes_number = words[op].text[len - 1] == ':';
        unsigned long number;
        char *end;

        *field = (struct field){.op = (enum field_op)op};
        if (!takes_number && strcmp(text, words[op].text) == 0)
            return true;
        if (!takes_number || strncmp(text, words[op].text, len) != 0 ||
            text[len] < '0' || text[len] > '9')
            continue;
        number = strtoul(text + len, &end, 10);
        if (*end || number > TOP_MAX || (op == FIELD_TOP && number == 0))
            continue;
        field->number = (uint32_t)number;
        return true;
    }
    return false;
}

/* Check what word `v` follows. */
static int check_with(struct fields *fields,
                      int v,
                      struct cop_filter_call *call)
{
    uint32_t number = fields->list[v].number;
    enum field_op op;

    if (fields->list[v].op != FIELD_WITH)
        return 0;
    op =
        number < (uint32_t)fields->count ? fields->list[number].op : FIELD_WITH;
    if (op != FIELD_MIN && op != FIELD_MAX && op != FIELD_TOP)
        return cop_filter_fail(call,
                               "word %d of the parameters is \"with:%u\", but "
                               "value %u is none of min, max and top:K "
                               "(values are counted from 0)",
                               v, number, number);
    fields->list[number].is_followed = true;
    return 0;
}

int fields_read(struct fields *out, struct cop_filter_call *call)
{
    const struct cop_packet *parameters = cop_filter_parameters(call);
    const char *const *texts;
    uint32_t count;
    int r = 0;

    *out = (struct fields){.count = 0};
    if (!parameters ||
        cop_packet_unpack(parameters, "%as", &texts, &count) < 0 ||
        count == 0 || count > COP_VALUES_MAX)
        return cop_filter_fail(call,
                               "the stream's parameters must be \"%%as\": a "
                               "word for each value of a packet, at most %d",
                               COP_VALUES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (!read_word(&out->list[i], texts[i]))
            return cop_filter_fail(call,
                                   "word %u of the parameters is \"%.40s\": it "
                                   "must be sum, min, max, avg, same, concat, "
                                   "top:K with K from 1 to %d, or with:I",
                                   i, texts[i], TOP_MAX);
        out->has_avg |= out->list[i].op == FIELD_AVG;
    }
    out->count = (int)count;
    if (out->has_avg && count > FIELDS_AVG_MAX)
        return cop_filter_fail(call,
                               "the parameters have %u words: with \"avg\", "
                               "there may be at most %d",
                               count, FIELDS_AVG_MAX);
    for (int v = 0; r == 0 && v < out->count; v++)
        r = check_with(out, v, call);
    return r;
}
