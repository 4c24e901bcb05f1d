/* inject.c - injecting a fault into a node. */
#include "api/ask.h"
#include "wire/messages.h"

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
