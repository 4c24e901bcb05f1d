/* wire.c - topologies as text: files for people, and the form in which a parent
 * passes a subtree to its child.
 *
 * The wire form is a line "coppice-tree 1 COUNT", then one line for each node
 * in breadth-first order:
 *
 *   STEP CHILDREN INSTANCE HOST
 *
 * STEP is the rank minus that of the previous line (minus 0 on the first). A
 * HOST of '"' repeats that of the previous line. The numbers of children in
 * breadth-first order determine all links. */
#include "topology/topology.h"

#include "topology/hostname.h"
#include "topology/nodes.h"
#include "topology/text.h"

#include <errno.h>
#include <string.h>

#define MAGIC "coppice-tree 1 "

/* The shortest line of a node: "0 0 0 a\n". */
#define LINE_MIN 8

static void write_node(struct text *text,
                       const struct topology *topo,
                       uint32_t index)
{
    text_string(text, topology_host(topo, index));
    text_string(text, ":");
    text_number(text, topo->nodes[index].instance, 0);
}

int topology_text(const struct topology *topo, char **text, size_t *len)
{
    struct text written = {0};

    for (uint32_t i = 0; i < topo->count; i++) {
        const struct node_entry *node = &topo->nodes[i];

        if (node->child_count == 0 && topo->count > 1)
            continue;
        write_node(&written, topo, i);
        if (node->child_count > 0)
            text_string(&written, " =>");
        for (uint32_t j = 0; j < node->child_count; j++) {
            text_string(&written, "\n    ");
            write_node(&written, topo, node->first_child + j);
        }
        text_string(&written, " ;\n");
    }
    return text_take(&written, text, len);
}

int topology_encode(const struct topology *topo, char **text, size_t *len)
{
    struct text written = {0};
    uint32_t before = 0;

    text_string(&written, MAGIC);
    text_number(&written, topo->count, 0);
    text_string(&written, "\n");
    for (uint32_t i = 0; i < topo->count; i++) {
        const struct node_entry *node = &topo->nodes[i];

        text_number(&written, node->rank - before, 0);
        text_string(&written, " ");
        text_number(&written, node->child_count, 0);
        text_string(&written, " ");
        text_number(&written, node->instance, 0);
        text_string(&written, " ");
        if (i > 0 && node->host == node[-1].host)
            text_string(&written, "\"");
        else
            text_string(&written, topology_host(topo, i));
        text_string(&written, "\n");
        before = node->rank;
    }
    return text_take(&written, text, len);
}

struct reader {
    const char *at;
    const char *end;
};

/* Take a decimal number up to `max`, and the byte `after` it. */
static int take_number(struct reader *reader,
                       uint32_t *out,
                       uint32_t max,
                       char after)
{
    const char *start = reader->at;
    uint64_t value = 0;

    for (; reader->at < reader->end; reader->at++) {
        if (*reader->at < '0' || *reader->at > '9')
            break;
        value = value * 10 + (uint64_t)(*reader->at - '0');
        if (value > max)
            return -EPROTO;
    }
    if (reader->at == start || reader->at == reader->end ||
        *reader->at != after)
        return -EPROTO;
    reader->at++;
    *out = (uint32_t)value;
    return 0;
}

static int take_host(struct reader *reader,
                     struct topology *topo,
                     uint32_t index)
{
    size_t left = (size_t)(reader->end - reader->at);
    const char *start = reader->at;
    const char *newline = memchr(start, '\n', left);
    size_t len;

    if (!newline)
        return -EPROTO;
    len = (size_t)(newline - start);
    reader->at = newline + 1;
    if (len == 1 && *start == '"') {
        if (index == 0)
            return -EPROTO;
        topo->nodes[index].host = topo->nodes[index - 1].host;
        return 0;
    }
    if (!hostname_valid(start, len))
        return -EPROTO;
    return nodes_set_host(topo, index, start, len);
}

/* Take the line of node `index`. `reached` counts the nodes that have a
 * place in the tree: the root, and the children of the lines before. */
static int take_node(struct reader *reader,
                     struct topology *topo,
                     uint32_t index,
                     uint32_t *reached)
{
    struct node_entry *node = &topo->nodes[index];
    uint32_t before = index > 0 ? node[-1].rank : 0;
    uint32_t step = 0;
    int r;

    if (index == *reached)
        return -EPROTO;
    r = take_number(reader, &step, TOPOLOGY_NONE - 1, ' ');
    if (r < 0)
        return r;
    if (step > TOPOLOGY_NONE - 1 - before || (index > 0 && step == 0))
        return -EPROTO;
    node->rank = before + step;
    r = take_number(reader, &node->child_count, TOPOLOGY_CHILDREN_MAX, ' ');
    if (r < 0)
        return r;
    if (node->child_count > topo->count - *reached)
        return -EPROTO;
    r = take_number(reader, &node->instance, TOPOLOGY_INSTANCE_MAX, ' ');
    if (r < 0)
        return r;
    node->first_child = *reached;
    for (uint32_t i = 0; i < node->child_count; i++) {
        topo->nodes[*reached + i].parent = index;
        topo->nodes[*reached + i].depth = node->depth + 1;
    }
    *reached += node->child_count;
    return take_host(reader, topo, index);
}

int topology_decode(struct topology **out, const char *text, size_t len)
{
    struct reader reader = {text, text + len};
    struct topology *topo = NULL;
    uint32_t count = 0;
    uint32_t reached = 1;
    int r;

    if (len < strlen(MAGIC) || memcmp(text, MAGIC, strlen(MAGIC)) != 0)
        return -EPROTO;
    reader.at += strlen(MAGIC);
    r = take_number(&reader, &count, TOPOLOGY_NODES_MAX, '\n');
    if (r < 0)
        return r;
    if (count == 0 || count > (size_t)(reader.end - reader.at) / LINE_MIN)
        return -EPROTO;
    r = nodes_new(&topo, count);
    if (r < 0)
        return r;
    topo->nodes[0].parent = TOPOLOGY_NONE;
    for (uint32_t i = 0; i < count && r == 0; i++)
        r = take_node(&reader, topo, i, &reached);
    if (r == 0 && reader.at != reader.end)
        r = -EPROTO;
    if (r < 0) {
        topology_free(topo);
        return r;
    }
    *out = topo;
    return 0;
}
