/* address.c - the addresses at which other nodes reach a node. */
#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/limits.h"

/* One network in CIDR notation. */
struct network {
    int family;
    unsigned prefix_len;
    unsigned char bytes[16];
};

/* Read the entry of `len` bytes at `text`. */
static int read_network(const char *text, size_t len, struct network *out)
{
    char copy[INET6_ADDRSTRLEN + 5];
    char *slash;
    char *end;
    unsigned long most;

    while (len > 0 && *text == ' ') {
        text++;
        len--;
    }
    while (len > 0 && text[len - 1] == ' ')
        len--;
    if (len == 0 || len >= sizeof(copy))
        return -EINVAL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    slash = strchr(copy, '/');
    if (slash)
        *slash = '\0';
    out->family = strchr(copy, ':') ? AF_INET6 : AF_INET;
    most = out->family == AF_INET ? 32 : 128;
    if (inet_pton(out->family, copy, out->bytes) != 1)
        return -EINVAL;
    out->prefix_len = (unsigned)most;
    if (slash) {
        if (slash[1] < '0' || slash[1] > '9')
            return -EINVAL;
        unsigned long bits = strtoul(slash + 1, &end, 10);
        if (*end != '\0' || bits > most)
            return -EINVAL;
        out->prefix_len = (unsigned)bits;
    }
    return 0;
}

/* Read the next entry of a list. Returns 1, 0 at the end, or -EINVAL. */
static int next_network(const char **networks, struct network *out)
{
    const char *text = *networks;
    size_t len = strcspn(text, ",");
    int r;

    if (*text == '\0')
        return 0;
    r = read_network(text, len, out);
    if (r < 0)
        return r;
    *networks = text + len;
    if (**networks == ',') {
        (*networks)++;
        if (**networks == '\0')
            return -EINVAL;
    }
    return 1;
}

int address_networks_check(const char *networks, const char **where)
{
    struct network network;
    int r;

    do {
        if (where)
            *where = networks;
        r = next_network(&networks, &network);
    } while (r > 0);
    return r;
}

static bool same_bits(const unsigned char *a,
                      const unsigned char *b,
                      unsigned count)
{
    unsigned rest = count % 8;

    if (memcmp(a, b, count / 8) != 0)
        return false;
    return rest == 0 || ((a[count / 8] ^ b[count / 8]) >> (8 - rest)) == 0;
}

/* The bytes of an address. IPv4 inside IPv6 counts as IPv4. */
static int address_bytes(const struct sockaddr *address,
                         const unsigned char **bytes)
{
    const struct sockaddr_in6 *in6;

    if (address->sa_family == AF_INET) {
        *bytes = (const unsigned char *)&((const struct sockaddr_in *)address)
                     ->sin_addr;
        return AF_INET;
    }
    if (address->sa_family != AF_INET6)
        return AF_UNSPEC;
    in6 = (const struct sockaddr_in6 *)address;
    *bytes = in6->sin6_addr.s6_addr;
    if (!IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
        return AF_INET6;
    *bytes += 12;
    return AF_INET;
}

bool address_within(const char *networks, const struct sockaddr *address)
{
    const unsigned char *bytes;
    struct network network;
    int family = address_bytes(address, &bytes);

    if (family == AF_UNSPEC)
        return false;
    if (*networks == '\0')
        return true;
    while (next_network(&networks, &network) > 0)
        if (network.family == family &&
            same_bits(network.bytes, bytes, network.prefix_len))
            return true;
    return false;
}

/* Append one address. Returns 0, or -ENOSPC when it does not fit. */
static int append(char *out,
                  size_t room,
                  const struct sockaddr *address,
                  uint16_t port)
{
    char text[INET6_ADDRSTRLEN];
    const unsigned char *bytes = NULL;
    int family = address_bytes(address, &bytes);
    size_t used = strlen(out);
    int n;

    if (!inet_ntop(family, bytes, text, sizeof(text)))
        return -errno;
    n = snprintf(out + used, room - used, "%s%s %u", used ? " " : "", text,
                 (unsigned)port);
    if (n < 0 || (size_t)n >= room - used) {
        out[used] = '\0';
        return -ENOSPC;
    }
    return 0;
}

/* Whether other nodes can reach us at the address of this interface. */
static bool usable(const struct ifaddrs *own, const char *networks)
{
    const struct sockaddr_in6 *in6;

    if (!own->ifa_addr || !(own->ifa_flags & IFF_UP))
        return false;
    if ((own->ifa_flags & IFF_LOOPBACK) && *networks == '\0')
        return false;
    in6 = (const struct sockaddr_in6 *)own->ifa_addr;
    if (own->ifa_addr->sa_family == AF_INET6 &&
        IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
        return false; /* useless without an interface */
    return address_within(networks, own->ifa_addr);
}

bool address_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(
            &((const struct sockaddr_in6 *)address)->sin6_addr);
    return ((const struct sockaddr_in *)address)->sin_addr.s_addr ==
           htonl(INADDR_LOOPBACK);
}

/* Append the addresses of all usable interfaces. Returns how many. */
static int append_interfaces(char *out,
                             size_t room,
                             const char *networks,
                             uint16_t port)
{
    struct ifaddrs *list;
    int count = 0;

    if (getifaddrs(&list) < 0)
        return -errno;
    for (struct ifaddrs *own = list; own; own = own->ifa_next)
        if (count < ADDRESS_COUNT_MAX && usable(own, networks) &&
            append(out, room, own->ifa_addr, port) == 0)
            count++;
    freeifaddrs(list);
    return count > 0 ? count : -EADDRNOTAVAIL;
}

int address_own(const char *networks,
                const struct sockaddr *bound,
                char *out,
                size_t room)
{
    uint16_t port = bound->sa_family == AF_INET6
                        ? ((const struct sockaddr_in6 *)bound)->sin6_port
                        : ((const struct sockaddr_in *)bound)->sin_port;
    char text[LIMIT_ADDRESS + 1] = "";
    int r;

    if (address_networks_check(networks, NULL) < 0)
        return -EINVAL;
    if (address_is_loopback(bound))
        r = append(text, sizeof(text), bound, ntohs(port));
    else
        r = append_interfaces(text, sizeof(text), networks, ntohs(port));
    if (r < 0)
        return r;
    if (strlen(text) >= room)
        return -ENOSPC;
    strcpy(out, text);
    return 0;
}

/* Read a word into `out`. Returns its length, 0 at the end, or -EBADMSG. */
static int next_word(const char **text, char *out, size_t room)
{
    size_t len;

    *text += strspn(*text, " ");
    len = strcspn(*text, " ");
    if (len >= room)
        return -EBADMSG;
    memcpy(out, *text, len);
    out[len] = '\0';
    *text += len;
    return (int)len;
}

int address_next(const char **text,
                 struct sockaddr_storage *out,
                 socklen_t *len)
{
    struct sockaddr_in *in4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
    char address[INET6_ADDRSTRLEN];
    char port[6];
    char *end;
    unsigned long number;
    int r;

    r = next_word(text, address, sizeof(address));
    if (r <= 0)
        return r;
    r = next_word(text, port, sizeof(port));
    if (r <= 0 || port[0] < '0' || port[0] > '9')
        return -EBADMSG;
    number = strtoul(port, &end, 10);
    if (*end != '\0' || number == 0 || number > UINT16_MAX)
        return -EBADMSG;
    memset(out, 0, sizeof(*out));
    if (inet_pton(AF_INET, address, &in4->sin_addr) == 1) {
        in4->sin_family = AF_INET;
        in4->sin_port = htons((uint16_t)number);
        *len = sizeof(*in4);
        return 1;
    }
    if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons((uint16_t)number);
        *len = sizeof(*in6);
        return 1;
    }
    return -EBADMSG;
}

/* Append the addresses of `list`. Returns how many. */
static int append_found(const struct addrinfo *list,
                        const char *networks,
                        uint16_t port,
                        char *out,
                        size_t room)
{
    int count = 0;

    for (; list && count < ADDRESS_COUNT_MAX; list = list->ai_next)
        if (address_within(networks, list->ai_addr) &&
            append(out, room, list->ai_addr, port) == 0)
            count++;
    return count;
}

int address_resolve(const char *name,
                    const char *networks,
                    uint16_t port,
                    char *out,
                    size_t room,
                    const char **why)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int count;
    int r;

    r = getaddrinfo(name, NULL, &hints, &list);
    if (r != 0) {
        *why = r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r);
        return -EHOSTUNREACH;
    }
    *out = '\0';
    count = append_found(list, networks, port, out, room);
    if (count == 0)
        count = append_found(list, "", port, out, room);
    freeaddrinfo(list);
    *why = "it has no address that fits";
    return count > 0 ? count : -EHOSTUNREACH;
}

int address_at_port(const char *text, uint16_t port, char *out, size_t room)
{
    struct sockaddr_storage address;
    socklen_t len;
    int r;

    *out = '\0';
    while ((r = address_next(&text, &address, &len)) > 0) {
        r = append(out, room, (struct sockaddr *)&address, port);
        if (r < 0)
            return r;
    }
    return r;
}

bool address_is_own(const char *host)
{
    char own[LIMIT_HOST_NAME + 1];

    if (strcmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 ||
        strcmp(host, "::1") == 0)
        return true;
    if (gethostname(own, sizeof(own)) < 0)
        return false;
    own[sizeof(own) - 1] = '\0';
    return strcmp(host, own) == 0;
}

bool address_is_ours(const char *host)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *list;
    bool ours = false;
    int fd;

    if (getaddrinfo(host, NULL, &hints, &list) != 0)
        return false;
    for (struct addrinfo *at = list; at && !ours; at = at->ai_next) {
        fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        ours = !address_is_loopback(at->ai_addr) &&
               bind(fd, at->ai_addr, at->ai_addrlen) == 0;
        close(fd);
    }
    freeaddrinfo(list);
    return ours;
}

bool address_is_local(const char *host)
{
    unsigned char bytes[4];

    if (inet_pton(AF_INET, host, bytes) == 1)
        return bytes[0] == 127;
    return address_is_own(host);
}
