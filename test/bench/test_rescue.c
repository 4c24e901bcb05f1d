/* test_rescue.c - the bare tree of bench/exactness: it moves as many bytes as
 * Coppice's handshake has. */
#include "bench/rescue.h"

#include "net/handshake.h"
#include "test/check.h"

TEST(the_bare_tree_moves_as_many_bytes)
{
    CU_ASSERT_EQUAL(RESCUE_HELLO_LEN, HANDSHAKE_HELLO_LEN);
    CU_ASSERT_EQUAL(RESCUE_ANSWER_LEN, HANDSHAKE_OUTPUT_LEN);
    CU_ASSERT_EQUAL(RESCUE_PROOF_LEN, HANDSHAKE_PROOF_LEN);
}
