/* takeover.c - what a new front-end begins anew (PROTOCOL 23). */
#include "sim/swarm/traffic.h"

/* Packets that waited for the crashed front-end's filter are in no record (PROTOCOL
 * 23.3): nobody gets them. `count`: of those that are. */
static void forget_unrecorded(struct traffic_stream *stream, size_t count)
{
    for (uint32_t number = 1; number <= stream->sent_down; number++) {
        if (!stream->is_given[number])
            continue;
        if (count > 0)
            count--;
        else
            stream->is_given[number] = false;
    }
}

/* What syncs of the crashed front-end have given up is known to no other; each
 * stream of whole waves has one redo; the state of a union comes again. */
void traffic_taken_over(struct traffic *traffic, const struct sim *sim)
{
    traffic->causes++;
    for (uint32_t i = 0; i < traffic->count; i++) {
        struct traffic_stream *stream = &traffic->streams[i];

        forget_unrecorded(stream, sim_recorded(sim, stream->id));
        stream->given_up = 0;
        stream->ledger.asked = false;
        answers_taken_over(&stream->answers);
        if (stream->model.filter == MODEL_UNION && !stream->exact)
            stream->model.taken.count = 0;
        if (!stream->closing && !stream->closed)
            stream->opened = false;
    }
}
