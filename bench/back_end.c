/* back_end.c - main() of the benchmarks' back-ends. */
#include <coppice/coppice.h>
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/start.h"

int start_back_end(int (*serve)(struct cop_network *network))
{
    struct cop_network *network = NULL;
    struct cop_error error;
    int r = cop_network_join(&network, NULL, &error);

    if (r < 0)
        errx(EXIT_FAILURE, "%s", error.text);
    r = serve(network);
    if (r == -ENOTCONN)
        r = 0;
    if (r < 0)
        warnx("rank %u: %s", cop_network_rank(network), strerror(-r));
    cop_network_free(network);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
