/* bare_rescue.c - the nodes of the bare tree of bench/exactness.
 *
 * `bare_rescue PORT ROLE NUMBER`, where the role is one of
 *   refuge                  reports its port, and accepts every call
 *   victim:COUNT:PORT,...   has COUNT orphans; waits to be killed
 *   orphan:PORT,...         when its parent has ended, it calls the refuge at
 *                           the index NUMBER modulo the count of ports
 *
 * This is the least work possible: an orphan exchanges as many bytes with its
 * refuge as in Coppice's handshake, without cryptography, and reports; the
 * refuge passes the report to the root. */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "bench/kids.h"
#include "bench/rescue.h"

/* ---- refuge -------------------------------------------------------------- */

/* Slots of struct refuge. */
enum {
    SLOT_ROOT,
    SLOT_LISTENER,
    SLOT_GUESTS, /* the first one */
};

struct refuge {
    struct pollfd slots[SLOT_GUESTS + RESCUE_ORPHANS_MAX];
    bool greeted[SLOT_GUESTS + RESCUE_ORPHANS_MAX]; /* the hello was read */
    nfds_t count;
};

static int take_in(struct refuge *refuge)
{
    struct pollfd *slot = &refuge->slots[refuge->count];
    int r;

    if (refuge->count == SLOT_GUESTS + RESCUE_ORPHANS_MAX)
        return -EMFILE;
    r = kids_accept(refuge->slots[SLOT_LISTENER].fd, &slot->fd);
    if (r < 0)
        return r;
    slot->events = POLLIN;
    slot->revents = 0;
    refuge->greeted[refuge->count++] = false;
    return 0;
}

/* Handle one message of a guest. All its bytes have arrived, or arrive now. */
static int serve_guest(struct refuge *refuge, nfds_t i)
{
    static const char answer[RESCUE_ANSWER_LEN];
    int fd = refuge->slots[i].fd;
    struct {
        char proof[RESCUE_PROOF_LEN];
        struct rescue_report report;
    } last;
    char hello[RESCUE_HELLO_LEN];
    int r;

    if (!refuge->greeted[i]) {
        refuge->greeted[i] = true;
        r = kids_read_all(fd, hello, sizeof(hello));
        return r < 0 ? r : kids_write_all(fd, answer, sizeof(answer));
    }
    r = kids_read_all(fd, &last, sizeof(last));
    if (r < 0)
        return r;
    return kids_write_all(refuge->slots[SLOT_ROOT].fd, &last.report,
                          sizeof(last.report));
}

/* Serve until the root closes. */
static int serve_root(struct refuge *refuge)
{
    for (;;) {
        int r = 0;

        if (poll(refuge->slots, refuge->count, -1) < 0)
            return -errno;
        if (refuge->slots[SLOT_ROOT].revents)
            return 0;
        for (nfds_t i = SLOT_GUESTS; r == 0 && i < refuge->count; i++)
            if (refuge->slots[i].revents)
                r = serve_guest(refuge, i);
        if (r == 0 && refuge->slots[SLOT_LISTENER].revents)
            r = take_in(refuge);
        if (r < 0)
            return r;
    }
}

static int be_refuge(int up)
{
    static struct refuge refuge;
    uint32_t one = 1;
    uint16_t port;
    int listener;
    int r;

    r = kids_listen(&listener, &port);
    if (r < 0)
        return r;
    refuge.slots[SLOT_ROOT] = (struct pollfd){.fd = up, .events = POLLIN};
    refuge.slots[SLOT_LISTENER] =
        (struct pollfd){.fd = listener, .events = POLLIN};
    refuge.count = SLOT_GUESTS;
    r = kids_write_all(up, &one, sizeof(one));
    if (r == 0)
        r = kids_write_all(up, &port, sizeof(port));
    return r < 0 ? r : serve_root(&refuge);
}

/* ---- victim -------------------------------------------------------------- */

static int be_victim(int up, const char *program, const char *rest)
{
    char role[LINE_MAX];
    char *ports;
    unsigned long count = strtoul(rest, &ports, 10);
    struct kids *kids;
    uint32_t orphans;
    char byte;
    int r;

    if (count == 0 || count > RESCUE_ORPHANS_MAX || *ports != ':')
        return -EINVAL;
    snprintf(role, sizeof(role), "orphan%s", ports);
    r = kids_start(&kids, program, (uint32_t)count, role, &orphans);
    if (r == 0)
        r = kids_write_all(up, &orphans, sizeof(orphans));
    if (r < 0)
        return r;
    kids_read_all(up, &byte, sizeof(byte)); /* until killed, or the end */
    kids_end(kids, true);
    return 0;
}

/* ---- orphan -------------------------------------------------------------- */

static uint32_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)((uint64_t)now.tv_sec * 1000000 +
                      (uint64_t)now.tv_nsec / 1000);
}

/* The port of the refuge for number `ordinal`; 0 if there is none. */
static uint16_t choose(const char *ports, uint32_t ordinal)
{
    uint32_t count = 1;

    for (const char *at = ports; *at; at++)
        count += *at == ',';
    for (ordinal %= count; ordinal > 0; ordinal--)
        ports = strchr(ports, ',') + 1;
    return (uint16_t)strtoul(ports, NULL, 10);
}

static int be_orphan(int up, const char *ports, uint32_t ordinal)
{
    static const char hello[RESCUE_HELLO_LEN];
    struct {
        char proof[RESCUE_PROOF_LEN];
        struct rescue_report report;
    } last = {.report.ordinal = ordinal};
    char answer[RESCUE_ANSWER_LEN];
    uint16_t port = choose(ports, ordinal);
    uint32_t noticed_us;
    uint32_t one = 1;
    char byte;
    int fd;
    int r;

    r = kids_write_all(up, &one, sizeof(one));
    if (r < 0)
        return r;
    kids_read_all(up, &byte, sizeof(byte)); /* ends with the victim */
    noticed_us = now_us();
    close(up);
    fd = kids_connect(port);
    if (fd < 0)
        return fd;
    r = kids_write_all(fd, hello, sizeof(hello));
    if (r == 0)
        r = kids_read_all(fd, answer, sizeof(answer));
    last.report.took_us = now_us() - noticed_us;
    if (r == 0)
        r = kids_write_all(fd, &last, sizeof(last));
    if (r == 0)
        kids_read_all(fd, &byte, sizeof(byte)); /* until the refuge ends */
    return r;
}

int main(int argc, char **argv)
{
    bool orphan = argc == 4 && strncmp(argv[2], "orphan:", 7) == 0;
    int up;
    int r = -EINVAL;

    if (argc != 4)
        errx(2, "usage: bare_rescue PORT ROLE NUMBER; bench/exactness starts "
                "it, it is of no use alone");
    if (!orphan && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        err(1, "bare_rescue: prctl");
    up = kids_connect((uint16_t)strtoul(argv[1], NULL, 10));
    if (up < 0) /* also if the parent ended before the prctl() */
        errx(1, "bare_rescue: no parent on port %s: %s", argv[1],
             strerror(-up));
    if (orphan)
        r = be_orphan(up, argv[2] + 7, (uint32_t)strtoul(argv[3], NULL, 10));
    else if (strncmp(argv[2], "victim:", 7) == 0)
        r = be_victim(up, argv[0], argv[2] + 7);
    else if (strcmp(argv[2], "refuge") == 0)
        r = be_refuge(up);
    return r < 0 ? 1 : 0;
}
