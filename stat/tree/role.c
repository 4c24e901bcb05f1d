/* role.c - see role.h. */
#include "stat/tree/role.h"

#include <string.h>

#define ROLE_TEXT(role, text) text,
static const char *const texts[] = {ROLES(ROLE_TEXT)};

const char *role_text(enum role role)
{
    return texts[role];
}

enum role role_of(const char *text)
{
    unsigned role = ROLE_COUNT - 1;

    while (role > ROLE_PROGRAM && strcmp(texts[role], text) != 0)
        role--;
    return (enum role)role;
}

bool role_is_call(enum role role)
{
    return role == ROLE_THREADS || role_polls(role);
}

bool role_polls(enum role role)
{
    return (role_is_own(role) && role != ROLE_FRAMEWORK && role != ROLE_GO) ||
           role == ROLE_SPIN;
}

bool role_is_own(enum role role)
{
    return role == ROLE_MPI || role == ROLE_SHMEM || role == ROLE_COLLECTIVE ||
           role == ROLE_TRANSPORT || role == ROLE_FRAMEWORK || role == ROLE_GO;
}
