/* fields.h - the words of the filter `fields`: what becomes of each value of a
 * packet. */
#pragma once

#include <coppice/filter.h>

enum field_op {
    FIELD_SUM,
    FIELD_MIN,
    FIELD_MAX,
    FIELD_AVG,
    FIELD_SAME,
    FIELD_CONCAT,
    FIELD_TOP,
    FIELD_WITH,
};

struct field {
    enum field_op op;
    uint32_t number;  /* FIELD_TOP: how many; FIELD_WITH: of the value that it
                         follows, counted from 0 */
    bool is_followed; /* by a FIELD_WITH */
};

struct fields {
    struct field list[COP_VALUES_MAX];
    int count;
    bool has_avg;
};

/* Read the stream's parameters. Returns 0, or what cop_filter_fail() returned
 * with the word that is wrong. */
int fields_read(struct fields *out, struct cop_filter_call *call);

/* What decides about value `v`: for a FIELD_WITH the value that it follows. */
const struct field *field_leader(const struct fields *fields, int v);

/* Whether a field cannot take strings. */
bool field_needs_numbers(const struct field *field);

/* The word of a field, such as "top". */
const char *field_word(const struct field *field);
