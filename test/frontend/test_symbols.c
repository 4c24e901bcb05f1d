/* test_symbols.c - what a process sees of libcoppice's own libraries. */
#include <dlfcn.h>

#include "test/frontend/tree.h"

/* libev exports libevent's names too. A process that sees them runs libev's
 * where its other libraries mean libevent's. */
TEST(libev_is_loaded_and_not_seen)
{
    static const char *const names[] = {
        "ev_run", "ev_timer_again", "event_add", "event_base_loop", "event_set",
    };
    struct cop_network *network = tree_launch("2x2");
    void *libev = dlopen("libev.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

    CU_ASSERT_FATAL(libev != NULL);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        CU_ASSERT(dlsym(libev, names[i]) != NULL);
        if (dlsym(RTLD_DEFAULT, names[i]))
            CU_FAIL(names[i]);
    }
    dlclose(libev);
    tree_end(network);
}
