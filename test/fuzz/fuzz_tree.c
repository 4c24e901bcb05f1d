/* fuzz_tree.c - arbitrary packed trees of stacks: an accepted tree can be
 * packed and read again, and two trees can be merged. An input is the length of
 * the first tree in two bytes, little-endian, and both trees. Sets of
 * megabytes are only read: the rest would take seconds. */
#include <stdlib.h>

#include "stat/request.h"
#include "stat/tree/tree.h"

/* The most bytes of a tree's sets on which everything is tried. */
#define SETS_MAX 800000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Abort if the condition is false. */
static void must(bool holds)
{
    if (!holds)
        abort();
}

static bool is_tried(const struct tree *tree)
{
    size_t size = 0;

    for (uint32_t i = 0; i < tree->end_count; i++)
        size += tasks_size(tree->ends[i].tasks);
    for (uint32_t i = 0; i < tree->progress_count; i++)
        size += tasks_size(tree->progress[i].tasks);
    return size <= SETS_MAX;
}

/* The tree of these bytes; NULL if invalid, or with too large sets. */
static struct tree *tree_of(const uint8_t *bytes, size_t len)
{
    struct tree *tree = NULL, *again;
    struct cop_packet *packet;

    must(cop_packet_new(&packet, STAT_TAG_TREE, "%auc", bytes, (uint32_t)len) ==
         0);
    if (tree_unpack(&tree, packet) == 0 && !is_tried(tree)) {
        tree_free(tree);
        tree = NULL;
    } else if (tree) {
        cop_packet_free(packet);
        must(tree_pack(&packet, STAT_TAG_TREE, tree) == 0);
        must(tree_unpack(&again, packet) == 0);
        must(tree_equal(again, tree));
        tree_free(again);
    }
    cop_packet_free(packet);
    return tree;
}

/* Check that the order of merging two trees has no effect, and that a
 * difference has everything missing. */
static void check_laws(const struct tree *a, const struct tree *b)
{
    struct tree *both, *other, *more, *settled;

    must(tree_join(&both, a, b) == 0);
    must(tree_join(&other, b, a) == 0);
    must(tree_equal(both, other));
    tree_free(other);
    must(tree_difference(&more, both, a) == 0);
    must(tree_join(&other, a, more) == 0);
    must(tree_equal(both, other));
    tree_free(other);
    must(tree_join(&other, both, both) == 0);
    must(tree_equal(both, other));
    must(tree_settle(&settled, both) == 0);
    tree_free(settled);
    tree_free(other);
    tree_free(more);
    tree_free(both);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct tree *a, *b;
    size_t first;

    if (len < 2)
        return 0;
    first = data[0] + 256 * (size_t)data[1];
    if (first > len - 2)
        first = len - 2;
    a = tree_of(data + 2, first);
    b = tree_of(data + 2 + first, len - 2 - first);
    if (a && b)
        check_laws(a, b);
    tree_free(a);
    tree_free(b);
    return 0;
}
