/* status.c - the status of all nodes of a network. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/ask.h"
#include "api/network.h"
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

/* Fill the node of the caller from `row`. */
static void fill_node(struct cop_status_node *node, const struct row *row)
{
    struct cop_status_node full = {
        .size = node->size,
        .rank = row->rank,
        .parent = row->parent,
        .role = role_of(row->role),
        .state = state_of(row->state),
        .state_ms = row->age_ms,
        .round_trip_us = row->round_us,
        .adoptions = row->adoptions,
        .adopted_from = row->adopted_from,
        .host = row->host ? row->host : "",
        .reason = row->reason ? row->reason : "",
        .label = row->label ? row->label : "",
        .place = row->place,
    };

    memcpy(node, &full, node->size);
}

static bool is_fillable(const struct cop_status_node *node)
{
    return node->size >= sizeof(node->size) && node->size <= sizeof(*node);
}

int cop_status_at(const struct cop_status *status,
                  size_t index,
                  struct cop_status_node *node)
{
    if (index >= status->rows.count || !is_fillable(node))
        return -EINVAL;
    fill_node(node, &status->rows.list[index]);
    return 0;
}

int cop_network_node(struct cop_network *network,
                     uint32_t rank,
                     struct cop_status_node *node)
{
    struct row row;
    int r;

    if (!is_fillable(node))
        return -EINVAL;
    r = network_enter(network);
    if (r < 0)
        return r;
    if (node_row(driver_node(network->driver), rank, &row))
        fill_node(node, &row);
    else
        r = -ENOENT;
    network_leave(network);
    return r;
}
