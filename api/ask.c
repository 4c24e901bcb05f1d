/* ask.c - ask the network of a session file one question. */
#include "api/ask.h"

#include <errno.h>
#include <string.h>

#include "net/question.h"
#include "net/session.h"
#include "wire/limits.h"
#include "wire/messages.h"

/* Return the reason in an answer without rows as an error. */
static int check_refusal(const struct frame *frame, struct cop_error *error)
{
    char text[LIMIT_TEXT + 1] = "";
    struct rows none = {0};
    struct msg_rows answer;
    int r = msg_rows_decode(frame, &answer);

    if (r < 0 || answer.code >= 0)
        return r;
    r = rows_decode(frame, &none, text, sizeof(text));
    rows_fini(&none);
    if (r < 0)
        return r;
    return cop_error_set(error, answer.code, "the front-end refuses: %s", text);
}

int ask_network(struct frame *answer,
                enum frame_type type,
                const char *session_path,
                const struct frame *question,
                int timeout_ms,
                struct cop_error *error)
{
    struct bootstrap *session = NULL;
    struct frame frame = {0};
    int r;

    if (timeout_ms < 1 || timeout_ms > LIMIT_STATUS_MS)
        return cop_error_set(error, -EINVAL,
                             "a time-out is from 1 to %d ms, not %d",
                             LIMIT_STATUS_MS, timeout_ms);
    r = session_read(&session, session_path, 0, SESSION_FRONTEND, error);
    if (r < 0)
        goto out;
    if (session->parent_rank != 0) {
        r = cop_error_set(error, -EBADMSG,
                          "%s: does not say where the front-end is",
                          session_path);
        goto out;
    }
    r = question_ask(&frame, session, question, (uint32_t)timeout_ms, error);
    if (r < 0)
        goto out;
    if (frame.type == FRAME_ROWS)
        r = check_refusal(&frame, error);
    if (r == 0 && frame.type != type)
        r = -EBADMSG;
    if (r < 0)
        goto out;
    *answer = frame;
    frame.payload = NULL;
out:
    if (r == -EBADMSG && frame.payload)
        cop_error_set(error, r, "the front-end's answer makes no sense");
    frame_fini(&frame);
    bootstrap_free(session);
    return r;
}
