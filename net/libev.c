/* libev.c - libev, hidden from all other parts of the process. */
#include "net/libev.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The version of its ABI is the major version of its header. */
#define TEXT(word)    #word
#define SONAME(major) "libev.so." TEXT(major)

struct libev libev;

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static struct cop_error load_error;
static bool loaded;

/* Of this thread: it is in libev_run(), and a system call failed there. */
static _Thread_local bool running;
static _Thread_local bool failed;

/* An application that uses libev too keeps its default behaviour. */
static void on_failure(const char *message) EV_NOEXCEPT
{
    if (running) {
        failed = true;
        return;
    }
    perror(message);
    abort();
}

static bool libev_find(void *library, const char *name, void *pointer)
{
    void *symbol = dlsym(library, name);

    memcpy(pointer, &symbol, sizeof(symbol));
    return symbol;
}

/* The library stays open: other threads may run in it until the end. */
static void load_library(void)
{
    void *library = dlopen(SONAME(EV_VERSION_MAJOR), RTLD_NOW | RTLD_LOCAL);
    bool found = library;

#define FIND(function)                                                         \
    found = found && libev_find(library, #function, &function)
    LIBEV_FUNCTIONS(FIND);
    if (!found)
        cop_error_set(&load_error, -ELIBACC,
                      "cannot load libev: %s; install libev4, or name its "
                      "folder in LD_LIBRARY_PATH",
                      dlerror());
    loaded = found;
    if (loaded)
        ev_set_syserr_cb(on_failure);
}

bool libev_run(struct ev_loop *loop, int flags)
{
    running = true;
    failed = false;
    ev_run(loop, flags);
    running = false;
    return !failed;
}

int libev_load(struct cop_error *error)
{
    pthread_once(&load_once, load_library);
    return loaded ? 0 : cop_error_set(error, -ELIBACC, "%s", load_error.text);
}
