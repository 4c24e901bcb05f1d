/* options.c - option structs of any version. */
#include "api/options.h"

#include <errno.h>
#include <string.h>

int options_read(void *to,
                 size_t room,
                 const void *from,
                 size_t least,
                 const char *init,
                 struct cop_error *error)
{
    const unsigned char *bytes = from;
    size_t size;

    memcpy(&size, from, sizeof(size));
    if (size < least)
        return cop_error_set(error, -EINVAL,
                             "the size of the options is %zu; initialise them "
                             "with %s",
                             size, init);
    for (size_t i = room; i < size; i++)
        if (bytes[i] != 0)
            return cop_error_set(error, -EINVAL,
                                 "an option is set that this libcoppice does "
                                 "not know; use one at least as new as the "
                                 "header that the tool was compiled with");
    memset(to, 0, room);
    memcpy(to, from, size < room ? size : room);
    return 0;
}
