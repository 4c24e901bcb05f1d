/* harm.c - the harm done to the nodes of a round, and its times. */
#include "test/storm/harm.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KILL_FIRST_MS  50 /* between two kills */
#define KILL_SPREAD_MS 450
#define STOP_FIRST_MS  1000
#define STOP_SPREAD_MS 7000
#define RESET_MS       250
#define CALM_MS        1500
#define MEMBERS_MS     2000

static void add(struct schedule *schedule,
                uint32_t at_ms,
                enum blow_kind kind,
                uint32_t rank,
                uint32_t choice)
{
    if (schedule->count == BLOWS_MAX)
        return;
    schedule->blows[schedule->count++] =
        (struct blow){at_ms, kind, rank, choice};
    if (at_ms > schedule->length_ms)
        schedule->length_ms = at_ms;
}

/* Draw a back-end that nothing happens to yet; 0: it is not to be. */
static uint32_t draw_backend(const struct schedule *schedule,
                             uint64_t *seed,
                             const struct tree *tree)
{
    uint32_t rank =
        tree->first_leaf + draw(seed, tree->launched - tree->first_leaf);

    for (size_t i = 0; i < schedule->count; i++)
        if (schedule->blows[i].rank == rank)
            return 0;
    return rank;
}

/* Kill the commnodes in random order: all, or half of them. */
static void draw_kills(struct schedule *schedule,
                       uint64_t *seed,
                       const struct tree *tree,
                       bool all)
{
    uint32_t order[RANKS_MAX], count = tree->first_leaf - 1, i, k, at_ms = 0;

    for (i = 0; i < count; i++) {
        k = draw(seed, i + 1);
        order[i] = order[k];
        order[k] = i + 1;
    }
    for (i = 0; i < (all ? count : (count + 1) / 2); i++) {
        if (draw(seed, 4) > 0) /* else at once with the one before */
            at_ms += KILL_FIRST_MS + draw(seed, KILL_SPREAD_MS);
        add(schedule, at_ms, BLOW_KILL, order[i], 0);
    }
}

static void draw_stop(struct schedule *schedule,
                      uint64_t *seed,
                      uint32_t rank,
                      uint32_t most_ms)
{
    uint32_t at_ms = draw(seed, 1500);

    add(schedule, at_ms, BLOW_STOP, rank, 0);
    add(schedule, at_ms + STOP_FIRST_MS + draw(seed, most_ms - STOP_FIRST_MS),
        BLOW_CONTINUE, rank, 0);
}

/* Stop some nodes, commnodes twice as likely as back-ends; most of them for
 * less than the failure time-out. */
static void draw_stops(struct schedule *schedule,
                       uint64_t *seed,
                       const struct tree *tree)
{
    bool is_drawn[RANKS_MAX] = {false};
    uint32_t count = 1 + draw(seed, 4), rank;

    while (count-- > 0) {
        rank = draw(seed, 3) > 0
                   ? 1 + draw(seed, tree->first_leaf - 1)
                   : tree->first_leaf +
                         draw(seed, tree->launched - tree->first_leaf);
        if (!is_drawn[rank])
            draw_stop(schedule, seed, rank,
                      draw(seed, 3) > 0 ? STOP_SPREAD_MS / 2
                                        : STOP_FIRST_MS + STOP_SPREAD_MS);
        is_drawn[rank] = true;
    }
}

static void draw_resets(struct schedule *schedule,
                        uint64_t *seed,
                        const struct tree *tree)
{
    uint32_t count = 4 + draw(seed, 12), at_ms = 0;

    while (count-- > 0) {
        at_ms += 1 + draw(seed, RESET_MS);
        add(schedule, at_ms, BLOW_RESET, draw(seed, tree->launched),
            draw(seed, 1024));
    }
}

/* Up to three back-ends leave, half of them together with another one; up to two
 * late joiners come; `kills` back-ends are killed. */
static void draw_members(struct schedule *schedule,
                         uint64_t *seed,
                         const struct tree *tree,
                         uint32_t kills)
{
    uint32_t leaves = draw(seed, 4), joiners = draw(seed, 3), at_ms = 0, rank;

    while (leaves + kills > 0) {
        rank = draw_backend(schedule, seed, tree);
        at_ms = draw(seed, 2) ? at_ms : draw(seed, MEMBERS_MS);
        if (rank)
            add(schedule, at_ms, leaves ? BLOW_LEAVE : BLOW_KILL, rank, 0);
        *(leaves ? &leaves : &kills) -= 1;
    }
    while (joiners-- > 0)
        add(schedule, draw(seed, MEMBERS_MS), BLOW_JOIN, 0, 0);
}

static int compare(const void *a, const void *b)
{
    const struct blow *x = a, *y = b;

    if (x->at_ms != y->at_ms)
        return x->at_ms < y->at_ms ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

void schedule_draw(struct schedule *schedule,
                   uint64_t seed,
                   enum weather weather,
                   const struct tree *tree)
{
    memset(schedule, 0, sizeof(*schedule));
    if (weather == CALM)
        schedule->length_ms = CALM_MS;
    if (weather == KILLS || weather == ALL)
        draw_kills(schedule, &seed, tree, true);
    if (weather == FRONT || weather == MEMBERS)
        draw_kills(schedule, &seed, tree, draw(&seed, 2));
    if (weather == STOPS || weather == ALL)
        draw_stops(schedule, &seed, tree);
    if (weather == RESETS || weather == ALL)
        draw_resets(schedule, &seed, tree);
    if (weather == FRONT)
        draw_stop(schedule, &seed, 0, STOP_FIRST_MS + STOP_SPREAD_MS);
    draw_members(schedule, &seed, tree,
                 weather == MEMBERS ? 1 + draw(&seed, 3) : 0);
    qsort(schedule->blows, schedule->count, sizeof(*schedule->blows), compare);
}

/* Reset one connection of a node to another node: copy the descriptor, and
 * dissolve the connection. */
static bool reset(const struct blow *blow, struct tree *tree)
{
    static struct socket sockets[SOCKETS_MAX];
    size_t count = tree_sockets(tree, sockets), mine = 0, i;
    struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    const struct socket *chosen;
    int pidfd, fd = -1;
    bool is_done;

    for (i = 0; i < count; i++)
        if (sockets[i].rank == blow->rank && sockets[i].peer != UINT32_MAX)
            sockets[mine++] = sockets[i];
    if (mine == 0)
        return false;
    chosen = &sockets[blow->choice % mine];
    pidfd = (int)syscall(SYS_pidfd_open, tree->nodes[blow->rank].pid, 0);
    if (pidfd >= 0)
        fd = (int)syscall(SYS_pidfd_getfd, pidfd, chosen->fd, 0);
    is_done = fd >= 0 && connect(fd, &nowhere, sizeof(nowhere)) == 0;
    if (fd >= 0)
        close(fd);
    if (pidfd >= 0)
        close(pidfd);
    if (is_done)
        tree->nodes[blow->rank].is_harmed =
            tree->nodes[chosen->peer].is_harmed = true;
    return is_done;
}

/* Note in the tally of a back-end that it is about to be killed. */
static void tally_killed(const char *folder, uint32_t rank)
{
    bool is_killed = true;
    char path[512];
    ssize_t n = -1;
    int fd;

    tally_path(path, sizeof(path), folder, rank);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0)
        n = pwrite(fd, &is_killed, sizeof(is_killed),
                   offsetof(struct tally, is_killed));
    if (n != sizeof(is_killed))
        abort();
    close(fd);
}

bool blow_strike(const struct blow *blow, struct tree *tree, const char *folder)
{
    struct node *node = &tree->nodes[blow->rank];

    if (node->is_killed)
        return false;
    if (blow->kind == BLOW_RESET)
        return reset(blow, tree);
    if (blow->kind == BLOW_CONTINUE)
        return kill(node->pid, SIGCONT) == 0;
    node->is_harmed = true;
    if (blow->kind == BLOW_STOP)
        return kill(node->pid, SIGSTOP) == 0;
    node->is_killed = true;
    if (blow->kind == BLOW_LEAVE)
        return kill(node->pid, SIGTERM) == 0;
    if (blow->rank >= tree->first_leaf)
        tally_killed(folder, blow->rank);
    return kill(node->pid, SIGKILL) == 0;
}
