/* announce.c - see announce.h. */
#include "api/announce.h"

#include <stdio.h>
#include <string.h>

#include "protocol/watch/rows.h"
#include "wire/packet.h"

/* The event for news, or -1 if the application gets none. */
static int event_for(enum tell_type tell)
{
    switch (tell) {
    case TELL_CLOSED:
        return COP_EVENT_STREAM_CLOSED;
    case TELL_NODE_SUSPECTED:
        return COP_EVENT_NODE_SUSPECTED;
    case TELL_NODE_BACK:
        return COP_EVENT_NODE_BACK;
    case TELL_NODE_LOST:
        return COP_EVENT_NODE_LOST;
    case TELL_NODE_ADOPTED:
        return COP_EVENT_NODE_ADOPTED;
    case TELL_NODE_MOVED:
        return COP_EVENT_NODE_MOVED;
    case TELL_MOVE_FAILED:
        return COP_EVENT_MOVE_FAILED;
    case TELL_NODE_LEFT:
        return COP_EVENT_NODE_LEFT;
    case TELL_DRAINED:
        return COP_EVENT_DRAINED;
    case TELL_DRAIN_FAILED:
        return COP_EVENT_DRAIN_FAILED;
    case TELL_NODE_JOINED:
        return COP_EVENT_NODE_JOINED;
    case TELL_BACKEND_LOST:
        return COP_EVENT_BACKEND_LOST;
    case TELL_BACKEND_JOINED:
        return COP_EVENT_BACKEND_JOINED;
    case TELL_FILTER_ERROR:
        return COP_EVENT_FILTER_ERROR;
    case TELL_STREAM_FAILED:
        return COP_EVENT_STREAM_FAILED;
    case TELL_NODE_REFUSED:
        return COP_EVENT_NODE_REFUSED;
    case TELL_ENDED:
        return COP_EVENT_ENDED;
    case TELL_REDO:
        return COP_EVENT_REDO;
    case TELL_VIEW:
        return COP_EVENT_VIEW;
    case TELL_REPLACE_FAILED:
        return COP_EVENT_REPLACE_FAILED;
    case TELL_JOURNAL_FAILED:
        return COP_EVENT_JOURNAL_FAILED;
    case TELL_LAUNCHED:
    case TELL_LAUNCH_FAILED:
    case TELL_OPENED:
    case TELL_SYNCED:
    case TELL_LOSSY:
    case TELL_STATE:
        return -1;
    }
    return -1;
}

/* Whether the application gets the news. Only the front-end's gets adoptions; a
 * back-end's own adoption is only logged, by the driver. */
static bool is_for_application(const struct cop_network *network,
                               const struct action *news)
{
    return event_for(news->tell) >= 0 &&
           (news->tell != TELL_NODE_ADOPTED || network->role == NODE_FRONTEND);
}

/* What is said of the node of an event, before the reason. */
static const char *const verbs[TELL_ENDED + 1] = {
    [TELL_NODE_SUSPECTED] = " may be lost",
    [TELL_NODE_BACK] = " lives",
    [TELL_NODE_LOST] = " was lost",
    [TELL_NODE_ADOPTED] = " was adopted",
    [TELL_NODE_MOVED] = " has moved",
    [TELL_MOVE_FAILED] = " has not moved",
    [TELL_NODE_LEFT] = " has left",
    [TELL_DRAIN_FAILED] = " keeps its parent, whose host is drained",
    [TELL_NODE_JOINED] = " has joined",
    [TELL_REPLACE_FAILED] = " is not replaced",
    [TELL_BACKEND_LOST] = " is no longer a member",
    [TELL_BACKEND_JOINED] = " has joined",
    [TELL_FILTER_ERROR] = "",
    [TELL_STREAM_FAILED] = "",
    [TELL_NODE_REFUSED] = "",
};

/* Make the sentence of the event `news`: "7 (n3, rank 12) was lost: it was
 * silent". Long texts are cut. */
static void write_sentence(const struct cop_network *network,
                           const struct action *news,
                           char *out,
                           size_t size)
{
    const struct node_adoption *adoption = news->adoption;
    struct row row = {.parent = RANK_NONE};
    bool known =
        node_row(driver_node(network->driver), news->rank, &row) && row.host;
    const char *host = known ? row.host : "";
    const char *label = known && row.label ? row.label : "";
    bool both = *host && *label;
    bool named = *host || *label;
    char more[64] = "";

    if (news->tell == TELL_NODE_MOVED && adoption)
        snprintf(more, sizeof(more), " from %u below %u", adoption->lost_parent,
                 adoption->parent);
    else if (news->tell == TELL_MOVE_FAILED)
        snprintf(more, sizeof(more), " below %u", (uint32_t)news->sequence);
    else if (adoption)
        snprintf(more, sizeof(more), " by %u after %.1f ms", adoption->parent,
                 (double)adoption->recovery.overall_us / 1000);
    else if ((news->tell == TELL_BACKEND_JOINED ||
              news->tell == TELL_NODE_JOINED) &&
             row.parent != RANK_NONE)
        snprintf(more, sizeof(more), " below %u", row.parent);
    if (news->tell == TELL_NODE_JOINED && news->sequence > 0)
        snprintf(more + strlen(more), sizeof(more) - strlen(more),
                 " in place of %u", (uint32_t)news->sequence);
    snprintf(out, size, "%u%s%.64s%s%s%s%s%s%s%s", news->rank,
             named ? " (" : "", host, both ? ", " : "", label, named ? ")" : "",
             verbs[news->tell], more, news->text && *news->text ? ": " : "",
             news->text ? news->text : "");
}

void announce(struct cop_network *network, const struct action *news)
{
    const char *text = news->text;
    char sentence[sizeof(((struct cop_event *)NULL)->text)];
    struct cop_event event = {
        .type = (enum cop_event_type)event_for(news->tell),
        .rank = news->rank,
        .stream_id = news->stream,
    };

    if (!is_for_application(network, news))
        return;
    if (news->tell == TELL_ENDED)
        text = network->text;
    if (verbs[news->tell] && news->rank != 0) {
        write_sentence(network, news, sentence, sizeof(sentence));
        text = sentence;
    }
    if (news->tell == TELL_REDO) {
        event.rank = 0;
        event.generation = news->rank;
        event.epoch = (uint32_t)(news->sequence >> PACKET_WAVE_BITS);
        event.wave = news->sequence & PACKET_WAVE_MASK;
        event.members = (uint32_t)news->code;
    }
    if (news->tell == TELL_VIEW) {
        event.view = news->sequence;
        event.view_us = (uint64_t)news->code;
        snprintf(sentence, sizeof(sentence),
                 "every back-end has view %llu after %.1f ms",
                 (unsigned long long)event.view, (double)event.view_us / 1000);
        text = sentence;
    }
    if (news->tell == TELL_NODE_JOINED)
        event.place = (uint32_t)news->sequence;
    if (news->tell == TELL_MOVE_FAILED)
        event.parent = (uint32_t)news->sequence;
    if (news->adoption) {
        event.parent = news->adoption->parent;
        event.lost_parent = news->adoption->lost_parent;
        event.recovery = news->adoption->recovery;
        if (event.recovery.attempts > 0) /* 0: a refutation, no link was lost */
            links_add(&network->lost, event.rank, event.lost_parent);
    }
    news_add(&network->news, &event, text);
}
