/* samples.c - prints the packets of the daemons of a made-up job for test_heal:
 * one line for each packet, with the packet's bytes in hexadecimal. */
#include "stat/tree/tree.h"
#include "stat/walk/traces.h"
#include "test/stat/random.h"

/* One sample of daemon `number`: a fifth of its tasks moves. Returns 0 or a
 * negative errno. */
static int add_sample(struct traces *traces,
                      uint32_t number,
                      uint32_t daemons,
                      uint32_t sample,
                      uint64_t seed)
{
    int r = 0;

    for (uint32_t task = number; r == 0 && task < 8 * daemons;
         task += daemons) {
        uint64_t draw = seed + 1000 * task + (task % 5 == 0 ? sample : 0);
        char text[32];
        struct frame frames[] = {{"main", "job.c", 1, "", 0, false},
                                 {text, "job.c", 2, "", 0, false},
                                 {"wait", "", 0, "", 0, false}};

        snprintf(text, sizeof(text), "step_%u", random_below(&draw, 4));
        r = traces_add(traces, task, frames, 2 + draw % 2);
    }
    return r;
}

int main(int argc, char **argv)
{
    uint32_t daemons, samples, len;
    uint64_t seed;

    if (argc != 4)
        return 2;
    seed = strtoull(argv[1], NULL, 10);
    daemons = (uint32_t)strtoul(argv[2], NULL, 10);
    samples = (uint32_t)strtoul(argv[3], NULL, 10);
    for (uint32_t i = 0; i < daemons; i++) {
        struct traces *traces;

        if (traces_new(&traces) < 0)
            return 1;
        for (uint32_t sample = 0; sample < samples; sample++) {
            const unsigned char *bytes;
            struct cop_packet *packet;
            struct tree *tree;

            if (add_sample(traces, i, daemons, sample, seed) < 0 ||
                traces_sample(&tree, traces, 0) < 0 ||
                tree_pack(&packet, 1, tree) < 0 ||
                cop_packet_unpack(packet, "%auc", &bytes, &len) < 0)
                return 1;
            for (uint32_t k = 0; k < len; k++)
                printf("%02x", bytes[k]);
            putchar('\n');
            cop_packet_free(packet);
            tree_free(tree);
        }
        traces_free(traces);
    }
    return 0;
}
