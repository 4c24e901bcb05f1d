/* recoveries.c - the recoveries that orphans have reported. */
#include "api/ask.h"
#include "protocol/watch/history.h"
#include "wire/messages.h"

int cop_network_recoveries(const char *session_path,
                           uint64_t *next,
                           struct cop_recovered *list,
                           size_t room,
                           int timeout_ms,
                           struct cop_error *error)
{
    struct frame question =
        msg_reports_encode(&(struct msg_reports){.first = *next});
    struct frame answer = {0};
    size_t count = 0;
    int r;

    r = ask_network(&answer, FRAME_REPORTS, session_path, &question, timeout_ms,
                    error);
    if (r < 0)
        return r;
    r = history_decode(&answer, list, room, &count, next);
    frame_fini(&answer);
    if (r < 0)
        return cop_error_set(error, r, "the front-end's answer makes no sense");
    return (int)count;
}
