/* slots.c - the filter states of one stream of totals at one node. */
#include "filters/slots.h"

#include <errno.h>
#include <stdlib.h>

struct slot {
    uint32_t key;
    bool is_kept; /* by the call that drops slots */
    void *state;  /* NULL: empty */
};

void slots_fini(struct slots *slots, const struct cop_filter *filter)
{
    for (size_t i = 0; i < slots->count; i++)
        if (slots->list[i].state)
            filter->free(slots->list[i].state);
    free(slots->list);
    *slots = (struct slots){.list = NULL};
}

/* The slot of `key`, or NULL. The keys of a call are usually in the order of
 * the list, so the search begins after the last slot found. */
static struct slot *slot_find(struct slots *slots, uint32_t key)
{
    size_t at;

    for (size_t i = 0; i < slots->count; i++) {
        at = (slots->next + i) % slots->count;
        if (slots->list[at].key == key) {
            slots->next = at + 1;
            return &slots->list[at];
        }
    }
    return NULL;
}

/* The slot of `key`, made if necessary; NULL: out of memory. */
static struct slot *slot_at(struct slots *slots, uint32_t key)
{
    struct slot *slot = slot_find(slots, key);
    struct slot *list;
    size_t room;

    if (slot)
        return slot;
    if (slots->count == slots->room) {
        room = slots->room ? 2 * slots->room : 4;
        list = reallocarray(slots->list, room, sizeof(*list));
        if (!list)
            return NULL;
        slots->list = list;
        slots->room = room;
    }
    slots->list[slots->count] = (struct slot){.key = key};
    return &slots->list[slots->count++];
}

/* Make a new state whose output is not for the application. */
static int new_part(void **state, struct cop_filter_call *call)
{
    int r;

    call->is_partial = true;
    r = call_new_state(state, call);
    call->is_partial = false;
    return r;
}

/* Join `packet` into `*state`, which is made if it is NULL. */
static int join_packet(void **state,
                       const struct cop_packet *packet,
                       struct cop_filter_call *call)
{
    int r = 0;

    if (!*state)
        r = new_part(state, call);
    if (r >= 0)
        r = call_result(call, "join", call->filter->join(*state, packet, call));
    return r;
}

/* Pack `state`, if there is one, and emit the packet, if it gives one. */
static int emit_state(const void *state, struct cop_filter_call *call)
{
    struct cop_packet *packet = NULL;
    int r = 0;

    if (state)
        r = call_result(call, "pack", call->filter->pack(state, &packet));
    if (r == 0 && packet)
        r = cop_filter_emit(call, packet);
    return r < 0 ? call_fail(call, r) : 0;
}

static int join_all(struct slots *slots, struct cop_filter_call *call)
{
    bool sends = !cop_filter_is_root(call);
    void *wave = NULL;
    int first = 0;
    int r;

    for (size_t i = 0; i < call->call->input_count; i++) {
        struct slot *slot = slot_at(slots, call->call->keys[i]);

        r = slot ? join_packet(&slot->state, call->packets[i], call) : -ENOMEM;
        /* a packet that its slot lacks must not go up */
        if (r >= 0 && sends)
            r = join_packet(&wave, call->packets[i], call);
        if (r < 0 && first == 0)
            first = call_fail(call, r);
    }
    r = emit_state(wave, call);
    if (wave)
        call->filter->free(wave);
    return first < 0 ? first : r;
}

/* Replace the content of the slot by `packet`; NULL: by nothing. */
static int replace(struct slots *slots,
                   uint32_t key,
                   const struct cop_packet *packet,
                   struct cop_filter_call *call)
{
    struct slot *slot = slot_at(slots, key);

    if (!slot)
        return call_fail(call, -ENOMEM);
    if (slot->state && key != SLOT_OWN) {
        call->filter->free(slot->state);
        slot->state = NULL;
    }
    return packet ? join_packet(&slot->state, packet, call) : 0;
}

/* Free the slots that the call does not keep. */
static void drop_others(struct slots *slots, struct cop_filter_call *call)
{
    size_t i, left = 0;

    for (i = 0; i < slots->count; i++)
        slots->list[i].is_kept = slots->list[i].key == SLOT_OWN;
    for (i = 0; i < call->call->kept_count; i++) {
        struct slot *slot = slot_find(slots, call->call->kept[i]);

        if (slot)
            slot->is_kept = true;
    }
    for (i = 0; i < slots->count; i++) {
        if (slots->list[i].is_kept)
            slots->list[left++] = slots->list[i];
        else if (slots->list[i].state)
            call->filter->free(slots->list[i].state);
    }
    slots->count = left;
    slots->next = 0;
}

/* Join the content of one slot to the total. */
static int add_slot(void *total,
                    const struct slot *slot,
                    struct cop_filter_call *call)
{
    struct cop_packet *packet = NULL;
    int r = 0;

    if (slot->state)
        r = call_result(call, "pack", call->filter->pack(slot->state, &packet));
    if (r == 0 && packet)
        r = call_result(call, "join", call->filter->join(total, packet, call));
    cop_packet_free(packet);
    return r;
}

/* Pack the join of all slots. A back-end has one slot, of its application's
 * packets. It is packed directly: a filter may count a join as one packet. */
static int pack_all(const struct slots *slots, struct cop_filter_call *call)
{
    void *total = NULL;
    int first = 0;
    int r;

    if (cop_filter_is_leaf(call))
        return emit_state(slots->count > 0 ? slots->list[0].state : NULL, call);
    r = call_new_state(&total, call);
    if (r < 0)
        return call_fail(call, r);
    for (size_t i = 0; i < slots->count; i++) {
        r = add_slot(total, &slots->list[i], call);
        if (r < 0 && first == 0)
            first = r;
    }
    r = emit_state(total, call);
    call->filter->free(total);
    return first < 0 ? first : r;
}

int slots_call(struct slots *slots, struct cop_filter_call *call)
{
    int first = 0;
    int r;

    if (call->call->slots == CALL_JOIN)
        return join_all(slots, call);
    for (size_t i = 0; i < call->call->input_count; i++) {
        r = replace(slots, call->call->keys[i], call->packets[i], call);
        if (r < 0 && first == 0)
            first = r;
    }
    drop_others(slots, call);
    r = call->call->state ? pack_all(slots, call) : 0;
    return first < 0 ? first : r;
}
