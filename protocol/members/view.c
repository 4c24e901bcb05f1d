/* view.c - views: which ranks are in, under one number that is the same
 * everywhere (PROTOCOL 21). */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"

/* ---- the front-end ---- */

/* The ranks that are in now: the front-end, the commnodes that are not lost, and
 * the back-ends that have entered. */
static int list_present(const struct node *node, struct ranks *out)
{
    uint32_t count = table_count(node->heal.table);
    uint32_t *list = calloc(count, sizeof(*list));
    size_t found = 0;
    int r = list ? 0 : -ENOMEM;

    for (uint32_t i = 0; list && i < count; i++) {
        struct table_entry entry;

        table_at(node->heal.table, i, &entry);
        if (!entry.awaited && !suspect_is_lost(node, entry.rank))
            list[found++] = entry.rank;
    }
    if (r == 0)
        r = ranks_add_list(out, list, found);
    if (r == 0)
        r = ranks_unite(out, &node->backends);
    free(list);
    return r;
}

void view_begin(struct node *node)
{
    if (node->views.enabled && list_present(node, &node->views.ranks) < 0)
        node->failed = true;
}

void view_changed(struct node *node)
{
    struct views *views = &node->views;

    if (!views->enabled || !node->launched || node->ending)
        return;
    if (!views->changed) {
        views->since_us = node->now_us;
        views->clocked = false;
        node_act(node, ACTION_CLOCK);
    }
    views->changed = true;
    node->due |= DUE_VIEW;
}

void view_clock(struct node *node)
{
    struct views *views = &node->views;

    if (views->clocked)
        return;
    views->clocked = true;
    if (views->changed)
        views->since_us = node->now_us;
    else if (views->sent_count > 0)
        views->sent[views->sent_count - 1].since_us = node->now_us;
}

/* Tell the application of the views that every back-end has. */
static void tell_stable(struct node *node)
{
    struct views *views = &node->views;
    size_t done = 0;

    while (done < views->sent_count &&
           views->sent[done].packet <= node->streams[0]->down.feed.stable) {
        const struct view_sent *view = &views->sent[done++];
        uint64_t spent_us = node->now_us - view->since_us;
        struct action *tell = node_tell(node, TELL_VIEW, 0, 0, NULL);

        tell->sequence = views->stable = view->number;
        tell->code = spent_us > INT_MAX ? INT_MAX : (int)spent_us;
    }
    if (done == 0)
        return;
    views->sent_count -= done;
    memmove(views->sent, views->sent + done,
            views->sent_count * sizeof(*views->sent));
}

/* Send a view with all changes until now, unless there are none after all: a
 * back-end may have joined and left. */
static void send_view(struct node *node)
{
    struct views *views = &node->views;
    struct control control = {.type = CONTROL_VIEW, .stable = views->stable};
    struct ranks present = {0};

    views->changed = false;
    if (list_present(node, &present) < 0 ||
        array_grow(&views->sent, views->sent_count, sizeof(*views->sent)) < 0)
        node->failed = true;
    if (!node->failed && !ranks_equal(&present, &views->ranks)) {
        control.view = views->number + 1;
        views->sent_ms = node->now_ms;
        views->sent[views->sent_count++] = (struct view_sent){
            .number = control.view,
            .packet = node->streams[0]->down.last + 1,
            .since_us = views->since_us,
        };
        ranks_fini(&views->ranks);
        views->ranks = present;
        present = (struct ranks){0};
        zero_send(node, &control);
    }
    ranks_fini(&present);
}

void view_update(struct node *node)
{
    struct views *views = &node->views;

    tell_stable(node);
    if (views->changed && !node->ending &&
        (views->sent_count == 0 ||
         node->now_ms >= views->sent_ms + node->times.heartbeat_ms))
        send_view(node);
}

void view_beat(struct node *node)
{
    if (node->views.changed)
        node->due |= DUE_VIEW;
}

/* ---- all nodes ---- */

void view_take(struct node *node, const struct control *control)
{
    struct views *views = &node->views;

    if (control->view > views->number)
        views->number = control->view;
    if (control->stable > views->stable)
        views->stable = control->stable;
}

uint64_t node_view(const struct node *node,
                   uint64_t *stable,
                   const struct ranks **ranks)
{
    const struct views *views = &node->views;

    *stable = views->stable;
    *ranks = views->enabled ? &views->ranks : NULL;
    return views->number;
}

void view_fini(struct node *node)
{
    ranks_fini(&node->views.ranks);
    free(node->views.sent);
}
