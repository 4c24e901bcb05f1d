/* handshake.h - mutual proof of the session key, before anything else is read.
 *
 *     dialer                         acceptor
 *       | hello (nonce, ranks, ...)     |
 *       |------------------------------>|  checks version, session, rank
 *       |        hello (its own), proof |
 *       |<------------------------------|
 *       | proof                         |
 *       |------------------------------>|
 *
 * A proof is keyed BLAKE2b over the prover's direction and both hellos, so
 * over both nonces, the version, the session, both ranks, incarnation, role
 * and seal (PROTOCOL 1.2): it can be neither replayed nor reflected.
 *
 * Pure: bytes in, bytes out. The caller brings the nonce and keeps the time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/node.h"

#define HANDSHAKE_KEY_LEN     32
#define HANDSHAKE_SESSION_LEN 16
#define HANDSHAKE_NONCE_LEN   32
#define HANDSHAKE_HELLO_LEN   72
#define HANDSHAKE_PROOF_LEN   32

/* The most that handshake_output() gives at once. */
#define HANDSHAKE_OUTPUT_LEN (HANDSHAKE_HELLO_LEN + HANDSHAKE_PROOF_LEN)

/* How the bytes after the proofs are sealed: not at all, in version 1. */
#define HANDSHAKE_SEAL_NONE 0

/* What one end says of itself. */
struct handshake_identity {
    uint32_t rank; /* RANK_NONE: a back-end that is not numbered yet */
    uint32_t incarnation;
    enum node_role role;
};

/* One end of a handshake; caller's storage, the fields are handshake.c's. */
struct handshake {
    const unsigned char *key;
    bool dialer;
    bool greeted; /* the hello of the other end is here and is right */
    bool done;
    uint32_t peer_rank; /* the one that is expected; RANK_NONE: any */
    struct handshake_identity own;
    struct handshake_identity peer;
    unsigned char hello[2][HANDSHAKE_HELLO_LEN]; /* dialer's, acceptor's */
    unsigned char input[HANDSHAKE_HELLO_LEN];
    size_t input_len;
    unsigned char output[HANDSHAKE_OUTPUT_LEN];
    size_t output_len;
};

/* Begin.
 *
 * key        HANDSHAKE_KEY_LEN bytes, kept until the end
 * session    HANDSHAKE_SESSION_LEN bytes, borrowed
 * dialer     whether we have called, and so are the child
 * own        what we say of ourselves
 * peer_rank  dialer: the node to reach, RANK_NONE for any node of the session;
 *            an acceptor ignores it
 * nonce      HANDSHAKE_NONCE_LEN random bytes, never used before */
void handshake_init(struct handshake *handshake,
                    const unsigned char *key,
                    const unsigned char *session,
                    bool dialer,
                    const struct handshake_identity *own,
                    uint32_t peer_rank,
                    const unsigned char *nonce);

/* Take bytes from `*bytes`, moving it and `*len` forward; what comes behind
 * the other end's proof is left there.
 *
 * Returns 1 when both ends are proved (our last output may still have to be
 * sent); 0 when more bytes are needed; or, and then what handshake_output()
 * gives is still to be sent, to tell the other end:
 *   -EPROTO           this is no handshake
 *   -EPROTONOSUPPORT  another version of the protocol, or another seal
 *   -ENOKEY           another session
 *   -ENXIO            another rank than the one that was wanted
 *   -EACCES           another key */
int handshake_take(struct handshake *handshake,
                   const unsigned char **bytes,
                   size_t *len);

/* Bytes to be sent now, borrowed until the next call; each is given once.
 * `*len` is 0 if there are none. */
const unsigned char *handshake_output(struct handshake *handshake, size_t *len);

/* The identity of the other end; only after handshake_take() has returned 1. */
const struct handshake_identity *handshake_peer(
    const struct handshake *handshake);

/* A sentence for an error of handshake_take(). */
const char *handshake_error(int code);
