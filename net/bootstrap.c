/* bootstrap.c - the settings that a node receives when it is started. */
#include "net/bootstrap.h"

#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/address.h"
#include "net/installed.h"
#include "net/launcher.h"
#include "net/options.h"
#include "topology/adopter.h"
#include "topology/topology.h"
#include "wire/limits.h"
#include "wire/packet.h"

/* The wire form: magic, length, key, and a packet of this format: session,
 * numbers, strings, argument vectors, subtree. The key is not in the packet,
 * because packing and unpacking copy the packet. */
#define KEY_AT     BOOTSTRAP_START_LEN
#define HEADER_LEN (KEY_AT + BOOTSTRAP_KEY_LEN)
static const unsigned char magic[4] = {'C', 'P', 'B', '4'};
static const char format[] = "%auc %aud %as %as %as %auc";

enum number {
    NUMBER_ROLE,
    NUMBER_RANK,
    NUMBER_DEPTH,
    NUMBER_NEXT_RANK,
    NUMBER_ATTACH,
    NUMBER_LOOPBACK,
    NUMBER_ALLOW_INJECTION,
    NUMBER_PARENT_RANK,
    NUMBER_HAS_BACKEND,
    NUMBER_ALGORITHM,
    NUMBER_MISSING,
    NUMBER_ASSEMBLED,
    NUMBER_AWAITS_PARENT,
    NUMBER_PORT_LOW,
    NUMBER_PORT_COUNT,
    NUMBER_PLACE,
    NUMBER_SURVIVE,
    NUMBER_ALLOW_ADMINISTRATION,
    NUMBER_TIMES, /* the first of TIME_COUNT */
};

#define TIME_COUNT   10
#define NUMBER_COUNT (NUMBER_TIMES + TIME_COUNT)

enum string {
    STRING_PARENT_ADDRESS,
    STRING_HOST,
    STRING_LAUNCHER,
    STRING_NETWORKS,
    STRING_FILTER_PATH,
    STRING_COMMNODE_PATH,
    STRING_ABSENT,
    STRING_COUNT
};

/* The times, in the order of the wire. */
static void times_list(struct cop_times *times, uint32_t *list[TIME_COUNT])
{
    list[0] = &times->heartbeat_ms;
    list[1] = &times->failure_timeout_ms;
    list[2] = &times->connect_timeout_ms;
    list[3] = &times->probe_timeout_ms;
    list[4] = &times->handshake_timeout_ms;
    list[5] = &times->orphan_timeout_ms;
    list[6] = &times->open_timeout_ms;
    list[7] = &times->launch_timeout_ms;
    list[8] = &times->filter_timeout_ms;
    list[9] = &times->start_timeout_ms;
}

static void fill_times(struct cop_times *times)
{
    static const uint32_t defaults[TIME_COUNT] = {
        LIMIT_HEARTBEAT_MS,         LIMIT_FAILURE_TIMEOUT_MS,
        LIMIT_CONNECT_TIMEOUT_MS,   LIMIT_PROBE_TIMEOUT_MS,
        LIMIT_HANDSHAKE_TIMEOUT_MS, LIMIT_ORPHAN_TIMEOUT_MS,
        LIMIT_OPEN_TIMEOUT_MS,      LIMIT_LAUNCH_TIMEOUT_MS,
        LIMIT_FILTER_TIMEOUT_MS,    LIMIT_START_TIMEOUT_MS,
    };
    uint32_t *list[TIME_COUNT];

    times_list(times, list);
    for (size_t i = 0; i < TIME_COUNT; i++)
        if (*list[i] == 0)
            *list[i] = defaults[i];
}

void words_free(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

size_t words_count(char *const *words)
{
    size_t count = 0;

    while (words && words[count])
        count++;
    return count;
}

/* Copy `count` strings to a vector that ends in NULL. Returns 0 or -ENOMEM. */
static int copy_argv(char ***out, const char *const *argv, size_t count)
{
    char **copy = calloc(count + 1, sizeof(*copy));

    if (!copy)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        copy[i] = strdup(argv[i]);
        if (!copy[i]) {
            words_free(copy);
            return -ENOMEM;
        }
    }
    *out = copy;
    return 0;
}

int bootstrap_new(struct bootstrap **out)
{
    struct bootstrap *bootstrap;

    if (sodium_init() < 0)
        return -ENOSYS;
    bootstrap = calloc(1, sizeof(*bootstrap));
    if (!bootstrap)
        return -ENOMEM;
    bootstrap->fd = -1;
    bootstrap->key = sodium_malloc(BOOTSTRAP_KEY_LEN);
    if (!bootstrap->key) {
        free(bootstrap);
        return -ENOMEM;
    }
    *out = bootstrap;
    return 0;
}

void bootstrap_free(struct bootstrap *bootstrap)
{
    if (!bootstrap)
        return;
    if (bootstrap->fd >= 0)
        close(bootstrap->fd);
    free(bootstrap->parent_address);
    free(bootstrap->host);
    free(bootstrap->launcher);
    free(bootstrap->networks);
    free(bootstrap->filter_path);
    free(bootstrap->commnode_path);
    free(bootstrap->absent);
    free(bootstrap->label);
    words_free(bootstrap->launcher_argv);
    words_free(bootstrap->backend_argv);
    words_free(bootstrap->spares);
    topology_free(bootstrap->subtree);
    sodium_free(bootstrap->key); /* which wipes it */
    free(bootstrap);
}

/* The strings, in the order of the wire. */
static void strings_list(struct bootstrap *bootstrap, char **list[STRING_COUNT])
{
    list[STRING_PARENT_ADDRESS] = &bootstrap->parent_address;
    list[STRING_HOST] = &bootstrap->host;
    list[STRING_LAUNCHER] = &bootstrap->launcher;
    list[STRING_NETWORKS] = &bootstrap->networks;
    list[STRING_FILTER_PATH] = &bootstrap->filter_path;
    list[STRING_COMMNODE_PATH] = &bootstrap->commnode_path;
    list[STRING_ABSENT] = &bootstrap->absent;
}

/* Make an empty bootstrap with these strings, and with vectors if given. */
static int bootstrap_make(struct bootstrap **out,
                          const char *const strings[STRING_COUNT],
                          const char *const *launcher_argv,
                          size_t launcher_argc,
                          const char *const *backend_argv,
                          size_t backend_argc)
{
    struct bootstrap *bootstrap;
    char **list[STRING_COUNT];
    int r;

    r = bootstrap_new(&bootstrap);
    if (r < 0)
        return r;
    strings_list(bootstrap, list);
    for (size_t i = 0; i < STRING_COUNT; i++) {
        *list[i] = strdup(strings[i]);
        if (!*list[i]) {
            r = -ENOMEM;
            goto out;
        }
    }
    r = copy_argv(&bootstrap->launcher_argv, launcher_argv, launcher_argc);
    if (r < 0)
        goto out;
    if (backend_argv)
        r = copy_argv(&bootstrap->backend_argv, backend_argv, backend_argc);
    if (r < 0)
        goto out;
    *out = bootstrap;
    bootstrap = NULL;
out:
    bootstrap_free(bootstrap);
    return r;
}

/* ---- the front-end's ----------------------------------------------------- */

/* Two heartbeats must fit: one late heartbeat must not end a link. */
static int check_times(struct cop_times times, struct cop_error *error)
{
    fill_times(&times);
    if (2 * (uint64_t)times.heartbeat_ms <= times.failure_timeout_ms)
        return 0;
    return cop_error_set(error, -EINVAL,
                         "times: heartbeat_ms is %u and failure_timeout_ms is "
                         "%u, so that idle links would be taken for dead: make "
                         "failure_timeout_ms at least twice heartbeat_ms",
                         times.heartbeat_ms, times.failure_timeout_ms);
}

/* The directories that were asked for, or $COPPICE_FILTER_PATH, and the
 * installed one. */
static char *whole_filter_path(const char *path)
{
    char *installed = installed_path(FILTERDIR), *text;

    if (!path)
        path = getenv("COPPICE_FILTER_PATH");
    if (!path || !*path || !installed)
        return installed;
    if (asprintf(&text, "%s:%s", path, installed) < 0)
        text = NULL;
    free(installed);
    return text;
}

static char *commnode_path(const struct cop_launch *launch)
{
    const char *path = launch->commnode_path;

    if (!path)
        path = getenv("COPPICE_COMMNODE");
    return path && *path ? strdup(path)
                         : installed_path(BINDIR "/coppice-commnode");
}

/* Whether all nodes are on this machine, and all hosts for others. */
static bool all_local(const struct launcher *launcher,
                      const struct topology *topology,
                      char *const *spares)
{
    if (launcher->is_local)
        return true;
    for (uint32_t i = 0; i < topology_count(topology); i++)
        if (!address_is_local(topology_host(topology, i)))
            return false;
    for (size_t i = 0; i < words_count(spares); i++)
        if (!address_is_local(spares[i]))
            return false;
    return true;
}

/* Take the hosts for replacements, and see whether all hosts are local. */
static int take_spares(struct bootstrap *bootstrap,
                       const struct cop_launch *launch,
                       const struct topology *topology,
                       struct cop_error *error)
{
    const struct launcher *launcher = options_launcher(launch, NULL);
    int r = 0;

    bootstrap->replace = launch->replace;
    bootstrap->keep_shape = launch->keep_shape;
    if (launch->spares)
        r = options_spares(&bootstrap->spares, launch, error);
    bootstrap->loopback = all_local(launcher, topology, bootstrap->spares) &&
                          !*bootstrap->networks;
    return r;
}

int bootstrap_launch(struct bootstrap **out,
                     const struct cop_launch *launch,
                     struct topology *topology,
                     struct cop_error *error)
{
    const struct launcher *launcher = options_launcher(launch, NULL);
    char *const *launcher_argv;
    struct bootstrap *bootstrap;
    const char *strings[STRING_COUNT];
    char *filter_path, *commnode;
    int r;

    r = options_check(launch, topology, error);
    if (r == 0)
        r = check_times(launch->times, error);
    if (r < 0)
        return r;
    filter_path = whole_filter_path(launch->filter_path);
    commnode = commnode_path(launch);
    if (!filter_path || !commnode) {
        free(filter_path);
        free(commnode);
        return cop_error_set(error, -ENOMEM, "out of memory");
    }
    launcher_argv =
        launcher->is_assembling ? launch->start_argv : launch->ssh_argv;
    if (!launcher_argv)
        launcher_argv = (char *const *)(uintptr_t)launcher->argv;
    strings[STRING_PARENT_ADDRESS] = "";
    strings[STRING_HOST] = topology_host(topology, 0);
    strings[STRING_LAUNCHER] = launcher->name;
    strings[STRING_NETWORKS] = launch->networks ? launch->networks : "";
    strings[STRING_FILTER_PATH] = filter_path;
    strings[STRING_COMMNODE_PATH] = commnode;
    strings[STRING_ABSENT] = "";
    r = bootstrap_make(&bootstrap, strings, (const char *const *)launcher_argv,
                       words_count(launcher_argv),
                       (const char *const *)launch->backend_argv,
                       words_count(launch->backend_argv));
    free(filter_path);
    free(commnode);
    if (r < 0)
        return cop_error_set(error, r, "cannot keep the session's key: %s",
                             strerror(-r));
    randombytes_buf(bootstrap->key, BOOTSTRAP_KEY_LEN);
    randombytes_buf(bootstrap->session, sizeof(bootstrap->session));
    bootstrap->role = NODE_FRONTEND;
    bootstrap->next_rank = topology_count(topology);
    bootstrap->attach = !launch->backend_argv;
    bootstrap->allow_injection = launch->allow_injection;
    bootstrap->allow_administration = launch->allow_administration;
    bootstrap->views = launch->views;
    bootstrap->missing = launch->missing;
    bootstrap->assembled = launcher->is_assembling;
    bootstrap->survive_ms = launch->survive_ms;
    options_ports(&bootstrap->ports, launch);
    bootstrap->parent_rank = RANK_NONE;
    bootstrap->times = launch->times;
    if (launch->reconfiguration)
        bootstrap->algorithm = (uint32_t)adopter_find(launch->reconfiguration);
    fill_times(&bootstrap->times);
    r = take_spares(bootstrap, launch, topology, error);
    if (r < 0) {
        bootstrap_free(bootstrap);
        return r;
    }
    bootstrap->subtree = topology;
    *out = bootstrap;
    return 0;
}

int bootstrap_child(struct bootstrap *out,
                    const struct bootstrap *parent,
                    uint32_t rank,
                    const char *parent_address)
{
    struct topology *tree = parent->subtree;
    uint32_t index = tree ? topology_index(tree, rank) : TOPOLOGY_NONE;
    struct bootstrap child = *parent;
    int r = 0;

    if (index == TOPOLOGY_NONE || index == 0)
        return -EINVAL;
    child.parent_address = (char *)(uintptr_t)parent_address;
    child.host = (char *)(uintptr_t)topology_host(tree, index);
    child.rank = rank;
    child.depth = parent->depth + 1;
    child.next_rank = 0;
    child.parent_rank = parent->rank;
    child.awaits_parent = false;
    child.fd = -1;
    child.subtree = NULL;
    child.role = topology_is_leaf(tree, index) && !parent->attach
                     ? NODE_BACKEND
                     : NODE_COMMNODE;
    if (child.role == NODE_COMMNODE)
        r = topology_subtree(&child.subtree, tree, rank);
    if (r == 0)
        *out = child;
    return r;
}

void bootstrap_replacement(struct bootstrap *out,
                           const struct bootstrap *frontend,
                           uint32_t place,
                           const char *host,
                           const char *address)
{
    *out = *frontend;
    out->role = NODE_COMMNODE;
    out->rank = RANK_NONE;
    out->depth = 1;
    out->next_rank = 0;
    out->place = place;
    out->attach = true;
    out->parent_rank = 0;
    out->parent_address = (char *)(uintptr_t)address;
    out->host = (char *)(uintptr_t)host;
    out->fd = -1;
    out->subtree = NULL;
}

/* ---- the wire ------------------------------------------------------------ */

static int bootstrap_pack(const struct bootstrap *bootstrap,
                          const char *tree,
                          size_t tree_len,
                          struct payload **out)
{
    struct bootstrap *source = (struct bootstrap *)(uintptr_t)bootstrap;
    uint32_t numbers[NUMBER_COUNT] = {
        [NUMBER_ROLE] = (uint32_t)bootstrap->role,
        [NUMBER_RANK] = bootstrap->rank,
        [NUMBER_DEPTH] = bootstrap->depth,
        [NUMBER_NEXT_RANK] = bootstrap->next_rank,
        [NUMBER_ATTACH] = bootstrap->attach,
        [NUMBER_LOOPBACK] = bootstrap->loopback,
        [NUMBER_ALLOW_INJECTION] = bootstrap->allow_injection,
        [NUMBER_PARENT_RANK] = bootstrap->parent_rank,
        [NUMBER_HAS_BACKEND] = bootstrap->backend_argv != NULL,
        [NUMBER_ALGORITHM] = bootstrap->algorithm,
        [NUMBER_MISSING] = (uint32_t)bootstrap->missing,
        [NUMBER_ASSEMBLED] = bootstrap->assembled,
        [NUMBER_AWAITS_PARENT] = bootstrap->awaits_parent,
        [NUMBER_PORT_LOW] = bootstrap->ports.low,
        [NUMBER_PORT_COUNT] = bootstrap->ports.count,
        [NUMBER_PLACE] = bootstrap->place,
        [NUMBER_SURVIVE] = bootstrap->survive_ms,
        [NUMBER_ALLOW_ADMINISTRATION] = bootstrap->allow_administration,
    };
    const char *strings[STRING_COUNT];
    const char *none[] = {NULL};
    uint32_t *times[TIME_COUNT];
    char **list[STRING_COUNT];

    times_list(&source->times, times);
    for (size_t i = 0; i < TIME_COUNT; i++)
        numbers[NUMBER_TIMES + i] = *times[i];
    strings_list(source, list);
    for (size_t i = 0; i < STRING_COUNT; i++)
        strings[i] = *list[i];
    return packet_pack(
        out, format, bootstrap->session, (uint32_t)sizeof(bootstrap->session),
        numbers, (uint32_t)NUMBER_COUNT, strings, (uint32_t)STRING_COUNT,
        bootstrap->launcher_argv,
        (uint32_t)words_count(bootstrap->launcher_argv),
        bootstrap->backend_argv ? (const void *)bootstrap->backend_argv
                                : (const void *)none,
        (uint32_t)words_count(bootstrap->backend_argv), tree,
        (uint32_t)tree_len);
}

int bootstrap_encode(const struct bootstrap *bootstrap,
                     unsigned char **out,
                     size_t *len)
{
    struct payload *payload = NULL;
    unsigned char *bytes;
    char *tree = NULL;
    size_t tree_len = 0;
    uint32_t word;
    int r = 0;

    if (bootstrap->subtree)
        r = topology_encode(bootstrap->subtree, &tree, &tree_len);
    if (r < 0)
        return r;
    r = bootstrap_pack(bootstrap, tree ? tree : "", tree_len, &payload);
    free(tree);
    if (r < 0)
        return r;
    bytes = malloc(HEADER_LEN + payload->len);
    if (bytes) {
        word = htobe32(payload->len);
        memcpy(bytes, magic, sizeof(magic));
        memcpy(bytes + sizeof(magic), &word, sizeof(word));
        memcpy(bytes + KEY_AT, bootstrap->key, BOOTSTRAP_KEY_LEN);
        memcpy(bytes + HEADER_LEN, payload->bytes, payload->len);
        *out = bytes;
        *len = HEADER_LEN + payload->len;
    }
    payload_free(payload);
    return bytes ? 0 : -ENOMEM;
}

/* The fields that cop_packet_unpack() fills in. */
struct fields {
    unsigned char *session;
    uint32_t *numbers;
    char **strings;
    char **launcher_argv;
    char **backend_argv;
    unsigned char *tree;
    uint32_t session_len;
    uint32_t number_count;
    uint32_t string_count;
    uint32_t launcher_argc;
    uint32_t backend_argc;
    uint32_t tree_len;
};

/* Whether the fields name a launcher, and a command if it needs one. */
static bool has_launcher(const struct fields *fields)
{
    const struct launcher *launcher =
        launcher_find(fields->strings[STRING_LAUNCHER], NULL);

    return launcher && (!launcher->argv || fields->launcher_argc > 0);
}

static bool are_ports(uint32_t low, uint32_t count)
{
    return count == 0 ||
           (low > 0 && low <= UINT16_MAX && count <= UINT16_MAX - low + 1);
}

static int unpack(const struct cop_packet *packet, struct fields *fields)
{
    int r;

    r = cop_packet_unpack(
        packet, format, &fields->session, &fields->session_len,
        &fields->numbers, &fields->number_count, &fields->strings,
        &fields->string_count, &fields->launcher_argv, &fields->launcher_argc,
        &fields->backend_argv, &fields->backend_argc, &fields->tree,
        &fields->tree_len);
    if (r < 0)
        return r == -ENOMEM ? r : -EBADMSG;
    if (fields->session_len != BOOTSTRAP_SESSION_LEN ||
        fields->number_count != NUMBER_COUNT ||
        fields->string_count != STRING_COUNT || !has_launcher(fields) ||
        fields->numbers[NUMBER_ROLE] > NODE_BACKEND ||
        !adopter_name(fields->numbers[NUMBER_ALGORITHM]) ||
        !are_ports(fields->numbers[NUMBER_PORT_LOW],
                   fields->numbers[NUMBER_PORT_COUNT]) ||
        strlen(fields->strings[STRING_HOST]) > LIMIT_HOST_NAME ||
        strlen(fields->strings[STRING_PARENT_ADDRESS]) > LIMIT_ADDRESS ||
        address_networks_check(fields->strings[STRING_NETWORKS], NULL) < 0)
        return -EBADMSG;
    return 0;
}

static int from_fields(struct bootstrap **out, const struct fields *fields)
{
    const uint32_t *numbers = fields->numbers;
    struct bootstrap *bootstrap;
    uint32_t *times[TIME_COUNT];
    int r;

    r = bootstrap_make(
        &bootstrap, (const char *const *)fields->strings,
        (const char *const *)fields->launcher_argv, fields->launcher_argc,
        numbers[NUMBER_HAS_BACKEND] ? (const char *const *)fields->backend_argv
                                    : NULL,
        fields->backend_argc);
    if (r < 0)
        return r;
    memcpy(bootstrap->session, fields->session, BOOTSTRAP_SESSION_LEN);
    bootstrap->role = (enum node_role)numbers[NUMBER_ROLE];
    bootstrap->rank = numbers[NUMBER_RANK];
    bootstrap->depth = numbers[NUMBER_DEPTH];
    bootstrap->next_rank = numbers[NUMBER_NEXT_RANK];
    bootstrap->attach = numbers[NUMBER_ATTACH] != 0;
    bootstrap->missing = numbers[NUMBER_MISSING] == COP_MISSING_SKIP
                             ? COP_MISSING_SKIP
                             : COP_MISSING_FAIL;
    bootstrap->loopback = numbers[NUMBER_LOOPBACK] != 0;
    bootstrap->assembled = numbers[NUMBER_ASSEMBLED] != 0;
    bootstrap->awaits_parent = numbers[NUMBER_AWAITS_PARENT] != 0;
    bootstrap->ports.low = numbers[NUMBER_PORT_LOW];
    bootstrap->ports.count = numbers[NUMBER_PORT_COUNT];
    bootstrap->place = numbers[NUMBER_PLACE];
    bootstrap->survive_ms = numbers[NUMBER_SURVIVE];
    bootstrap->allow_injection = numbers[NUMBER_ALLOW_INJECTION] != 0;
    bootstrap->allow_administration = numbers[NUMBER_ALLOW_ADMINISTRATION] != 0;
    bootstrap->parent_rank = numbers[NUMBER_PARENT_RANK];
    bootstrap->algorithm = numbers[NUMBER_ALGORITHM];
    times_list(&bootstrap->times, times);
    for (size_t i = 0; i < TIME_COUNT; i++)
        *times[i] = numbers[NUMBER_TIMES + i];
    fill_times(&bootstrap->times);
    if (fields->tree_len > 0)
        r = topology_decode(&bootstrap->subtree, (const char *)fields->tree,
                            fields->tree_len);
    if (r < 0 || (bootstrap->subtree &&
                  topology_rank(bootstrap->subtree, 0) != bootstrap->rank)) {
        bootstrap_free(bootstrap);
        return r == -ENOMEM ? r : -EBADMSG;
    }
    *out = bootstrap;
    return 0;
}

ssize_t bootstrap_announced_len(const unsigned char *bytes)
{
    uint32_t len;

    memcpy(&len, bytes + sizeof(magic), sizeof(len));
    len = be32toh(len);
    if (memcmp(bytes, magic, sizeof(magic)) != 0 || len == 0 ||
        len > BOOTSTRAP_LEN_MAX)
        return -EBADMSG;
    return HEADER_LEN + (ssize_t)len;
}

int bootstrap_decode(struct bootstrap **out,
                     const unsigned char *bytes,
                     size_t len)
{
    struct cop_packet *packet = NULL;
    struct payload *payload = NULL;
    struct fields fields;
    int r;

    if (len < HEADER_LEN || bootstrap_announced_len(bytes) != (ssize_t)len)
        return -EBADMSG;
    r = payload_new(&payload, len - HEADER_LEN);
    if (r < 0)
        return r;
    memcpy(payload->bytes, bytes + HEADER_LEN, len - HEADER_LEN);
    r = packet_open(&packet, payload);
    if (r == 0)
        r = unpack(packet, &fields);
    if (r == 0)
        r = from_fields(out, &fields);
    if (r == 0)
        memcpy((*out)->key, bytes + KEY_AT, BOOTSTRAP_KEY_LEN);
    cop_packet_free(packet);
    payload_free(payload);
    return r;
}
