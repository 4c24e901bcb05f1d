/* test_address.c - numeric addresses and networks (PROTOCOL 1.1). */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#include "net/address.h"
#include "test/check.h"
#include "wire/limits.h"

static bool within(const char *networks, const char *text)
{
    struct sockaddr_in in4 = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, text, &in4.sin_addr) == 1)
        return address_within(networks, (struct sockaddr *)&in4);
    CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return address_within(networks, (struct sockaddr *)&in6);
}

TEST(networks_are_checked)
{
    const char *good[] = {"",     "10.0.0.0/8",           "10.1.2.3",
                          "::/0", "fd00::/8, 10.0.0.0/8", "0.0.0.0/0"};
    const char *bad[] = {"10.0.0.0/33",
                         "10.0.0/8",
                         "fd00::/129",
                         "10.0.0.0/",
                         "10.0.0.0/8x",
                         "10.0.0.0/-1",
                         ",",
                         "10.0.0.0/8,",
                         "10.0.0.0/8,,::/0",
                         "name",
                         "1111111111111111111111111111111111111111111111111"};
    const char *where = "";

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CHECK_IS(address_networks_check(good[i], NULL), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_IS(address_networks_check(bad[i], NULL), -EINVAL);
    CHECK_IS(address_networks_check("10.0.0.0/8,oops", &where), -EINVAL);
    CU_ASSERT_STRING_EQUAL(where, "oops");
}

TEST(prefixes_decide)
{
    CU_ASSERT(within("", "192.0.2.1"));
    CU_ASSERT(within("10.0.0.0/8", "10.255.0.1"));
    CU_ASSERT(!within("10.0.0.0/8", "11.0.0.1"));
    CU_ASSERT(within("10.0.0.0/9", "10.127.0.1"));
    CU_ASSERT(!within("10.0.0.0/9", "10.128.0.1"));
    CU_ASSERT(within("192.0.2.7", "192.0.2.7"));
    CU_ASSERT(!within("192.0.2.7", "192.0.2.6"));
    CU_ASSERT(within("fd00::/8", "fdff::1"));
    CU_ASSERT(!within("fd00::/8", "fe00::1"));
    CU_ASSERT(!within("0.0.0.0/0", "::1"));
    CU_ASSERT(within("fd00::/8,10.0.0.0/8", "10.0.0.1"));
    /* IPv4 inside IPv6 is IPv4. */
    CU_ASSERT(within("10.0.0.0/8", "::ffff:10.0.0.1"));
}

/* address_own() of an IPv4 socket that is bound to `host`. */
static int own(
    const char *networks, in_addr_t host, uint16_t port, char *out, size_t room)
{
    struct sockaddr_in bound = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(host),
    };

    return address_own(networks, (struct sockaddr *)&bound, out, room);
}

TEST(local_tree_uses_loopback_alone)
{
    struct sockaddr_in6 six = {
        .sin6_family = AF_INET6,
        .sin6_port = htons(9),
        .sin6_addr = in6addr_loopback,
    };
    struct sockaddr_storage address;
    char text[LIMIT_ADDRESS + 1];
    const char *at = text;
    socklen_t len;

    CHECK_OK(own("", INADDR_LOOPBACK, 4711, text, sizeof(text)));
    CU_ASSERT_STRING_EQUAL(text, "127.0.0.1 4711");
    CHECK_IS(address_next(&at, &address, &len), 1);
    CU_ASSERT_EQUAL(address.ss_family, AF_INET);
    CU_ASSERT_EQUAL(len, sizeof(struct sockaddr_in));
    CU_ASSERT_EQUAL(ntohs(((struct sockaddr_in *)&address)->sin_port), 4711);
    CHECK_IS(address_next(&at, &address, &len), 0);
    CHECK_OK(address_own("", (struct sockaddr *)&six, text, sizeof(text)));
    CU_ASSERT_STRING_EQUAL(text, "::1 9");
}

TEST(own_addresses_are_those_within_the_networks)
{
    char text[LIMIT_ADDRESS + 1];

    CHECK_OK(own("127.0.0.0/8", INADDR_ANY, 1, text, sizeof(text)));
    CU_ASSERT_STRING_EQUAL(text, "127.0.0.1 1");
    CHECK_IS(own("203.0.113.0/24", INADDR_ANY, 1, text, sizeof(text)),
             -EADDRNOTAVAIL);
    CHECK_IS(own("oops", INADDR_ANY, 1, text, sizeof(text)), -EINVAL);
    CHECK_IS(own("127.0.0.0/8", INADDR_ANY, 1, text, 5), -ENOSPC);
}

TEST(text_from_strangers_is_checked)
{
    const char *bad[] = {"127.0.0.1",       "127.0.0.1 ",        "127.0.0.1 0",
                         "127.0.0.1 65536", "127.0.0.1 12x",     "127.0.0.1 -1",
                         "localhost 12",    "127.0.0.1 1234567", "::g 12"};
    struct sockaddr_storage address;
    const char *at;
    socklen_t len;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        at = bad[i];
        CHECK_IS(address_next(&at, &address, &len), -EBADMSG);
    }
    at = "  ::1 99 10.0.0.1 99";
    CHECK_IS(address_next(&at, &address, &len), 1);
    CU_ASSERT_EQUAL(address.ss_family, AF_INET6);
    CHECK_IS(address_next(&at, &address, &len), 1);
    CU_ASSERT_EQUAL(address.ss_family, AF_INET);
    CHECK_IS(address_next(&at, &address, &len), 0);
}

TEST(local_names_are_known)
{
    char own[LIMIT_HOST_NAME + 1] = "";

    CHECK_OK(gethostname(own, sizeof(own) - 1));
    CU_ASSERT(address_is_local("localhost"));
    CU_ASSERT(address_is_local("::1"));
    CU_ASSERT(address_is_local(own));
    CU_ASSERT(!address_is_local("localhost.example"));
    CU_ASSERT(!address_is_local("192.0.2.1"));
    CU_ASSERT(address_is_own("localhost"));
    CU_ASSERT(address_is_own("127.0.0.1"));
    CU_ASSERT(address_is_own(own));
    CU_ASSERT(address_is_local("127.0.0.2"));
    CU_ASSERT(!address_is_own("127.0.0.2"));
}
