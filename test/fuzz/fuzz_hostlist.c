/* fuzz_hostlist.c - host lists. A list that is accepted must be written so that
 * the same hosts are read again. Lists of millions of hosts are only read:
 * writing and reading them again would take seconds. */
#include "topology/hostlist.h"

#include <stdlib.h>
#include <string.h>

/* The maximum number of hosts of a list that is written. */
#define HOSTS_MAX 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct cop_error error;
    struct hostlist *list = NULL;
    struct hostlist *back = NULL;
    char *text = NULL;

    if (hostlist_parse(&list, (const char *)data, len, "f", &error) < 0)
        return 0;
    if (hostlist_count(list) <= HOSTS_MAX &&
        hostlist_text(list, &text, &len) == 0) {
        if (hostlist_parse(&back, text, len, "text", &error) < 0 ||
            hostlist_count(back) != hostlist_count(list))
            abort();
        for (uint32_t i = 0; i < hostlist_count(list); i++) {
            if (strcmp(hostlist_host(list, i), hostlist_host(back, i)) != 0)
                abort();
        }
    }
    free(text);
    hostlist_free(back);
    hostlist_free(list);
    return 0;
}
