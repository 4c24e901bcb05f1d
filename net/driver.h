/* driver.h - the real world of one node: loop, links, children, threads.
 *
 *   shell (front-end, back-end, commnode)
 *     |  driver_step, driver_wait        ^  deliver, tell, load, filter
 *   +-v--------------------------------- +--+
 *   | driver: lock, loop, one flush a turn  |
 *   +-+--------------+------------------+---+
 *     | node_step    | connections      | children
 *
 * The machine is stepped under the driver's lock, which is never held in a
 * poll or in a filter (PROTOCOL 14). A thread that waits drives the loop. A
 * background thread takes over when none has done so for some milliseconds.
 *
 * A shell does this:
 *
 *     driver_new(), driver_start(), then under driver_lock():
 *     driver_wait() until it was told TELL_LAUNCHED or TELL_LAUNCH_FAILED;
 *     driver_step() for what the application asks, driver_wait() for answers;
 *     EVENT_SHUTDOWN, driver_wait() for the end, driver_reap(); driver_free().
 */
#pragma once

#include <coppice/coppice.h>

#include "net/agents.h"
#include "protocol/node.h"

struct driver; /* opaque */

/* What a shell does for its driver. All are called with the lock held, except
 * `filter`; they may call nothing of the driver but driver_node(). Frames that
 * are "taken" are the shell's: it empties or keeps them. */
struct driver_ops {
    /* Load the filters of a stream for our role. Fill in `filters`; set `slow`
     * if one of them may take long (any that is not built in): then a
     * background thread stands by. On error write why into `text`. Returns 0
     * or a negative errno. The driver answers EVENT_LOADED. */
    int (*load)(void *arg,
                const struct stream_definition *definition,
                struct stream_filters *filters,
                bool *slow,
                char *text,
                size_t text_len);

    /* Free the filters of `stream`; no call of it is out. */
    void (*unload)(void *arg, uint32_t stream);

    /* Run `call`, with the lock released, never two at once. Fill in `up`,
     * `down` and `text` of `answer`: the arrays and the text are borrowed until
     * the next call, the frames in them are taken. */
    void (*filter)(void *arg,
                   const struct node_call *call,
                   struct event *answer);

    /* A packet for the application; `frame` is taken. */
    void (*deliver)(void *arg, uint32_t stream, struct frame *frame);

    /* News: `tell`, `rank`, `stream`, `sequence`, `code`, `text` of `news`,
     * borrowed. */
    void (*tell)(void *arg, const struct action *news);

    /* The node has ended: nothing more comes. `text` is borrowed. */
    void (*exit)(void *arg, const char *text);

    /* A commnode has ended because a filter call does not return, and its last
     * frames have left; or it has ended for another reason, which `text` has,
     * and the call that was out has not returned for 3 s. End the process, of
     * which some thread is in that call. Must not return. NULL in other nodes:
     * the process is the application's. */
    void (*abort)(void *arg, const char *text);

    /* Optional: a line for a log, such as "LINK-DOWN" and "rank 12: reset". */
    void (*log)(void *arg, const char *id, const char *text);
};

/* Make a driver and its node: own loop, listening sockets where the role has
 * children, or may get some, a table of links. Descriptor limits are raised as
 * far as allowed (PROTOCOL 12.4).
 *
 * bootstrap  taken on success
 * ops, arg   kept
 *
 * Returns 0, or a negative errno with a sentence: -EMFILE if the descriptors
 * do not suffice for the children, -EADDRNOTAVAIL if no interface is within
 * `networks`, -EINVAL, -ENOMEM and others from the system. */
int driver_new(struct driver **out,
               struct bootstrap *bootstrap,
               const struct driver_ops *ops,
               void *arg,
               struct cop_error *error);

/* Free `driver` and what it holds: stops the background thread, closes links,
 * kills children that still live. No other thread may be in a call. In a
 * forked child it only closes. NULL is fine. */
void driver_free(struct driver *driver);

/* Begin: start the children, dial the parent. From now on other nodes dial us,
 * and we others, as the machine wants it. What comes of it is told by
 * `tell` or `exit`. Lock held. Returns 0 or -ENOMEM. */
int driver_start(struct driver *driver);

/* Take the lock. Returns 0, or -EPERM in a forked child: then it is not held
 * and nothing may be called but driver_free(). */
int driver_lock(struct driver *driver);
void driver_unlock(struct driver *driver);

/* The halves of driver_step(), for a caller with many events. driver_note()
 * steps the node, and runs no filter call, which would deliver more packets.
 * driver_catch_up() runs filter calls for a turn, and flushes; call it once,
 * after the events. */
int driver_note(struct driver *driver, struct event *event, uint64_t *result);
void driver_catch_up(struct driver *driver);

/* Tell the node that `event` happened now (`now_ms` is filled in), and do what
 * it asks for. Frames in `event` are taken as protocol/node.h says.
 *
 * The lock is held before and after; it is released meanwhile if a filter has
 * to run. Frames leave as PROTOCOL 14.3 says.
 *
 * result  of EVENT_OPEN and EVENT_SYNC; may be NULL
 *
 * Returns what node_step() returns; -ENOTCONN once the node has ended. */
static inline int driver_step(struct driver *driver,
                              struct event *event,
                              uint64_t *result)
{
    int r = driver_note(driver, event, result);

    driver_catch_up(driver);
    return r;
}

/* Whether what the caller waits for has happened; called with the lock. */
typedef bool driver_done_fn(void *arg);

/* Drive the loop, or wait for the thread that does, until `done`. The lock is
 * held before, after, and in `done`; released in between. Queued frames leave
 * first. With a `timeout_ms` of 0 it takes what is there and does not wait;
 * COP_FOREVER has no end.
 *
 * Returns 0 once `done` is true; -EAGAIN after `timeout_ms`; -ENOTCONN if the
 * node has ended and `done` is still false. */
int driver_wait(struct driver *driver,
                driver_done_fn *done,
                void *arg,
                int timeout_ms);

/* Hand what is queued to the network now. Lock held. */
void driver_flush(struct driver *driver);

/* From now on the application polls a descriptor that the shell sets in
 * `deliver` and `tell`: the background thread takes over quickly. Lock held. */
void driver_attended(struct driver *driver);

/* How long a node whose network has ended lets its children end before it kills
 * them, for each level below the node. A child must have killed its own children
 * before it is killed itself, or a back-end that hangs would be left running: a
 * child may begin this much later than its parent. */
#define DRIVER_LEVEL_MS 3000

/* Wait up to `timeout_ms` for the children that we have started to end, for
 * those that are stopped, as by SIGSTOP, up to `stopped_ms` only; then kill
 * those that still live. Lock held. Returns how many were killed in the end. */
int driver_reap(struct driver *driver, int stopped_ms, int timeout_ms);

/* This process crashes, in signal `signal`, or calls exit(): 0. If a filter call
 * runs, its stream is reported to the parent (PROTOCOL 11.5); that may take a
 * second. For a signal handler, or atexit(), without the lock, which it takes
 * for good: the process is to end then. */
void driver_crash(struct driver *driver, int signal);

/* Why it ended without the machine: the parent could not be reached, or did not
 * know our key (-EACCES). 0 if it lives or ended by itself. Lock held. */
int driver_error(const struct driver *driver);

/* As children_agents(), children_words() and children_absent()
 * (net/children.h). Lock held. */
enum agents_presence driver_agents(const struct driver *driver);
const char *driver_words(const struct driver *driver);
char *driver_absent(const struct driver *driver);

/* The node, and what it was told at its birth. Borrowed; lock held. */
struct node *driver_node(struct driver *driver);
const struct bootstrap *driver_bootstrap(const struct driver *driver);

/* Milliseconds of the monotonic clock, as in events. */
uint64_t driver_now_ms(void);
