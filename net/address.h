/* address.h - where a node is reached: numeric addresses and a port.
 *
 * The text form, which travels in READY and in bootstraps, is "ADDRESS PORT
 * ADDRESS PORT ...", the same port throughout, at most ADDRESS_COUNT_MAX of
 * them (PROTOCOL 1.1). Networks are CIDRs with commas between them, such as
 * "10.0.0.0/8,fd00::/8"; "" is all networks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Addresses of one node; at most LIMIT_ADDRESS bytes of text. */
#define ADDRESS_COUNT_MAX 4

/* Check a list of networks. Returns 0, or -EINVAL and, in `*where` (which may
 * be NULL), the entry that is wrong; borrowed from `networks`. */
int address_networks_check(const char *networks, const char **where);

/* Whether `address` is within `networks`; everything is within "". */
bool address_within(const char *networks, const struct sockaddr *address);

/* Write the addresses at which a socket that is bound to `bound` can be called to
 * `out`: a loopback address itself, else those of our interfaces that are within
 * `networks`. Loopback interfaces count only where `networks` names them.
 *
 * Returns 0; -EADDRNOTAVAIL if there is none; -EINVAL for bad networks; -ENOSPC;
 * or what the system gave. */
int address_own(const char *networks,
                const struct sockaddr *bound,
                char *out,
                size_t room);

/* Read the next address of such a text, moving `*text` behind it.
 * Returns 1; 0 at the end; or -EBADMSG. */
int address_next(const char **text,
                 struct sockaddr_storage *out,
                 socklen_t *len);

/* Write the addresses of the host `name` that are within `networks`, or all if
 * none is, with `port`, to `out`. Asks the resolver, which may block.
 *
 * Returns how many, at least 1; or -EHOSTUNREACH with the resolver's reason in
 * `*why`, a constant. */
int address_resolve(const char *name,
                    const char *networks,
                    uint16_t port,
                    char *out,
                    size_t room,
                    const char **why);

/* Copy such a text with `port` in it. Returns 0, -EBADMSG or -ENOSPC. */
int address_at_port(const char *text, uint16_t port, char *out, size_t room);

/* Whether `host` is a usual name of this machine: localhost, 127.0.0.1, ::1, or
 * its own. To reach it needs no ssh. */
bool address_is_own(const char *host);

/* Whether `host` resolves to an address of this machine, other than loopback:
 * to an alias that the machine does not know of itself. Asks the resolver, which
 * may block. */
bool address_is_ours(const char *host);

/* As address_is_own(), or any other loopback address: one may go there by ssh, but not
 * leave the machine. */
bool address_is_local(const char *host);
