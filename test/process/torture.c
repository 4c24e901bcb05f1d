/* torture.c - real trees whose nodes are killed, stopped and cut at random for
 * a while: make torture TIME=600 [SEED=N].
 *
 * Each round launches a tree of random shape, whose back-ends send numbers at a
 * random rate; meanwhile commnodes are killed, stopped and continued, and
 * single connections are destroyed. In the end the front-end's set must be the
 * union of all inputs, no back-end lost, and nothing left running. Prints each
 * round; ends with status 1 at the first that went wrong, with the seed to
 * rerun it by. (The machine's own timing is random too.) */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/frontend/nodes.h"
#include "test/process/feeding.h"

#define SECONDS    60
#define CLEAN_MS   30000
#define FAILURE_MS 2000

static unsigned seed;

static unsigned roll(unsigned below)
{
    return (unsigned)rand_r(&seed) % below;
}

static void wait_ms(struct feeding *feeding, unsigned ms)
{
    uint64_t end_ms = feeding_now_ms() + ms;
    uint64_t now_ms;

    while ((now_ms = feeding_now_ms()) < end_ms)
        feeding_take(feeding, (int)(end_ms - now_ms));
}

/* What was done to a network. */
struct harm {
    unsigned kills;
    unsigned stops;
    unsigned cuts;
};

/* Destroy one established connection of process `pid`, if we may. Returns
 * whether one was. */
static bool cut(pid_t pid)
{
    char command[512];

    snprintf(command, sizeof(command),
             "line=$(ss -tnpH state established 2>/dev/null |"
             " grep 'pid=%d,' | shuf -n 1) && [ -n \"$line\" ] &&"
             " set -- $line && ss -K -tnH src \"$3\" dst \"$4\" 2>/dev/null |"
             " grep -q .",
             (int)pid);
    return system(command) == 0;
}

static bool is_ours(pid_t pid)
{
    char name[16];

    return nodes_parent(pid, name) > 0 && strcmp(name, "coppice-commnod") == 0;
}

/* Hurt one commnode that still lives, at random. */
static void hurt(struct feeding *feeding,
                 const pid_t *nodes,
                 size_t count,
                 struct harm *harm)
{
    pid_t pid = nodes[roll((unsigned)count)];

    if (!is_ours(pid))
        return;
    switch (roll(4)) {
    case 0:
    case 1:
        harm->kills += kill(pid, SIGKILL) == 0;
        break;
    case 2:
        if (kill(pid, SIGSTOP) < 0)
            break;
        harm->stops++;
        wait_ms(feeding, roll(2 * FAILURE_MS));
        if (roll(3) == 0) /* another one dies meanwhile */
            harm->kills += kill(nodes[roll((unsigned)count)], SIGKILL) == 0;
        wait_ms(feeding, roll(FAILURE_MS));
        kill(pid, SIGCONT);
        break;
    case 3:
        harm->cuts += cut(pid);
        break;
    }
}

/* Whether nothing is left that came of us. */
static bool is_clean(void)
{
    uint64_t end_ms = feeding_now_ms() + CLEAN_MS;
    pid_t pid = 0;

    while (feeding_now_ms() < end_ms) {
        pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0)
            return errno == ECHILD;
        if (pid == 0)
            usleep(5000);
    }
    printf("something still runs\n");
    return false;
}

static bool run_round(unsigned number)
{
    static const char *const shapes[] = {"2x2x2x2", "8x8",   "2x2x2", "4x4",
                                         "3x3x3",   "1x1x4", "2x8"};
    static const int rates[] = {10, 100, 1000};
    struct cop_launch launch = COP_LAUNCH_INIT;
    const char *shape = shapes[roll(sizeof(shapes) / sizeof(*shapes))];
    int rate = rates[roll(3)];
    unsigned harms = 1 + roll(12);
    struct harm harm = {0};
    struct feeding feeding;
    pid_t nodes[NODES_MAX];
    size_t count;
    unsigned i;
    bool right;

    launch.topology_shape = shape;
    launch.times.heartbeat_ms = FAILURE_MS / 10;
    launch.times.failure_timeout_ms = FAILURE_MS;
    printf("%u: %s at %d: ", number, shape, rate);
    fflush(stdout);
    if (feeding_begin(&feeding, launch, rate * (int)(1 + roll(5)), rate) < 0)
        return false;
    count = nodes_all(nodes);
    for (i = 0; i < harms; i++) {
        wait_ms(&feeding, roll(600));
        hurt(&feeding, nodes, count, &harm);
    }
    right = feeding_end(&feeding);
    printf("%u killed, %u stopped, %u cut: %zu lost, %zu adopted, %s\n",
           harm.kills, harm.stops, harm.cuts, feeding.lost,
           feeding.adopted + feeding.moved, right ? "whole" : "NOT WHOLE");
    fflush(stdout);
    return is_clean() && right;
}

int main(void)
{
    const char *time_s = getenv("TIME"), *wanted = getenv("SEED");
    uint64_t end_ms =
        feeding_now_ms() + (uint64_t)(time_s ? atoi(time_s) : SECONDS) * 1000;
    unsigned number = 0, begin;

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    begin = wanted ? (unsigned)strtoul(wanted, NULL, 10)
                   : (unsigned)feeding_now_ms();
    printf("SEED=%u\n", begin);
    while (feeding_now_ms() < end_ms) {
        seed = begin + number;
        if (!run_round(++number)) {
            printf("round %u went wrong; rerun: SEED=%u\n", number,
                   begin + number - 1);
            return EXIT_FAILURE;
        }
    }
    printf("%u rounds, all whole\n", number);
    return EXIT_SUCCESS;
}
