/* ask.c - one question to the network of a session file. */
#include "observer/ask.h"

#include <errno.h>
#include <string.h>

#include "net/question.h"
#include "net/session.h"
#include "protocol/limits.h"

int ask_network(struct rows *rows,
        const char *session_path,
        const struct frame *question,
        int timeout_ms,
        struct cop_error *error)
{
    struct bootstrap *session = NULL;
    char text[LIMIT_TEXT + 1] = "";
    struct rows read = {0};
    struct frame answer = {0};
    int r;

    if (timeout_ms < 1 || timeout_ms > LIMIT_STATUS_MS)
        return cop_error_set(error, -EINVAL,
                             "a time-out is from 1 to %d ms, not %d",
                             LIMIT_STATUS_MS, timeout_ms);
    r = session_read(&session, session_path, 0, error);
    if (r < 0)
        goto out;
    if (session->parent_rank != 0) {
        r = cop_error_set(error, -EBADMSG,
                          "%s: does not say where the front-end is",
                          session_path);
        goto out;
    }
    r = question_ask(&answer, session, question, (uint32_t)timeout_ms, error);
    if (r < 0)
        goto out;
    r = rows_decode(&answer, &read, text, sizeof(text));
    if (r < 0)
        cop_error_set(error, r, "the front-end's answer makes no sense");
    else if (answer.tag < 0)
        r = cop_error_set(error, answer.tag, "the front-end refuses: %s", text);
    if (r < 0)
        goto out;
    *rows = read;
    memset(&read, 0, sizeof(read));
out:
    rows_fini(&read);
    frame_fini(&answer);
    bootstrap_free(session);
    return r;
}
