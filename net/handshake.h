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

/* The most bytes that handshake_output() returns at once. */
#define HANDSHAKE_OUTPUT_LEN (HANDSHAKE_HELLO_LEN + HANDSHAKE_PROOF_LEN)

/* The protection of the bytes after the proofs: version 1 has none. */
#define HANDSHAKE_SEAL_NONE 0

/* The identity that one end claims. */
struct handshake_identity {
    uint32_t rank; /* RANK_NONE: a back-end without a rank yet */
    uint32_t incarnation;
    enum node_role role;
};

/* One end of a handshake; caller's storage, the fields are handshake.c's. */
struct handshake {
    const unsigned char *key;
    bool dialer;
    bool greeted; /* the hello of the other end has arrived and is right */
    bool done;
    uint32_t peer_rank; /* the expected rank; RANK_NONE: any */
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
 * dialer     whether this node has dialled, and so is the child
 * own        this node's identity
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

/* Take bytes from `*bytes`, and advance it and `*len`; bytes after the other
 * end's proof are left there.
 *
 * Returns 1 when both ends are proved (our last output may still have to be
 * sent); 0 when more bytes are needed; or an error. After an error,
 * handshake_output() returns bytes that tell the other end: send them.
 *   -EPROTO           this is no handshake
 *   -EPROTONOSUPPORT  another version of the protocol, or another seal
 *   -ENOKEY           another session
 *   -ENXIO            not the rank that was wanted
 *   -EACCES           another key */
int handshake_take(struct handshake *handshake,
                   const unsigned char **bytes,
                   size_t *len);

/* The bytes to send now, borrowed until the next call; each is returned once.
 * `*len` is 0 if there are none. */
const unsigned char *handshake_output(struct handshake *handshake, size_t *len);

/* The identity of the other end; only after handshake_take() has returned 1. */
const struct handshake_identity *handshake_peer(
    const struct handshake *handshake);

/* A sentence for an error of handshake_take(). */
const char *handshake_error(int code);
