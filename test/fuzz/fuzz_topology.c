/* fuzz_topology.c - topology files and the wire form. What is taken
 * must be written so that it is taken again. */
#include "topology/topology.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void write_and_read(const struct topology *topo)
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
    if (topology_encode(topo, &text, &len) < 0)
        return;
    if (topology_decode(&back, text, len) < 0 ||
        topology_height(back) != topology_height(topo))
        abort();
    free(text);
    topology_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct cop_error error;
    struct topology *topo = NULL;

    if (topology_parse(&topo, (const char *)data, len, "f", &error) == 0)
        write_and_read(topo);
    topology_free(topo);
    topo = NULL;
    if (topology_decode(&topo, (const char *)data, len) == 0)
        write_and_read(topo);
    topology_free(topo);
    return 0;
}
