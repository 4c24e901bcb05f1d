/* bare_node.c - one node of the bare tree: `bare_node PORT FAN-OUTS NUMBER`.
 * The fan-outs are those below it, such as "8x8"; "-" makes it a leaf. Its
 * number among its siblings is ignored. */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench/kids.h"

static int serve_leaf(int up, const struct kids_command *command)
{
    int32_t one = 1;

    switch ((enum kids_op)command->op) {
    case KIDS_PING:
        return kids_write_all(up, &one, sizeof(one));
    case KIDS_INTS:
        return kids_send_ints(up, command->count);
    case KIDS_SUM:
    case KIDS_ARRAYS:
        return kids_send_arrays(up, command->count);
    }
    return -EPROTO;
}

static int serve_inner(struct kids *kids,
                       int up,
                       const struct kids_command *command)
{
    int32_t sum;
    int r;

    r = kids_command(kids, command);
    if (r < 0)
        return r;
    switch ((enum kids_op)command->op) {
    case KIDS_PING:
        r = kids_ping(kids, &sum);
        return r < 0 ? r : kids_write_all(up, &sum, sizeof(sum));
    case KIDS_INTS:
        return kids_ints(kids, command->count, up, 0);
    case KIDS_SUM:
        return kids_sum(kids, command->count, up, 0);
    case KIDS_ARRAYS:
        break;
    }
    return -EPROTO;
}

/* Serve until the parent closes. */
static int serve_parent(struct kids *kids, int up)
{
    struct kids_command command;

    for (;;) {
        int r = kids_read_all(up, &command, sizeof(command));

        if (r == -ECONNRESET)
            return 0;
        if (r == 0)
            r = kids ? serve_inner(kids, up, &command)
                     : serve_leaf(up, &command);
        if (r < 0)
            return r;
    }
}

static int start_below(struct kids **out,
                       const char *program,
                       char *shape,
                       uint32_t *leaves)
{
    char *rest = strchr(shape, 'x');
    unsigned long count = strtoul(shape, NULL, 10);

    if (rest)
        *rest++ = '\0';
    if (count == 0 || count > INT_MAX)
        return -EINVAL;
    return kids_start(out, program, (uint32_t)count, rest ? rest : "-", leaves);
}

int main(int argc, char **argv)
{
    struct kids *kids = NULL;
    uint32_t leaves = 1;
    int up;
    int r = 0;

    if (argc != 4)
        errx(2, "usage: bare_node PORT FAN-OUTS NUMBER; the benchmarks start "
                "it, it is of no use alone");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        err(1, "bare_node: prctl");
    up = kids_connect((uint16_t)strtoul(argv[1], NULL, 10));
    if (up < 0) /* also if the parent ended before the prctl() */
        errx(1, "bare_node: no parent on port %s: %s", argv[1], strerror(-up));
    if (strcmp(argv[2], "-") != 0)
        r = start_below(&kids, argv[0], argv[2], &leaves);
    if (r == 0)
        r = kids_write_all(up, &leaves, sizeof(leaves));
    if (r == 0)
        r = serve_parent(kids, up);
    close(up);
    kids_end(kids, r < 0);
    return r < 0 ? 1 : 0;
}
