/* runtime.c - see runtime.h. */
#include "stat/walk/runtime.h"

#include <string.h>
#include <strings.h>

/* Prefixes of a runtime's calls, in lower case. */
static const char *const calls[] = {"mpi_", "pmpi_", "pthread_", NULL};

/* Prefixes of the OpenMP calls that spin, as clang generates them. */
static const char *const spinning[] = {"kmpc_set_lock", "kmpc_set_nest_lock",
                                       "kmpc_critical", "kmpc_barrier", NULL};

/* Prefixes of the files of MPI libraries. A program may have called a function
 * in them that has no name: MPICH's MPI_Waitany() jumps to one. */
static const char *const mpi_libraries[] = {"libmpi.so",    "libmpi_",
                                            "libmpich.so",  "libmpichfort.so",
                                            "libmpicxx.so", NULL};

/* Prefixes of functions inside these libraries, and the names of the functions
 * in which progress threads of Open MPI and PMIx begin. */
static const char *const insides[] = {
    "ompi_", "opal_", "orte_", "prte_", "pmix_",           "mca_", "mpid",
    "mpir_", "ucs_",  "ucp_",  "uct_",  "progress_engine", NULL};

/* Prefixes of the files of these libraries. */
static const char *const libraries[] = {
    "libmpi",    "libopen-pal", "libopen-rte", "libpmix", "libprrte",
    "libucs",    "libucp",      "libuct",      "libucm",  "libfabric",
    "libpsm2",   "libpsm_",     "libibverbs",  "mca_",    "libhwloc",
    "libevent_", "libpmi",      NULL};

static bool begins(const char *text, const char *const *starts)
{
    for (; *starts; starts++)
        if (strncasecmp(text, *starts, strlen(*starts)) == 0)
            return true;
    return false;
}

/* `function` without leading underscores, and without the GI_ of the C
 * library. */
static const char *bare_name(const char *function)
{
    while (*function == '_')
        function++;
    if (strncmp(function, "GI_", 3) == 0)
        function += 3;
    while (*function == '_')
        function++;
    return function;
}

bool runtime_is_call(const char *function)
{
    return begins(bare_name(function), calls) ||
           runtime_is_spinning(function) ||
           (strstr(function, "+0x") && begins(function, mpi_libraries));
}

bool runtime_is_spinning(const char *function)
{
    return begins(bare_name(function), spinning);
}

bool runtime_is_mpi(const char *function)
{
    return runtime_is_call(function) && !runtime_is_spinning(function) &&
           strncasecmp(bare_name(function), "pthread_", 8) != 0;
}

bool runtime_is_thread(const char *function)
{
    const char *offset = strstr(function, "+0x");

    if (offset)
        return begins(function, libraries);
    return begins(bare_name(function), insides) || runtime_is_call(function);
}

bool runtime_is_pool(const char *function)
{
    static const char *const starts[] = {"gomp_thread_start",
                                         "libgomp.",
                                         "__kmp_launch_worker",
                                         "libomp.",
                                         "libomp5.",
                                         "libiomp5.",
                                         NULL};

    return begins(function, starts);
}

bool runtime_is_in_pool(const struct tree *tree, uint32_t node)
{
    const char *function = tree_function(tree, node);

    return tree_frame(tree, tree->nodes[node].frame).file[0] == '\0' &&
           !strstr(function, "_omp_fn") && !strstr(function, "omp_outlined");
}

bool runtime_is_own(const struct tree *tree, uint32_t node)
{
    uint32_t behind = node + tree->nodes[node].size, child = node + 1;

    if (tree_note(tree, node) == NOTE_NONE)
        return runtime_is_thread(tree_function(tree, node));
    while (child < behind && runtime_is_own(tree, child))
        child += tree->nodes[child].size;
    return child == behind && behind > node + 1;
}

/* Where the name of a function begins: the name of a C++ template is preceded
 * by its return type, "void std::__invoke_impl<void, …>(…)". */
static const char *name_behind_type(const char *function)
{
    const char *begin = function;
    unsigned open = 0;

    for (; *function && (*function != '(' || open > 0); function++) {
        if (*function == '<' || *function == '(')
            open++;
        else if ((*function == '>' || *function == ')') && open > 0)
            open--;
        else if (*function == ' ' && open == 0 &&
                 strncmp(begin, "operator ", 9) != 0)
            begin = function + 1;
    }
    return begin;
}

bool runtime_is_library(const char *function)
{
    static const char *const starts[] = {
        "std::",  "__gnu_cxx::",  "__cxxabiv1::", "__gthread_", "boost::",
        "core::", "alloc::",      "<core::",      "<alloc::",   "<std::",
        "<fn(",   "<&dyn core::", "<dyn core::",  NULL};

    return begins(name_behind_type(function), starts);
}

bool runtime_is_python_library(const struct tree *tree, uint32_t node)
{
    const struct tree_frame *frame = &tree->frames[tree->nodes[node].frame];

    return strcmp(tree->strings[frame->module], FRAME_PYTHON_LIBRARY) == 0;
}

bool runtime_is_library_at(const struct tree *tree, uint32_t node)
{
    return runtime_is_python_library(tree, node) ||
           runtime_is_library(tree_function(tree, node));
}

uint32_t runtime_behind(const struct tree *tree, uint32_t node)
{
    return node + (runtime_is_call(tree_function(tree, node))
                       ? tree->nodes[node].size
                       : 1);
}
