/* readiness.c - a descriptor for poll(), readable while a condition holds. */
#include "api/readiness.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int readiness_open(struct readiness *readiness)
{
    if (readiness->fd < 0)
        readiness->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return readiness->fd < 0 ? -errno : readiness->fd;
}

void readiness_set(struct readiness *readiness, bool is_set)
{
    uint64_t count = 1;
    ssize_t r;

    if (readiness->fd < 0 || is_set == readiness->is_set)
        return;
    readiness->is_set = is_set;
    if (is_set)
        r = write(readiness->fd, &count, sizeof(count));
    else
        r = read(readiness->fd, &count, sizeof(count));
    (void)r; /* cannot fail: only this code changes the count, 0 or 1 */
}

void readiness_close(struct readiness *readiness)
{
    if (readiness->fd >= 0)
        close(readiness->fd);
    *readiness = READINESS_INIT;
}
