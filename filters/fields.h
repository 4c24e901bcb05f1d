/* fields.h - the filter `fields`: its words, and the packets that it reads.
 *
 * With "avg" packets between nodes are |mark and original types "%auc"|the
 * values, sums in 64 bits|count "%uld"|. */
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

/* The mark, and most values of a packet with sums. */
#define FIELDS_MARK    4
#define FIELDS_AVG_MAX (COP_VALUES_MAX - 2)
extern const unsigned char fields_mark[FIELDS_MARK];

/* A packet as read. */
struct fields_input {
    uint32_t rank;
    const struct cop_packet *packet;
    uint64_t packets; /* in its sums; 0: it is of a back-end */
    struct cop_value values[COP_VALUES_MAX];
    enum cop_type types[COP_VALUES_MAX]; /* original ones */
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

/* Read a packet that came from `rank`; it is borrowed. Returns 0, or what
 * cop_filter_fail() returned. */
int fields_input(const struct fields *fields,
                 struct cop_filter_call *call,
                 struct fields_input *input,
                 const struct cop_packet *packet,
                 uint32_t rank);

/* Check that all inputs have the types, and where needed the lengths, of the
 * first. Returns 0, or what cop_filter_fail() returned. */
int fields_match(const struct fields *fields,
                 struct cop_filter_call *call,
                 const struct fields_input *inputs,
                 size_t count);
