/* claim.c - packs and reads claims. */
#include "protocol/stream/claim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/limits.h"
#include "wire/packet.h"

#define CLAIM_FORMAT "%aud %uld %uld %ud %ud %aud %uc %ud %s"
#define WAVES_FORMAT CLAIM_FORMAT " %aud"

enum claim_flag {
    CLAIM_RECOVERABLE = 1,
    CLAIM_REPLAYABLE = 2,
    CLAIM_DRAINED = 4
};

void claim_fini(struct claim *claim)
{
    ranks_fini(&claim->members);
    ranks_fini(&claim->counting);
    ranks_fini(&claim->loss.losers);
    free(claim->error);
    memset(claim, 0, sizeof(*claim));
}

int loss_raise(struct losing *loss, const struct losing *other)
{
    if (other->lossy < loss->lossy)
        return 0;
    if (other->lossy > loss->lossy)
        ranks_fini(&loss->losers);
    loss->lossy = other->lossy;
    return ranks_unite(&loss->losers, &other->losers);
}

int claim_encode(const struct claim *claim, uint32_t stream, struct frame *out)
{
    int flags = (claim->recoverable ? CLAIM_RECOVERABLE : 0) |
                (claim->replayable ? CLAIM_REPLAYABLE : 0) |
                (claim->drained ? CLAIM_DRAINED : 0);

    memset(out, 0, sizeof(*out));
    out->type = FRAME_CLAIM;
    out->stream = stream;
    out->sequence = claim->read;
    return packet_pack(
        &out->payload, claim->counts ? WAVES_FORMAT : CLAIM_FORMAT,
        ranks_pairs(&claim->members), (uint32_t)(2 * claim->members.count),
        claim->received, claim->settled.number, claim->settled.epoch,
        claim->loss.lossy, ranks_pairs(&claim->loss.losers),
        (uint32_t)(2 * claim->loss.losers.count), flags, claim->error_rank,
        claim->error ? claim->error : "", ranks_pairs(&claim->counting),
        (uint32_t)(2 * claim->counting.count));
}

int claim_decode(const struct frame *frame, struct claim *out)
{
    struct cop_packet *packet = NULL;
    struct claim claim = {0};
    const uint32_t *pairs, *losers, *counting = NULL;
    uint32_t count, losers_len, counting_len = 0;
    const char *format;
    unsigned char flags;
    const char *error;
    int r;

    r = packet_open(&packet, frame->payload);
    if (r < 0)
        return r;
    format = cop_packet_format(packet);
    claim.counts = format && strcmp(format, WAVES_FORMAT) == 0;
    r = cop_packet_unpack(packet, claim.counts ? WAVES_FORMAT : CLAIM_FORMAT,
                          &pairs, &count, &claim.received,
                          &claim.settled.number, &claim.settled.epoch,
                          &claim.loss.lossy, &losers, &losers_len, &flags,
                          &claim.error_rank, &error, &counting, &counting_len);
    if (r < 0)
        goto out;
    r = -EBADMSG;
    if (claim.settled.number > claim.received || strlen(error) > LIMIT_TEXT)
        goto out;
    r = ranks_from_pairs(&claim.members, pairs, count);
    if (r == 0)
        r = ranks_from_pairs(&claim.loss.losers, losers, losers_len);
    if (r == 0 && claim.counts)
        r = ranks_from_pairs(&claim.counting, counting, counting_len);
    if (r < 0)
        goto out;
    if (error[0] && !(claim.error = strdup(error))) {
        r = -ENOMEM;
        goto out;
    }
    claim.read = frame->sequence;
    claim.recoverable = flags & CLAIM_RECOVERABLE;
    claim.replayable = flags & CLAIM_REPLAYABLE;
    claim.drained = flags & CLAIM_DRAINED;
    claim_fini(out);
    *out = claim;
    memset(&claim, 0, sizeof(claim));
out:
    claim_fini(&claim);
    cop_packet_free(packet);
    return r == -EINVAL ? -EBADMSG : r;
}
