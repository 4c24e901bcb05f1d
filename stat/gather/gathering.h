/* gathering.h - one gather_tree() at work: what its parts share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coppice/coppice.h>

#include "stat/gather/daemons.h"
#include "stat/gather/gather.h"
#include "stat/gather/naming.h"
#include "stat/job/targets.h"
#include "stat/tree/tree.h"

/* The answer, and the names, get at least this long, even if the time is up. */
#define GATHERING_LEAST_MS 1000

/* How long to wait for a thread to stop, at most. */
#define GATHERING_STOP_MS 1000

/* Names that were asked for, for the next time. */
struct known {
    struct naming *naming;
    struct tree *tree; /* its tree */
};

/* What is asked, and what has come. */
struct gathering {
    struct daemons *daemons;
    struct targets *targets;
    const struct gather_options *options;
    struct cop_stream *stream;  /* of samples */
    struct cop_stream *answers; /* and of names */
    struct known known;
    struct names *files; /* names from files of this host; NULL: not yet */
    uint64_t sample;     /* the last one; frozen daemons may lack it */
    uint64_t end_ms;     /* until when the answer is waited for */
    uint32_t losses;     /* lost daemons that have tasks */
    bool is_over;        /* no daemon with tasks is left */
    bool is_cut;         /* ended by Ctrl-C */
    bool is_answered;    /* all daemons that live have sent all they have */
    struct cop_error *late;
};

/* The library names the limits of its struct cop_times, such as
 * "(start_timeout)". Replace these names in `text` by the option that sets all of
 * them. */
void gathering_name_option(char *text);

/* Format a line for `fn`, unless that is NULL. */
__attribute__((format(printf, 2, 3))) void gathering_say(gather_say_fn fn,
                                                         const char *format,
                                                         ...);

/* Decide what the tasks are, and tell what is to be told of it. Returns 0 or
 * -ENOMEM. */
int gathering_settle(struct targets *targets,
                     const struct gather_options *options);

/* As cop_stream_receive(), but -EAGAIN also if no daemon is left, which
 * gathering_events() tells. */
int gathering_receive(struct cop_stream *stream,
                      struct cop_packet **packet,
                      int timeout_ms);

/* The same until `end_ms` of clock_now_ms(). */
int gathering_receive_until(struct cop_stream *stream,
                            struct cop_packet **packet,
                            uint64_t end_ms);

/* Tell the daemons to stop. It is no error if none is left. Returns 0 or a
 * negative errno. */
int gathering_stop(struct cop_stream *stream);

/* How long a frozen node can delay the samples of all others: until its
 * neighbours have missed it, and then a node above it too (PROTOCOL 6.1b). */
uint64_t gathering_frozen_ms(const struct gather_options *options);

/* What is left of the time, and at least `least_ms`. */
uint64_t gathering_left_ms(const struct gathering *gathering,
                           uint64_t least_ms);

/* When a sample is due, at the latest, if no process was stopped for long.
 *
 * pause_ms  the longest so far */
uint64_t gathering_due_ms(const struct gathering *gathering, uint64_t pause_ms);

/* Join `packet` to `*tree`. Returns 0 or a negative errno. */
int gathering_join(struct tree **tree, const struct cop_packet *packet);

/* Note which sample `packet` is of: the number of its wave. Returns whether it
 * is a new one. */
bool gathering_note(struct gathering *gathering,
                    const struct cop_packet *packet);

/* Note whether any daemon with tasks is left. */
void gathering_check(struct gathering *gathering);

/* Report nodes that were lost or adopted. Only the loss of a daemon makes the
 * answer incomplete, as the stream is recoverable: it is put into `late`.
 * Returns whether any daemon was lost. */
bool gathering_events(struct gathering *gathering);
