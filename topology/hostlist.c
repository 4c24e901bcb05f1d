/* hostlist.c - lists of hosts. */
#include "topology/hostlist.h"

#include "topology/array.h"
#include "topology/hostname.h"
#include "topology/source.h"
#include "topology/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct hostlist {
    uint32_t count;
    size_t *at; /* where each name begins in `names` */
    struct text names;
};

/* One run of numbers in a bracket. */
struct range {
    uint32_t low;
    uint32_t high;
    unsigned width;
};

/* A piece of an item: letters, or a bracket. */
struct piece {
    const char *letters; /* NULL: a bracket */
    size_t len;          /* of the letters */
    size_t first_range;  /* in the parser's ranges */
    size_t range_count;
    size_t range; /* while expanding: the present range */
    uint32_t number;
};

#define PIECES_MAX (2 * HOSTLIST_BRACKETS_MAX + 1)

struct parser {
    struct source source;
    size_t at;
    struct hostlist *list;
    struct range *ranges;
    size_t range_count;
    struct piece pieces[PIECES_MAX];
    size_t piece_count;
    size_t bracket_count;
};

void hostlist_free(struct hostlist *list)
{
    if (!list)
        return;
    free(list->at);
    free(list->names.bytes);
    free(list);
}

uint32_t hostlist_count(const struct hostlist *list)
{
    return list->count;
}

const char *hostlist_host(const struct hostlist *list, uint32_t index)
{
    return list->names.bytes + list->at[index];
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_separator(char c)
{
    return c == ',' || c == ' ' || c == '#' || (c >= '\t' && c <= '\r');
}

/* The next character; a separator at the end. */
static char hostlist_peek(const struct parser *parser)
{
    if (parser->at == parser->source.len)
        return ' ';
    return parser->source.text[parser->at];
}

static int add_host(struct hostlist *list, const char *name, size_t len)
{
    if (array_grow(&list->at, list->count, sizeof *list->at) < 0)
        return -ENOMEM;
    list->at[list->count] = list->names.len;
    text_add(&list->names, name, len);
    text_add(&list->names, "", 1);
    if (list->names.failed < 0)
        return list->names.failed;
    list->count++;
    return 0;
}

static int read_number(struct parser *parser, uint32_t *out, unsigned *width)
{
    const struct source *source = &parser->source;
    size_t start = parser->at;
    uint32_t value = 0;
    char shown[16];

    for (; parser->at < source->len && is_digit(hostlist_peek(parser));
         parser->at++) {
        if (parser->at - start == HOSTLIST_DIGITS_MAX)
            return source_fail(source, start, -EINVAL,
                               "a number of more than %d digits; use a "
                               "smaller one",
                               HOSTLIST_DIGITS_MAX);
        value = value * 10 + (uint32_t)(hostlist_peek(parser) - '0');
    }
    if (parser->at == start)
        return source_fail(source, start, -EINVAL,
                           "%s where a number is expected; write such as "
                           "[1-4,7]",
                           source_show(source, start, shown));
    *out = value;
    *width = source->text[start] == '0' ? (unsigned)(parser->at - start) : 0;
    return 0;
}

static int read_range(struct parser *parser)
{
    struct range range = {0};
    unsigned ignored = 0;
    size_t start = parser->at;
    int r;

    r = read_number(parser, &range.low, &range.width);
    if (r < 0)
        return r;
    range.high = range.low;
    if (hostlist_peek(parser) == '-') {
        parser->at++;
        r = read_number(parser, &range.high, &ignored);
        if (r < 0)
            return r;
    }
    if (range.high < range.low)
        return source_fail(&parser->source, start, -EINVAL,
                           "the range runs backwards; write %u-%u", range.high,
                           range.low);
    if (parser->range_count == HOSTLIST_HOSTS_MAX)
        return source_fail(&parser->source, start, -E2BIG,
                           "more than %u ranges in one name; use fewer",
                           HOSTLIST_HOSTS_MAX);
    if (array_grow(&parser->ranges, parser->range_count, sizeof range) < 0)
        return -ENOMEM;
    parser->ranges[parser->range_count++] = range;
    return 0;
}

/* '[' is next. */
static int read_bracket(struct parser *parser)
{
    const struct source *source = &parser->source;
    struct piece *piece = &parser->pieces[parser->piece_count];
    size_t start = parser->at;
    char shown[16];
    int r;

    if (parser->bracket_count == HOSTLIST_BRACKETS_MAX)
        return source_fail(source, start, -EINVAL,
                           "more than %d brackets in one name; split it",
                           HOSTLIST_BRACKETS_MAX);
    *piece = (struct piece){.first_range = parser->range_count};
    do {
        parser->at++;
        r = read_range(parser);
        if (r < 0)
            return r;
        piece->range_count++;
    } while (hostlist_peek(parser) == ',');
    if (parser->at == source->len)
        return source_fail(source, start, -EINVAL,
                           "this '[' is never closed; add a ']'");
    if (hostlist_peek(parser) != ']')
        return source_fail(source, parser->at, -EINVAL,
                           "%s in a bracket; write such as [1-4,7]",
                           source_show(source, parser->at, shown));
    parser->at++;
    parser->bracket_count++;
    parser->piece_count++;
    return 0;
}

static int read_letters(struct parser *parser)
{
    const struct source *source = &parser->source;
    size_t start = parser->at;
    char shown[16];

    while (parser->at < source->len && hostname_has(hostlist_peek(parser)))
        parser->at++;
    if (parser->at == start)
        return source_fail(source, start, -EINVAL,
                           "%s in a host name; names have letters, digits, "
                           "'.', '-' and '_', and brackets such as [1-4,7]",
                           source_show(source, start, shown));
    parser->pieces[parser->piece_count++] = (struct piece){
        .letters = source->text + start, .len = parser->at - start};
    return 0;
}

/* How many hosts the pieces make. Above the limit the number is not exact. */
static uint64_t count_hosts(const struct parser *parser)
{
    uint64_t hosts = 1;

    for (size_t i = 0; i < parser->piece_count; i++) {
        const struct piece *piece = &parser->pieces[i];
        uint64_t numbers = 0;

        if (piece->letters)
            continue;
        for (size_t j = 0; j < piece->range_count; j++) {
            const struct range *range = &parser->ranges[piece->first_range + j];

            numbers += (uint64_t)range->high - range->low + 1;
        }
        /* At most 2^21 ranges of 2^30 numbers: no overflow on the way. */
        if (numbers > HOSTLIST_HOSTS_MAX)
            return numbers;
        hosts *= numbers;
        if (hosts > HOSTLIST_HOSTS_MAX)
            return hosts;
    }
    return hosts;
}

/* Write the name for the present position of the pieces. */
static void write_name(const struct parser *parser, struct text *name)
{
    name->len = 0;
    for (size_t i = 0; i < parser->piece_count; i++) {
        const struct piece *piece = &parser->pieces[i];

        if (piece->letters)
            text_add(name, piece->letters, piece->len);
        else
            text_number(
                name, piece->number,
                parser->ranges[piece->first_range + piece->range].width);
    }
}

/* Advance the pieces to the next host. Returns whether there is one. */
static bool hostlist_step(struct parser *parser)
{
    size_t i = parser->piece_count;

    while (i-- > 0) {
        struct piece *piece = &parser->pieces[i];
        const struct range *ranges;

        if (piece->letters)
            continue;
        ranges = &parser->ranges[piece->first_range];
        if (piece->number < ranges[piece->range].high) {
            piece->number++;
            return true;
        }
        if (++piece->range < piece->range_count) {
            piece->number = ranges[piece->range].low;
            return true;
        }
        piece->range = 0;
        piece->number = ranges[0].low;
    }
    return false;
}

/* Add the host for the present position of the pieces of item `start`. */
static int expand_one(struct parser *parser, struct text *name, size_t start)
{
    struct hostlist *list = parser->list;

    write_name(parser, name);
    if (name->failed < 0)
        return name->failed;
    if (!hostname_valid(name->bytes, name->len))
        return source_fail(&parser->source, start, -EINVAL,
                           name->len > HOSTNAME_MAX
                               ? "a host name longer than %d bytes; shorten "
                                 "it"
                               : "a host name cannot begin with '-'; rename "
                                 "it (%d bytes at most)",
                           HOSTNAME_MAX);
    if (list->names.len + name->len >= HOSTLIST_BYTES_MAX)
        return source_fail(&parser->source, start, -E2BIG,
                           "the names are above %zu bytes; use fewer or "
                           "shorter ones",
                           HOSTLIST_BYTES_MAX);
    return add_host(list, name->bytes, name->len);
}

static int expand(struct parser *parser, size_t start)
{
    struct text name = {0};
    int r;

    if (count_hosts(parser) > HOSTLIST_HOSTS_MAX - parser->list->count)
        return source_fail(&parser->source, start, -E2BIG,
                           "more than %u hosts; make the ranges smaller",
                           HOSTLIST_HOSTS_MAX);
    for (size_t i = 0; i < parser->piece_count; i++) {
        struct piece *piece = &parser->pieces[i];

        if (!piece->letters)
            piece->number = parser->ranges[piece->first_range].low;
    }
    do {
        r = expand_one(parser, &name, start);
    } while (r == 0 && hostlist_step(parser));
    free(name.bytes);
    return r;
}

static int read_item(struct parser *parser)
{
    size_t start = parser->at;
    int r = 0;

    parser->piece_count = 0;
    parser->range_count = 0;
    parser->bracket_count = 0;
    while (r == 0 && !is_separator(hostlist_peek(parser))) {
        if (hostlist_peek(parser) == '[')
            r = read_bracket(parser);
        else
            r = read_letters(parser);
    }
    if (r < 0)
        return r;
    return expand(parser, start);
}

static void skip_separators(struct parser *parser)
{
    bool comment = false;

    for (; parser->at < parser->source.len; parser->at++) {
        char c = hostlist_peek(parser);

        if (c == '#')
            comment = true;
        else if (c == '\n')
            comment = false;
        if (!comment && !is_separator(c))
            return;
    }
}

int hostlist_parse(struct hostlist **out,
                   const char *text,
                   size_t len,
                   const char *name,
                   struct cop_error *error)
{
    struct parser parser = {.source = {name, text, len, error}};
    int r = 0;

    parser.list = calloc(1, sizeof *parser.list);
    if (!parser.list)
        return cop_error_set(error, -ENOMEM, "%s: out of memory", name);
    while (skip_separators(&parser), parser.at < len && r == 0)
        r = read_item(&parser);
    if (r == 0 && parser.list->count == 0)
        r = source_fail(&parser.source, len, -EINVAL,
                        "no hosts; write for example node[1-4]");
    if (r == -ENOMEM)
        cop_error_set(error, r, "%s: out of memory", name);
    if (r == 0) {
        *out = parser.list;
        parser.list = NULL;
    }
    free(parser.ranges);
    hostlist_free(parser.list);
    return r;
}

int hostlist_read(struct hostlist **out,
                  const char *path,
                  struct cop_error *error)
{
    char *text = NULL;
    size_t len = 0;
    int r;

    r = source_read(&text, &len, path, HOSTLIST_FILE_MAX, error);
    if (r < 0)
        return r;
    r = hostlist_parse(out, text, len, path, error);
    free(text);
    return r;
}

/* ---- writing ------------------------------------------------------------ */

/* A name, split around its last number. */
struct split {
    const char *name;
    size_t before_len;
    size_t digit_count; /* 0: it has no number that a bracket can hold */
    uint32_t number;
    unsigned width;
    const char *after;
};

static struct split split_name(const char *name)
{
    struct split split = {.name = name};
    size_t end = strlen(name);
    size_t i;

    split.after = name + end;
    split.before_len = end;
    while (end > 0 && !is_digit(name[end - 1]))
        end--;
    i = end;
    while (i > 0 && is_digit(name[i - 1]))
        i--;
    if (i == end || end - i > HOSTLIST_DIGITS_MAX)
        return split;
    split.before_len = i;
    split.digit_count = end - i;
    split.after = name + end;
    split.width = name[i] == '0' ? (unsigned)split.digit_count : 0;
    for (; i < end; i++)
        split.number = split.number * 10 + (uint32_t)(name[i] - '0');
    return split;
}

/* Whether two names differ in their number alone. */
static bool share_bracket(const struct split *a, const struct split *b)
{
    return a->digit_count > 0 && b->digit_count > 0 &&
           a->before_len == b->before_len &&
           memcmp(a->name, b->name, a->before_len) == 0 &&
           strcmp(a->after, b->after) == 0;
}

/* Whether a range from `first` to `number` can be extended by `next`, whose
 * digits must be those that the range would give. */
static bool goes_on(const struct split *first,
                    uint32_t number,
                    const struct split *next)
{
    unsigned digits = 1;

    if (next->number != number + 1)
        return false;
    for (uint32_t rest = next->number; rest >= 10; rest /= 10)
        digits++;
    if (digits < first->width)
        digits = first->width;
    return next->digit_count == digits;
}

/* Write the hosts from `index` on that share a bracket. Returns how many. */
static uint32_t write_group(struct text *text,
                            const struct hostlist *list,
                            uint32_t index)
{
    struct split head = split_name(hostlist_host(list, index));
    struct split low = head;
    struct split next = head;
    uint32_t i = index;

    text_add(text, head.name, head.before_len);
    if (index + 1 < list->count)
        next = split_name(hostlist_host(list, index + 1));
    if (index + 1 == list->count || !share_bracket(&head, &next)) {
        text_string(text, head.name + head.before_len);
        return 1;
    }
    for (;;) {
        uint32_t number = low.number;

        while (++i < list->count) {
            next = split_name(hostlist_host(list, i));
            if (!share_bracket(&head, &next) || !goes_on(&low, number, &next))
                break;
            number++;
        }
        text_string(text, low.name == head.name ? "[" : ",");
        text_add(text, low.name + low.before_len, low.digit_count);
        if (number > low.number) {
            text_string(text, "-");
            text_number(text, number, low.width);
        }
        if (i == list->count || !share_bracket(&head, &next))
            break;
        low = next;
    }
    text_string(text, "]");
    text_string(text, head.after);
    return i - index;
}

int hostlist_text(const struct hostlist *list, char **text, size_t *len)
{
    struct text written = {0};
    uint32_t i = 0;

    while (i < list->count) {
        if (i > 0)
            text_string(&written, ",");
        i += write_group(&written, list, i);
    }
    return text_take(&written, text, len);
}
