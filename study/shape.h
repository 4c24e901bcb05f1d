/* shape.h - the tree that a study begins with: internal nodes only.
 *
 * Back-ends are only counted: 100^4 has 1,010,101 internal nodes and
 * 100,000,000 back-ends. Ranks of internal nodes are 0 to count - 1, in the
 * order of the topology. */
#pragma once

#include <coppice/error.h>
#include <stdint.h>

struct table;

struct study_tree {
    uint32_t count;
    uint32_t *parents;  /* by rank; TABLE_NONE for the front-end */
    uint32_t *fan_outs; /* children of both kinds */
    uint64_t backend_count;
};

/* Make the tree that `text` names: F^H or AxBxC, without a limit on back-ends;
 * any other shape of topology_from_shape(); or else a topology file's path.
 *
 * Returns 0, and study_tree_fini() is due; or with a sentence in `error`
 * -EINVAL, -E2BIG, -ENOMEM, or what topology_read() returns. */
int study_tree_init(struct study_tree *tree,
                    const char *text,
                    struct cop_error *error);

/* Free the contents. A tree that is all zero is fine. */
void study_tree_fini(struct study_tree *tree);

/* Make a new table of the tree; table_free() it. Returns 0 or -ENOMEM. */
int study_tree_table(const struct study_tree *tree, struct table **out);
