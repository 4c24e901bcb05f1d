/* synthetic_be.c - a back-end of bench/stat: computes the stacks of its part of
 * a synthetic job, and sends them on request. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/start.h"
#include "bench/synthetic.h"
#include "stat/request.h"
#include "stat/tree/tree.h"

/* Compute the tree that `packet` requests from rank `rank`, into `*tree`. */
static int prepare_tree(struct tree **tree,
                        uint32_t rank,
                        const struct cop_packet *packet)
{
    struct synthetic job;
    struct cop_error error;
    const char *text;
    const uint32_t *ranks;
    uint32_t count, i;
    int r;

    r = cop_packet_unpack(packet, "%s %aud", &text, &ranks, &count);
    if (r == 0)
        r = synthetic_parse(&job, text, &error);
    if (r < 0)
        return r;
    for (i = 0; i < count && ranks[i] != rank; i++)
        ;
    if (i >= job.daemons)
        return -EBADMSG;
    tree_free(*tree);
    *tree = NULL;
    return synthetic_tree(tree, &job, i);
}

static int send_tree(struct cop_stream *stream, const struct tree *tree)
{
    struct cop_packet *packet;
    int r = tree ? tree_pack(&packet, STAT_TAG_TREE, tree) : -EINVAL;

    if (r == 0) {
        r = cop_stream_send_packet(stream, packet);
        cop_packet_free(packet);
    }
    return r;
}

/* Answer requests until the network ends. Returns 0 or a negative errno. */
static int serve_network(struct cop_network *network)
{
    struct tree *tree = NULL;
    struct cop_stream *stream;
    struct cop_packet *packet;
    int r = 0;

    while (r == 0) {
        r = cop_network_receive(network, &stream, &packet, COP_FOREVER);
        if (r < 0)
            break;
        r = cop_packet_tag(packet) == SYNTHETIC_TAG_PREPARE
                ? prepare_tree(&tree, cop_network_rank(network), packet)
                : send_tree(stream, tree);
        cop_packet_free(packet);
    }
    tree_free(tree);
    return r;
}

int main(void)
{
    return start_back_end(serve_network);
}
