/* status.c - the status of all nodes of a network. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/ask.h"
#include "protocol/node.h"
#include "wire/messages.h"

/* The part of the time-out for the tree; the rest is for the way to the
 * front-end and back. */
#define TREE_SHARE(ms) ((ms) - (ms) / 4)

struct cop_status {
    struct rows rows;
};

int cop_status_read(struct cop_status **out,
                    const char *session_path,
                    int timeout_ms,
                    struct cop_error *error)
{
    struct frame question = msg_status_encode(&(struct msg_status){
        .budget_ms = (uint32_t)TREE_SHARE(timeout_ms),
    });
    struct cop_status *status = calloc(1, sizeof(*status));
    struct frame answer = {0};
    int r;

    if (!status)
        return cop_error_set(error, -ENOMEM, "out of memory");
    r = ask_network(&answer, FRAME_ROWS, session_path, &question, timeout_ms,
                    error);
    if (r < 0)
        goto out;
    r = rows_decode(&answer, &status->rows, NULL, 0);
    rows_sort(&status->rows); /* in rank order, and each rank once */
    if (r == 0 && (status->rows.count == 0 || status->rows.list[0].rank != 0))
        r = -EBADMSG;
    if (r < 0) {
        cop_error_set(error, r, "the front-end's answer makes no sense");
        goto out;
    }
    *out = status;
    status = NULL;
out:
    frame_fini(&answer);
    cop_status_free(status);
    return r;
}

void cop_status_free(struct cop_status *status)
{
    if (!status)
        return;
    rows_fini(&status->rows);
    free(status);
}

size_t cop_status_count(const struct cop_status *status)
{
    return status->rows.count;
}

size_t cop_status_left_off(const struct cop_status *status)
{
    return status->rows.left_off;
}

static enum cop_state state_of(uint32_t state)
{
    static const enum cop_state states[ROW_STATES] = {
        [ROW_UP] = COP_STATE_UP,           [ROW_DEGRADED] = COP_STATE_DEGRADED,
        [ROW_SILENT] = COP_STATE_SILENT,   [ROW_ORPHAN] = COP_STATE_ORPHAN,
        [ROW_MISSING] = COP_STATE_MISSING, [ROW_LOST] = COP_STATE_LOST,
    };

    return states[state]; /* rows_decode() has checked the range */
}

static enum cop_role role_of(uint32_t role)
{
    if (role == NODE_FRONTEND)
        return COP_FRONTEND;
    return role == NODE_COMMNODE ? COP_COMMNODE : COP_BACKEND;
}

int cop_status_node(const struct cop_status *status,
                    size_t index,
                    struct cop_status_node *node)
{
    struct cop_status_node full = COP_STATUS_NODE_INIT;
    const struct row *row;

    if (index >= status->rows.count || node->size < sizeof(node->size) ||
        node->size > sizeof(full))
        return -EINVAL;
    row = &status->rows.list[index];
    full.size = node->size;
    full.rank = row->rank;
    full.parent = row->parent;
    full.role = role_of(row->role);
    full.state = state_of(row->state);
    full.state_ms = row->age_ms;
    full.round_trip_us = row->round_us;
    full.adoptions = row->adoptions;
    full.adopted_from = row->adopted_from;
    full.host = row->host;
    full.reason = row->reason ? row->reason : "";
    memcpy(node, &full, node->size);
    return 0;
}
