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

uint32_t runtime_behind(const struct tree *tree, uint32_t node)
{
    return node + (runtime_is_call(tree, node) ? tree->nodes[node].size : 1);
}
