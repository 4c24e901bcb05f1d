/* gathering.h - the state of one gather_tree(), shared by its parts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coppice/coppice.h>

#include "stat/gather/daemons.h"
#include "stat/gather/gather.h"
#include "stat/gather/naming.h"
#include "stat/job/targets.h"
#include "stat/tree/tree.h"

/* The answer and the names get at least this long, even after the deadline. */
#define GATHERING_LEAST_MS 1000

/* Longest time to wait for a thread to stop. */
#define GATHERING_STOP_MS 1000

/* Names that were requested, kept for the next tree. */
struct known {
    struct naming *naming;
    struct tree *tree; /* the tree of `naming` */
};

/* The request, and its answer so far. */
struct gathering {
    struct daemons *daemons;
    struct targets *targets;
    const struct gather_options *options;
    struct cop_stream *stream;  /* of requests and samples */
    struct cop_stream *answers; /* of questions and names */
    uint32_t *numbers; /* of the tasks in the order of the request; NULL: 0, 1,
                          2, ... */
    struct known known;
    struct names *files;   /* names from files of this host; NULL: not yet */
    uint64_t sample;       /* last one; may lack frozen daemons */
    uint64_t end_ms;       /* deadline for the answer */
    uint64_t still_first;  /* the first sample since which nothing has moved */
    uint64_t still_ms;     /* when it came */
    uint32_t reasons_said; /* of the sentences of naming_reason() */
    uint32_t losses;       /* lost daemons that have tasks */
    bool is_over;          /* no daemon with tasks is left */
    bool is_cut;           /* Ctrl-C ended it */
    bool is_answered;      /* all live daemons have sent everything */
    struct cop_error *late;
};

/* Replace the names of fields of struct cop_times in `text`, which the
 * library's messages contain, such as "(start_timeout)", by the option that
 * sets them. */
void gathering_name_option(char *text);

/* Format a line for `fn`, unless that is NULL. */
__attribute__((format(printf, 2, 3))) void gathering_say(gather_say_fn fn,
                                                         const char *format,
                                                         ...);

/* Decide what the tasks are, and report news about them. Returns 0 or
 * -ENOMEM. */
int gathering_settle(struct targets *targets,
                     const struct gather_options *options);

/* Like cop_stream_receive(), but also -EAGAIN if no daemon is left, which
 * gathering_events() reports. */
int gathering_receive(struct cop_stream *stream,
                      struct cop_packet **packet,
                      int timeout_ms);

/* The same, with the deadline `end_ms` of clock_now_ms(). */
int gathering_receive_until(struct cop_stream *stream,
                            struct cop_packet **packet,
                            uint64_t end_ms);

/* Make the daemons stop sampling. It is no error if none is left. Returns 0 or
 * a negative errno. */
int gathering_stop(struct cop_stream *stream);

/* How long a frozen node can delay the samples of all others: until its
 * neighbours suspect it, and then also a node above it (PROTOCOL 6.1b). */
uint64_t gathering_frozen_ms(const struct gather_options *options);

/* The time left until the deadline, at least `least_ms`. */
uint64_t gathering_left_ms(const struct gathering *gathering,
                           uint64_t least_ms);

/* The latest time at which the next sample is due, without long stops.
 *
 * pause_ms  the longest pause between samples so far */
uint64_t gathering_due_ms(const struct gathering *gathering, uint64_t pause_ms);

/* Join `packet` to `*tree`. Returns 0 or a negative errno. */
int gathering_join(struct gathering *gathering,
                   struct tree **tree,
                   const struct cop_packet *packet);

/* Note the number of the sample of `packet`, which is that of its wave. Returns
 * whether it is a new sample. */
bool gathering_note(struct gathering *gathering,
                    const struct cop_packet *packet);

/* Note whether any daemon with tasks is left. */
void gathering_check(struct gathering *gathering);

/* Report nodes that were lost or adopted. As the stream is recoverable, only
 * the loss of a daemon makes the answer incomplete: `late` then says so.
 * Returns whether any daemon was lost. */
bool gathering_events(struct gathering *gathering);
