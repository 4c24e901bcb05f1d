/* hosts.c - host names in short form. */
#include <coppice/status.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/hostlist.h"

/* Characters with a meaning in a host list (coppice-topology(5)). */
static const char special[] = ",[]# \t\r\n";

int cop_hosts_text(char **text, const char *const *hosts, size_t count)
{
    struct hostlist *list = NULL;
    char *joined = NULL, *at;
    size_t len = 1, i;
    int r;

    if (count == 0)
        return -EINVAL;
    for (i = 0; i < count; i++) {
        if (hosts[i][0] == '\0' || strpbrk(hosts[i], special))
            return -EINVAL;
        len += strlen(hosts[i]) + 1;
    }
    joined = malloc(len);
    if (!joined)
        return -ENOMEM;
    for (i = 0, at = joined; i < count; i++) {
        at = stpcpy(at, hosts[i]);
        *at++ = ',';
    }
    r = hostlist_parse(&list, joined, (size_t)(at - joined), "hosts", NULL);
    if (r == 0)
        r = hostlist_text(list, text, NULL);
    hostlist_free(list);
    free(joined);
    return r == -E2BIG ? -EINVAL : r;
}
