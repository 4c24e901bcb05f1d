/* parse.c - topology files, in MRNet's grammar:
 *
 *   file      = statement { statement }
 *   statement = node [ "=>" node { node } ] ";"
 *   node      = HOST ":" INSTANCE
 *
 * White space is free, and a comment goes from '#' to the end of its line. */
#include "topology/topology.h"

#include "topology/array.h"
#include "topology/hostname.h"
#include "topology/nodes.h"
#include "topology/source.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Without memory for the hash table set `lost` instead of calling exit(). */
#define HASH_NONFATAL_OOM           1
#define uthash_nonfatal_oom(parsed) ((parsed)->lost = true)
#include <uthash.h>

/* Bytes of a node's name that an error shows. */
#define SHOWN 80

/* A node of the file. */
struct parsed {
    UT_hash_handle hh;
    struct parsed *parent;
    size_t at;        /* where it was first named */
    size_t linked_at; /* where it became a child */
    uint32_t number;  /* in the order of first mention */
    uint32_t child_count;
    uint32_t instance;
    bool lost;
    uint32_t mark; /* of find_cycle() */
    size_t key_len;
    char key[]; /* host, zero byte, the instance's bytes */
};

struct parser {
    struct source source;
    size_t at;       /* the next byte */
    size_t node_end; /* after the last node */
    struct parsed *by_key;
    struct edge *edges;
    uint32_t edge_count;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Skip white space and comments. Returns the next byte, or '\0' at the end. */
static char next_char(struct parser *parser)
{
    const struct source *source = &parser->source;
    bool comment = false;

    for (; parser->at < source->len; parser->at++) {
        char c = source->text[parser->at];

        if (c == '\n')
            comment = false;
        else if (c == '#')
            comment = true;
        if (comment || c == ' ' || (c >= '\t' && c <= '\r'))
            continue;
        return c;
    }
    return '\0';
}

static int find_or_add(struct parser *parser,
                       struct parsed **out,
                       size_t host_at,
                       size_t host_len,
                       uint32_t instance)
{
    char key[HOSTNAME_MAX + 1 + sizeof instance];
    size_t key_len = host_len + 1 + sizeof instance;
    struct parsed *found = NULL;

    memcpy(key, parser->source.text + host_at, host_len);
    key[host_len] = '\0';
    memcpy(key + host_len + 1, &instance, sizeof instance);
    HASH_FIND(hh, parser->by_key, key, key_len, found);
    if (found) {
        *out = found;
        return 0;
    }
    if (HASH_COUNT(parser->by_key) == TOPOLOGY_NODES_MAX)
        return source_fail(&parser->source, host_at, -E2BIG,
                           "more than %u nodes; make the tree smaller",
                           TOPOLOGY_NODES_MAX);
    found = calloc(1, sizeof *found + key_len);
    if (!found)
        return -ENOMEM;
    memcpy(found->key, key, key_len);
    found->key_len = key_len;
    found->at = host_at;
    found->instance = instance;
    found->number = HASH_COUNT(parser->by_key);
    HASH_ADD_KEYPTR(hh, parser->by_key, found->key, key_len, found);
    if (found->lost) {
        free(found);
        return -ENOMEM;
    }
    *out = found;
    return 0;
}

static int read_instance(struct parser *parser, uint32_t *out)
{
    const struct source *source = &parser->source;
    size_t start = parser->at;
    uint64_t value = 0;

    for (; parser->at < source->len; parser->at++) {
        char c = source->text[parser->at];

        if (!is_digit(c))
            break;
        value = value * 10 + (uint64_t)(c - '0');
        if (value > TOPOLOGY_INSTANCE_MAX)
            return source_fail(source, start, -EINVAL,
                               "the instance number is above %u; use a "
                               "smaller one",
                               TOPOLOGY_INSTANCE_MAX);
    }
    if (parser->at < source->len && hostname_has(source->text[parser->at]))
        return source_fail(source, parser->at, -EINVAL,
                           "a letter in an instance number; separate nodes "
                           "by white space");
    *out = (uint32_t)value;
    return 0;
}

static int read_host(struct parser *parser, size_t *len)
{
    const struct source *source = &parser->source;
    size_t start = parser->at;
    char shown[16];

    while (parser->at < source->len && hostname_has(source->text[parser->at]))
        parser->at++;
    *len = parser->at - start;
    if (*len == 0)
        return source_fail(source, start, -EINVAL,
                           "%s where a node HOST:INSTANCE is expected; host "
                           "names have letters, digits, '.', '-' and '_'",
                           source_show(source, start, shown));
    if (*len > HOSTNAME_MAX)
        return source_fail(source, start, -EINVAL,
                           "the host name is longer than %d bytes; shorten it",
                           HOSTNAME_MAX);
    if (source->text[start] == '-')
        return source_fail(source, start, -EINVAL,
                           "a host name cannot begin with '-'; rename it");
    return 0;
}

static int read_node(struct parser *parser, struct parsed **out, size_t *at)
{
    const struct source *source = &parser->source;
    size_t start = parser->at;
    uint32_t instance = 0;
    size_t len = 0;
    char shown[16];
    int r;

    r = read_host(parser, &len);
    if (r < 0)
        return r;
    if (next_char(parser) != ':')
        return source_fail(source, parser->at, -EINVAL,
                           "%s where ':' is expected; write %.*s:INSTANCE, "
                           "such as %.*s:0",
                           source_show(source, parser->at, shown),
                           len < SHOWN ? (int)len : SHOWN, source->text + start,
                           len < SHOWN ? (int)len : SHOWN,
                           source->text + start);
    parser->at++;
    if (!is_digit(next_char(parser)))
        return source_fail(source, parser->at, -EINVAL,
                           "%s where an instance number is expected; write "
                           "%.*s:0 for the first node of a host",
                           source_show(source, parser->at, shown),
                           len < SHOWN ? (int)len : SHOWN,
                           source->text + start);
    r = read_instance(parser, &instance);
    if (r < 0)
        return r;
    r = find_or_add(parser, out, start, len, instance);
    if (r < 0)
        return r;
    *at = start;
    parser->node_end = parser->at;
    return 0;
}

/* Check whether `child`, named at `at`, can be a child of `parent`. */
static int check_link(const struct parser *parser,
                      const struct parsed *parent,
                      const struct parsed *child,
                      size_t at)
{
    const struct source *source = &parser->source;

    if (child == parent)
        return source_fail(source, at, -EINVAL,
                           "%.*s:%u is its own child; a tree has no cycles",
                           SHOWN, child->key, child->instance);
    if (child->parent == parent)
        return source_fail(source, at, -EINVAL,
                           "%.*s:%u is a child of %.*s:%u already (line %zu); "
                           "remove one, or give another instance",
                           SHOWN, child->key, child->instance, SHOWN,
                           parent->key, parent->instance,
                           source_line(source, child->linked_at));
    if (child->parent)
        return source_fail(source, at, -EINVAL,
                           "%.*s:%u has the parent %.*s:%u already (line "
                           "%zu); remove one, or give another instance",
                           SHOWN, child->key, child->instance, SHOWN,
                           child->parent->key, child->parent->instance,
                           source_line(source, child->linked_at));
    if (parent->child_count == TOPOLOGY_CHILDREN_MAX)
        return source_fail(source, at, -E2BIG,
                           "more than %u children of %.*s:%u; put nodes "
                           "between",
                           TOPOLOGY_CHILDREN_MAX, SHOWN, parent->key,
                           parent->instance);
    return 0;
}

static int link_child(struct parser *parser,
                      struct parsed *parent,
                      struct parsed *child,
                      size_t at)
{
    int r = check_link(parser, parent, child, at);

    if (r < 0)
        return r;
    if (array_grow(&parser->edges, parser->edge_count, sizeof *parser->edges) <
        0)
        return -ENOMEM;
    child->parent = parent;
    child->linked_at = at;
    parent->child_count++;
    parser->edges[parser->edge_count++] =
        (struct edge){parent->number, child->number};
    return 0;
}

/* Skip "=>" if it is next. Returns whether it was. */
static bool take_arrow(struct parser *parser)
{
    const struct source *source = &parser->source;

    if (next_char(parser) != '=' || parser->at + 1 >= source->len ||
        source->text[parser->at + 1] != '>')
        return false;
    parser->at += 2;
    return true;
}

static int read_children(struct parser *parser, struct parsed *parent)
{
    const struct source *source = &parser->source;
    struct parsed *child = NULL;
    size_t at = 0;
    size_t before;
    int r;

    if (next_char(parser) == ';')
        return source_fail(source, parser->at, -EINVAL,
                           "no child between \"=>\" and ';'; name one, or "
                           "remove the \"=>\"");
    do {
        r = read_node(parser, &child, &at);
        if (r < 0)
            return r;
        before = parser->at;
        if (take_arrow(parser))
            return source_fail(source, at, -EINVAL,
                               "missing ';' before %.*s:%u; end each "
                               "statement with one",
                               SHOWN, child->key, child->instance);
        parser->at = before;
        r = link_child(parser, parent, child, at);
        if (r < 0)
            return r;
    } while (hostname_has(next_char(parser)));
    return 0;
}

static int read_statement(struct parser *parser)
{
    const struct source *source = &parser->source;
    struct parsed *parent = NULL;
    bool has_children;
    char shown[16];
    size_t at = 0;
    int r;

    r = read_node(parser, &parent, &at);
    if (r < 0)
        return r;
    has_children = take_arrow(parser);
    if (has_children) {
        next_char(parser);
        r = read_children(parser, parent);
        if (r < 0)
            return r;
    }
    if (next_char(parser) == ';') {
        parser->at++;
        return 0;
    }
    /* at the end of the file, report the place after the last node */
    return source_fail(
        source, parser->at < source->len ? parser->at : parser->node_end,
        -EINVAL,
        has_children ? "%s where ';' or a node HOST:INSTANCE is "
                       "expected; end each statement with ';'"
                     : "%s where \"=>\" or ';' is expected; end each "
                       "statement with ';'",
        source_show(source, parser->at, shown));
}

/* The first named node of a cycle. There is one, as no node is a root. Each
 * walk upwards leaves its mark, and stops at any mark. If that is its own, it
 * has found a cycle. */
static const struct parsed *find_cycle(const struct parser *parser)
{
    struct parsed *node;
    struct parsed *walk;
    struct parsed *first;

    for (node = parser->by_key; node; node = node->hh.next) {
        for (walk = node; walk && walk->mark == 0; walk = walk->parent)
            walk->mark = node->number + 1;
        if (walk && walk->mark == node->number + 1)
            break;
    }
    assert(node);
    first = walk;
    for (node = walk->parent; node != walk; node = node->parent) {
        if (node->number < first->number)
            first = node;
    }
    return first;
}

/* The one root, or an error: none, or several. */
static int find_root(const struct parser *parser, const struct parsed **out)
{
    const struct source *source = &parser->source;
    const struct parsed *root = NULL;
    const struct parsed *node;

    for (node = parser->by_key; node; node = node->hh.next) {
        if (node->parent)
            continue;
        if (root)
            return source_fail(source, node->at, -EINVAL,
                               "a second root: %.*s:%u has no parent, nor "
                               "has %.*s:%u (line %zu); make one a child of "
                               "another node",
                               SHOWN, node->key, node->instance, SHOWN,
                               root->key, root->instance,
                               source_line(source, root->at));
        root = node;
    }
    *out = root;
    return 0;
}

static int fail_cycle(const struct parser *parser)
{
    const struct parsed *node = find_cycle(parser);

    return source_fail(&parser->source, node->linked_at, -EINVAL,
                       "%.*s:%u is a descendant of itself; a tree has no "
                       "cycles: take it out of one list of children",
                       SHOWN, node->key, node->instance);
}

static int parse_build(struct topology **out, const struct parser *parser)
{
    uint32_t count = HASH_COUNT(parser->by_key);
    const struct parsed *root = NULL;
    const struct parsed *node;
    struct spot *spots;
    int r;

    r = find_root(parser, &root);
    if (r < 0)
        return r;
    if (!root)
        return fail_cycle(parser);
    spots = calloc(count, sizeof *spots);
    if (!spots)
        return -ENOMEM;
    for (node = parser->by_key; node; node = node->hh.next)
        spots[node->number] = (struct spot){node->key, node->instance};
    r = nodes_link(out, spots, count, root->number, parser->edges);
    free(spots);
    return r == -ELOOP ? fail_cycle(parser) : r;
}

static void parser_fini(struct parser *parser)
{
    struct parsed *node;
    struct parsed *next;

    HASH_ITER (hh, parser->by_key, node, next) {
        HASH_DEL(parser->by_key, node);
        free(node);
    }
    free(parser->edges);
}

int topology_parse(struct topology **out,
                   const char *text,
                   size_t len,
                   const char *name,
                   struct cop_error *error)
{
    struct parser parser = {.source = {name, text, len, error}};
    int r = 0;

    if (len > TOPOLOGY_FILE_MAX)
        return source_fail(&parser.source, 0, -E2BIG,
                           "above %zu bytes; is it the right file?",
                           TOPOLOGY_FILE_MAX);
    while (next_char(&parser), parser.at < len && r == 0)
        r = read_statement(&parser);
    if (r == 0 && !parser.by_key)
        r = source_fail(&parser.source, len, -EINVAL,
                        "no nodes; write for example \"a:0 => b:0 c:0 ;\"");
    if (r == 0)
        r = parse_build(out, &parser);
    if (r == -ENOMEM)
        cop_error_set(error, r, "%s: out of memory", name);
    parser_fini(&parser);
    return r;
}

int topology_read(struct topology **out,
                  const char *path,
                  struct cop_error *error)
{
    char *text = NULL;
    size_t len = 0;
    int r;

    r = source_read(&text, &len, path, TOPOLOGY_FILE_MAX, error);
    if (r < 0)
        return r;
    r = topology_parse(out, text, len, path, error);
    free(text);
    return r;
}
