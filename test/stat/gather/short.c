/* short.c - a preloaded library: as soon as the file $TEST_SHORT exists,
 * open_memstream() fails with ENOMEM. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) FILE *open_memstream(char **text,
                                                            size_t *len)
{
    FILE *(*next)(char **, size_t *);
    const char *path = getenv("TEST_SHORT");

    if (path && access(path, F_OK) == 0) {
        errno = ENOMEM;
        return NULL;
    }
    *(void **)&next = dlsym(RTLD_NEXT, "open_memstream");
    return next(text, len);
}
