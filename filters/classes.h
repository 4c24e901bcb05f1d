/* classes.h - the packets that the filter `classes` reads. */
#pragma once

#include <coppice/filter.h>

/* The beginning of the head of a packet of classes. */
#define CLASSES_MARK 4
extern const unsigned char classes_mark[CLASSES_MARK];

/* Values of a packet besides those of the classes: head, sizes, ranks. */
#define CLASSES_OTHERS 3

/* One value of all classes of an input. */
struct classes_column {
    enum cop_type type;
    bool is_array;
    const void *data;
    uint64_t *starts; /* of each class, and the end; NULL: one element each */
};

/* A packet as read. */
struct classes_input {
    uint32_t rank; /* that it came from */
    const struct cop_packet *packet;
    struct classes_column columns[COP_VALUES_MAX];
    int column_count;
    uint32_t class_count;
    const uint32_t *sizes;
    const uint32_t *ranks;
};

/* Read a packet that came from `rank`, of one back-end or of classes; it is
 * borrowed. Each `starts` is the caller's to free(), also after an error.
 * Returns 0, -ENOMEM, or what cop_filter_fail() returned. */
int classes_input(struct cop_filter_call *call,
                  struct classes_input *input,
                  const struct cop_packet *packet,
                  uint32_t rank);
