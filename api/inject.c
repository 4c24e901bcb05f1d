/* inject.c - a node is to be broken on purpose. */
#include "api/ask.h"

int cop_network_inject(const char *session_path,
                       uint32_t rank,
                       enum cop_injection injection,
                       uint32_t freeze_ms,
                       int timeout_ms,
                       struct cop_error *error)
{
    struct frame question = {
        .type = FRAME_INJECT,
        .tag = (int32_t)injection,
        .origin = rank,
        .count = freeze_ms,
    };
    struct frame answer = {0};
    int r;

    r = ask_network(&answer, FRAME_ROWS, session_path, &question, timeout_ms,
                    error);
    frame_fini(&answer);
    return r;
}
