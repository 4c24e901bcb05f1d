/* libev.h - libev, hidden from all other parts of the process.
 *
 * libev.so exports libevent's names too (event_add() and 23 more). A process
 * that is linked with libev.so before libevent calls the wrong functions; Open
 * MPI crashes from it. So libcoppice is not linked with libev.so; libev_load()
 * opens it with RTLD_LOCAL. Decision 0345.
 *
 * Every file in net/ includes this header, and calls libev's functions by their
 * own names. A function not listed here is an undefined symbol when libcoppice
 * is linked: add it to both lists. */
#pragma once

#include <coppice/error.h>
#include <ev.h>
#include <stdbool.h>

#define LIBEV_FUNCTIONS(apply)                                                 \
    apply(ev_async_send);                                                      \
    apply(ev_async_start);                                                     \
    apply(ev_feed_event);                                                      \
    apply(ev_io_start);                                                        \
    apply(ev_io_stop);                                                         \
    apply(ev_loop_destroy);                                                    \
    apply(ev_loop_new);                                                        \
    apply(ev_now_update);                                                      \
    apply(ev_run);                                                             \
    apply(ev_set_loop_release_cb);                                             \
    apply(ev_set_syserr_cb);                                                   \
    apply(ev_set_userdata);                                                    \
    apply(ev_time);                                                            \
    apply(ev_timer_start);                                                     \
    apply(ev_timer_stop);                                                      \
    apply(ev_userdata)

/* The functions, once libev_load() has returned 0. */
struct libev {
#define LIBEV_MEMBER(function) __typeof__(function) *function
    LIBEV_FUNCTIONS(LIBEV_MEMBER);
#undef LIBEV_MEMBER
};
extern struct libev libev;

#define ev_async_send          libev.ev_async_send
#define ev_async_start         libev.ev_async_start
#define ev_feed_event          libev.ev_feed_event
#define ev_io_start            libev.ev_io_start
#define ev_io_stop             libev.ev_io_stop
#define ev_loop_destroy        libev.ev_loop_destroy
#define ev_loop_new            libev.ev_loop_new
#define ev_now_update          libev.ev_now_update
#define ev_run                 libev.ev_run
#define ev_set_loop_release_cb libev.ev_set_loop_release_cb
#define ev_set_syserr_cb       libev.ev_set_syserr_cb
#define ev_set_userdata        libev.ev_set_userdata
#define ev_time                libev.ev_time
#define ev_timer_start         libev.ev_timer_start
#define ev_timer_stop          libev.ev_timer_stop
#define ev_userdata            libev.ev_userdata

/* Load libev once in the process; any thread may call this. Returns 0, or
 * -ELIBACC with a sentence that quotes the dynamic linker. */
int libev_load(struct cop_error *error);

/* Call ev_run(). Returns false if the application has closed the loop's
 * descriptors, for which libev alone would end the process. */
bool libev_run(struct ev_loop *loop, int flags);
