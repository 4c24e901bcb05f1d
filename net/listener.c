/* listener.c - the listening socket of a node. */
#include "net/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/address.h"
#include "net/connection.h"
#include "net/tcp.h"

/* Connections accepted in one turn. */
#define CALLS_MAX 64

/* The pause after running out of descriptors. */
#define PAUSE_S 0.1

/* How long the kernel holds a connection that has sent nothing. */
#define SAY_S 1

struct listener {
    struct ev_loop *loop;
    const char *networks;
    listener_call_fn *call;
    void *arg;
    ev_io io;
    ev_timer pause;
    bool abandoned;
    char address[LIMIT_ADDRESS + 1];
};

/* Whether the connection came to an address within our networks. */
static bool welcome(const struct listener *listener, int fd)
{
    struct sockaddr_storage own;
    socklen_t len = sizeof(own);

    if (*listener->networks == '\0')
        return true;
    return getsockname(fd, (struct sockaddr *)&own, &len) == 0 &&
           address_within(listener->networks, (struct sockaddr *)&own);
}

static void on_call(struct ev_loop *loop, ev_io *io, int events)
{
    struct listener *listener = io->data;
    int fd;

    (void)events;
    for (int count = 0; count < CALLS_MAX; count++) {
        fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0 && welcome(listener, fd)) {
            listener->call(listener->arg, fd);
        } else if (fd >= 0) {
            close(fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
                   errno == ENOMEM) {
            /* New connections wait in the backlog meanwhile. */
            ev_io_stop(loop, io);
            ev_timer_set(&listener->pause, PAUSE_S, 0.);
            ev_timer_start(loop, &listener->pause);
            return;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

static void on_pause(struct ev_loop *loop, ev_timer *pause, int events)
{
    struct listener *listener = pause->data;

    (void)events;
    ev_io_start(loop, &listener->io);
}

/* Have the kernel report a connection only once its hello has arrived: the
 * dialer sends first. This saves a wake-up; a failure is harmless. */
static void await_hello(int fd)
{
    int seconds = SAY_S;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds,
                     sizeof(seconds));
}

/* Bind to `address` and listen. Returns a socket or an error. */
static int bind_to(const struct sockaddr *address, socklen_t len)
{
    int off = 0, on = 1;
    int fd;
    int r;

    fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                0);
    if (fd < 0)
        return -errno;
    if (address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    /* A front-end that takes over gets this port only if both sockets have this
     * option. Two that listen at once still cannot have one port. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, address, len) < 0 || listen(fd, SOMAXCONN) < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    await_hello(fd);
    return fd;
}

/* Listen for both address families if possible, else for one. `port` 0: any. If
 * `port` is taken in one family, it is taken: a front-end that takes over would else
 * listen where no node calls it. */
static int open_port(bool loopback, uint16_t port)
{
    struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
                               .sin6_port = htons(port)};
    int fd = -EAFNOSUPPORT;

    in4.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
    in6.sin6_addr = loopback ? in6addr_loopback : in6addr_any;
    if (!loopback)
        fd = bind_to((struct sockaddr *)&in6, sizeof(in6));
    if (fd < 0 && fd != -EADDRINUSE)
        fd = bind_to((struct sockaddr *)&in4, sizeof(in4));
    if (fd < 0 && fd != -EADDRINUSE && loopback)
        fd = bind_to((struct sockaddr *)&in6, sizeof(in6));
    return fd;
}

static int open_socket(const struct bootstrap *bootstrap)
{
    const struct ports *ports = &bootstrap->ports;
    uint32_t tries = ports->count;
    int fd = -EADDRINUSE;

    if (tries == 0)
        return open_port(bootstrap->loopback, 0);
    if (bootstrap->assembled && tries > PORTS_ASSEMBLED_TRIES)
        tries = PORTS_ASSEMBLED_TRIES;
    for (uint32_t i = 0; i < tries && (fd == -EADDRINUSE || fd == -EACCES); i++)
        fd = open_port(bootstrap->loopback,
                       ports_nth(ports, bootstrap->rank, i));
    return fd;
}

static int listen_error(const struct bootstrap *bootstrap,
                        int code,
                        struct cop_error *error)
{
    const struct ports *ports = &bootstrap->ports;

    if (ports->count > 0)
        return cop_error_set(error, code,
                             "%s: cannot listen on a port of %u-%u: %s",
                             bootstrap->host, ports->low,
                             ports->low + ports->count - 1, strerror(-code));
    return cop_error_set(error, code, "cannot listen for other nodes: %s",
                         strerror(-code));
}

int listener_new(struct listener **out,
                 struct ev_loop *loop,
                 const struct bootstrap *bootstrap,
                 listener_call_fn *call,
                 void *arg,
                 struct cop_error *error)
{
    const char *networks = bootstrap->networks;
    struct sockaddr_storage bound;
    socklen_t len = sizeof(bound);
    struct listener *listener;
    int fd;
    int r;

    fd = open_socket(bootstrap);
    if (fd >= 0) {
        r = tcp_prepare(fd, bootstrap->times.failure_timeout_ms);
        if (r < 0) {
            close(fd);
            fd = r;
        }
    }
    if (fd < 0)
        return listen_error(bootstrap, fd, error);
    listener = calloc(1, sizeof(*listener));
    r = listener ? 0 : -ENOMEM;
    if (r == 0 && getsockname(fd, (struct sockaddr *)&bound, &len) < 0)
        r = -errno;
    if (r == 0)
        r = address_own(networks, (struct sockaddr *)&bound, listener->address,
                        sizeof(listener->address));
    if (r < 0) {
        free(listener);
        close(fd);
        if (r != -EADDRNOTAVAIL || *networks)
            return cop_error_set(
                error, r,
                "no address of this host can be used for links (networks "
                "\"%s\"): %s; put a network of this host into launch.networks, "
                "as \"ip address\" shows it, or leave it NULL for all",
                networks, strerror(-r));
        return cop_error_set(
            error, r,
            "no address of this host can be used for links: no network "
            "interface is up but loopback; bring one up (\"ip link\" shows "
            "them), or name no other host in the topology");
    }
    listener->loop = loop;
    listener->networks = networks;
    listener->call = call;
    listener->arg = arg;
    ev_io_init(&listener->io, on_call, fd, EV_READ);
    listener->io.data = listener;
    ev_init(&listener->pause, on_pause);
    listener->pause.data = listener;
    ev_io_start(loop, &listener->io);
    *out = listener;
    return 0;
}

void listener_free(struct listener *listener)
{
    if (!listener)
        return;
    if (!listener->abandoned) {
        ev_io_stop(listener->loop, &listener->io);
        ev_timer_stop(listener->loop, &listener->pause);
        close(listener->io.fd);
    }
    free(listener);
}

void listener_abandon(struct listener *listener)
{
    listener->abandoned = true;
    close(listener->io.fd);
}

const char *listener_address(const struct listener *listener)
{
    return listener->address;
}
