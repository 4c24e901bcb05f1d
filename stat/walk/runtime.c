/* runtime.c - see runtime.h. */
#include "stat/walk/runtime.h"

#include <string.h>

/* The role that the frame of `node` has. */
static enum role own_role(const struct tree *tree, uint32_t node)
{
    return role_of(tree->strings[tree->frames[tree->nodes[node].frame].module]);
}

enum role runtime_role(const struct tree *tree, uint32_t node)
{
    enum role role = own_role(tree, node);
    uint32_t behind = node + tree->nodes[node].size, below = node + 1;

    if (role != ROLE_WRAPPER)
        return role;
    while (below < behind && own_role(tree, below) != ROLE_MPI)
        below++;
    return below < behind ? ROLE_MPI : ROLE_PROGRAM;
}

bool runtime_is_call(const struct tree *tree, uint32_t node)
{
    return role_is_call(runtime_role(tree, node));
}

bool runtime_is_before(const struct tree *tree, uint32_t node)
{
    return tree_note(tree, node) != NOTE_NONE ||
           own_role(tree, node) == ROLE_LIBRARY;
}

bool runtime_is_pool(const struct tree *tree, uint32_t node)
{
    return own_role(tree, node) == ROLE_OPENMP;
}

bool runtime_is_in_pool(const struct tree *tree, uint32_t node)
{
    return tree_note(tree, node) != NOTE_NONE ||
           own_role(tree, node) != ROLE_PROGRAM;
}

/* Whether `node` is code of the program whose source is known. */
static bool is_in_source(const struct tree *tree, uint32_t node)
{
    const struct tree_frame *frame = &tree->frames[tree->nodes[node].frame];

    return own_role(tree, node) == ROLE_PROGRAM &&
           tree->strings[frame->file][0] != '\0';
}

bool runtime_is_own(const struct tree *tree, uint32_t node)
{
    uint32_t behind = node + tree->nodes[node].size, child = node + 1;

    if (!runtime_is_before(tree, node)) {
        if (!role_is_own(own_role(tree, node)))
            return false;
        while (child < behind && !is_in_source(tree, child))
            child++;
        return child == behind;
    }
    while (child < behind && runtime_is_own(tree, child))
        child += tree->nodes[child].size;
    return child == behind && behind > node + 1;
}

bool runtime_is_python_library(const struct tree *tree, uint32_t node)
{
    return own_role(tree, node) == ROLE_PYTHON;
}

bool runtime_is_python(const struct tree *tree, uint32_t node)
{
    struct frame frame = tree_frame(tree, tree->nodes[node].frame);
    size_t len = strlen(frame.file);

    return runtime_is_python_library(tree, node) ||
           strcmp(frame.function, "<module>") == 0 ||
           strcmp(frame.file, "<string>") == 0 ||
           (len > 3 && strcmp(frame.file + len - 3, ".py") == 0);
}

bool runtime_is_library(const struct tree *tree, uint32_t node)
{
    enum role role = own_role(tree, node);

    return role == ROLE_LIBRARY || role == ROLE_PYTHON;
}

/* A runtime's call that a node is below. */
struct inside {
    uint32_t call;
    bool is_call;   /* there is one */
    unsigned inner; /* how many of its frames are in the runtime, and not in
                       Python, up to 2: after these the program is called back;
                       before, a wrapper may call a function of its own */
};

/* What is below `node`, which is in `above`. */
static struct inside inside_of(const struct tree *tree,
                               uint32_t node,
                               struct inside above)
{
    bool python = runtime_is_python(tree, node);

    if (above.is_call && is_in_source(tree, node) &&
        (above.inner == 2 ||
         (above.inner == 0 && python && runtime_is_python(tree, above.call))))
        above = (struct inside){.is_call = false};
    if (!above.is_call && runtime_is_call(tree, node))
        above = (struct inside){node, true, 0};
    if (above.is_call && above.inner < 2 && !python)
        above.inner += role_is_call(own_role(tree, node));
    return above;
}

void runtime_places(uint32_t *places, const struct tree *tree)
{
    struct inside by_depth[TREE_DEPTH_MAX], none = {.is_call = false};
    uint32_t above[TREE_DEPTH_MAX];

    for (uint32_t node = 0; node < tree->node_count; node++) {
        uint32_t depth = tree->nodes[node].depth;
        struct inside inside =
            inside_of(tree, node, depth > 0 ? by_depth[depth - 1] : none);

        above[depth] = node;
        /* Tasks that wait for other processes are alike. */
        if (depth > 0 && !inside.is_call && tree_note(tree, node) == NOTE_CHILD)
            inside = (struct inside){above[depth - 1], true, 0};
        by_depth[depth] = inside;
        places[node] = inside.is_call ? inside.call : node;
    }
}
