/* quote.c - a short quotation of a program's output. */
#include "net/quote.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- the kept output ---- */

static void append(struct quote *quote, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool is_kept = isprint((unsigned char)bytes[i]) || bytes[i] == '\n';

        quote->kept[quote->len++] = is_kept ? bytes[i] : ' ';
    }
}

void quote_add(struct quote *quote, const char *bytes, size_t len)
{
    static const char gap[] = " ... "; /* within a line: between two pieces */
    size_t first = QUOTE_KEEP / 2;     /* bytes of the beginning, and the gap */
    size_t fits = QUOTE_KEEP - quote->len;

    if (fits > len)
        fits = len;
    append(quote, bytes, fits);
    bytes += fits;
    len -= fits;
    if (len == 0)
        return;
    if (len > QUOTE_KEEP - first) {
        bytes += len - (QUOTE_KEEP - first);
        len = QUOTE_KEEP - first;
    }
    memmove(quote->kept + first, quote->kept + first + len,
            QUOTE_KEEP - first - len);
    quote->len -= len;
    append(quote, bytes, len);
    memcpy(quote->kept + first - strlen(gap), gap, strlen(gap));
}

/* ---- the quotation ---- */

static const char between[] = "; ", cut[] = "...";

/* A line is cut only if at least this many of its bytes are quoted. */
#define CUT_MIN 40

/* How many bytes are quoted of the line that begins at each offset. */
struct choice {
    uint16_t lens[QUOTE_KEEP];
    size_t len; /* of the quotation */
};

static bool begins_line(const struct quote *quote, size_t at)
{
    return at == 0 || quote->kept[at - 1] == '\n';
}

/* The length of the line at `at`, without trailing blanks. */
static size_t line_len(const struct quote *quote, size_t at)
{
    const char *line = quote->kept + at;
    const char *end = memchr(line, '\n', quote->len - at);
    size_t len = end ? (size_t)(end - line) : quote->len - at;

    while (len > 0 && line[len - 1] == ' ')
        len--;
    return len;
}

static bool is_quoted(const struct quote *quote,
                      const struct choice *choice,
                      size_t at)
{
    size_t len = line_len(quote, at);

    for (size_t i = 0; i < quote->len; i++)
        if (choice->lens[i] > 0 && line_len(quote, i) == len &&
            memcmp(quote->kept + i, quote->kept + at, len) == 0)
            return true;
    return false;
}

/* Quote the line at `at` as far as it fits, unless an equal line is quoted. */
static void choose(const struct quote *quote, struct choice *choice, size_t at)
{
    size_t len = line_len(quote, at);
    size_t used = choice->len > 0 ? choice->len + strlen(between) : 0;
    size_t room = used < QUOTE_LEN ? QUOTE_LEN - 1 - used : 0;

    if (len == 0 || is_quoted(quote, choice, at))
        return;
    if (len > room && room < CUT_MIN)
        return;
    choice->lens[at] = (uint16_t)(len > room ? room - strlen(cut) : len);
    choice->len = used + (len > room ? room : len);
}

static bool is_own(const struct quote *quote, const char *program, size_t at)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;
    size_t len = strlen(name);

    return quote->len - at > len && quote->kept[at + len] == ':' &&
           memcmp(quote->kept + at, name, len) == 0;
}

void quote_write(const struct quote *quote,
                 const char *program,
                 char out[QUOTE_LEN])
{
    struct choice choice = {.len = 0};
    size_t len = 0;

    for (size_t at = 0; at < quote->len; at++)
        if (begins_line(quote, at) && is_own(quote, program, at))
            choose(quote, &choice, at);
    for (size_t at = quote->len; at-- > 0;)
        if (begins_line(quote, at))
            choose(quote, &choice, at);
    *out = '\0';
    for (size_t at = 0; at < quote->len; at++)
        if (choice.lens[at] > 0)
            len += (size_t)snprintf(
                out + len, QUOTE_LEN - len, "%s%.*s%s", len > 0 ? between : "",
                (int)choice.lens[at], quote->kept + at,
                choice.lens[at] < line_len(quote, at) ? cut : "");
}
