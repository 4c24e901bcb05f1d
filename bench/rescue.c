/* rescue.c - a tree of Coppice with one victim, and the end of such trees. */
#include "bench/rescue.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/duel.h"
#include "bench/family.h"

int rescue_reap(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    double end_s = duel_now_s() + RESCUE_STUCK_MS / 1e3;
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 || errno == EINTR) {
        if (pid != 0)
            continue;
        if (duel_now_s() > end_s) {
            warnx("a process of the tree has not ended within %d ms",
                  RESCUE_STUCK_MS);
            return -ETIMEDOUT;
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* The front-end is node 0, the victim 1. The refuges follow, each with a
 * back-end (a leaf is no commnode), then the victim's children. */
char *rescue_topology(uint32_t orphans)
{
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream(&text, &len);
    uint32_t next = 2 + RESCUE_REFUGES;

    if (!file)
        return NULL;
    fprintf(file, "localhost:0 =>");
    for (uint32_t i = 1; i <= 1 + RESCUE_REFUGES; i++)
        fprintf(file, " localhost:%u", i);
    fprintf(file, ";\n");
    for (uint32_t i = 2; i < 2 + RESCUE_REFUGES; i++)
        fprintf(file, "localhost:%u => localhost:%u;\n", i, next++);
    fprintf(file, "localhost:1 =>");
    for (uint32_t i = 0; i < orphans; i++)
        fprintf(file, " localhost:%u", next++);
    fprintf(file, ";\n");
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

int rescue_victim(uint32_t orphans, pid_t *victim)
{
    struct family family;
    uint32_t most = 0;
    int r = family_read(&family, getpid());

    for (size_t i = 0; r == 0 && i < family.count; i++) {
        if (family.list[i].child_count <= most)
            continue;
        most = family.list[i].child_count;
        *victim = family.list[i].pid;
    }
    family_fini(&family);
    if (r == 0 && most != orphans) {
        warnx("coppice: no process has %u children", orphans);
        r = -ESRCH;
    }
    return r;
}
