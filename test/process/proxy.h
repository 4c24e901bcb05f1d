/* proxy.h - what the nodes of a network ask test/process/proxy, through
 * test/process/proxied.c: one question and one answer on a connection. */
#pragma once

#include <stdint.h>

/* The environment variable with the path of the proxy's socket. */
#define PROXY_VARIABLE "COPPICE_TEST_PROXY"

enum {
    PROXY_LISTENS = 'l', /* I listen at this port: the answer is that port */
    PROXY_CALLS = 'c',   /* what shall I call instead of this one? 0: nobody
                            listens there */
};

struct proxy_question {
    char what;
    uint16_t port;
};
