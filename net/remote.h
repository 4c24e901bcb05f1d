/* remote.h - a child process that starts nodes on other hosts, such as ssh: its
 * lines of standard output, and a quotation of its standard error. */
#pragma once

#include "net/child.h"
#include "net/quote.h"

#define REMOTE_LINE_LEN 512

/* The `state` of a child begins with this. The fields are private to remote.c.
 * Keeps a part of standard error; once the child is met, copies it to ours. */
struct remote {
    ev_io out;
    ev_io err;
    void (*take_line)(struct child *child, char *line);
    char line[REMOTE_LINE_LEN];
    size_t line_len;
    struct quote quote;
    char words[QUOTE_LEN];
};

/* Run the command `words` for `child`, with the descriptor `input` (borrowed)
 * as its standard input. It stays in our session, because it may have to ask
 * for a password. `take_line` is called for each line of its standard output,
 * without the newline; longer lines are cut. Returns 0 or a negative errno. */
int remote_start(struct child *child,
                 char *const *words,
                 int input,
                 void (*take_line)(struct child *child, char *line));

/* Read the rest of its standard output. */
void remote_read_rest(struct child *child);

/* Its standard error so far, as one line; "" if there is none. Borrowed until
 * the next call. */
const char *remote_words(struct child *child);

/* Close the descriptors. */
void remote_close(struct child *child);
