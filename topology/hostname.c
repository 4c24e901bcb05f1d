/* hostname.c - which names are host names. */
#include "topology/hostname.h"

bool hostname_has(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool hostname_valid(const char *name, size_t len)
{
    if (len == 0 || len > HOSTNAME_MAX || name[0] == '-')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!hostname_has(name[i]))
            return false;
    }
    return true;
}
