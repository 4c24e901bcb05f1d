/* test_handshake.c - mutual proof of the session key (PROTOCOL 1.2). */
#include <errno.h>

#include "net/handshake.h"
#include "test/check.h"
#include "wire/limits.h"

/* Offsets in a hello on the wire, for tests that damage one. */
#define AT_VERSION   5
#define AT_DIRECTION 6
#define AT_STATUS    7
#define AT_SEAL      8
#define AT_ROLE      9
#define AT_RESERVED  10

static const unsigned char key[HANDSHAKE_KEY_LEN] = {1, 2, 3};
static const unsigned char other_key[HANDSHAKE_KEY_LEN] = {1, 2, 4};
static const unsigned char session[HANDSHAKE_SESSION_LEN] = {7};
static const unsigned char other_session[HANDSHAKE_SESSION_LEN] = {8};
static const unsigned char nonce_a[HANDSHAKE_NONCE_LEN] = {10};
static const unsigned char nonce_b[HANDSHAKE_NONCE_LEN] = {11};
static const unsigned char nonce_c[HANDSHAKE_NONCE_LEN] = {12};
static const struct handshake_identity child = {5, 3, NODE_BACKEND};
static const struct handshake_identity parent = {2, 0, NODE_COMMNODE};

static struct handshake dialer;
static struct handshake acceptor;

static void begin(void)
{
    handshake_init(&dialer, key, session, true, &child, 2, nonce_a);
    handshake_init(&acceptor, key, session, false, &parent, RANK_NONE, nonce_b);
}

/* Pass the output of `from` to `to`, `step` bytes at a time. */
static int pass_on(struct handshake *from, struct handshake *to, size_t step)
{
    unsigned char copy[HANDSHAKE_OUTPUT_LEN];
    const unsigned char *bytes;
    const unsigned char *at = copy;
    size_t len;
    size_t n;
    int r = 0;

    bytes = handshake_output(from, &len);
    memcpy(copy, bytes, len);
    while (len > 0 && r == 0) {
        n = len < step ? len : step;
        len -= n;
        r = handshake_take(to, &at, &n);
        if (r == 0)
            CU_ASSERT_EQUAL(n, 0);
    }
    return r;
}

static void expect_proved(void)
{
    CHECK_IS(pass_on(&dialer, &acceptor, 1000), 0);
    CHECK_IS(pass_on(&acceptor, &dialer, 1000), 1);
    CHECK_IS(pass_on(&dialer, &acceptor, 1000), 1);
}

TEST(both_ends_prove_themselves)
{
    begin();
    expect_proved();
    CU_ASSERT_EQUAL(handshake_peer(&dialer)->rank, 2);
    CU_ASSERT_EQUAL(handshake_peer(&dialer)->role, NODE_COMMNODE);
    CU_ASSERT_EQUAL(handshake_peer(&acceptor)->rank, 5);
    CU_ASSERT_EQUAL(handshake_peer(&acceptor)->incarnation, 3);
    CU_ASSERT_EQUAL(handshake_peer(&acceptor)->role, NODE_BACKEND);
}

TEST(bytes_may_come_one_by_one)
{
    begin();
    CHECK_IS(pass_on(&dialer, &acceptor, 1), 0);
    CHECK_IS(pass_on(&acceptor, &dialer, 1), 1);
    CHECK_IS(pass_on(&dialer, &acceptor, 1), 1);
}

/* Frames may follow the proof directly: they are left to the caller. */
TEST(what_comes_behind_the_proof_is_left)
{
    unsigned char bytes[HANDSHAKE_PROOF_LEN + 5] = {0};
    const unsigned char *at = bytes;
    const unsigned char *proof;
    size_t len;

    begin();
    CHECK_IS(pass_on(&dialer, &acceptor, 1000), 0);
    CHECK_IS(pass_on(&acceptor, &dialer, 1000), 1);
    proof = handshake_output(&dialer, &len);
    CU_ASSERT_EQUAL_FATAL(len, HANDSHAKE_PROOF_LEN);
    memcpy(bytes, proof, len);
    len = sizeof(bytes);
    CHECK_IS(handshake_take(&acceptor, &at, &len), 1);
    CU_ASSERT_EQUAL(len, 5);
    CU_ASSERT_PTR_EQUAL(at, bytes + HANDSHAKE_PROOF_LEN);
}

TEST(one_that_joins_has_no_rank_yet)
{
    struct handshake_identity joiner = {RANK_NONE, 0, NODE_BACKEND};

    begin();
    handshake_init(&dialer, key, session, true, &joiner, 2, nonce_a);
    expect_proved();
    CU_ASSERT_EQUAL(handshake_peer(&acceptor)->rank, RANK_NONE);
}

TEST(wrong_key_is_found_by_the_dialer)
{
    begin();
    handshake_init(&acceptor, other_key, session, false, &parent, RANK_NONE,
                   nonce_b);
    CHECK_IS(pass_on(&dialer, &acceptor, 1000), 0);
    CHECK_IS(pass_on(&acceptor, &dialer, 1000), -EACCES);
}

/* A dialer without the key cannot answer, whatever proof it sends. */
TEST(wrong_key_is_found_by_the_acceptor)
{
    unsigned char proof[HANDSHAKE_PROOF_LEN] = {0};
    const unsigned char *at = proof;
    size_t len = sizeof(proof);

    begin();
    CHECK_IS(pass_on(&dialer, &acceptor, 1000), 0);
    CHECK_IS(handshake_take(&acceptor, &at, &len), -EACCES);
}

TEST(other_session_is_told_to_both)
{
    begin();
    handshake_init(&dialer, key, other_session, true, &child, 2, nonce_a);
    CHECK_IS(pass_on(&dialer, &acceptor, 1000), -ENOKEY);
    CHECK_IS(pass_on(&acceptor, &dialer, 1000), -ENOKEY);
}

TEST(other_rank_is_told_to_both)
{
    begin();
    handshake_init(&dialer, key, session, true, &child, 9, nonce_a);
    CHECK_IS(pass_on(&dialer, &acceptor, 1000), -ENXIO);
    CHECK_IS(pass_on(&acceptor, &dialer, 1000), -ENXIO);
}

TEST(any_rank_will_do_if_asked_for)
{
    begin();
    handshake_init(&dialer, key, session, true, &child, RANK_NONE, nonce_a);
    expect_proved();
    CU_ASSERT_EQUAL(handshake_peer(&dialer)->rank, 2);
}

/* Set one byte of the dialer's hello before the acceptor reads it. */
static int with_byte(size_t at, unsigned char value)
{
    unsigned char hello[HANDSHAKE_HELLO_LEN];
    const unsigned char *bytes = hello;
    const unsigned char *output;
    size_t len;

    begin();
    output = handshake_output(&dialer, &len);
    CU_ASSERT_EQUAL_FATAL(len, sizeof(hello));
    memcpy(hello, output, sizeof(hello));
    hello[at] = value;
    return handshake_take(&acceptor, &bytes, &len);
}

TEST(other_version_is_told_to_both)
{
    CHECK_IS(with_byte(AT_VERSION, LIMIT_PROTOCOL_VERSION + 1),
             -EPROTONOSUPPORT);
    CHECK_IS(pass_on(&acceptor, &dialer, 1000), -EPROTONOSUPPORT);
    CHECK_IS(with_byte(AT_SEAL, 1), -EPROTONOSUPPORT);
}

TEST(what_is_no_hello_is_refused)
{
    CHECK_IS(with_byte(0, 'G'), -EPROTO);
    CHECK_IS(with_byte(AT_DIRECTION, 2), -EPROTO);
    CHECK_IS(with_byte(AT_STATUS, 1), -EPROTO);
    CHECK_IS(with_byte(AT_ROLE, 77), -EPROTO);
    CHECK_IS(with_byte(AT_ROLE, NODE_FRONTEND), -EPROTO);
    CHECK_IS(with_byte(AT_RESERVED, 1), -EPROTO);
    CHECK_IS(with_byte(AT_RESERVED + 1, 1), -EPROTO);
}

/* The proofs cover each byte of both hellos: if one is changed in transit, one
 * of the ends finds it. */
TEST(every_byte_is_under_the_proof)
{
    unsigned char hello[HANDSHAKE_HELLO_LEN];
    const unsigned char *bytes;
    const unsigned char *output;
    size_t len;
    int r;

    for (size_t i = 0; i < sizeof(hello); i++) {
        begin();
        output = handshake_output(&dialer, &len);
        memcpy(hello, output, sizeof(hello));
        hello[i] ^= 1;
        bytes = hello;
        len = sizeof(hello);
        r = handshake_take(&acceptor, &bytes, &len);
        if (r == 0)
            r = pass_on(&acceptor, &dialer, 1000);
        CU_ASSERT(r < 0);
    }
    for (size_t i = 0; i < HANDSHAKE_OUTPUT_LEN; i++) {
        begin();
        CHECK_IS(pass_on(&dialer, &acceptor, 1000), 0);
        acceptor.output[i] ^= 1;
        CU_ASSERT(pass_on(&acceptor, &dialer, 1000) < 0);
    }
}

/* The dialer's own bytes, sent back, are no answer. */
TEST(reflection_is_refused)
{
    struct handshake copy;

    begin();
    copy = dialer;
    CHECK_IS(pass_on(&copy, &dialer, 1000), -EPROTO);
}

/* A recorded handshake proves nothing to a new acceptor. */
TEST(replay_is_refused)
{
    unsigned char hello[HANDSHAKE_HELLO_LEN];
    unsigned char proof[HANDSHAKE_PROOF_LEN];
    const unsigned char *bytes = hello;
    const unsigned char *output;
    size_t len;

    begin();
    output = handshake_output(&dialer, &len);
    memcpy(hello, output, len);
    CHECK_IS(handshake_take(&acceptor, &bytes, &len), 0);
    CHECK_IS(pass_on(&acceptor, &dialer, 1000), 1);
    output = handshake_output(&dialer, &len);
    memcpy(proof, output, len);

    handshake_init(&acceptor, key, session, false, &parent, RANK_NONE, nonce_c);
    bytes = hello;
    len = sizeof(hello);
    CHECK_IS(handshake_take(&acceptor, &bytes, &len), 0);
    bytes = proof;
    len = sizeof(proof);
    CHECK_IS(handshake_take(&acceptor, &bytes, &len), -EACCES);
}

/* A refused peer receives no bytes of this node. */
TEST(refusal_says_nothing_of_us)
{
    const unsigned char *output;
    size_t len;

    CHECK_IS(with_byte(AT_RESERVED, 1), -EPROTO);
    output = handshake_output(&acceptor, &len);
    CU_ASSERT_EQUAL_FATAL(len, HANDSHAKE_HELLO_LEN);
    for (size_t i = AT_SEAL; i < len; i++)
        CU_ASSERT_EQUAL(output[i], 0);
}

TEST(every_error_has_its_sentence)
{
    const int codes[] = {-EPROTO, -EPROTONOSUPPORT, -ENOKEY, -ENXIO, -EACCES};

    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < i; j++)
            CU_ASSERT_STRING_NOT_EQUAL(handshake_error(codes[i]),
                                       handshake_error(codes[j]));
}
