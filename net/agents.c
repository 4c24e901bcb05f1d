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

const char *agents_absence(const struct bootstrap *bootstrap, const char *host)
{
    const char *why = strchr(bootstrap->absent, ' ');
    size_t len = strlen(host);

    for (const char *name = bootstrap->absent; why && name < why;
         name += strcspn(name, ", ") + 1)
        if (strncmp(name, host, len) == 0 && strchr(", ", name[len]))
            return why + 1;
    return NULL;
}

uint32_t agents_parent(const struct bootstrap *bootstrap, uint32_t index)
{
    const struct topology *tree = bootstrap->subtree;

    do
        index = topology_parent(tree, index);
    while (index != 0 && agents_absence(bootstrap, topology_host(tree, index)));
    return index;
}

/* A node on its parent's host is started by the parent. */
static bool needs_agent(const struct bootstrap *bootstrap, uint32_t index)
{
    const struct topology *tree = bootstrap->subtree;
    const char *host = topology_host(tree, index);

    return !agents_absence(bootstrap, host) &&
           strcmp(host, topology_host(tree, agents_parent(bootstrap, index))) !=
               0;
}

static bool is_same_name(const char *a, const char *b)
{
    size_t a_len = strcspn(a, ".");
    size_t b_len = strcspn(b, ".");

    if (a[a_len] && b[b_len])
        return strcasecmp(a, b) == 0;
    return a_len == b_len && strncasecmp(a, b, a_len) == 0;
}

void agents_own_names(const char *names[2], char room[LIMIT_HOST_NAME + 1])
{
    names[0] = getenv("SLURMD_NODENAME");
    names[1] = gethostname(room, LIMIT_HOST_NAME + 1) == 0 ? room : NULL;
    room[LIMIT_HOST_NAME] = '\0';
}

bool agents_is_own(const char *host)
{
    char room[LIMIT_HOST_NAME + 1];
    const char *names[2];

    agents_own_names(names, room);
    return (names[0] && is_same_name(host, names[0])) ||
           (names[1] && is_same_name(host, names[1]));
}

uint32_t agents_next(const struct bootstrap *bootstrap,
                     uint32_t index,
                     bool (*is_own)(const char *host))
{
    const struct topology *tree = bootstrap->subtree;

    for (index++; index < topology_count(tree); index++)
        if (needs_agent(bootstrap, index) && is_own(topology_host(tree, index)))
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

/* ---- which hosts ---- */

/* Compare host names without their domains, ignoring case. */
static int compare_short(const void *a, const void *b)
{
    const char *one = *(const char *const *)a;
    const char *other = *(const char *const *)b;
    size_t one_len = strcspn(one, ".");
    size_t other_len = strcspn(other, ".");
    int r = strncasecmp(one, other, one_len < other_len ? one_len : other_len);

    return r ? r : (one_len > other_len) - (one_len < other_len);
}

static int compare_hosts(const void *a, const void *b)
{
    int r = compare_short(a, b);

    return r ? r : strcmp(*(const char *const *)a, *(const char *const *)b);
}

int agents_roll(struct agents_roll *out, const struct bootstrap *bootstrap)
{
    uint32_t count = topology_count(bootstrap->subtree);
    struct agents_roll roll = {
        .hosts = calloc(count, sizeof(*roll.hosts)),
        .here = calloc(count, sizeof(*roll.here)),
    };
    size_t found = 0;

    if (!roll.hosts || !roll.here) {
        agents_roll_free(&roll);
        return -ENOMEM;
    }
    for (uint32_t i = 1; i < count; i++)
        if (needs_agent(bootstrap, i))
            roll.hosts[found++] = topology_host(bootstrap->subtree, i);
    qsort(roll.hosts, found, sizeof(*roll.hosts), compare_hosts);
    for (size_t i = 0; i < found; i++)
        if (i == 0 || strcmp(roll.hosts[i], roll.hosts[i - 1]) != 0)
            roll.hosts[roll.count++] = roll.hosts[i];
    *out = roll;
    return 0;
}

void agents_roll_free(struct agents_roll *roll)
{
    free(roll->hosts);
    free(roll->here);
    *roll = (struct agents_roll){0};
}

void agents_answer(struct agents_roll *roll, const char *name)
{
    const char **found = bsearch(&name, roll->hosts, roll->count,
                                 sizeof(*roll->hosts), compare_short);
    size_t i = found ? (size_t)(found - roll->hosts) : roll->count;

    while (i > 0 && i < roll->count &&
           compare_short(&name, &roll->hosts[i - 1]) == 0)
        i--;
    for (; i < roll->count && compare_short(&name, &roll->hosts[i]) == 0; i++)
        if (!roll->here[i] && is_same_name(name, roll->hosts[i])) {
            roll->here[i] = true;
            roll->here_count++;
        }
}

char *agents_absent(const struct agents_roll *roll,
                    const struct bootstrap *bootstrap,
                    const char *why)
{
    size_t before = strcspn(bootstrap->absent, " ");
    const char *comma = before > 0 ? "," : "";
    char *text = NULL;
    size_t len;
    FILE *stream = open_memstream(&text, &len);

    if (!stream)
        return NULL;
    fwrite(bootstrap->absent, 1, before, stream);
    for (size_t i = 0; i < roll->count; i++)
        if (!roll->here[i]) {
            fprintf(stream, "%s%s", comma, roll->hosts[i]);
            comma = ",";
        }
    fprintf(stream, " %s", why);
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- the command ---- */

/* The values that the words of a command may name. */
struct hosts {
    char *names; /* with commas */
    char *brief; /* with brackets */
    char count[16];
};

static int list_hosts(const struct bootstrap *bootstrap, struct hosts *out)
{
    struct hostlist *list = NULL;
    struct agents_roll roll;
    size_t len = 0;
    FILE *stream;
    int r;

    r = agents_roll(&roll, bootstrap);
    if (r < 0)
        return r;
    stream = open_memstream(&out->names, &len);
    for (size_t i = 0; stream && i < roll.count; i++)
        fprintf(stream, "%s%s", i > 0 ? "," : "", roll.hosts[i]);
    snprintf(out->count, sizeof(out->count), "%zu", roll.count);
    agents_roll_free(&roll);
    if (!stream || fclose(stream) != 0)
        return -ENOMEM;
    r = hostlist_parse(&list, out->names, len, "hosts", NULL);
    if (r == 0)
        r = hostlist_text(list, &out->brief, NULL);
    hostlist_free(list);
    return r;
}

/* Copy `word`, replacing each placeholder with its value. */
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

int agents_command(char ***out, const struct bootstrap *bootstrap)
{
    size_t len = words_count(bootstrap->launcher_argv);
    struct hosts hosts = {0};
    char **words;
    int r;

    words = calloc(len + 3, sizeof(*words));
    r = words ? list_hosts(bootstrap, &hosts) : -ENOMEM;
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
        words_free(words);
    return r;
}
