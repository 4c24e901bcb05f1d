/* relay.c - write bytes to a descriptor that may have no reader. */
#include "net/relay.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Most bytes of one write. */
#define CHUNK_LEN 4096

/* How long relay_free() waits for the reader. */
#define LAST_S 1

/* The memory beyond what is used is never touched. */
#define STACK_LEN (1 << 20)

struct relay {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    int fd;
    bool stopping; /* relay_put() is not called any more */
    bool done;     /* the thread ends */
    uint64_t lost; /* dropped since the last queued byte */
    size_t first;  /* index of the first queued byte */
    size_t len;
    char bytes[RELAY_LEN];
};

/* For a function in which the thread may be cancelled. Cancellation leaves the
 * function without removing AddressSanitizer's red zones from the stack, and
 * the code that ends the thread would fail on them. */
#define CANCELLED __attribute__((no_sanitize_address))

/* Write all bytes, unless the descriptor fails. The thread can be cancelled
 * only here, where it holds no lock. */
CANCELLED static void write_all(int fd, const char *bytes, size_t len)
{
    struct pollfd poller = {.fd = fd, .events = POLLOUT};
    int state;
    ssize_t n;

    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    while (len > 0) {
        n = write(fd, bytes, len);
        if (n < 0 && errno == EAGAIN)
            poll(&poller, 1, -1); /* its owner made it non-blocking */
        else if (n < 0 && errno != EINTR)
            break;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
}

/* Take the next bytes to write: queued bytes, then the line about the bytes
 * that were dropped after them. Returns how many; 0: none. */
static size_t relay_take(struct relay *relay, char out[CHUNK_LEN])
{
    size_t len = RELAY_LEN - relay->first;

    if (relay->len == 0 && relay->lost == 0)
        return 0;
    if (relay->len == 0) {
        len = (size_t)snprintf(
            out, CHUNK_LEN,
            "\ncoppice: %llu bytes that programs behind ssh wrote to standard "
            "error are missing here: standard error was not read\n",
            (unsigned long long)relay->lost);
        relay->lost = 0;
        return len;
    }
    if (len > relay->len)
        len = relay->len;
    if (len > CHUNK_LEN)
        len = CHUNK_LEN;
    memcpy(out, relay->bytes + relay->first, len);
    relay->first = (relay->first + len) % RELAY_LEN;
    relay->len -= len;
    return len;
}

CANCELLED static void *relay_run(void *arg)
{
    struct relay *relay = arg;
    char bytes[CHUNK_LEN];
    size_t len;
    int state;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_mutex_lock(&relay->lock);
    for (;;) {
        len = relay_take(relay, bytes);
        if (len == 0 && relay->stopping)
            break;
        if (len == 0) {
            pthread_cond_wait(&relay->changed, &relay->lock);
            continue;
        }
        pthread_mutex_unlock(&relay->lock);
        write_all(relay->fd, bytes, len);
        pthread_mutex_lock(&relay->lock);
    }
    relay->done = true;
    pthread_cond_broadcast(&relay->changed);
    pthread_mutex_unlock(&relay->lock);
    return NULL;
}

/* Signals, SIGPIPE too, are for the application's threads. */
static int relay_start(struct relay *relay)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t old;
    int r;

    r = pthread_attr_init(&attributes);
    if (r != 0)
        return -r;
    pthread_attr_setstacksize(&attributes, STACK_LEN);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(&relay->thread, &attributes, relay_run, relay);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return -r;
}

int relay_new(struct relay **out, int fd)
{
    struct relay *relay = calloc(1, sizeof(*relay));
    pthread_condattr_t attributes;
    int r;

    if (!relay)
        return -ENOMEM;
    relay->fd = fd;
    pthread_mutex_init(&relay->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&relay->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    r = relay_start(relay);
    if (r < 0) {
        pthread_cond_destroy(&relay->changed);
        pthread_mutex_destroy(&relay->lock);
        free(relay);
        return r;
    }
    *out = relay;
    return 0;
}

void relay_put(struct relay *relay, const char *bytes, size_t len)
{
    size_t end;
    size_t part;

    pthread_mutex_lock(&relay->lock);
    if (relay->lost > 0 || len > RELAY_LEN - relay->len) {
        relay->lost += len; /* until relay_take() has taken the line about it */
    } else {
        end = (relay->first + relay->len) % RELAY_LEN;
        part = len < RELAY_LEN - end ? len : RELAY_LEN - end;
        memcpy(relay->bytes + end, bytes, part);
        memcpy(relay->bytes, bytes + part, len - part);
        relay->len += len;
    }
    pthread_cond_broadcast(&relay->changed);
    pthread_mutex_unlock(&relay->lock);
}

void relay_free(struct relay *relay)
{
    struct timespec until;
    int r = 0;

    if (!relay)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += LAST_S;
    pthread_mutex_lock(&relay->lock);
    relay->stopping = true;
    pthread_cond_broadcast(&relay->changed);
    while (!relay->done && r == 0)
        r = pthread_cond_timedwait(&relay->changed, &relay->lock, &until);
    pthread_mutex_unlock(&relay->lock);
    if (r != 0)
        pthread_cancel(relay->thread);
    pthread_join(relay->thread, NULL);
    pthread_cond_destroy(&relay->changed);
    pthread_mutex_destroy(&relay->lock);
    free(relay);
}

void relay_abandon(struct relay *relay)
{
    free(relay);
}
