/* inject.c - what a program outside the network may have its nodes do. */
#include <errno.h>

#include "api/ask.h"
#include "wire/messages.h"
#include "wire/packet.h"

int cop_network_inject(const char *session_path,
                       uint32_t rank,
                       enum cop_injection injection,
                       uint32_t freeze_ms,
                       int timeout_ms,
                       struct cop_error *error)
{
    struct frame question = msg_inject_encode(&(struct msg_inject){
        .injection = (int32_t)injection,
        .victim = rank,
        .freeze_ms = freeze_ms,
    });
    struct frame answer = {0};
    int r;

    r = ask_network(&answer, FRAME_ROWS, session_path, &question, timeout_ms,
                    error);
    frame_fini(&answer);
    return r;
}

int cop_session_drain(const char *session_path,
                      const char *host,
                      int timeout_ms,
                      struct cop_error *error)
{
    struct msg_drain drain = {.payload = NULL};
    struct frame question, answer = {0};
    int r;

    if (!host || !*host)
        return cop_error_set(error, -EINVAL, "no host was named");
    r = packet_pack(&drain.payload, "%s", host);
    if (r < 0)
        return cop_error_set(error, r, "out of memory");
    question = msg_drain_encode(&drain);
    r = ask_network(&answer, FRAME_ROWS, session_path, &question, timeout_ms,
                    error);
    frame_fini(&question);
    frame_fini(&answer);
    return r;
}
