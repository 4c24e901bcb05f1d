/* agents.c - which agents assemble a tree, and what each starts. */
#include "net/agents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "net/address.h"
#include "topology/hostlist.h"
#include "topology/topology.h"
#include "wire/limits.h"

/* ---- which nodes ---- */

/* The nodes on the host of their parent are the parent's to start. */
static bool needs_agent(const struct topology *tree, uint32_t index)
{
    return strcmp(topology_host(tree, index),
                  topology_host(tree, topology_parent(tree, index))) != 0;
}

static bool is_same_name(const char *a, const char *b)
{
    size_t a_len = strcspn(a, ".");
    size_t b_len = strcspn(b, ".");

    if (a[a_len] && b[b_len])
        return strcasecmp(a, b) == 0;
    return a_len == b_len && strncasecmp(a, b, a_len) == 0;
}

bool agents_is_own(const char *host)
{
    const char *slurm = getenv("SLURMD_NODENAME");
    char own[LIMIT_HOST_NAME + 1];

    if (slurm && is_same_name(host, slurm))
        return true;
    if (gethostname(own, sizeof(own)) < 0)
        return false;
    own[sizeof(own) - 1] = '\0';
    return is_same_name(host, own);
}

uint32_t agents_next(const struct topology *tree,
                     uint32_t index,
                     bool (*is_own)(const char *host))
{
    for (index++; index < topology_count(tree); index++)
        if (needs_agent(tree, index) && is_own(topology_host(tree, index)))
            return index;
    return TOPOLOGY_NONE;
}

int agents_bootstrap(struct bootstrap *out,
                     const struct bootstrap *frontend,
                     uint32_t index,
                     uint32_t parent,
                     char address[LIMIT_ADDRESS + 1],
                     struct cop_error *error)
{
    const struct topology *tree = frontend->subtree;
    uint32_t parent_rank = topology_rank(tree, parent);
    const char *host = topology_host(tree, parent);
    const char *why;
    int r;

    snprintf(address, LIMIT_ADDRESS + 1, "%s", frontend->parent_address);
    r = parent == 0
            ? 0
            : address_resolve(host, frontend->networks,
                              ports_nth(&frontend->ports, parent_rank, 0),
                              address, LIMIT_ADDRESS + 1, &why);
    if (r < 0)
        return cop_error_set(error, r,
                             "rank %u cannot find its parent's host %s: %s",
                             topology_rank(tree, index), host, why);
    r = bootstrap_child(out, frontend, topology_rank(tree, index), address);
    if (r < 0)
        return cop_error_set(error, r, "%s", strerror(-r));
    out->depth = topology_depth(tree, parent) + 1;
    out->parent_rank = parent_rank;
    out->awaits_parent = true;
    return 0;
}

/* ---- the command ---- */

static int compare_hosts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What the words of a command may name. */
struct hosts {
    char *names; /* with commas */
    char *brief; /* with brackets */
    char count[16];
};

/* List the hosts that need an agent, each once. */
static int list_hosts(const struct topology *tree, struct hosts *out)
{
    uint32_t node_count = topology_count(tree);
    const char **hosts = calloc(node_count, sizeof(*hosts));
    struct hostlist *list = NULL;
    size_t len = 0;
    uint32_t found = 0;
    uint32_t count = 0;
    FILE *stream;
    int r = -ENOMEM;

    stream = hosts ? open_memstream(&out->names, &len) : NULL;
    if (!stream)
        goto out;
    for (uint32_t i = 1; i < node_count; i++)
        if (needs_agent(tree, i))
            hosts[found++] = topology_host(tree, i);
    qsort(hosts, found, sizeof(*hosts), compare_hosts);
    for (uint32_t i = 0; i < found; i++)
        if (i == 0 || strcmp(hosts[i], hosts[i - 1]) != 0)
            fprintf(stream, "%s%s", count++ ? "," : "", hosts[i]);
    snprintf(out->count, sizeof(out->count), "%u", count);
    if (fclose(stream) == 0)
        r = hostlist_parse(&list, out->names, len, "hosts", NULL);
    if (r == 0)
        r = hostlist_text(list, &out->brief, NULL);
out:
    hostlist_free(list);
    free(hosts);
    return r;
}

/* Copy `word` with the values of what it names. */
static char *fill_in(const char *word, const struct hosts *hosts)
{
    const char *const values[][2] = {{"{hosts}", hosts->names},
                                     {"{hostlist}", hosts->brief},
                                     {"{count}", hosts->count}};
    char *text = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&text, &len);
    int i;

    if (!stream)
        return NULL;
    while (*word) {
        for (i = 0; i < 3; i++)
            if (strncmp(word, values[i][0], strlen(values[i][0])) == 0)
                break;
        if (i < 3) {
            fputs(values[i][1], stream);
            word += strlen(values[i][0]);
        } else {
            fputc(*word++, stream);
        }
    }
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

void agents_free_command(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

int agents_command(char ***out, const struct bootstrap *bootstrap)
{
    struct hosts hosts = {0};
    size_t len = 0;
    char **words;
    int r;

    while (bootstrap->launcher_argv[len])
        len++;
    words = calloc(len + 3, sizeof(*words));
    r = words ? list_hosts(bootstrap->subtree, &hosts) : -ENOMEM;
    for (size_t i = 0; i < len && r == 0; i++) {
        words[i] = fill_in(bootstrap->launcher_argv[i], &hosts);
        r = words[i] ? 0 : -ENOMEM;
    }
    if (r == 0) {
        words[len] = strdup(bootstrap->commnode_path);
        words[len + 1] = words[len] ? strdup("--agent") : NULL;
        r = words[len + 1] ? 0 : -ENOMEM;
    }
    free(hosts.names);
    free(hosts.brief);
    if (r == 0)
        *out = words;
    else
        agents_free_command(words);
    return r;
}
