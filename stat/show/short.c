/* short.c - see short.h. */
#include "stat/show/short.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stat/show/columns.h"
#include "stat/tree/note.h"

#define ELLIPSIS "\xe2\x80\xa6"

/* Brackets open at one place of a name. */
struct nesting {
    unsigned angles;
    unsigned rounds;
};

/* The length of an operator's name with angle brackets, such as "<<=" after
 * "operator"; 0 if there is none. */
static size_t operator_len(const char *name, const char *at)
{
    static const char word[] = "operator";
    size_t before = (size_t)(at - name), len = strlen(word);

    if (before < len || strncmp(at - len, word, len) != 0)
        return 0;
    return strspn(at, "<>=-");
}

/* Count one character. */
static void nesting_step(struct nesting *nesting, const char *name, size_t at)
{
    char character = name[at];
    bool is_arrow = character == '>' && at > 0 && name[at - 1] == '-';

    if (character == '<')
        nesting->angles++;
    else if (character == '>' && nesting->angles > 0 && !is_arrow)
        nesting->angles--;
    else if (character == '(' || character == '[' || character == '{')
        nesting->rounds++;
    else if ((character == ')' || character == ']' || character == '}') &&
             nesting->rounds > 0)
        nesting->rounds--;
}

/* Find the parameters of the last part of a name: those of "f(int)", but not
 * the first ones of "f(int)::{lambda()#1}::operator()() const". Returns the
 * place of the opening bracket, or the name's length. */
static size_t find_parameters(const char *name)
{
    struct nesting nesting = {0, 0};
    size_t len = strlen(name), found = len, i, skip;

    for (i = 0; i < len; i++) {
        skip = operator_len(name, name + i);
        if (skip > 0) {
            i += skip - 1;
            continue;
        }
        if (name[i] == '(' && nesting.angles == 0 && nesting.rounds == 0 &&
            strncmp(name + i, "(anonymous", 10) != 0)
            found = i;
        nesting_step(&nesting, name, i);
    }
    return found;
}

/* Find where the name begins after the return type. */
static size_t find_name(const char *name, size_t behind)
{
    struct nesting nesting = {0, 0};
    size_t begin = 0, i, skip;

    for (i = 0; i < behind; i++) {
        skip = operator_len(name, name + i);
        if (skip > 0) {
            i += skip - 1;
            continue;
        }
        /* "operator<< <int>" is one name. */
        if (name[i] == ' ' && name[i + 1] != '<' && nesting.angles == 0 &&
            nesting.rounds == 0) {
            if (i >= 8 && strncmp(name + i - 8, "operator", 8) == 0)
                break; /* followed by a type: a conversion */
            begin = i + 1;
        }
        nesting_step(&nesting, name, i);
    }
    return begin;
}

/* Append the text from `begin` to `end` without the contents of angle brackets,
 * except those with which a name of Rust begins. */
static char *append_bare(char *out, const char *name, size_t begin, size_t end)
{
    struct nesting nesting = {0, 0};
    unsigned kept = name[begin] == '<' ? 1 : 0; /* "<T as Trait>::f" */
    size_t skip;

    for (size_t i = begin; i < end; i++) {
        unsigned before = nesting.angles;

        skip = operator_len(name + begin, name + i);
        if (skip > 0 && before <= kept) {
            memcpy(out, name + i, skip);
            out += skip;
            i += skip - 1;
            continue;
        }
        nesting_step(&nesting, name, i);
        if (nesting.angles <= kept && before <= kept) {
            *out++ = name[i];
        } else if (before == kept) {
            memcpy(out, "<" ELLIPSIS, sizeof("<" ELLIPSIS) - 1);
            out += sizeof("<" ELLIPSIS) - 1;
        } else if (nesting.angles == kept) {
            *out++ = '>';
        }
        if (nesting.angles == 0)
            kept = 0;
    }
    return out;
}

char *short_name(const char *function)
{
    size_t len = strlen(function), begin, parameters;
    char *out, *end;

    if (columns_of(function) <= SHORT_COLUMNS || note_is(function) ||
        !strpbrk(function, "<("))
        return strdup(function);
    parameters = find_parameters(function);
    begin = find_name(function, parameters);
    out = malloc(4 * len + 8);
    if (!out)
        return NULL;
    end = append_bare(out, function, begin, len);
    *end = '\0';
    if (columns_of(out) > SHORT_COLUMNS && parameters < len &&
        strncmp(function + parameters, "()", 2) != 0) {
        end = append_bare(out, function, begin, parameters);
        memcpy(end, "(" ELLIPSIS ")", sizeof("(" ELLIPSIS ")"));
    }
    return out;
}
