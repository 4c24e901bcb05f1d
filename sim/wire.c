/* wire.c - simulated links: frames written as bytes, read as bytes. */
#include "sim/world.h"

#include <stdlib.h>

#include "sim/memory.h"
#include "wire/limits.h"
#include "wire/messages.h"

/* Bytes that a link with a rate passes within this time arrive together. */
#define WIRE_PIECE_MS 50

uint64_t world_delay_ms(struct sim *sim)
{
    return random_between(&sim->random, sim->config.delay_min_ms,
                          sim->config.delay_max_ms);
}

static void plan_entry(struct sim *sim,
                       enum agenda_type type,
                       const struct world_end *end,
                       uint32_t link,
                       uint64_t at_ms)
{
    struct agenda_entry entry = {
        .at_ms = at_ms,
        .type = type,
        .node = end->node,
        .link = link,
        .number = end->life,
    };

    agenda_add(&sim->agenda, entry);
}

/* Take the lowest free link number of `node`. */
static uint32_t take_number(struct world_node *node)
{
    uint32_t link = 0;

    while (link < node->end_count && node->ends[link])
        link++;
    if (link == node->end_count) {
        memory_grow(&node->ends, &node->end_room, node->end_count,
                    sizeof(*node->ends));
        node->end_count++;
    }
    node->ends[link] = memory_new(sizeof(**node->ends));
    return link;
}

static struct world_end *new_end(struct world_node *node,
                                 struct world_node *peer,
                                 uint64_t life,
                                 uint32_t *link)
{
    struct world_end *end;

    *link = take_number(node);
    end = node->ends[*link];
    end->node = node->index;
    end->peer = peer->index;
    end->life = end->peer_life = life;
    frame_reader_init(&end->reader, LIMIT_FRAME);
    return end;
}

static void drop_end(struct world_node *node, uint32_t link)
{
    struct world_end *end = node->ends[link];

    frame_reader_fini(&end->reader);
    flow_fini(&end->in);
    free(end);
    node->ends[link] = NULL;
}

/* The arrival time of what is sent to `end` now. */
static uint64_t arrival(struct sim *sim, const struct world_end *end)
{
    uint64_t at_ms = sim->now_ms + world_delay_ms(sim);

    return at_ms < end->in.held_ms ? end->in.held_ms : at_ms;
}

void world_connect(struct sim *sim,
                   struct world_node *child,
                   struct world_node *parent,
                   bool first)
{
    uint64_t life = ++sim->lives;
    struct world_end *below;
    struct world_end *above;
    uint32_t child_link;
    uint32_t parent_link;

    below = new_end(child, parent, life, &child_link);
    above = new_end(parent, child, life, &parent_link);
    below->upward = true;
    above->taken = first;
    below->in.held_ms = above->in.held_ms =
        child->apart_ms > parent->apart_ms ? child->apart_ms : parent->apart_ms;
    below->peer_link = parent_link;
    above->peer_link = child_link;
    plan_entry(sim, AGENDA_UP, above, parent_link, arrival(sim, above));
    plan_entry(sim, AGENDA_UP, below, child_link, arrival(sim, below));
}

struct world_end *world_end_at(struct world_node *node, uint32_t link)
{
    return link < node->end_count ? node->ends[link] : NULL;
}

struct world_end *world_end_to(struct world_node *node, uint32_t other)
{
    struct world_end *newest = NULL;

    for (size_t i = 0; i < node->end_count; i++)
        if (node->ends[i] && node->ends[i]->peer == other &&
            (!newest || node->ends[i]->life > newest->life))
            newest = node->ends[i];
    return newest;
}

/* The other end of `end`, or NULL if it has closed. */
static struct world_end *other_end(struct sim *sim, const struct world_end *end)
{
    struct world_end *other;

    if (!end->peer_life)
        return NULL;
    other = world_end_at(sim->nodes[end->peer], end->peer_link);
    return other && other->life == end->life ? other : NULL;
}

/* Write bytes that arrive from `at_ms` on to the flow of `other`, whose link
 * number is `link`. On a link with a rate they arrive piece by piece. */
static bool write_pieces(struct sim *sim,
                         struct world_end *other,
                         uint32_t link,
                         const unsigned char *bytes,
                         size_t len,
                         uint64_t at_ms)
{
    uint32_t rate = sim->config.bytes_per_ms;
    size_t most = (size_t)rate * WIRE_PIECE_MS;
    size_t n;

    while (rate > 0 && len > 0) {
        n = len < most ? len : most;
        if (flow_write(&other->in, bytes, n,
                       at_ms + flow_pass_ms(&other->in, n, sim->now_ms,
                                            rate)) == UINT64_MAX)
            return false;
        bytes += n;
        len -= n;
        if (len > 0)
            plan_entry(sim, AGENDA_BYTES, other, link, other->in.last_ms);
    }
    return len == 0 || flow_write(&other->in, bytes, len, at_ms) != UINT64_MAX;
}

/* Whether the frame tells an orphan that it is adopted. */
static bool is_adoption(const struct frame *frame)
{
    struct msg_adopted adopted;

    return frame->type == FRAME_ADOPTED &&
           msg_adopted_decode(frame, &adopted) == 0 &&
           adopted.answer == SIM_ADOPTED;
}

void world_write(struct sim *sim,
                 struct world_node *node,
                 uint32_t link,
                 const struct frame *frame)
{
    struct world_end *end = world_end_at(node, link);
    struct world_end *other;
    unsigned char header[FRAME_HEAD_MAX];
    size_t len;
    uint64_t at_ms = sim->now_ms + world_delay_ms(sim);
    bool arrives = true;

    if (!end || !end->up) {
        sim_fail(sim, "%u sends on link %u, which it has not", node->rank,
                 link);
        return;
    }
    other = other_end(sim, end);
    if (!other) {
        /* Bytes on a slow link may be in flight for minutes. A node that writes
         * to a connection that the other end has closed gets a reset
         * earlier. */
        uint64_t reset_ms = sim->config.bytes_per_ms > 0
                                ? flow_reset(&end->in, sim->now_ms, at_ms)
                                : UINT64_MAX;

        if (reset_ms != UINT64_MAX)
            plan_entry(sim, AGENDA_BYTES, end, link, reset_ms);
        return;
    }
    len = frame_writer_encode(&end->writer, frame, header);
    if (!write_pieces(sim, other, end->peer_link, header, len, at_ms))
        arrives = false; /* the flow is muted or has ended */
    else if (frame->payload)
        write_pieces(sim, other, end->peer_link, frame->payload->bytes,
                     frame->payload->len, at_ms);
    if (sim->watch.wrote)
        sim->watch.wrote(sim, node->index, end->peer, frame,
                         len + (frame->payload ? frame->payload->len : 0),
                         sim->watch.arg);
    if (is_adoption(frame))
        end->taken = true;
    if (arrives)
        plan_entry(sim, AGENDA_BYTES, other, end->peer_link, other->in.last_ms);
}

/* Whether the lower node of `end` has a parent by another link. This link then
 * belongs to a call that it has given up. */
static bool has_parent(struct sim *sim, const struct world_end *end)
{
    const struct world_node *below =
        sim->nodes[end->upward ? end->node : end->peer];

    for (size_t i = 0; i < below->end_count; i++) {
        const struct world_end *other = below->ends[i];
        const struct world_end *above;

        if (!other || !other->upward || other->life == end->life)
            continue;
        above = other_end(sim, other);
        if (above && above->taken)
            return true;
    }
    return false;
}

/* This end closes. Report the lower node, unless its end closed before. */
static void report_parted(struct sim *sim, const struct world_end *end)
{
    if (sim->watch.parted && (end->upward || other_end(sim, end)) &&
        !has_parent(sim, end))
        sim->watch.parted(sim, end->upward ? end->node : end->peer,
                          sim->watch.arg);
}

void world_let_go(struct sim *sim,
                  struct world_node *node,
                  uint32_t link,
                  bool cut,
                  const char *reason)
{
    struct world_end *end = world_end_at(node, link);
    struct world_end *other;

    if (!end) {
        sim_fail(sim, "%u closes link %u, which it has not", node->rank, link);
        return;
    }
    report_parted(sim, end);
    other = other_end(sim, end);
    if (other) {
        if (cut)
            flow_cut(&other->in,
                     random_between(&sim->random, 0, flow_len(&other->in)));
        other->reason = reason;
        other->peer_life = 0;
        if (flow_end(&other->in, sim->now_ms + world_delay_ms(sim)) !=
            UINT64_MAX)
            plan_entry(sim, AGENDA_BYTES, other, end->peer_link,
                       other->in.last_ms);
    }
    drop_end(node, link);
}

void world_up(struct sim *sim, struct world_node *node, uint32_t link)
{
    struct world_end *end = node->ends[link];
    struct world_node *peer = sim->nodes[end->peer];
    struct event event = {
        .type = EVENT_LINK_UP,
        .link = link,
        .rank = peer->rank,
        .role = peer->role,
        .is_parent = end->upward,
    };

    end->up = true;
    end->heard_ms = sim->now_ms;
    sim_note(sim, SIM_TRACE_LIFE, "%d link to %d up", (int)node->rank,
             (int)peer->rank);
    plan_entry(sim, AGENDA_BYTES, end, link, sim->now_ms);
    world_step(sim, node, &event, NULL);
}

/* The link has ended at this end. */
static void go_down(struct sim *sim, struct world_node *node, uint32_t link)
{
    struct world_end *end = node->ends[link];
    struct event event = {
        .type = EVENT_LINK_DOWN,
        .link = link,
        .silent = end->silent,
        .text = end->reason,
    };

    sim_note(sim, SIM_TRACE_LIFE, "%d link to %d down: %s", (int)node->rank,
             (int)sim->nodes[end->peer]->rank, end->reason);
    report_parted(sim, end);
    drop_end(node, link);
    world_step(sim, node, &event, NULL);
}

/* Split `len` bytes into whole frames. Returns how many. */
static size_t take_frames(struct sim *sim,
                          struct world_end *end,
                          const unsigned char *bytes,
                          size_t len,
                          struct frame **frames)
{
    size_t count = 0;
    size_t room = 0;
    struct frame frame;
    int r;

    *frames = NULL;
    while ((r = frame_reader_take(&end->reader, &bytes, &len, &frame)) > 0) {
        memory_grow(frames, &room, count, sizeof(frame));
        (*frames)[count++] = frame;
    }
    if (r < 0)
        sim_fail(sim, "%u sent %u bytes that are no frame",
                 sim->nodes[end->peer]->rank, sim->nodes[end->node]->rank);
    return count;
}

/* Whether frames on `end` are fenced (PROTOCOL 1.3, 6.3): its child has been
 * adopted here again, over a later link. */
static bool is_fenced(const struct world_node *node,
                      const struct world_end *end)
{
    for (size_t i = 0; i < node->end_count; i++) {
        const struct world_end *other = node->ends[i];

        if (other && !end->upward && other->peer == end->peer && other->taken &&
            other->life > end->life)
            return true;
    }
    return false;
}

/* The frame read was a lie: fail unless its link was closed. */
static void check_lie(struct sim *sim,
                      struct world_node *node,
                      uint32_t link,
                      uint64_t life,
                      uint8_t type)
{
    const struct world_end *end = world_end_at(node, link);

    if (node->state == WORLD_ALIVE && end && end->life == life &&
        sim->nodes[end->peer]->lie == type)
        sim_fail(sim, "%d takes a %s of %d, which is a lie", (int)node->rank,
                 frame_name(type), (int)sim->nodes[end->peer]->rank);
}

/* Read what has arrived on `end`, at `heard_ms`. */
static void read_end(struct sim *sim,
                     struct world_node *node,
                     uint32_t link,
                     uint64_t heard_ms)
{
    struct world_end *end = node->ends[link];
    uint64_t life = end->life;
    uint32_t from = sim->nodes[end->peer]->rank;
    const unsigned char *bytes;
    struct frame *frames = NULL;
    size_t count = 0;
    size_t len;

    bytes = flow_arrived(&end->in, sim->now_ms, &len);
    if (len > 1 && random_chance(&sim->random, sim->config.fragment_percent)) {
        len = random_between(&sim->random, 1, len - 1);
        plan_entry(sim, AGENDA_BYTES, end, link,
                   sim->now_ms + random_between(&sim->random, 0, 1));
    }
    if (len > 0) {
        count = take_frames(sim, end, bytes, len, &frames);
        flow_take(&end->in, len);
    }
    if (len > 0 && end->heard_ms < heard_ms)
        end->heard_ms = heard_ms;
    if (len > 0 && count == 0)
        world_step(sim, node,
                   &(struct event){
                       .type = EVENT_BYTES, .link = link, .heard_ms = heard_ms},
                   NULL);
    for (size_t i = 0; i < count; i++) {
        struct event event = {
            .type = EVENT_FRAME,
            .link = link,
            .heard_ms = heard_ms,
            .frame = frames[i],
        };
        uint8_t type = frames[i].type;
        /* a back-end that moves sends ALIGN (PROTOCOL 18.4) */
        bool honest = type == FRAME_PROBE && frames[i].tag != PROBE_PATH;

        end = world_end_at(node, link);
        if (!end || end->life != life) {
            frame_fini(&frames[i]);
            continue;
        }
        world_trace_frame(sim, node, from, &frames[i]);
        if (is_fenced(node, end))
            sim_fail(sim, "%u reads what %u sent before it came again",
                     node->rank, from);
        world_step(sim, node, &event, NULL);
        if (!honest)
            check_lie(sim, node, link, life, type);
    }
    free(frames);
    end = world_end_at(node, link);
    if (end && end->life == life && flow_is_over(&end->in, sim->now_ms))
        go_down(sim, node, link);
}

/* Whether only repeated heartbeats have arrived on `end`. */
static bool is_at_rest(const struct sim *sim, const struct world_end *end)
{
    size_t len;

    flow_arrived(&end->in, sim->now_ms, &len);
    return len < FRAME_HEADER_LEN && frame_reader_rests(&end->reader) &&
           !(end->in.ended && end->in.last_ms <= sim->now_ms);
}

void world_read(struct sim *sim, struct world_node *node, uint32_t link)
{
    const struct world_end *end = node->ends[link];

    if (end->up && !is_at_rest(sim, end))
        read_end(sim, node, link, sim->now_ms);
}

void world_read_all(struct sim *sim, struct world_node *node)
{
    for (uint32_t link = 0; link < node->end_count; link++) {
        const struct world_end *end = node->ends[link];
        uint64_t heard_ms = end ? flow_waiting_ms(&end->in, sim->now_ms) : 0;

        if (heard_ms > 0 && end->up)
            read_end(sim, node, link, heard_ms);
    }
}
