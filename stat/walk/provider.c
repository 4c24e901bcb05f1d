/* provider.c - see provider.h. */
#include "stat/walk/provider.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "stat/walk/exports.h"

/* Most bytes of the name of a call of MPI. */
#define CALL_MAX 128

/* What a library exports if it provides something. MPI's are the names that a
 * profiler's library, which has its own MPI_Init(), calls, and that one which has
 * a few calls for programs without MPI lacks. */
static const struct mark {
    enum role role;
    const char *symbol;
} marks[] = {
    {ROLE_MPI, "PMPI_Comm_spawn"},
    {ROLE_MPI, "pmpi_comm_spawn_"},
    {ROLE_MPI, "pmpi_comm_spawn_f08_"},
    {ROLE_MPI, "opal_init"},
    {ROLE_MPI, "orte_init"},
    {ROLE_MPI, "prte_init"},
    {ROLE_MPI, "PMIx_Init"},
    {ROLE_MPI, "PMI2_Init"},
    {ROLE_MPI, "PMI_Init"},
    {ROLE_SHMEM, "shmem_init"},
    {ROLE_COLLECTIVE, "ucc_init_version"},
    {ROLE_TRANSPORT, "ucp_init_version"},
    {ROLE_TRANSPORT, "uct_md_open"},
    {ROLE_TRANSPORT, "ucs_async_poll"},
    {ROLE_TRANSPORT, "fi_getinfo"},
    {ROLE_TRANSPORT, "fi_prov_ini"},
    {ROLE_TRANSPORT, "ibv_open_device"},
    {ROLE_TRANSPORT, "psm2_init"},
    {ROLE_TRANSPORT, "grpc_init"},
    {ROLE_OPENMP, "GOMP_parallel"},
    {ROLE_OPENMP, "__kmpc_fork_call"},
    {ROLE_SYSTEM, "__libc_start_main"},
    {ROLE_SYSTEM, "__pthread_unregister_cancel"},
    {ROLE_SYSTEM, "_dl_allocate_tls"},
};

/* The names of library files, up to ".so", that a mark does not tell from
 * libraries that contain them. */
static const struct mark sonames[] = {
    {ROLE_FRAMEWORK, "libtorch_cpu"}, {ROLE_FRAMEWORK, "libtorch_cuda"},
    {ROLE_FRAMEWORK, "libtorch_hip"}, {ROLE_FRAMEWORK, "libtorch_python"},
    {ROLE_COLLECTIVE, "libnccl"},     {ROLE_COLLECTIVE, "librccl"},
    {ROLE_COLLECTIVE, "libgloo"},     {ROLE_MPI, "libmpi_cxx"},
    {ROLE_MPI, "libmpichcxx"},        {ROLE_LIBRARY, "libstdc++"},
    {ROLE_LIBRARY, "libc++"},         {ROLE_LIBRARY, "libc++abi"},
};

/* Namespaces that only the library of C++ may use, as mangled: members,
 * functions, and those with a local scope. */
static const char *const libraries[] = {
    "_ZNSt",          "_ZNKSt",          "_ZSt", "_ZZNSt", "_ZN9__gnu_cxx",
    "_ZNK9__gnu_cxx", "_ZN10__cxxabiv1", NULL};

/* Where the sources of languages' libraries are. */
static const char *const folders[] = {"/include/boost/", "/rustc/",
                                      "/rustlib/src/", NULL};

/* Functions of the C library that run before the program's. */
static const char *const starts[] = {"__libc_start_main",
                                     "__libc_start_main_impl",
                                     "__libc_start_call_main",
                                     "__clone",
                                     "clone",
                                     "__clone3",
                                     "clone3",
                                     "__GI___clone3",
                                     "__GI___clone",
                                     "start_thread",
                                     "thread_start",
                                     NULL};

/* OpenMP's functions that spin, as clang calls them. */
static const char *const spinning[] = {
    "__kmpc_set_lock",       "__kmpc_set_nest_lock",
    "__kmpc_critical",       "__kmpc_critical_with_hint",
    "__kmpc_barrier",        "__kmpc_barrier_master",
    "__kmpc_cancel_barrier", NULL};

/* Where the threads of OpenMP begin. */
static const char *const pools[] = {"gomp_thread_start", "__kmp_launch_worker",
                                    NULL};

/* Calls that a standard defines twice, with and without a P before them. */
static const char *const standards[] = {"MPI_", "mpi_", "shmem_", NULL};

static bool is_one_of(const char *text, const char *const *list)
{
    while (*list && strcmp(*list, text) != 0)
        list++;
    return *list != NULL;
}

static bool begins_as(const char *text, const char *const *list)
{
    while (*list && strncmp(text, *list, strlen(*list)) != 0)
        list++;
    return *list != NULL;
}

/* Whether the file name `soname` is `name`, up to its version. */
static bool is_soname(const char *soname, const char *name)
{
    size_t len = strlen(name);

    return strncmp(soname, name, len) == 0 &&
           strncmp(soname + len, ".so", 3) == 0;
}

/* Whether this is a plug-in of Open MPI or PMIx: "x.so" exports x_component, by
 * which they find it. */
static bool is_component(const struct exports *exports, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char symbol[CALL_MAX];
    int len = (int)strcspn(name, ".");

    if (strstr(name, "mca_") == NULL)
        return false;
    snprintf(symbol, sizeof(symbol), "%.*s_component", len, name);
    return exports_has(exports, symbol);
}

void provider_find(struct provider *out, Dwfl_Module *module)
{
    const char *path =
        dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    struct exports exports;

    exports_find(&exports, module);
    *out = (struct provider){
        .role = path[0] == '[' ? ROLE_SYSTEM : ROLE_PROGRAM,
        .is_program = exports.is_program || exports.is_dynamic_program,
        .is_static = exports.is_program && !exports.is_dynamic_program,
        .is_go = exports.is_go};
    /* The C library can be started, too. */
    if (out->is_program && !exports.soname)
        return;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (out->role == ROLE_PROGRAM && exports_has(&exports, marks[i].symbol))
            out->role = marks[i].role;
    for (size_t i = 0; i < sizeof(sonames) / sizeof(sonames[0]); i++)
        if (exports.soname && is_soname(exports.soname, sonames[i].symbol))
            out->role = sonames[i].role;
    if (out->role == ROLE_PROGRAM && is_component(&exports, path))
        out->role = ROLE_MPI;
}

/* Whether `module` defines the symbol `name`. */
static bool defines(Dwfl_Module *module, const char *name)
{
    int count = dwfl_module_getsymtab(module);

    for (int i = 0; i < count; i++) {
        GElf_Sym symbol;
        const char *text = dwfl_module_getsym(module, i, &symbol, NULL);

        if (text && symbol.st_shndx != SHN_UNDEF && strcmp(text, name) == 0)
            return true;
    }
    return false;
}

/* A function that a library of MPI may export. */
struct wanted {
    const char *name;
    bool found;
};

/* For libdwfl: look for the function in a library. */
static int look_for(Dwfl_Module *module,
                    void **userdata,
                    const char *path,
                    Dwarf_Addr base,
                    void *arg)
{
    struct wanted *wanted = arg;
    struct provider provider;
    struct exports exports;

    (void)userdata;
    (void)path;
    (void)base;
    provider_find(&provider, module);
    if (provider.role != ROLE_MPI)
        return DWARF_CB_OK;
    exports_find(&exports, module);
    wanted->found = exports_has(&exports, wanted->name);
    return wanted->found ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* The role of a function that is called like one of MPI or OpenSHMEM, outside
 * their libraries. A program may contain them, with both names of each call; a
 * wrapper has the name of a call, and a library has the other name of it. */
static enum role standard_role(Dwfl *dwfl,
                               Dwfl_Module *module,
                               const char *symbol)
{
    bool twice = strncmp(symbol, "PMPI_", 5) == 0 ||
                 strncmp(symbol, "pmpi_", 5) == 0 ||
                 strncmp(symbol, "pshmem_", 7) == 0;
    const char *name = symbol + twice;
    char other[CALL_MAX];
    struct wanted wanted = {other, false};

    if (!begins_as(name, standards) || strlen(name) + 2 > sizeof(other))
        return ROLE_PROGRAM;
    snprintf(other, sizeof(other), "%c%s", name[0] == 'M' ? 'P' : 'p', name);
    if (defines(module, other) && defines(module, name))
        return name[0] == 's' ? ROLE_SHMEM : ROLE_MPI;
    if (!twice)
        dwfl_getmodules(dwfl, look_for, &wanted, 0);
    return wanted.found ? ROLE_WRAPPER : ROLE_PROGRAM;
}

/* `symbol` without leading underscores, and without the GI_ of the C library. */
static const char *bare_name(const char *symbol)
{
    symbol += strspn(symbol, "_");
    if (strncmp(symbol, "GI_", 3) == 0)
        symbol += 3;
    return symbol + strspn(symbol, "_");
}

/* The role of a function of the C library. */
static enum role system_role(const char *symbol)
{
    if (!symbol || is_one_of(symbol, starts))
        return ROLE_START;
    return strncmp(bare_name(symbol), "pthread_", 8) == 0 ? ROLE_THREADS
                                                          : ROLE_SYSTEM;
}

/* Whether `symbol` is a call of threads in a program that contains the C
 * library, which has another name for each. */
static bool is_static_call(Dwfl_Module *module, const char *symbol)
{
    char other[CALL_MAX + 4];

    if (strncmp(bare_name(symbol), "pthread_", 8) != 0)
        return false;
    if (symbol[0] == '_')
        return true;
    snprintf(other, sizeof(other), "___%.*s", CALL_MAX, symbol);
    return defines(module, other) || defines(module, other + 1);
}

/* Whether `symbol` is mangled by Rust's compiler: its older symbols are those of
 * C++ that end in a hash, "17h" and 16 digits. */
static bool is_rust(const char *symbol)
{
    size_t len = strlen(symbol);

    return strncmp(symbol, "_R", 2) == 0 ||
           (strncmp(symbol, "_ZN", 3) == 0 && len > 23 &&
            strncmp(symbol + len - 20, "17h", 3) == 0 &&
            strspn(symbol + len - 17, "0123456789abcdef") == 16);
}

/* Whether a function belongs to Rust's library, by its older symbol. */
static bool is_rust_library(const char *symbol)
{
    static const char *const crates[] = {"_ZN3std", "_ZN4core", "_ZN5alloc",
                                         NULL};

    return is_rust(symbol) && begins_as(symbol, crates);
}

/* The role of a function of a program in Go, where no other package is called
 * "runtime". Without symbols it may be anything. */
static enum role go_role(const char *symbol)
{
    static const char *const begins[] = {"runtime.goexit", "runtime.main",
                                         NULL};

    if (symbol && begins_as(symbol, begins))
        return ROLE_START;
    return !symbol || strncmp(symbol, "runtime.", 8) == 0 ? ROLE_GO
                                                          : ROLE_PROGRAM;
}

/* As provider_role(), for a symbol without its version. */
static enum role role_of_symbol(const struct provider *provider,
                                Dwfl *dwfl,
                                Dwfl_Module *module,
                                const char *symbol)
{
    if (provider->role == ROLE_SYSTEM)
        return system_role(symbol);
    if (symbol && is_one_of(symbol, spinning))
        return ROLE_SPIN;
    if (provider->role != ROLE_PROGRAM)
        return provider->role;
    if (provider->is_go && go_role(symbol) != ROLE_PROGRAM)
        return go_role(symbol);
    if (!symbol)
        return ROLE_PROGRAM;
    if (provider->is_program && strcmp(symbol, "_start") == 0)
        return ROLE_START;
    if (provider->is_static && is_one_of(symbol, starts))
        return ROLE_START;
    if (provider->is_static && is_static_call(module, symbol))
        return ROLE_THREADS;
    if (provider->is_program && is_one_of(symbol, pools) &&
        defines(module, "GOMP_parallel"))
        return ROLE_OPENMP;
    if (begins_as(symbol, libraries) || is_rust_library(symbol))
        return ROLE_LIBRARY;
    return standard_role(dwfl, module, symbol);
}

enum role provider_role(const struct provider *provider,
                        Dwfl *dwfl,
                        Dwfl_Module *module,
                        const char *symbol)
{
    char bare[CALL_MAX];
    size_t len = symbol ? strcspn(symbol, "@") : 0;

    if (symbol && symbol[len] && len < sizeof(bare)) {
        memcpy(bare, symbol, len);
        bare[len] = '\0';
        symbol = bare;
    }
    return role_of_symbol(provider, dwfl, module, symbol);
}

/* Whether `path` is in a folder of such a library. */
static bool is_in_library(const char *path)
{
    const char *const *folder = folders;
    const char *headers = strstr(path, "/include/");

    if (headers && strstr(headers, "/c++/"))
        return true;
    while (*folder && !strstr(path, *folder))
        folder++;
    return *folder != NULL;
}

bool provider_is_library(const char *path, const char *folder)
{
    return is_in_library(path) ||
           (path[0] != '/' && folder && is_in_library(folder));
}
