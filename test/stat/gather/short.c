/* short.c - preloaded: from when the file that TEST_SHORT names is there, there
 * is no memory for open_memstream(). */
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
