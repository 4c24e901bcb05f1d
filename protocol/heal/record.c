/* record.c - records of failures and adoptions, and the table (PROTOCOL 6). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/heal/columns.h"
#include "protocol/state.h"
#include "wire/limits.h"
#include "wire/packet.h"

#define RECORD_FORMAT "%aud %aud %aud %s"

/* In the place of a parent: the node's end is certain (11.1). */
#define GONE (TABLE_FAILED - 1)

/* Copy at most LIMIT_TEXT bytes of `text`, cut between UTF-8 characters. */
static void record_cut(char out[LIMIT_TEXT + 1], const char *text)
{
    size_t len = strnlen(text, LIMIT_TEXT + 1);

    if (len > LIMIT_TEXT)
        for (len = LIMIT_TEXT; len > 0 && (text[len] & 0xC0) == 0x80;)
            len--;
    memcpy(out, text, len);
    out[len] = '\0';
}

/* Pack the columns. Out of memory: the payload is NULL, node->failed is set. */
static struct frame record_pack(struct node *node,
                                const struct columns *columns,
                                const char *text)
{
    struct frame frame = {.type = FRAME_RECORD, .origin = node->rank};
    char reason[LIMIT_TEXT + 1];

    record_cut(reason, text ? text : "");
    if (packet_pack(&frame.payload, RECORD_FORMAT, columns->ranks,
                    columns->count, columns->versions, columns->count,
                    columns->values, columns->count, reason) < 0)
        node->failed = true;
    return frame;
}

/* PROTOCOL 6.4: send records to all neighbours but `from`. A back-end that moves
 * passes nothing from parent to parent. */
static void record_flood(struct node *node,
                         const struct columns *columns,
                         const char *text,
                         const struct peer *from)
{
    struct frame frame = {.payload = NULL};

    if (columns->count == 0 || node->role == NODE_BACKEND)
        return;
    for (uint32_t slot = 0; slot < node->peer_count && !node->failed; slot++) {
        struct peer *peer = node->peers[slot];

        if (!peer || peer == from || !node_is_attached(node, peer))
            continue;
        if (!frame.payload) /* packed for the first receiver */
            frame = record_pack(node, columns, text);
        if (!node->failed)
            node_send(node, peer, frame_ref(&frame));
    }
    frame_fini(&frame);
}

void record_begin(struct node *node)
{
    node->heal.height_limit = table_height(node->heal.table);
    shape_begin(node);
}

/* Whether `rank` is on this node's path to the front-end, and this node has
 * reports or certain ends that may have been lost there. */
static bool may_lose_reports(const struct node *node, uint32_t rank)
{
    return node->parent &&
           (node->heal.recovery.report_count > 0 || node->heal.end_count > 0) &&
           rank != node->rank &&
           table_is_below(node->heal.table, node->parent->rank, rank);
}

/* PROTOCOL 6.5: a child that refutes its failure keeps its link. */
static void update_child(struct node *node,
                         uint32_t rank,
                         uint32_t incarnation,
                         uint32_t parent)
{
    for (uint32_t slot = 0; parent == node->rank && slot < node->peer_count;
         slot++) {
        struct peer *peer = node_child(node, slot);

        if (!peer || !peer->ready || peer->rank != rank)
            continue;
        peer->incarnation = incarnation;
        peer->moving = false; /* it has committed (18.5) */
    }
}

/* PROTOCOL 11.1: long enough for an adoption at the last moment. */
uint64_t record_patience_ms(const struct node *node)
{
    const struct cop_times *times = &node->times;

    return (uint64_t)times->orphan_timeout_ms + times->failure_timeout_ms +
           times->connect_timeout_ms + times->probe_timeout_ms;
}

static void remove_doubt(struct node *node, size_t at)
{
    node->doubt_count--;
    memmove(node->heal.doubts + at, node->heal.doubts + at + 1,
            (node->doubt_count - at) * sizeof(*node->heal.doubts));
}

void record_doubt(struct node *node, uint32_t rank, uint32_t incarnation)
{
    size_t i = 0;

    while (i < node->doubt_count && node->heal.doubts[i].rank != rank)
        i++;
    if (i < node->doubt_count)
        remove_doubt(node, i);
    if (array_grow(&node->heal.doubts, node->doubt_count,
                   sizeof(*node->heal.doubts)) < 0)
        node->failed = true;
    else
        node->heal.doubts[node->doubt_count++] =
            (struct doubt){rank, incarnation, node->now_ms};
}

uint64_t record_deadline_ms(const struct node *node)
{
    return node->doubt_count > 0 && !node->closing
               ? node->heal.doubts[0].since_ms + record_patience_ms(node)
               : UINT64_MAX;
}

void record_tick(struct node *node)
{
    struct doubt doubt;

    while (node->now_ms >= record_deadline_ms(node) && !node->failed) {
        doubt = node->heal.doubts[0];
        remove_doubt(node, 0);
        if (resume_answers(node, doubt.rank))
            continue;
        /* an adoption or a refutation has a higher incarnation */
        record_tell(node, doubt.rank, doubt.incarnation, TABLE_FAILED,
                    "nothing was heard of it since it lost its parent");
    }
}

/* Apply one record. Returns 1 if it was news, 0 if not. */
static int record_apply(struct node *node,
                        uint32_t rank,
                        uint32_t incarnation,
                        uint32_t parent,
                        const char *text)
{
    struct table_entry before = {.parent = rank};
    int r;

    if (!text || !*text) /* record_exchange() sends no text */
        text = "another node has reported it";
    table_entry(node->heal.table, rank, &before);
    r = table_record(node->heal.table, rank, incarnation, parent);
    if (r == -ENOMEM)
        node->failed = true;
    if (r <= 0)
        return 0;
    if (parent == TABLE_FAILED && before.parent != rank)
        observer_lost(node, rank, before.parent, text);
    else if (parent != TABLE_FAILED)
        observer_found(node, rank);
    update_child(node, rank, incarnation, parent);
    if (node->role == NODE_FRONTEND) {
        if (before.awaited)
            suspect_joined(node, rank);
        suspect_recorded(node, rank, parent == TABLE_FAILED);
        if (parent == TABLE_FAILED &&
            table_entry(node->heal.table, rank, &before) == 0)
            suspect_failed(node, rank, incarnation, text);
    }
    if (parent != TABLE_FAILED && may_lose_reports(node, rank))
        recovery_repeat(node);
    return 1;
}

/* Declare the internal nodes of `columns` lost, and list its back-ends. */
static int split_backends(struct node *node,
                          const struct columns *columns,
                          const char *text,
                          struct ranks *out)
{
    uint32_t *list = calloc((size_t)columns->count + 1, sizeof(*list));
    struct table_entry entry;
    size_t count = 0;
    int r;

    if (!list)
        return -ENOMEM;
    for (uint32_t i = 0; i < columns->count; i++) {
        uint32_t rank = columns->ranks[i];

        if (rank == RANK_NONE)
            continue;
        if (node->heal.table &&
            table_entry(node->heal.table, rank, &entry) == 0)
            suspect_certain(node, rank, text, false);
        else
            list[count++] = rank;
    }
    r = ranks_add_list(out, list, count);
    free(list);
    return r;
}

/* The end of the nodes in `columns` is certain. Tell the parent; at the
 * front-end give the back-ends up. */
static void give_up_gone(struct node *node,
                         const struct columns *columns,
                         const char *text)
{
    struct ranks ranks = {0};
    bool skipping = !node->launched && missing_is_skipped(node);

    if (columns->count == 0)
        return;
    if (node->role != NODE_FRONTEND && !skipping) {
        if (!node->reported) /* READY will report it (PROTOCOL 12.2) */
            launch_lost(node, columns->ranks[0], text);
        else if (node->parent)
            node_send(node, node->parent, record_pack(node, columns, text));
        return;
    }
    for (uint32_t i = 0; i < columns->count; i++)
        suspect_found(node, columns->ranks[i]);
    if (split_backends(node, columns, text, &ranks) < 0)
        node->failed = true;
    if (skipping)
        missing_lost(node, &ranks, text);
    else if (!node->launched)
        launch_lost(node, columns->ranks[0], text);
    else if (!node->closing && ranks.count > 0)
        member_give_up(node, CONTROL_LOST, &ranks, text);
    ranks_fini(&ranks);
}

void record_gone_all(struct node *node,
                     const struct ranks *ranks,
                     const char *text)
{
    struct columns columns = {0};
    uint32_t rank = RANK_NONE;

    if (!node->parent)
        return;
    if (columns_reserve(&columns, (size_t)ranks_size(ranks)) == 0) {
        while ((rank = ranks_after(ranks, rank)) != RANK_NONE)
            columns_add(&columns, rank, 0, GONE);
        node_send(node, node->parent, record_pack(node, &columns, text));
    } else {
        node->failed = true;
    }
    columns_fini(&columns);
}

/* Where an internal node is, relative to a branch. */
enum place {
    PLACE_UNKNOWN,
    PLACE_WALKED, /* on the path that is being walked */
    PLACE_INSIDE,
    PLACE_OUTSIDE
};

/* Mark the internal nodes of `roster` below `top` as PLACE_INSIDE, by rank. The
 * roster comes from the network, in any order. Each node is visited twice.
 * Returns NULL if out of memory. */
static unsigned char *find_places(const struct roster *roster, uint32_t top)
{
    unsigned char *places = calloc(LIMIT_NODES, sizeof(*places));
    uint32_t *above = malloc(LIMIT_NODES * sizeof(*above));
    uint32_t at;

    if (!places || !above) {
        free(above);
        free(places);
        return NULL;
    }
    memset(above, 0xff, LIMIT_NODES * sizeof(*above)); /* RANK_NONE */
    for (uint32_t i = 0; i < roster->internal_count; i++)
        above[roster->internals[i].rank] = roster->internals[i].parent;
    places[top] = PLACE_INSIDE;
    for (uint32_t i = 0; i < roster->internal_count; i++) {
        unsigned char place = PLACE_OUTSIDE;

        at = roster->internals[i].rank;
        for (; at < LIMIT_NODES && places[at] == PLACE_UNKNOWN; at = above[at])
            places[at] = PLACE_WALKED;
        if (at < LIMIT_NODES && places[at] == PLACE_INSIDE)
            place = PLACE_INSIDE;
        at = roster->internals[i].rank;
        for (; at < LIMIT_NODES && places[at] == PLACE_WALKED; at = above[at])
            places[at] = place;
    }
    free(above);
    return places;
}

/* PROTOCOL 11.1: drop the ends that the front-end has noticed by now. */
static void forget_ends(struct node *node)
{
    size_t i, kept = 0;

    for (i = 0; i < node->heal.end_count; i++)
        if (node->now_ms < node->heal.ends[i].until_ms &&
            !ranks_has(&node->lost, node->heal.ends[i].rank))
            node->heal.ends[kept++] = node->heal.ends[i];
        else
            frame_fini(&node->heal.ends[i].frame);
    node->heal.end_count = kept;
}

/* Keep a RECORD for repetition: a node may fail before it forwards it. */
static void keep_end(struct node *node, uint32_t rank, struct frame frame)
{
    forget_ends(node);
    if (array_grow(&node->heal.ends, node->heal.end_count,
                   sizeof(*node->heal.ends)) < 0) {
        frame_fini(&frame);
        node->failed = true;
        return;
    }
    node->heal.ends[node->heal.end_count++] = (struct certain_end){
        .rank = rank,
        .frame = frame,
        .until_ms = node->now_ms + record_patience_ms(node) + node->survive_ms,
    };
}

void record_gone_below(struct node *node,
                       const struct peer *peer,
                       const char *text)
{
    const struct roster *roster = &node->roster;
    unsigned char *places;
    struct columns columns = {0};
    uint32_t rank = RANK_NONE;
    struct frame frame;

    if (!node->reported || !node->parent || peer->rank >= LIMIT_NODES)
        return; /* READY will report it (PROTOCOL 12.2) */
    places = find_places(roster, peer->rank);
    if (!places || columns_reserve(&columns, (size_t)ranks_size(&peer->below) +
                                                 roster->internal_count) < 0) {
        node->failed = true;
        free(places);
        return;
    }
    columns_add(&columns, peer->rank, 0, GONE);
    for (uint32_t i = 0; i < roster->internal_count; i++) {
        uint32_t inner = roster->internals[i].rank;

        if (inner == peer->rank || places[inner] != PLACE_INSIDE)
            continue;
        columns_add(&columns, inner, 0, GONE);
        places[inner] = PLACE_OUTSIDE; /* a duplicate is reported once */
    }
    while ((rank = ranks_after(&peer->below, rank)) != RANK_NONE)
        if (rank != peer->rank)
            columns_add(&columns, rank, 0, GONE);
    frame = record_pack(node, &columns, text);
    node_send(node, node->parent, frame_ref(&frame));
    keep_end(node, peer->rank, frame);
    columns_fini(&columns);
    free(places);
}

void record_repeat(struct node *node)
{
    forget_ends(node);
    for (size_t i = 0; i < node->heal.end_count && node->parent; i++)
        node_send(node, node->parent, frame_ref(&node->heal.ends[i].frame));
}

void record_gone(struct node *node, uint32_t rank, const char *text)
{
    uint32_t incarnation = 0, parent = GONE;
    struct columns columns = {&rank, &incarnation, &parent, .count = 1};
    struct table_entry entry;

    if (node->launched && node->role != NODE_FRONTEND)
        keep_end(node, rank, record_pack(node, &columns, text));
    give_up_gone(node, &columns, text);
    /* no orphan may ask `rank` to adopt it (7.3) */
    if (node->heal.table && table_entry(node->heal.table, rank, &entry) == 0)
        record_tell(node, rank, entry.incarnation, TABLE_FAILED, text);
}

void record_tell(struct node *node,
                 uint32_t rank,
                 uint32_t incarnation,
                 uint32_t parent,
                 const char *text)
{
    struct columns columns = {&rank, &incarnation, &parent, .count = 1};

    if (node->heal.table &&
        record_apply(node, rank, incarnation, parent, text) > 0)
        record_flood(node, &columns, text, NULL);
}

void record_accuse(struct node *node, uint32_t rank, uint32_t incarnation)
{
    struct orphan *orphan = &node->heal.orphan;
    struct accusation *list = orphan->accusations;
    uint32_t i, kept = 0;

    for (i = 0; i < orphan->accusation_count; i++)
        if (list[i].rank != rank && node->now_ms < list[i].until_ms)
            list[kept++] = list[i];
    if (kept == LIMIT_ACCUSATIONS)
        memmove(list, list + 1, --kept * sizeof(*list));
    list[kept++] = (struct accusation){rank, incarnation,
                                       node->now_ms + record_patience_ms(node) +
                                           node->survive_ms};
    orphan->accusation_count = kept;
}

/* PROTOCOL 6.1d: a back-end tells its new parent which parents it has lost. */
static void send_accusations(struct node *node, struct peer *peer)
{
    const struct orphan *orphan = &node->heal.orphan;
    struct columns columns = {0};
    struct table_entry entry;

    if (columns_reserve(&columns, LIMIT_ACCUSATIONS) < 0) {
        node->failed = true;
        return;
    }
    for (uint32_t i = 0; i < orphan->accusation_count; i++) {
        const struct accusation *lost = &orphan->accusations[i];

        if (table_entry(node->heal.table, lost->rank, &entry) == 0 &&
            entry.failed)
            columns_add(&columns, lost->rank, lost->incarnation, TABLE_FAILED);
    }
    if (columns.count > 0)
        node_send(node, peer,
                  record_pack(node, &columns, "a child lost its link to it"));
    columns_fini(&columns);
}

void record_exchange(struct node *node, struct peer *peer)
{
    struct columns columns = {0};
    struct table_record change;
    uint32_t count = 0, cursor = 0;

    if (node->role == NODE_BACKEND) {
        send_accusations(node, peer);
        return;
    }
    joined_exchange(node, peer); /* the records name these */
    while (table_changed(node->heal.table, &cursor, &change))
        count++;
    if (columns_reserve(&columns, count) < 0) {
        node->failed = true;
    } else if (count > 0) {
        cursor = 0;
        while (columns.count < count &&
               table_changed(node->heal.table, &cursor, &change))
            columns_add(&columns, change.rank, change.incarnation,
                        change.parent);
        node_send(node, peer, record_pack(node, &columns, NULL));
    }
    columns_fini(&columns);
    fan_out_exchange(node, peer);
}

/* PROTOCOL 6.5: this node was reported failed: report that it lives. */
static void refute(struct node *node, uint32_t incarnation)
{
    struct table_entry own = {0};

    if (!node->parent || node->role != NODE_COMMNODE)
        return;
    /* the record may be older than an attempt at a move (18.1) */
    table_entry(node->heal.table, node->rank, &own);
    if (incarnation < node->incarnation && own.failed)
        incarnation = node->incarnation;
    if (incarnation < node->incarnation || incarnation >= LIMIT_INCARNATION)
        return;
    move_give_up(node, MOVE_ACCUSED); /* its incarnation is of no use */
    node->incarnation = incarnation + 1;
    record_tell(node, node->rank, node->incarnation, node->parent->rank,
                "it lives");
    recovery_refuted(node);
}

bool record_is_near(const struct node *node,
                    uint32_t rank,
                    uint32_t incarnation)
{
    struct table_entry entry;

    if (incarnation > LIMIT_INCARNATION)
        return false;
    return !node->heal.table ||
           table_entry(node->heal.table, rank, &entry) < 0 ||
           incarnation <= entry.incarnation ||
           incarnation - entry.incarnation <= LIMIT_AHEAD;
}

/* The content of one RECORD frame; borrowed from its packet. */
struct heard {
    const uint32_t *ranks;
    const uint32_t *incarnations;
    const uint32_t *parents;
    uint32_t count;
    const char *text;
};

static int read_heard(const struct cop_packet *packet, struct heard *out)
{
    uint32_t incarnation_count, parent_count;
    int r;

    r = cop_packet_unpack(packet, RECORD_FORMAT, &out->ranks, &out->count,
                          &out->incarnations, &incarnation_count, &out->parents,
                          &parent_count, &out->text);
    if (r == 0 &&
        (out->count != incarnation_count || out->count != parent_count ||
         strlen(out->text) > LIMIT_TEXT))
        r = -EBADMSG;
    return r;
}

/* Why this record of `peer` is refused; NULL: it is accepted. */
static const char *record_refusal(const struct node *node,
                                  const struct peer *peer,
                                  uint32_t rank,
                                  uint32_t incarnation,
                                  uint32_t parent)
{
    bool leaf = !peer->is_parent && peer->role == NODE_BACKEND;
    struct table_entry entry;

    if (rank >= LIMIT_NODES)
        return "no node has that rank";
    if (parent == GONE && peer->is_parent)
        return "only a child may report a certain end";
    if (parent == GONE)
        return leaf ? "a back-end cannot know of the end of others" : NULL;
    if (!node->heal.table)
        return "the launch is not complete";
    if (rank == 0 || table_entry(node->heal.table, rank, &entry) < 0)
        return "only commnodes have records";
    if (!record_is_near(node, rank, incarnation) ||
        (leaf && !record_is_near(node, rank, incarnation + LIMIT_AHEAD / 2)))
        return "no node has asked for a parent so often";
    if (parent == TABLE_FAILED)
        return NULL;
    if (leaf)
        return "a back-end cannot know of adoptions";
    if (parent == rank || table_entry(node->heal.table, parent, &entry) < 0)
        return "only the front-end and commnodes can be parents";
    return NULL;
}

/* PROTOCOL 2.5: accept all records of the frame, or refuse it. */
static int record_judge(struct node *node,
                        struct peer *peer,
                        const struct heard *heard)
{
    const char *why;

    if (!peer->is_parent && peer->role == NODE_BACKEND) {
        if (peer->has_accused || heard->count > LIMIT_ACCUSATIONS)
            return node_refuse(node, "a back-end reported too many lost "
                                     "parents");
        peer->has_accused = true;
    }
    for (uint32_t i = 0; i < heard->count; i++) {
        why = record_refusal(node, peer, heard->ranks[i],
                             heard->incarnations[i], heard->parents[i]);
        if (why)
            return node_refuse(node, why);
    }
    return 0;
}

/* Apply the records, and forward the new ones. */
static int take_news(struct node *node,
                     const struct peer *peer,
                     const struct heard *heard)
{
    struct columns news = {0}, ended = {0};
    uint32_t i, accused = 0;
    bool refuted = false;
    int r = columns_reserve(&news, heard->count);

    if (r == 0)
        r = columns_reserve(&ended, heard->count);
    for (i = 0; r == 0 && i < heard->count; i++) {
        uint32_t rank = heard->ranks[i], parent = heard->parents[i];
        uint32_t incarnation = heard->incarnations[i];

        if (rank == node->rank && parent == TABLE_FAILED) {
            refuted = true;
            accused = incarnation > accused ? incarnation : accused;
        }
        if (parent == GONE)
            columns_add(&ended, rank, incarnation, GONE);
        else if (record_apply(node, rank, incarnation, parent, heard->text) > 0)
            columns_add(&news, rank, incarnation, parent);
        resume_heard(node, rank, incarnation, parent);
    }
    if (r == 0 && !node->ended)
        record_flood(node, &news, heard->text, peer);
    if (r == 0)
        move_disown(node, &news);
    if (r == 0 && !node->ended)
        give_up_gone(node, &ended, heard->text);
    if (r == 0 && refuted && !node->ended)
        refute(node, accused);
    columns_fini(&news);
    columns_fini(&ended);
    return r;
}

int record_take(struct node *node, struct peer *peer, struct frame *frame)
{
    struct cop_packet *packet = NULL;
    struct heard heard;
    int r;

    r = packet_open(&packet, frame->payload);
    if (r < 0)
        return r;
    r = read_heard(packet, &heard);
    if (r == 0)
        r = record_judge(node, peer, &heard);
    if (r == 0)
        r = take_news(node, peer, &heard);
    cop_packet_free(packet);
    return r == -EINVAL ? -EBADMSG : r;
}
