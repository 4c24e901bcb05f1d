/* replace.c - commnodes in the places of those that are lost (PROTOCOL 20). */
#include "protocol/heal/replace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/state.h"

/* The pause before the first try, and the longest one. */
#define PAUSE_MS     1000
#define PAUSE_MAX_MS 60000

enum place_state {
    PLACE_HELD,     /* by `holder`, which lives */
    PLACE_DUE,      /* a try begins at `at_ms` */
    PLACE_STARTING, /* a commnode is started, and has to join until `at_ms` */
    PLACE_EMPTY,    /* there is no further try */
};

/* A place that was lost once. Its number is the rank that had it at launch. */
struct vacancy {
    uint32_t number;
    uint32_t holder; /* the last one */
    enum place_state state;
    bool elsewhere; /* the next try is on a spare */
    uint32_t tries;
    uint64_t at_ms;
};

static struct vacancy *place_find(const struct node *node, uint32_t number)
{
    const struct replacing *replacing = &node->heal.replacing;

    for (size_t i = 0; i < replacing->count; i++)
        if (replacing->list[i].number == number)
            return &replacing->list[i];
    return NULL;
}

/* The place that `rank` has: its own, or the one that it was started for. NULL:
 * none that was lost before. */
static struct vacancy *place_of(const struct node *node, uint32_t rank)
{
    const struct replacing *replacing = &node->heal.replacing;

    for (size_t i = 0; i < replacing->count; i++)
        if (replacing->list[i].holder == rank &&
            replacing->list[i].state == PLACE_HELD)
            return &replacing->list[i];
    return NULL;
}

/* The place of `rank`, a commnode of the launch that is lost; NULL: no memory. */
static struct vacancy *place_add(struct node *node, uint32_t rank)
{
    struct replacing *replacing = &node->heal.replacing;

    if (array_grow(&replacing->list, replacing->count,
                   sizeof(*replacing->list)) < 0) {
        node->failed = true;
        return NULL;
    }
    replacing->list[replacing->count] =
        (struct vacancy){.number = rank, .holder = rank};
    return &replacing->list[replacing->count++];
}

/* The place has no holder: have a try begin after a pause. The application is
 * told of a try that has failed, and if there is no further one. */
static void place_lost(struct node *node,
                       struct vacancy *place,
                       const char *text)
{
    const struct replacing *replacing = &node->heal.replacing;
    bool failed = place->state == PLACE_STARTING;
    uint64_t pause_ms = PAUSE_MS;
    char sentence[256];

    for (uint32_t i = 0; i < place->tries && pause_ms < PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    if (pause_ms > PAUSE_MAX_MS)
        pause_ms = PAUSE_MAX_MS;
    place->at_ms = node->now_ms + pause_ms;
    place->state = place->tries < replacing->limit ? PLACE_DUE : PLACE_EMPTY;
    if (place->state == PLACE_DUE && !failed)
        return;
    if (place->state == PLACE_DUE)
        snprintf(sentence, sizeof(sentence),
                 "try %u of %u: %.120s; the next one in %u s", place->tries,
                 replacing->limit, text, (unsigned)(pause_ms / 1000));
    else
        snprintf(sentence, sizeof(sentence),
                 "try %u of %u: %.120s; there is no further one", place->tries,
                 replacing->limit, text);
    node_tell(node, TELL_REPLACE_FAILED, place->number, 0, sentence);
}

void replace_lost(struct node *node,
                  uint32_t rank,
                  const char *text,
                  bool is_silent)
{
    struct vacancy *place = place_of(node, rank);

    if (node->heal.replacing.limit == 0 || node->ending || node->closing)
        return;
    if (!place && rank < node->first_joiner)
        place = place_add(node, rank);
    if (!place) /* it had joined by itself */
        return;
    if (drain_has(node, rank)) {
        place->state = PLACE_EMPTY;
        return;
    }
    place->elsewhere = is_silent;
    place_lost(node, place, text);
}

uint32_t replace_joined(struct node *node, uint32_t rank)
{
    const struct roster_note *note = roster_find(&node->roster.names, rank);
    struct vacancy *place = note ? place_find(node, note->place) : NULL;

    if (!place || place->state != PLACE_STARTING)
        return 0;
    place->state = PLACE_HELD;
    place->holder = rank;
    return place->number;
}

uint32_t replace_holder(const struct node *node, uint32_t number)
{
    const struct vacancy *place = place_find(node, number);

    if (place)
        return place->state == PLACE_HELD ? place->holder : RANK_NONE;
    return suspect_is_lost(node, number) ? RANK_NONE : number;
}

uint32_t replace_place(const struct node *node, uint32_t rank)
{
    const struct roster_note *note = roster_find(&node->roster.names, rank);

    if (rank < node->first_joiner)
        return rank;
    return note && note->place > 0 ? note->place : RANK_NONE;
}

bool replace_gone(struct node *node, uint32_t rank, const char *text)
{
    struct vacancy *place = place_find(node, rank);

    if (!place)
        return false;
    if (place->state == PLACE_STARTING) {
        place->elsewhere = true;
        place_lost(node, place, text);
    } else {
        record_gone(node, place->holder, text);
    }
    return true;
}

/* The next spare that is not drained; NULL: there is none. */
static const char *next_spare(struct node *node)
{
    struct replacing *replacing = &node->heal.replacing;

    for (size_t i = 0; i < replacing->spare_count; i++) {
        const char *spare = replacing->spares[replacing->next];

        replacing->next = (replacing->next + 1) % replacing->spare_count;
        if (!drain_holds(node, spare))
            return spare;
    }
    return NULL;
}

/* Start a commnode for `place`: on a spare if the last host did not answer or
 * start it, or was drained, and there are spares. */
static void place_start(struct node *node, struct vacancy *place)
{
    bool drained = drain_has(node, place->number);
    struct action *action;
    const char *spare;
    char *host = NULL;

    spare = place->elsewhere || drained ? next_spare(node) : NULL;
    if (drained && !spare) {
        place->state = PLACE_EMPTY;
        node_tell(node, TELL_REPLACE_FAILED, place->number, 0,
                  "its host was drained, and there is no spare");
        return;
    }
    if (spare) {
        host = strdup(spare);
        if (!host) {
            node->failed = true;
            return;
        }
    }
    place->tries++;
    place->state = PLACE_STARTING;
    place->at_ms = node->now_ms + node->times.start_timeout_ms;
    action = node_act(node, ACTION_REPLACE);
    action->rank = place->number;
    if (action == &node->spare)
        free(host);
    else
        action->text = host;
}

void replace_tick(struct node *node)
{
    struct replacing *replacing = &node->heal.replacing;
    struct action *action;
    char text[80];

    for (size_t i = 0; i < replacing->count && !node->failed; i++) {
        struct vacancy *place = &replacing->list[i];

        if (node->ending || node->closing || node->now_ms < place->at_ms)
            continue;
        if (place->state == PLACE_DUE) {
            place_start(node, place);
        } else if (place->state == PLACE_STARTING) {
            place->at_ms = UINT64_MAX; /* EVENT_CHILD_GONE comes */
            snprintf(text, sizeof(text),
                     "has not joined for %u ms (start_timeout)",
                     node->times.start_timeout_ms);
            action = node_act(node, ACTION_STOP);
            action->rank = place->number;
            if (action != &node->spare)
                action->text = strdup(text);
        }
    }
}

uint64_t replace_deadline_ms(const struct node *node)
{
    const struct replacing *replacing = &node->heal.replacing;
    uint64_t deadline = UINT64_MAX;

    for (size_t i = 0; i < replacing->count; i++) {
        const struct vacancy *place = &replacing->list[i];

        if (!node->ending && !node->closing &&
            (place->state == PLACE_DUE || place->state == PLACE_STARTING) &&
            place->at_ms < deadline)
            deadline = place->at_ms;
    }
    return deadline;
}
