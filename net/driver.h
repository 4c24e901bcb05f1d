/* driver.h - one node in the real world: loop, links, children, threads.
 *
 *   shell (front-end, back-end, commnode)
 *     |  driver_step, driver_wait        ^  deliver, tell, load, filter
 *   +-v--------------------------------- +--+
 *   | driver: lock, loop, one flush a turn  |
 *   +-+--------------+------------------+---+
 *     | node_step    | connections      | children
 *
 * The machine is stepped under the driver's lock, which is never held in a poll
 * or in a filter (PROTOCOL 14). A thread that waits drives the loop. If no
 * thread has done so for some milliseconds, a background thread takes over.
 *
 * The calls of a shell:
 *
 *     driver_new(), driver_start(), then under driver_lock():
 *     driver_wait() until TELL_LAUNCHED or TELL_LAUNCH_FAILED arrives;
 *     driver_step() for the application's requests, driver_wait() for answers;
 *     EVENT_SHUTDOWN, driver_wait() for the end, driver_reap();
 *     driver_free(). */
#pragma once

#include <coppice/coppice.h>

#include "net/agents.h"
#include "protocol/node.h"

struct driver; /* opaque */

/* The callbacks of a shell. All are called with the lock held, except `filter`;
 * they may call nothing of the driver but driver_node(). "Taken" frames belong
 * to the shell, which empties or keeps them. */
struct driver_ops {
    /* Load the filters of a stream for our role. Fill in `filters`; set `slow`
     * if one of them may take long (any that is not built in): then a
     * background thread stands by. On error write the reason to `text`. Returns
     * 0 or a negative errno, which the driver passes on as EVENT_LOADED. */
    int (*load)(void *arg,
                const struct stream_definition *definition,
                struct stream_filters *filters,
                bool *slow,
                char *text,
                size_t text_len);

    /* Free the filters of `stream`, none of which is running. */
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

    /* Optional, and may be set at any time. A step is over, and its actions are
     * carried out. */
    void (*stepped)(void *arg);

    /* The node has ended; no further callback comes. `text` is borrowed. */
    void (*exit)(void *arg, const char *text);

    /* End the process, one of whose threads is in a filter call that does not
     * return. `text` NULL: the commnode has ended because of that call, and its
     * last frames have been sent. Else `text` has another reason, and the call
     * has run for 3 s since the end. Must not return. NULL in other nodes: the
     * process is the application's. */
    void (*abort)(void *arg, const char *text);

    /* Optional. Log a line, such as "LINK-DOWN" and "rank 12: reset". */
    void (*log)(void *arg, const char *id, const char *text);
};

/* Make a driver and its node: own loop, a table of links, and listening sockets
 * if the role may have children. Descriptor limits are raised as far as allowed
 * (PROTOCOL 12.4).
 *
 * bootstrap  taken on success
 * ops, arg   kept
 *
 * Returns 0, or a negative errno with a sentence: -EMFILE if there are too few
 * descriptors for the children, -EADDRNOTAVAIL if no interface is within
 * `networks`, -EINVAL, -ENOMEM and others from the system. */
int driver_new(struct driver **out,
               struct bootstrap *bootstrap,
               const struct driver_ops *ops,
               void *arg,
               struct cop_error *error);

/* Free `driver`: stop the background thread, close links, kill children that
 * still run. No other thread may be in a call. In a forked child it only closes
 * descriptors. NULL is fine. */
void driver_free(struct driver *driver);

/* Start the children and dial the parent. From now on other nodes dial us, and
 * we dial others when the machine asks for it. `tell` or `exit` reports the
 * result. Lock held. Returns 0 or -ENOMEM. */
int driver_start(struct driver *driver);

struct journal; /* net/journal.h */

/* Front-end, before driver_start(): keep a journal at `path` (PROTOCOL 23.3). It is
 * removed with the driver, unless that was detached. Returns 0, or as
 * journal_create() with a sentence. Lock held. */
int driver_keep_journal(struct driver *driver,
                        const char *path,
                        struct cop_error *error);

/* Front-end, in the place of driver_start(): take over the network of `journal`,
 * which is taken also on error. The bootstrap has `resumes`. Returns 0, or with a
 * sentence -EBADMSG, -ESHUTDOWN or -ENOMEM. Lock held. */
int driver_take_over(struct driver *driver,
                     struct journal *journal,
                     struct cop_error *error);

/* Front-end: leave the tree, which waits for another front-end. Then free the
 * driver. Returns 0; -EPERM without a journal; -ENOTCONN after the end. Lock
 * held. */
int driver_detach(struct driver *driver);

/* Take the lock. Returns 0, or -EPERM in a forked child: then the lock is not
 * held, and only driver_free() may be called. */
int driver_lock(struct driver *driver);
void driver_unlock(struct driver *driver);

/* The halves of driver_step(), for a caller with many events. driver_note()
 * steps the node, and runs no filter call, which would deliver more packets.
 * driver_catch_up() runs filter calls for a turn, and flushes; call it once,
 * after the events. */
int driver_note(struct driver *driver, struct event *event, uint64_t *result);
void driver_catch_up(struct driver *driver);

/* Pass `event` to the node, with the present time as `now_ms`, and carry out
 * the actions. Frames in `event` are taken as protocol/node.h says.
 *
 * The lock is held before and after; it is released while a filter runs. Frames
 * are sent as PROTOCOL 14.3 says.
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

/* Whether the caller's condition is true; called with the lock held. */
typedef bool driver_done_fn(void *arg);

/* Drive the loop, or wait for the thread that drives it, until `done`. The lock
 * is held before, after, and in `done`; released in between. Queued frames are
 * sent first. With a `timeout_ms` of 0 it processes what has arrived and does
 * not wait; COP_FOREVER means no timeout.
 *
 * Returns 0 once `done` is true; -EAGAIN after `timeout_ms`; -ENOTCONN if the
 * node has ended and `done` is still false. */
int driver_wait(struct driver *driver,
                driver_done_fn *done,
                void *arg,
                int timeout_ms);

/* Write what is queued to the network now. Lock held. */
void driver_flush(struct driver *driver);

/* From now on the application polls a descriptor that the shell sets in
 * `deliver` and `tell`: the background thread takes over quickly. Lock held. */
void driver_attended(struct driver *driver);

/* After the end of the network, how long a node waits for its children before
 * it kills them, for each level below the node. A child must have killed its
 * own children before it is killed, or a back-end that hangs would keep
 * running. A child may begin this much later than its parent. */
#define DRIVER_LEVEL_MS 3000

/* Wait up to `timeout_ms` for the children that we have started to end; for
 * stopped children (SIGSTOP) only up to `stopped_ms`. Then kill those that
 * still run. Lock held. Returns how many were killed in the end. */
int driver_reap(struct driver *driver, int stopped_ms, int timeout_ms);

/* The process crashes in signal `signal`, or calls exit() (`signal` is 0). If a
 * filter call runs, report its stream to the parent (PROTOCOL 11.5), which may
 * take a second. For a signal handler or atexit(). Call it without the lock,
 * which it takes and never releases: the process must end after it. */
void driver_crash(struct driver *driver, int signal);

/* Why the node ended, if not by the machine: the parent was unreachable, or had
 * another key (-EACCES). 0 if it runs or ended normally. Lock held. */
int driver_error(const struct driver *driver);

/* As children_agents(), children_words() and children_absent()
 * (net/children.h). Lock held. */
enum agents_presence driver_agents(const struct driver *driver);
const char *driver_words(const struct driver *driver);
char *driver_absent(const struct driver *driver);

/* The node, and its bootstrap. Borrowed; lock held. */
struct node *driver_node(struct driver *driver);
const struct bootstrap *driver_bootstrap(const struct driver *driver);

/* Milliseconds of the monotonic clock, as in events. */
uint64_t driver_now_ms(void);
