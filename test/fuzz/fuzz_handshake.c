/* fuzz_handshake.c - each end of a handshake gets arbitrary input.
 *
 * The first byte chooses the end; the others come over the link, in pieces of
 * changing lengths. A peer without the key is never authenticated. */
#include <stdlib.h>
#include <string.h>

#include "net/handshake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char key[HANDSHAKE_KEY_LEN] = {1, 2, 3};
    static const unsigned char session[HANDSHAKE_SESSION_LEN] = {7};
    static const unsigned char nonce[HANDSHAKE_NONCE_LEN] = {10};
    const struct handshake_identity child = {5, 3, NODE_BACKEND};
    const struct handshake_identity parent = {2, 0, NODE_COMMNODE};
    struct handshake handshake;
    const unsigned char *bytes;
    size_t step = 1;
    size_t len;
    bool dialer;
    int r = 0;

    if (size == 0)
        return 0;
    dialer = data[0] & 1;
    bytes = data + 1;
    size--;
    handshake_init(&handshake, key, session, dialer, dialer ? &child : &parent,
                   dialer ? 2 : RANK_NONE, nonce);
    while (size > 0 && r == 0) {
        len = step < size ? step : size;
        size -= len;
        step = step * 7 % 61 + 1;
        r = handshake_take(&handshake, &bytes, &len);
        handshake_output(&handshake, &len);
        if (len > HANDSHAKE_OUTPUT_LEN)
            abort();
    }
    if (r > 0)
        abort(); /* authenticated without the key */
    if (r < 0 && !*handshake_error(r))
        abort();
    return 0;
}
