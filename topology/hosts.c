/* hosts.c - see coppice/hosts.h: a list of hosts for tools. */
#include <coppice/hosts.h>

#include <string.h>

#include "topology/hostlist.h"

/* A cop_hosts is a hostlist under its public name. */
static const struct hostlist *list_of(const struct cop_hosts *hosts)
{
    return (const struct hostlist *)hosts;
}

int cop_hosts_new(struct cop_hosts **out,
                  const char *text,
                  struct cop_error *error)
{
    return hostlist_parse((struct hostlist **)out, text, strlen(text),
                          "host list", error);
}

void cop_hosts_free(struct cop_hosts *hosts)
{
    hostlist_free((struct hostlist *)hosts);
}

size_t cop_hosts_count(const struct cop_hosts *hosts)
{
    return hostlist_count(list_of(hosts));
}

const char *cop_hosts_name(const struct cop_hosts *hosts, size_t index)
{
    return index < hostlist_count(list_of(hosts))
               ? hostlist_host(list_of(hosts), (uint32_t)index)
               : NULL;
}
