/* address.h - the addresses of a node: numeric, with a port.
 *
 * The text form, used in READY and in bootstraps, is "ADDRESS PORT ADDRESS PORT
 * ...". It has at most ADDRESS_COUNT_MAX addresses, all with the same port
 * (PROTOCOL 1.1). A list of networks holds CIDRs separated by commas, such as
 * "10.0.0.0/8,fd00::/8"; "" means all networks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Addresses of one node; at most LIMIT_ADDRESS bytes of text. */
#define ADDRESS_COUNT_MAX 4

/* Check a list of networks. Returns 0, or -EINVAL and in `*where` (which may be
 * NULL) the wrong entry, borrowed from `networks`. */
int address_networks_check(const char *networks, const char **where);

/* Whether `address` is reached on this machine only. */
bool address_is_loopback(const struct sockaddr *address);

/* Whether `address` is within `networks`; "" contains every address. */
bool address_within(const char *networks, const struct sockaddr *address);

/* Write to `out` the addresses at which other nodes reach a socket bound to
 * `bound`: a loopback address itself, else the addresses of our interfaces
 * within `networks`. A loopback interface counts only if `networks` names it.
 *
 * Returns 0; -EADDRNOTAVAIL if there is none; -EINVAL for bad networks;
 * -ENOSPC; or the system's error. */
int address_own(const char *networks,
                const struct sockaddr *bound,
                char *out,
                size_t room);

/* Read the next address of the text form, and advance `*text` past it. Returns
 * 1; 0 at the end; or -EBADMSG. */
int address_next(const char **text,
                 struct sockaddr_storage *out,
                 socklen_t *len);

/* Write to `out` the addresses of the host `name` within `networks`, or all if
 * none is, each with `port`. Asks the resolver, which may block.
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

/* Whether `host` is a common name of this machine: localhost, 127.0.0.1, ::1,
 * or its host name. Reaching it needs no ssh. */
bool address_is_own(const char *host);

/* Whether `host` resolves to a non-loopback address of this machine: `host` is
 * then an alias that address_is_own() does not find. Asks the resolver, which
 * may block. */
bool address_is_ours(const char *host);

/* Whether address_is_own(), or `host` is any other loopback address. Such a
 * host may be reached by ssh, but is still this machine. */
bool address_is_local(const char *host);
