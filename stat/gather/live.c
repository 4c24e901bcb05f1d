/* live.c - see live.h. */
#include "stat/gather/live.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "stat/clock.h"
#include "stat/gather/complete.h"

/* If samples arrive faster than they are taken, show one this often. */
#define FOLLOW_SHOW_MS 1000

/* Show the present state. Returns like the viewer. */
static int show_now(struct gathering *gathering, const struct tree *tree)
{
    const struct gather_viewer *viewer = gathering->options->viewer;
    struct tree none = {0};
    struct tree *now = NULL;
    struct tree *settled = NULL;
    struct cop_error late = *gathering->late;
    struct cop_error *real = gathering->late;
    int r;

    r = tree_join(&now, tree, &none);
    if (r < 0)
        return r;
    /* What is missing now may still arrive. */
    gathering->late = &late;
    r = complete_tree(gathering, &now, NULL);
    gathering->late = real;
    if (r == 0)
        r = tree_settle(&settled, now);
    if (r == 0)
        r = viewer->look(viewer->arg, settled, late.text);
    tree_free(settled);
    tree_free(now);
    return r;
}

/* Take `packet`; if it is NULL, report a long silence once. Sets `*fresh` if
 * there is something new to show. Returns 0 or a negative errno.
 *
 * heard_ms  when the last packet arrived; 0: the silence was reported */
static int take_live(struct gathering *gathering,
                     struct tree **tree,
                     struct cop_packet *packet,
                     uint64_t *heard_ms,
                     bool *fresh)
{
    uint64_t now = clock_now_ms();
    int r;

    if (packet) {
        r = gathering_join(gathering, tree, packet);
        gathering_note(gathering, packet);
        cop_packet_free(packet);
        *heard_ms = now;
        *fresh = true;
        return r;
    }
    if (*heard_ms == 0 || now - *heard_ms < gathering_due_ms(gathering, 0))
        return 0;
    gathering_say(gathering->options->say,
                  "no sample for %" PRIu64
                  " s: a silent daemon is given up later",
                  (now - *heard_ms) / 1000);
    *heard_ms = 0;
    *fresh = gathering->sample > 0;
    return 0;
}

int live_follow(struct gathering *gathering, struct tree **tree)
{
    const struct gather_viewer *viewer = gathering->options->viewer;
    uint64_t shown_ms = clock_now_ms(), heard_ms = shown_ms;
    bool fresh = false;
    int r = 0;

    while (r == 0) {
        struct cop_packet *packet = NULL;
        bool paused;

        /* Take all waiting packets before showing: a slow viewer must not fall
         * behind. */
        r = gathering_receive(gathering->stream, &packet,
                              fresh ? 0 : GATHER_IDLE_MS);
        paused = r == -EAGAIN;
        /* Before the first sample there is nothing to show. */
        if (gathering_events(gathering) &&
            (gathering->sample > 0 || gathering->is_over))
            fresh = true;
        if (r == 0 || paused)
            r = take_live(gathering, tree, packet, &heard_ms, &fresh);
        if (r == 0 && fresh &&
            (paused || clock_now_ms() - shown_ms >= FOLLOW_SHOW_MS)) {
            r = show_now(gathering, *tree);
            shown_ms = clock_now_ms();
            fresh = false;
        }
        if (r == 0 && paused && gathering->is_over) {
            gathering_say(gathering->options->say, "no daemon is left");
            r = 1;
        }
        if (r == 0)
            r = viewer->idle(viewer->arg);
    }
    viewer->end(viewer->arg);
    if (r > 0)
        r = gathering_stop(gathering->stream);
    if (r < 0 && r != -ENOMEM && !gathering->late->text[0])
        cop_error_set(gathering->late, r, "following has ended: %s",
                      strerror(-r));
    return r == -ENOMEM ? r : 0;
}
