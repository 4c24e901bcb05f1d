/* fan_out.c - how many back-ends each internal node has now (PROTOCOL 6.6).
 *
 * A node announces its own count when it has changed, at most once per
 * heartbeat. A receiver forwards all news in one frame with its own heartbeat.
 * So 128 adoptions cost each link a few frames, not 128. */
#include <errno.h>
#include <stdlib.h>

#include "protocol/heal/columns.h"
#include "protocol/state.h"
#include "wire/packet.h"

#define FAN_OUT_FORMAT "%aud %aud %aud"

/* In the place of a link: the change is this node's own. */
#define OWN UINT32_MAX

static void add_record(struct columns *columns,
                       const struct table_fan_out *record)
{
    columns_add(columns, record->rank, record->version, record->backend_count);
}

static struct frame fan_out_pack(struct node *node,
                                 const struct columns *columns)
{
    struct frame frame = {.type = FRAME_FAN_OUT, .origin = node->rank};

    if (packet_pack(&frame.payload, FAN_OUT_FORMAT, columns->ranks,
                    columns->count, columns->versions, columns->count,
                    columns->values, columns->count) < 0)
        node->failed = true;
    return frame;
}

/* Forward the fan-out of `rank` with the next heartbeat. */
static void fan_out_note(struct node *node, uint32_t rank, uint32_t link)
{
    size_t i;

    if (node->role == NODE_BACKEND)
        return;
    for (i = 0; i < node->heal.fan_out_count; i++)
        if (node->heal.fan_outs[i].rank == rank)
            break;
    if (i == node->heal.fan_out_count) {
        if (array_grow(&node->heal.fan_outs, i, sizeof(*node->heal.fan_outs)) <
            0) {
            node->failed = true;
            return;
        }
        node->heal.fan_out_count++;
    }
    node->heal.fan_outs[i] = (struct fan_out_change){rank, link};
}

void fan_out_count(struct node *node)
{
    struct table_fan_out own;
    uint32_t slot, count = 0;

    if (!node->heal.table || node->role == NODE_BACKEND ||
        table_fan_out_of(node->heal.table, node->rank, &own) < 0)
        return;
    for (slot = 0; slot < node->peer_count; slot++) {
        const struct peer *peer = node_child(node, slot);

        count += peer && peer->ready && peer->role == NODE_BACKEND;
    }
    if (count == own.backend_count)
        return;
    own.version++;
    own.backend_count = count;
    if (table_fan_out(node->heal.table, &own) < 0)
        node->failed = true;
    fan_out_note(node, node->rank, OWN);
}

/* Whether all changes arrived on the link to `peer`. */
static bool knows_all(const struct node *node, const struct peer *peer)
{
    for (size_t i = 0; i < node->heal.fan_out_count; i++)
        if (node->heal.fan_outs[i].link != peer->link)
            return false;
    return true;
}

static void forward_changes(struct node *node)
{
    struct columns columns = {0};
    struct table_fan_out record;
    struct frame frame = {0};

    if (columns_reserve(&columns, node->heal.fan_out_count) < 0) {
        node->failed = true;
        goto out;
    }
    for (size_t i = 0; i < node->heal.fan_out_count; i++)
        if (table_fan_out_of(node->heal.table, node->heal.fan_outs[i].rank,
                             &record) == 0)
            add_record(&columns, &record);
    frame = fan_out_pack(node, &columns);
    for (uint32_t slot = 0; slot < node->peer_count && !node->failed; slot++) {
        struct peer *peer = node->peers[slot];

        if (peer && node_is_attached(node, peer) && !knows_all(node, peer))
            node_send(node, peer, frame_ref(&frame));
    }
out:
    frame_fini(&frame);
    columns_fini(&columns);
    node->heal.fan_out_count = 0;
}

void fan_out_beat(struct node *node)
{
    fan_out_count(node);
    if (node->heal.fan_out_count > 0)
        forward_changes(node);
}

void fan_out_exchange(struct node *node, struct peer *peer)
{
    struct columns columns = {0};
    struct table_fan_out record;
    uint32_t cursor = 0;
    size_t count = 0;

    while (table_fan_out_changed(node->heal.table, &cursor, &record))
        count++;
    if (count == 0)
        return;
    if (columns_reserve(&columns, count) < 0) {
        node->failed = true;
    } else {
        cursor = 0;
        while (table_fan_out_changed(node->heal.table, &cursor, &record))
            add_record(&columns, &record);
        node_send(node, peer, fan_out_pack(node, &columns));
    }
    columns_fini(&columns);
}

/* Apply one record. A record about this node itself is out of date; or of the
 * front-end before it, and its own next version is above that (23.11). */
static void take_record(struct node *node,
                        const struct peer *peer,
                        const struct table_fan_out *record)
{
    struct table_fan_out news = *record, known;
    uint32_t link = peer->link;
    int r;

    if (record->rank == node->rank && !node->resuming.resumes)
        return;
    if (record->rank == node->rank &&
        table_fan_out_of(node->heal.table, node->rank, &known) == 0 &&
        record->version == known.version &&
        record->backend_count != known.backend_count) {
        news = known; /* two front-ends have made that version */
        news.version++;
        link = OWN;
    }
    r = table_fan_out(node->heal.table, &news);
    if (r == -ENOMEM)
        node->failed = true;
    if (r > 0)
        fan_out_note(node, news.rank, link);
}

/* Why a record cannot be true; NULL: it can. */
static const char *fan_out_refusal(const struct node *node,
                                   const struct table_fan_out *record)
{
    struct table_fan_out known;

    if (table_fan_out_of(node->heal.table, record->rank, &known) < 0)
        return "only commnodes and the front-end have children";
    if (record->backend_count > LIMIT_CHILDREN)
        return "the number of children is above the limit";
    if (record->version > known.version &&
        record->version - known.version > LIMIT_AHEAD)
        return "the version of a fan-out is too far ahead";
    return NULL;
}

int fan_out_take(struct node *node,
                 const struct peer *peer,
                 const struct frame *frame)
{
    const uint32_t *ranks, *versions, *counts;
    uint32_t count, version_count, count_count;
    struct cop_packet *packet = NULL;
    int r;

    r = packet_open(&packet, frame->payload);
    if (r == 0)
        r = cop_packet_unpack(packet, FAN_OUT_FORMAT, &ranks, &count, &versions,
                              &version_count, &counts, &count_count);
    if (r == 0 && (count != version_count || count != count_count))
        r = -EBADMSG;
    if (r == 0 && !node->heal.table)
        r = node_refuse(node, "the launch is not complete");
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        struct table_fan_out record = {ranks[i], versions[i], counts[i]};
        const char *why = fan_out_refusal(node, &record);

        if (why)
            r = node_refuse(node, why);
        else
            take_record(node, peer, &record);
    }
    cop_packet_free(packet);
    return r == -EINVAL ? -EBADMSG : r;
}
