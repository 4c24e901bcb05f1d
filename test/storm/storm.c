/* storm.c - rounds of a tool, checked from outside, whose nodes are killed,
 * stopped and cut off: storm [--time S] [--rounds N] [--seed N] [--tree SHAPE]
 * [--weather NAME] [--keep].
 *
 * Each round starts its own front-end, harms its nodes as the seed says, and
 * compares what the network promised with the results. See README.md. Ends with
 * a table, and status 1 if a promise was broken. */
#include "test/storm/harm.h"
#include "test/storm/witness.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_MS   180000 /* for a launch, on a busy machine */
#define SETTLED_MS 150000
#define DEATHS_MS  90000 /* longer than it takes to give a node up */
#define TREE_MS    15000
#define BYE_MS     60000
#define CLEAN_MS   15000
#define BAD_MAX    20 /* violations printed for one round */

static const struct shape shapes[] = {
    {"4x4", 2, {4, 4}},
    {"8x8", 2, {8, 8}},
    {"2x2x2x2", 4, {2, 2, 2, 2}},
    {"3x3x3", 3, {3, 3, 3}},
};
#define SHAPES (sizeof(shapes) / sizeof(*shapes))

static const char *const weathers[WEATHERS] = {
    "calm", "kills", "stops", "resets", "all", "front", "members"};

/* The counts of the final table. */
enum sum {
    KILLED,
    STOPPED,
    RESET,
    JOINED,
    LEFT,
    TIMEOUTS,
    UNKNOWN,
    NUMBERS,
    COMMANDS,
    SYNCS,
    LOSSY,
    PARTS,
    TOTALS,
    WAVES,
    ANSWERS,
    PARTIAL,
    REDOS,
    EVENTS,
    UNHARMED,
    VIOLATIONS,
    SUMS
};

static const char *const sum_names[SUMS] = {
    "kills",
    "stops",
    "resets",
    "late joiners",
    "back-ends told to leave",
    "leaves that timed out",
    "leaves with an unknown end",
    "numbers of sets",
    "commands taken",
    "syncs",
    "syncs that returned 1",
    "packets exactly once",
    "totals vouched for",
    "waves in order",
    "answers to their questions",
    "waves without a member",
    "redos",
    "events",
    "links lost without a fault",
    "violations",
};

static struct {
    uint64_t seed;
    const char *programs; /* the folder of tool and member */
    char folder[64];
    pid_t tool;
    pid_t joiners[4];
    size_t joiner_count;
    FILE *to_tool;
    int from_tool;
    char line[4096]; /* the received part of a line */
    size_t len;
    FILE *log;
    struct tree tree;
    struct schedule schedule;
    uint64_t sums[SUMS];
    char last[16]; /* the first word of the last line that is not an event */
} the_round;

static uint64_t totals[SUMS];
static unsigned rounds[SHAPES][WEATHERS];

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void bad(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...)
{
    va_list args;

    fprintf(the_round.log, "%" PRIu64 " storm: ", now_ms());
    va_start(args, format);
    vfprintf(the_round.log, format, args);
    va_end(args);
    fputc('\n', the_round.log);
    fflush(the_round.log);
}

static void bad(const char *format, ...)
{
    char text[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (the_round.sums[VIOLATIONS]++ < BAD_MAX)
        printf("\n  VIOLATION: %s", text);
    note("VIOLATION: %s", text);
}

static void take_event(const char *text)
{
    struct event event;
    int at = 0;

    if (sscanf(text, "%d %u %u %u %u %n", &event.type, &event.rank,
               &event.parent, &event.lost_parent, &event.stream, &at) != 5)
        return;
    event.text = text + at;
    the_round.sums[EVENTS]++;
    the_round.sums[REDOS] += event.type == COP_EVENT_REDO;
    witness_event(&the_round.tree, &event, bad);
}

static void take_line(const char *line)
{
    uint64_t *sums = the_round.sums;
    char word[16];
    int at = 0;

    note("tool: %s", line);
    if (sscanf(line, "%*u %15s %n", word, &at) != 1)
        return;
    if (strcmp(word, "event") == 0)
        take_event(line + at);
    else if (strcmp(word, "bad") == 0)
        bad("%s", line + at);
    else
        memcpy(the_round.last, word, sizeof(word));
    if (strcmp(word, "ended") == 0)
        witness_end(&the_round.tree, line + at, bad);
    if (strcmp(word, "settled") == 0)
        for (int i = NUMBERS, n = 0; i <= PARTIAL; i++, at += n)
            sscanf(line + at, "%" SCNu64 "%n", &sums[i], &n);
}

/* Take lines of the tool for `timeout_ms`, or until one begins with `word`.
 * Returns whether one has. */
static bool listen_for(const char *word, uint64_t timeout_ms)
{
    uint64_t end_ms = now_ms() + timeout_ms, at_ms;
    char *end;
    ssize_t n;

    the_round.last[0] = '\0';
    for (;;) {
        while ((end = memchr(the_round.line, '\n', the_round.len))) {
            *end = '\0';
            take_line(the_round.line);
            the_round.len -= (size_t)(end + 1 - the_round.line);
            memmove(the_round.line, end + 1, the_round.len);
            if (word && strcmp(the_round.last, word) == 0)
                return true;
        }
        at_ms = now_ms();
        if (at_ms >= end_ms ||
            poll(&(struct pollfd){the_round.from_tool, POLLIN, 0}, 1,
                 (int)(end_ms - at_ms)) == 0)
            return false;
        n = read(the_round.from_tool, the_round.line + the_round.len,
                 sizeof(the_round.line) - the_round.len);
        if (n <= 0 && errno != EINTR)
            return false;
        the_round.len += n > 0 ? (size_t)n : 0;
    }
}

/* In the child: send all output except the two pipes to the log, and let the
 * nodes work in an empty folder. */
static void become(const char *program, char *const *argv)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/tmp", the_round.folder);
    dup2(fileno(the_round.log), STDERR_FILENO);
    setenv("TMPDIR", path, 1);
    setenv("COPPICE_LOG", "1", 1);
    if (chdir(path) == 0)
        execv(program, argv);
    _exit(127);
}

static void tool_start(const char *shape, enum weather weather)
{
    char program[4096], member[4096], seed[32], number[8];
    char *argv[] = {
        program, seed, the_round.folder, (char *)(uintptr_t)shape, member,
        number,  NULL};
    int to[2], from[2];

    snprintf(program, sizeof(program), "%s/tool", the_round.programs);
    snprintf(member, sizeof(member), "%s/member", the_round.programs);
    snprintf(seed, sizeof(seed), "%" PRIu64, the_round.seed);
    snprintf(number, sizeof(number), "%d", (int)weather);
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        err(2, "pipe");
    the_round.tool = fork();
    if (the_round.tool == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        become(program, argv);
    }
    close(to[0]);
    close(from[1]);
    the_round.to_tool = fdopen(to[1], "w");
    the_round.from_tool = from[0];
}

static void tell(const char *word)
{
    fprintf(the_round.to_tool, "%s\n", word);
    fflush(the_round.to_tool);
}

static void joiner_start(void)
{
    char program[4096], session[128], seed[32];
    char *argv[] = {program, seed, the_round.folder, session, NULL};
    pid_t pid;

    snprintf(program, sizeof(program), "%s/member", the_round.programs);
    snprintf(session, sizeof(session), "%s/session", the_round.folder);
    snprintf(seed, sizeof(seed), "%" PRIu64, the_round.seed);
    pid = fork();
    if (pid == 0)
        become(program, argv);
    the_round.joiners[the_round.joiner_count++] = pid;
    the_round.sums[JOINED]++;
}

static void strike_all(void)
{
    static const char *const words[] = {"kill",  "stop",        "continue",
                                        "reset", "late joiner", "leave"};
    uint64_t begin_ms = now_ms(), at_ms;

    for (size_t i = 0; i < the_round.schedule.count; i++) {
        const struct blow *blow = &the_round.schedule.blows[i];
        bool is_done = true;

        at_ms = now_ms() - begin_ms;
        if (blow->at_ms > at_ms)
            listen_for(NULL, blow->at_ms - at_ms);
        if (blow->kind == BLOW_JOIN)
            joiner_start();
        else
            is_done = blow_strike(blow, &the_round.tree, the_round.folder);
        note("%s %u%s", words[blow->kind], blow->rank,
             is_done ? "" : ": not done");
        the_round.sums[KILLED] += is_done && blow->kind == BLOW_KILL;
        the_round.sums[STOPPED] += is_done && blow->kind == BLOW_STOP;
        the_round.sums[RESET] += is_done && blow->kind == BLOW_RESET;
        the_round.sums[LEFT] += is_done && blow->kind == BLOW_LEAVE;
    }
    at_ms = now_ms() - begin_ms;
    if (the_round.schedule.length_ms > at_ms)
        listen_for(NULL, the_round.schedule.length_ms - at_ms);
}

/* Give the network time to report the truth; later, lies are violations. */
static void await_truth(void)
{
    struct tree *tree = &the_round.tree;
    uint64_t end_ms = now_ms() + DEATHS_MS;
    char session[128];
    struct tally tally;

    snprintf(session, sizeof(session), "%s/session", the_round.folder);
    while ((!witness_deaths(tree, NULL) ||
            tree->joined != the_round.joiner_count) &&
           now_ms() < end_ms)
        listen_for(NULL, 100);
    witness_deaths(tree, bad);
    end_ms = now_ms() + TREE_MS;
    for (uint32_t rank = tree->launched; rank < tree->count; rank++)
        if (tally_read(the_round.folder, rank, &tally))
            tree->nodes[rank].pid = tally.pid;
    while (!witness_tree(tree, session, NULL) && now_ms() < end_ms)
        listen_for(NULL, 100);
    if (now_ms() >= end_ms)
        witness_tree(tree, session, bad);
    if (tree->joined != the_round.joiner_count)
        bad("%zu late joiners were started, %u have joined",
            the_round.joiner_count, tree->joined);
}

/* Whether this process is an ancestor of `pid`. */
static bool is_ours(pid_t pid)
{
    char state = 0;

    while (pid > 1 && pid != getpid())
        pid = process_parent(pid, &state);
    return pid == getpid();
}

/* Report the remaining processes of the round as violations, and kill them. */
static void kill_rest(void)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    char state = 0;

    while (dir && (entry = readdir(dir))) {
        pid_t pid = (pid_t)atoi(entry->d_name);

        if (pid <= 0 || pid == getpid() || !is_ours(pid) ||
            process_parent(pid, &state) < 0 || state == 'Z')
            continue;
        bad("process %d is left", (int)pid);
        kill(pid, SIGKILL);
    }
    if (dir)
        closedir(dir);
}

/* Wait for all processes; late joiners must have exited with 0. */
static void reap(void)
{
    uint64_t end_ms = now_ms() + CLEAN_MS;
    bool is_killed = false;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) >= 0 || errno == EINTR) {
        for (size_t i = 0; i < the_round.joiner_count && pid > 0; i++)
            if (the_round.joiners[i] == pid && status != 0)
                bad("a late joiner ended with status %d", status);
        if (pid == the_round.tool && WIFSIGNALED(status))
            bad("the front-end died of signal %d", WTERMSIG(status));
        else if (pid == the_round.tool && status != 0 &&
                 the_round.sums[VIOLATIONS] == 0)
            bad("the front-end ended with status %d", WEXITSTATUS(status));
        if (pid == 0)
            usleep(5000);
        if (now_ms() > end_ms && !is_killed) {
            kill_rest();
            is_killed = true;
        }
    }
}

/* Count how the back-ends left. */
static void count_leaves(void)
{
    struct tally tally;

    for (uint32_t rank = 0; rank < RANKS_MAX; rank++)
        if (tally_read(the_round.folder, rank, &tally) && tally.leaves) {
            the_round.sums[TIMEOUTS] += tally.timeouts;
            the_round.sums[UNKNOWN] += !tally.has_left;
        }
}

/* Check that nodes left no file. Remove the folder if the round had no
 * violation, unless `keeps`. */
static void check_folder(bool keeps)
{
    char path[512];
    const struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "%s/tmp", the_round.folder);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            bad("the file %s is left", entry->d_name);
    if (dir)
        closedir(dir);
    if (keeps || the_round.sums[VIOLATIONS] > 0)
        return;
    rmdir(path);
    for (uint32_t rank = 0; rank < RANKS_MAX; rank++) {
        tally_path(path, sizeof(path), the_round.folder, rank);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/log", the_round.folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/session", the_round.folder);
    unlink(path);
    rmdir(the_round.folder);
}

/* Run from the launch to the end of the tool. `sockets` gets the listening
 * sockets of the tool and the nodes. */
static size_t run(enum weather weather, struct socket sockets[SOCKETS_MAX])
{
    struct tree *tree = &the_round.tree;
    uint64_t end_ms = now_ms() + READY_MS;
    size_t count;

    if (!listen_for("ready", READY_MS)) {
        bad("the tree was not launched");
        return 0;
    }
    /* A new member may not have reported its process yet. */
    while (!tree_census(tree, the_round.folder, the_round.tool) &&
           now_ms() < end_ms)
        listen_for(NULL, 10);
    if (!tree_census(tree, the_round.folder, the_round.tool)) {
        bad("the processes are not the tree of the topology");
        return 0;
    }
    count = tree_sockets(tree, sockets);
    schedule_draw(&the_round.schedule, the_round.seed, weather, tree);
    strike_all();
    tell("finish");
    if (!listen_for("settled", SETTLED_MS)) {
        bad("the front-end has not come to an end");
        return count;
    }
    if (the_round.sums[VIOLATIONS] == 0)
        await_truth();
    witness_links(tree, &the_round.sums[UNHARMED], bad);
    tell("end");
    if (!listen_for("bye", BYE_MS))
        bad("the front-end does not end");
    return count;
}

/* Run a round, and add its counts to the totals. */
static void round_run(size_t shape, enum weather weather, bool keeps)
{
    static struct socket sockets[SOCKETS_MAX];
    char path[128];
    size_t count;

    strcpy(the_round.folder, "/tmp/coppice-storm.XXXXXX");
    if (!mkdtemp(the_round.folder))
        err(2, "%s", the_round.folder);
    snprintf(path, sizeof(path), "%s/tmp", the_round.folder);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/log", the_round.folder);
    the_round.log = fopen(path, "ae");
    if (!the_round.log)
        err(2, "%s", path);
    tree_init(&the_round.tree, &shapes[shape]);
    tool_start(shapes[shape].text, weather);
    count = run(weather, sockets);
    fclose(the_round.to_tool);
    listen_for(NULL, 0);
    reap();
    close(the_round.from_tool);
    for (size_t i = 0; i < count; i++)
        if (sockets[i].listens && socket_listens(sockets[i].inode))
            bad("rank %u's listening socket is left", sockets[i].rank);
    count_leaves();
    check_folder(keeps);
    fclose(the_round.log);
}

static void round_print(uint64_t begin_ms)
{
    const uint64_t *sums = the_round.sums;

    for (size_t i = 0; i < SUMS; i++)
        totals[i] += sums[i];
    if (sums[VIOLATIONS] > 0)
        printf("\n ");
    printf(" %" PRIu64 " kills, %" PRIu64 " stops, %" PRIu64 " resets, %" PRIu64
           " leave, %" PRIu64 " join, %" PRIu64 " commands, %" PRIu64
           " answers, %" PRIu64 " redos, %" PRIu64 " events: ",
           sums[KILLED], sums[STOPPED], sums[RESET], sums[LEFT], sums[JOINED],
           sums[COMMANDS], sums[ANSWERS], sums[REDOS], sums[EVENTS]);
    if (sums[VIOLATIONS] > 0)
        printf("%" PRIu64 " VIOLATIONS, see %s/log\n", sums[VIOLATIONS],
               the_round.folder);
    else
        printf("kept, in %.1f s\n", (double)(now_ms() - begin_ms) / 1000);
    fflush(stdout);
}

static void table_print(unsigned count, unsigned broken)
{
    printf("\n%-10s", "rounds");
    for (size_t i = 0; i < WEATHERS; i++)
        printf("%8s", weathers[i]);
    for (size_t shape = 0; shape < SHAPES; shape++) {
        printf("\n%-10s", shapes[shape].text);
        for (size_t i = 0; i < WEATHERS; i++)
            printf("%8u", rounds[shape][i]);
    }
    printf("\n\n");
    for (size_t i = 0; i < SUMS; i++)
        printf("%-28s %10" PRIu64 "\n", sum_names[i], totals[i]);
    printf("%-28s %10u\n%-28s %10u\n", "rounds", count,
           "rounds with violations", broken);
}

struct options {
    uint64_t seed;
    uint64_t time_s;
    uint64_t rounds;
    const char *tree;
    const char *weather;
    bool keeps;
};

static void options_read(struct options *options, int argc, char **argv)
{
    static const struct option known[] = {
        {"time", 1, NULL, 't'},    {"seed", 1, NULL, 's'},
        {"rounds", 1, NULL, 'n'},  {"tree", 1, NULL, 'T'},
        {"weather", 1, NULL, 'w'}, {"keep", 0, NULL, 'k'},
        {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (c == 't')
            options->time_s = strtoull(optarg, NULL, 10);
        else if (c == 's')
            options->seed = strtoull(optarg, NULL, 10);
        else if (c == 'n')
            options->rounds = strtoull(optarg, NULL, 10);
        else if (c == 'T')
            options->tree = optarg;
        else if (c == 'w')
            options->weather = optarg;
        else if (c == 'k')
            options->keeps = true;
        else
            exit(2);
    }
}

/* The index of `wanted` among `count` names, or a random one. */
static size_t choose(uint64_t *seed, size_t count, size_t wanted)
{
    size_t drawn = draw(seed, (uint32_t)count);

    return wanted < count ? wanted : drawn;
}

int main(int argc, char **argv)
{
    struct options options = {.seed = 1, .time_s = 60, .rounds = UINT64_MAX};
    size_t tree = SHAPES, weather = WEATHERS, i;
    unsigned count = 0, broken = 0;
    char programs[4096];
    uint64_t end_ms, begin_ms;
    ssize_t len;

    options_read(&options, argc, argv);
    for (i = 0; options.tree && i < SHAPES; i++)
        if (strcmp(options.tree, shapes[i].text) == 0)
            tree = i;
    for (i = 0; options.weather && i < WEATHERS; i++)
        if (strcmp(options.weather, weathers[i]) == 0)
            weather = i;
    len = readlink("/proc/self/exe", programs, sizeof(programs) - 1);
    programs[len > 0 ? len : 0] = '\0';
    *strrchr(programs, '/') = '\0';
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    end_ms = now_ms() + options.time_s * 1000;
    while (now_ms() < end_ms && count < options.rounds) {
        uint64_t seed = mix(options.seed + count);
        size_t t = choose(&seed, SHAPES, tree);
        size_t w = choose(&seed, WEATHERS, weather);

        memset(&the_round, 0, sizeof(the_round));
        the_round.seed = options.seed + count++;
        the_round.programs = programs;
        printf("seed %" PRIu64 ", %s, %s:", the_round.seed, shapes[t].text,
               weathers[w]);
        fflush(stdout);
        begin_ms = now_ms();
        round_run(t, (enum weather)w, options.keeps);
        rounds[t][w]++;
        broken += the_round.sums[VIOLATIONS] > 0;
        round_print(begin_ms);
    }
    table_print(count, broken);
    return broken > 0;
}
