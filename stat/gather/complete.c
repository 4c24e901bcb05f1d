/* complete.c - see complete.h. */
#include "stat/gather/complete.h"

#include <errno.h>
#include <string.h>

#include "stat/clock.h"
#include "stat/gather/shortfall.h"

/* With a viewer, each sample waits this long for names. */
#define FOLLOW_NAMES_MS 2000

/* The daemon of a task. */
static uint32_t task_daemon(uint32_t task, void *arg)
{
    const struct gathering *gathering = arg;
    uint32_t index;

    return targets_find(gathering->targets, task, &index)
               ? daemons_of_target(gathering->daemons, index)
               : COP_RANK_NONE;
}

/* Add the missing tasks, with reasons, and report them to `say_fn`. */
static int note_shortfall(struct gathering *gathering,
                          struct tree **tree,
                          struct tasks **silent,
                          gather_say_fn say_fn)
{
    const struct gather_options *options = gathering->options;
    bool open_ended =
        options->watch_ms > 0 || options->viewer || gathering->is_cut;
    struct shortfall_wanted wanted = {
        .targets = gathering->targets,
        .daemons = gathering->daemons,
        .samples = open_ended ? (uint32_t)gathering->sample : options->samples,
        .open_ended = open_ended,
        .timeout_ms = options->viewer ? 0 : options->timeout_ms,
        .answered = gathering->is_answered,
        .late = *gathering->late};
    int r;

    r = shortfall_find(tree, silent, &wanted, say_fn);
    *gathering->late = wanted.late;
    return r;
}

/* Request all missing names, and wait until they are there or the time is up.
 * Returns 0, why some are missing, or -ENOMEM. */
static int ask_names(struct naming *naming,
                     struct gathering *gathering,
                     uint32_t timeout_ms)
{
    struct cop_stream *stream = gathering->answers;
    uint64_t end_ms = clock_now_ms() + timeout_ms;
    struct cop_packet *packet = NULL;
    int r;

    r = naming_ask(&packet, naming, task_daemon, gathering);
    if (r == 0)
        r = cop_stream_send_packet(stream, packet);
    cop_packet_free(packet);
    while (r == 0 && naming_missing(naming) > 0) {
        r = gathering_receive_until(stream, &packet, end_ms);
        if (r < 0)
            break;
        r = naming_take(naming, packet);
        cop_packet_free(packet);
    }
    return r;
}

/* Use files of this host to name the addresses that no daemon has named,
 * because it died or was too slow. Returns 0 or -ENOMEM. */
static int name_from_files(struct gathering *gathering, struct naming *naming)
{
    int r = gathering->files ? 0 : names_new_from_files(&gathering->files);

    return r < 0 ? r : naming_fill(naming, gathering->files);
}

void known_fini(struct known *known)
{
    naming_free(known->naming);
    tree_free(known->tree);
}

/* Take the answers that have already arrived. Returns 0 or a negative errno. */
static int take_names(struct gathering *gathering)
{
    struct cop_packet *packet;
    int r = 0;

    while (r == 0 && gathering_receive(gathering->answers, &packet, 0) == 0) {
        r = naming_take(gathering->known.naming, packet);
        cop_packet_free(packet);
    }
    return r;
}

int complete_ahead(struct gathering *gathering, const struct tree *tree)
{
    struct known *known = &gathering->known, next = {NULL, NULL};
    struct cop_packet *packet = NULL;
    struct tree none = {0};
    int r = known->naming ? take_names(gathering) : 0;

    if (r < 0 || (known->naming && naming_missing(known->naming) > 0))
        return r;
    r = tree_join(&next.tree, tree, &none);
    if (r == 0)
        r = naming_new(&next.naming, next.tree, NULL);
    if (r == 0 && known->naming)
        r = naming_inherit(next.naming, known->naming);
    if (r == 0 && naming_missing(next.naming) > 0)
        r = naming_ask(&packet, next.naming, task_daemon, gathering);
    if (r == 0 && packet)
        r = cop_stream_send_packet(gathering->answers, packet);
    cop_packet_free(packet);
    if (r < 0) {
        known_fini(&next);
        return r;
    }
    known_fini(known);
    *known = next;
    return 0;
}

/* Replace `*tree` by one with names. Known names are not requested again. */
static int name_tree(struct gathering *gathering,
                     struct tree **tree,
                     struct tasks *silent)
{
    const struct gather_options *options = gathering->options;
    struct known *known = &gathering->known;
    uint32_t timeout_ms =
        (uint32_t)gathering_left_ms(gathering, GATHERING_LEAST_MS);
    struct naming *naming = NULL;
    struct tree *named = NULL;
    const char *reason;
    int r, asked = 0;

    if (options->viewer)
        timeout_ms = FOLLOW_NAMES_MS;
    r = naming_new(&naming, *tree, silent);
    if (r == 0 && known->naming)
        r = take_names(gathering);
    if (r == 0 && known->naming)
        r = naming_inherit(naming, known->naming);
    if (r == 0 && naming_missing(naming) > 0)
        asked = ask_names(naming, gathering, timeout_ms);
    if (r == 0)
        r = asked == -ENOMEM ? asked : name_from_files(gathering, naming);
    if (r == 0 && naming_missing(naming) > 0 && asked < 0 &&
        !gathering->late->text[0])
        cop_error_set(
            gathering->late, asked, "some addresses stay without names: %s",
            asked == -EAGAIN ? "no answer in time" : strerror(-asked));
    if (r == 0)
        r = naming_resolve(&named, naming, options->detail, options->full);
    if (r < 0) {
        naming_free(naming);
        return r;
    }
    known_fini(known);
    *known = (struct known){naming, *tree};
    *tree = named;
    while ((reason = naming_reason(naming, gathering->reasons_said)) != NULL) {
        gathering_say(options->say, "%s", reason);
        gathering->reasons_said++;
    }
    return 0;
}

int complete_tree(struct gathering *gathering,
                  struct tree **tree,
                  gather_say_fn say_fn)
{
    struct tasks *silent = NULL;
    int r;

    r = note_shortfall(gathering, tree, &silent, say_fn);
    if (r == 0)
        r = name_tree(gathering, tree, silent);
    tasks_free(silent);
    return r;
}
