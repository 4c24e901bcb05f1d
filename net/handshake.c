/* handshake.c - mutual proof of the session key. */
#include "net/handshake.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "wire/limits.h"

/* Offsets in a hello. Magic, version, direction and status keep their places in
 * every version, so that a mismatch can always be reported. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_DIRECTION = 6,
    AT_STATUS = 7,
    AT_SEAL = 8,
    AT_ROLE = 9,
    AT_RESERVED = 10,
    AT_RANK = 12,
    AT_PEER_RANK = 16,
    AT_INCARNATION = 20,
    AT_SESSION = 24,
    AT_NONCE = 40,
};

static const unsigned char magic[4] = {'C', 'O', 'P', 'P'};
static const char label[] = "coppice handshake";

enum direction {
    DIRECTION_DIALER = 1,
    DIRECTION_ACCEPTOR = 2,
};

/* Why an acceptor refuses. The index is the status in its hello. */
static const struct {
    int code;
    const char *text;
} refusals[] = {
    {0, "no error"},
    {-EPROTO, "the other end does not speak Coppice's protocol"},
    {-EPROTONOSUPPORT,
     "the other end speaks another version of the protocol: use one version "
     "of Coppice on all hosts"},
    {-ENOKEY, "the other end belongs to another session"},
    {-ENXIO, "the other end is not the node that was called"},
    {-EACCES, "the other end does not know the session's key"},
};

#define REFUSAL_COUNT (sizeof(refusals) / sizeof(refusals[0]))

static void put32(unsigned char *at, uint32_t value)
{
    value = htobe32(value);
    memcpy(at, &value, sizeof(value));
}

static uint32_t get32(const unsigned char *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return be32toh(value);
}

static uint32_t get16(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static unsigned char *own_hello(struct handshake *handshake)
{
    return handshake->hello[handshake->dialer ? 0 : 1];
}

static void put_output(struct handshake *handshake,
                       const unsigned char *bytes,
                       size_t len)
{
    assert(handshake->output_len + len <= sizeof(handshake->output));
    memcpy(handshake->output + handshake->output_len, bytes, len);
    handshake->output_len += len;
}

/* Compute the proof of the end with this direction. */
static void handshake_prove(const struct handshake *handshake,
                            enum direction direction,
                            unsigned char out[HANDSHAKE_PROOF_LEN])
{
    crypto_generichash_state state;
    unsigned char byte = (unsigned char)direction;

    crypto_generichash_init(&state, handshake->key, HANDSHAKE_KEY_LEN,
                            HANDSHAKE_PROOF_LEN);
    crypto_generichash_update(&state, (const unsigned char *)label,
                              sizeof(label));
    crypto_generichash_update(&state, &byte, 1);
    crypto_generichash_update(&state, handshake->hello[0], HANDSHAKE_HELLO_LEN);
    crypto_generichash_update(&state, handshake->hello[1], HANDSHAKE_HELLO_LEN);
    crypto_generichash_final(&state, out, HANDSHAKE_PROOF_LEN);
    sodium_memzero(&state, sizeof(state));
}

/* If we are the acceptor: send the reason, and nothing about ourselves. */
static int refuse(struct handshake *handshake, int code)
{
    unsigned char hello[HANDSHAKE_HELLO_LEN] = {0};
    uint32_t i;

    if (handshake->dialer)
        return code;
    for (i = 1; i < REFUSAL_COUNT; i++)
        if (refusals[i].code == code)
            break;
    assert(i < REFUSAL_COUNT);
    memcpy(hello + AT_MAGIC, magic, sizeof(magic));
    hello[AT_VERSION + 1] = LIMIT_PROTOCOL_VERSION;
    hello[AT_DIRECTION] = DIRECTION_ACCEPTOR;
    hello[AT_STATUS] = (unsigned char)i;
    put_output(handshake, hello, sizeof(hello));
    return code;
}

void handshake_init(struct handshake *handshake,
                    const unsigned char *key,
                    const unsigned char *session,
                    bool dialer,
                    const struct handshake_identity *own,
                    uint32_t peer_rank,
                    const unsigned char *nonce)
{
    unsigned char *hello;

    memset(handshake, 0, sizeof(*handshake));
    handshake->key = key;
    handshake->dialer = dialer;
    handshake->peer_rank = peer_rank;
    handshake->own = *own;
    hello = own_hello(handshake);
    memcpy(hello + AT_MAGIC, magic, sizeof(magic));
    hello[AT_VERSION + 1] = LIMIT_PROTOCOL_VERSION;
    hello[AT_DIRECTION] = dialer ? DIRECTION_DIALER : DIRECTION_ACCEPTOR;
    hello[AT_SEAL] = HANDSHAKE_SEAL_NONE;
    hello[AT_ROLE] = (unsigned char)own->role;
    put32(hello + AT_RANK, own->rank);
    put32(hello + AT_PEER_RANK, peer_rank);
    put32(hello + AT_INCARNATION, own->incarnation);
    memcpy(hello + AT_SESSION, session, HANDSHAKE_SESSION_LEN);
    memcpy(hello + AT_NONCE, nonce, HANDSHAKE_NONCE_LEN);
    if (dialer)
        put_output(handshake, hello, HANDSHAKE_HELLO_LEN);
}

/* Whether an end in this direction may have this role and rank. */
static bool plausible(const struct handshake_identity *identity, bool dialer)
{
    if (dialer)
        return identity->role == NODE_BACKEND ||
               identity->role == NODE_COMMNODE ||
               (identity->role == NODE_OBSERVER && identity->rank == RANK_NONE);
    return (identity->role == NODE_FRONTEND ||
            identity->role == NODE_COMMNODE) &&
           identity->rank != RANK_NONE;
}

/* The checks that each end makes on the other's hello. */
static int check_hello(struct handshake *handshake, const unsigned char *in)
{
    const unsigned char *own = own_hello(handshake);
    int other = handshake->dialer ? DIRECTION_ACCEPTOR : DIRECTION_DIALER;

    if (memcmp(in + AT_MAGIC, magic, sizeof(magic)) != 0 ||
        in[AT_DIRECTION] != other)
        return -EPROTO;
    if (in[AT_STATUS] >= REFUSAL_COUNT || (in[AT_STATUS] && !handshake->dialer))
        return -EPROTO;
    if (in[AT_STATUS])
        return refusals[in[AT_STATUS]].code;
    if (get16(in + AT_VERSION) != LIMIT_PROTOCOL_VERSION ||
        in[AT_SEAL] != HANDSHAKE_SEAL_NONE)
        return -EPROTONOSUPPORT;
    if (get16(in + AT_RESERVED) != 0 || in[AT_ROLE] > NODE_OBSERVER)
        return -EPROTO;
    if (sodium_memcmp(in + AT_SESSION, own + AT_SESSION,
                      HANDSHAKE_SESSION_LEN) != 0)
        return -ENOKEY;
    handshake->peer = (struct handshake_identity){
        .rank = get32(in + AT_RANK),
        .incarnation = get32(in + AT_INCARNATION),
        .role = (enum node_role)in[AT_ROLE],
    };
    return plausible(&handshake->peer, !handshake->dialer) ? 0 : -EPROTO;
}

/* Answer the dialer's hello with the acceptor's hello and proof. */
static int answer_hello(struct handshake *handshake, const unsigned char *in)
{
    unsigned char proof[HANDSHAKE_PROOF_LEN];
    uint32_t wanted = get32(in + AT_PEER_RANK);

    if (wanted != RANK_NONE && wanted != handshake->own.rank)
        return -ENXIO;
    memcpy(handshake->hello[0], in, HANDSHAKE_HELLO_LEN);
    put32(handshake->hello[1] + AT_PEER_RANK, handshake->peer.rank);
    put_output(handshake, handshake->hello[1], HANDSHAKE_HELLO_LEN);
    handshake_prove(handshake, DIRECTION_ACCEPTOR, proof);
    put_output(handshake, proof, sizeof(proof));
    return 0;
}

static int take_hello(struct handshake *handshake)
{
    const unsigned char *in = handshake->input;
    int r;

    r = check_hello(handshake, in);
    if (r < 0)
        return refuse(handshake, r);
    if (!handshake->dialer) {
        r = answer_hello(handshake, in);
        if (r < 0)
            return refuse(handshake, r);
    } else {
        if (handshake->peer_rank != RANK_NONE &&
            handshake->peer.rank != handshake->peer_rank)
            return -ENXIO;
        memcpy(handshake->hello[1], in, HANDSHAKE_HELLO_LEN);
    }
    handshake->greeted = true;
    return 0;
}

static int take_proof(struct handshake *handshake)
{
    unsigned char proof[HANDSHAKE_PROOF_LEN];

    handshake_prove(handshake,
                    handshake->dialer ? DIRECTION_ACCEPTOR : DIRECTION_DIALER,
                    proof);
    if (sodium_memcmp(proof, handshake->input, sizeof(proof)) != 0)
        return -EACCES;
    if (handshake->dialer) {
        handshake_prove(handshake, DIRECTION_DIALER, proof);
        put_output(handshake, proof, sizeof(proof));
    }
    handshake->done = true;
    return 1;
}

int handshake_take(struct handshake *handshake,
                   const unsigned char **bytes,
                   size_t *len)
{
    size_t wanted;
    size_t n;
    int r;

    if (handshake->done)
        return 1;
    do {
        wanted = handshake->greeted ? HANDSHAKE_PROOF_LEN : HANDSHAKE_HELLO_LEN;
        n = wanted - handshake->input_len;
        if (n > *len)
            n = *len;
        if (n > 0)
            memcpy(handshake->input + handshake->input_len, *bytes, n);
        handshake->input_len += n;
        *bytes += n;
        *len -= n;
        if (handshake->input_len < wanted)
            return 0;
        handshake->input_len = 0;
        r = handshake->greeted ? take_proof(handshake) : take_hello(handshake);
    } while (r == 0);
    return r;
}

const unsigned char *handshake_output(struct handshake *handshake, size_t *len)
{
    *len = handshake->output_len;
    handshake->output_len = 0;
    return handshake->output;
}

const struct handshake_identity *handshake_peer(
    const struct handshake *handshake)
{
    assert(handshake->done);
    return &handshake->peer;
}

const char *handshake_error(int code)
{
    for (uint32_t i = 0; i < REFUSAL_COUNT; i++)
        if (refusals[i].code == code)
            return refusals[i].text;
    return strerror(-code);
}
