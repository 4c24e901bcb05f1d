/* proxy.h - requests of the nodes to test/process/proxy, sent by
 * test/process/proxied.c: one request and one answer per connection. */
#pragma once

#include <stdint.h>

/* The environment variable with the path of the proxy's socket. */
#define PROXY_VARIABLE "COPPICE_TEST_PROXY"

enum {
    PROXY_LISTENS = 'l', /* "I listen on this port": the answer is that port */
    PROXY_CALLS = 'c',   /* "which port replaces this one?": 0 if no node
                            listens on it */
};

struct proxy_question {
    char what;
    uint16_t port;
};
