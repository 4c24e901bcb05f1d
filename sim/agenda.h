/* agenda.h - the future events of the simulated world, in order of time.
 *
 * Events of the same millisecond happen in the order of their creation;
 * pointers and hashes never decide. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim;

/* The event, and the meaning of an entry's fields. */
enum agenda_type {
    AGENDA_TICK,   /* node: its deadline */
    AGENDA_BYTES,  /* node, link: bytes, or the end of the link, have arrived */
    AGENDA_UP,     /* node, link: the link is proved at this end */
    AGENDA_START,  /* node, number, link: it starts; the node that starts it,
                      and that node's life */
    AGENDA_DIAL,   /* node, number: its dial of that rank completes; link: how
                      often it had dialled */
    AGENDA_KNOCK,  /* the same of a knock */
    AGENDA_GONE,   /* node, link, number: a child has ended, which the node
                      started in that life */
    AGENDA_FILTER, /* node, link: its filter call has ended, in that life */
    AGENDA_APP,    /* node: the application has processed its packet */
    AGENDA_SCRIPT, /* fn, arg */
};

/* One entry. `number` is for the type's own use: a link's serial number, a
 * node's life, a rank. */
struct agenda_entry {
    uint64_t at_ms;
    uint64_t serial; /* given by agenda_add() */
    enum agenda_type type;
    uint32_t node;
    uint32_t link;
    uint64_t number;
    void (*fn)(struct sim *sim, void *arg);
    void *arg;
};

struct agenda {
    struct agenda_entry *heap;
    size_t count;
    size_t room;
    uint64_t serial;
};

/* Add `entry`, giving it the next serial number. */
void agenda_add(struct agenda *agenda, struct agenda_entry entry);

/* Put an entry back for a later time; it keeps its serial number. */
void agenda_delay(struct agenda *agenda, struct agenda_entry entry);

/* The next entry's time; UINT64_MAX if there is none. */
uint64_t agenda_next_ms(const struct agenda *agenda);

/* Take the next entry; false if there is none. */
bool agenda_take(struct agenda *agenda, struct agenda_entry *out);

/* Free the storage. */
void agenda_fini(struct agenda *agenda);
