/* fuzz_topology.c - topology files and the wire form. An accepted topology must
 * be written so that it is accepted again. */
#include "topology/topology.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void through_a_file(const struct topology *topo)
{
    struct topology *back = NULL;
    char *text = NULL;
    size_t len = 0;

    if (topology_text(topo, &text, &len) < 0)
        return;
    if (topology_parse(&back, text, len, "text", NULL) < 0 ||
        topology_count(back) != topology_count(topo))
        abort();
    free(text);
    topology_free(back);
}

static void over_the_wire(const struct topology *topo)
{
    struct topology *back = NULL;
    char *text = NULL;
    size_t len = 0;

    if (topology_encode(topo, &text, &len) < 0)
        return;
    if (topology_decode(&back, text, len) < 0 ||
        topology_count(back) != topology_count(topo) ||
        topology_height(back) != topology_height(topo))
        abort();
    free(text);
    topology_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct cop_error error;
    struct topology *topo = NULL;

    if (topology_parse(&topo, (const char *)data, len, "f", &error) == 0) {
        through_a_file(topo);
        over_the_wire(topo);
    }
    topology_free(topo);
    topo = NULL;
    if (topology_decode(&topo, (const char *)data, len) == 0)
        over_the_wire(topo);
    topology_free(topo);
    return 0;
}
