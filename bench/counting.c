/* counting.c - count the costs of work in the processes of a tree. */
#include "bench/counting.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/events.h"
#include "bench/family.h"

#define PATH_LEN 64

/* One process, from /proc and from the events. */
struct seen {
    pid_t pid;
    enum counting_role role; /* COUNTING_ROLES: not counted */
    uint64_t exec_ns;        /* time of its exec; 0: before */
    char *maps;              /* NULL: not read */
    double sum[COUNTING_WHATS];
};

struct snapshot {
    struct seen *list; /* by pid */
    size_t count;
};

struct counting {
    struct events *events;
    struct snapshot before;
    uint64_t began_ns;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- /proc ---------------------------------------------------------------- */

/* Read a whole file, with a NUL at its end; NULL on failure. */
static char *read_text(const char *path, size_t *len)
{
    FILE *from = fopen(path, "re");
    char *text = NULL;
    FILE *to = from ? open_memstream(&text, len) : NULL;
    char part[4096];
    size_t n;

    while (to && (n = fread(part, 1, sizeof(part), from)) > 0)
        fwrite(part, 1, n, to);
    if (from)
        fclose(from);
    if (to && fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

static char *read_of(pid_t pid, const char *name, size_t *len)
{
    char path[PATH_LEN];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return read_text(path, len);
}

enum counting_role counting_role_of(const char *words, size_t len)
{
    const char *second = memchr(words, '\0', len);
    const char *third =
        second ? memchr(second + 1, '\0', len - (size_t)(second + 1 - words))
               : NULL;
    const char *name = strrchr(words, '/');

    name = name ? name + 1 : words;
    if (strcmp(name, "coppice-commnode") == 0)
        return COUNTING_COMMNODE;
    if (strncmp(name, "bare_", 5) != 0 || !third || third + 1 >= words + len)
        return COUNTING_BACK_END;
    third++;
    return strcmp(third, "-") == 0 || strncmp(third, "orphan:", 7) == 0
               ? COUNTING_BACK_END
               : COUNTING_COMMNODE;
}

static void read_role(struct seen *seen)
{
    size_t len;
    char *words = read_of(seen->pid, "cmdline", &len);

    seen->role = COUNTING_ROLES;
    if (words && len > 0)
        seen->role = counting_role_of(words, len);
    free(words);
}

/* The number after `key` in lines such as "Threads:\t2". */
static double number_behind(const char *text, const char *key)
{
    const char *at = text ? strstr(text, key) : NULL;

    return at ? strtod(at + strlen(key), NULL) : 0;
}

static void read_thread(struct seen *seen, const char *tid)
{
    char path[PATH_LEN + NAME_MAX];
    size_t len;
    char *text;

    snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)seen->pid,
             tid);
    text = read_text(path, &len);
    seen->sum[COUNTING_BLOCKED] +=
        number_behind(text, "\nvoluntary_ctxt_switches:");
    seen->sum[COUNTING_PREEMPTED] +=
        number_behind(text, "\nnonvoluntary_ctxt_switches:");
    free(text);
    snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)seen->pid,
             tid);
    text = read_text(path, &len);
    seen->sum[COUNTING_CPU_US] += text ? strtod(text, NULL) / 1e3 : 0;
    free(text);
}

static void read_process(struct seen *seen)
{
    char path[PATH_LEN];
    struct dirent *entry;
    size_t len;
    char *text = read_of(seen->pid, "stat", &len);
    const char *name_end = text ? strrchr(text, ')') : NULL;
    DIR *dir;

    if (name_end)
        sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %*u %lf",
               &seen->sum[COUNTING_FAULTS]);
    free(text);
    snprintf(path, sizeof(path), "/proc/%d/task", (int)seen->pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            read_thread(seen, entry->d_name);
    if (dir)
        closedir(dir);
}

static int by_pid(const void *a, const void *b)
{
    pid_t left = ((const struct seen *)a)->pid;
    pid_t right = ((const struct seen *)b)->pid;

    return (left > right) - (left < right);
}

static struct seen *find_seen(const struct snapshot *snapshot, pid_t pid)
{
    struct seen key = {.pid = pid};

    return snapshot->count ? bsearch(&key, snapshot->list, snapshot->count,
                                     sizeof(key), by_pid)
                           : NULL;
}

static void snapshot_fini(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++)
        free(snapshot->list[i].maps);
    free(snapshot->list);
    *snapshot = (struct snapshot){.list = NULL};
}

/* Read all processes below this one. */
static int take_snapshot(struct snapshot *snapshot, pid_t parent)
{
    struct family family;
    int r;

    *snapshot = (struct snapshot){.list = NULL};
    r = family_read(&family, getpid());
    if (r == 0)
        snapshot->list = calloc(family.count + 1, sizeof(*snapshot->list));
    if (r == 0 && !snapshot->list)
        r = -ENOMEM;
    for (size_t i = 0; r == 0 && i < family.count; i++) {
        struct seen *seen = &snapshot->list[snapshot->count++];

        seen->pid = family.list[i].pid;
        read_role(seen);
        if (parent && seen->role == COUNTING_BACK_END &&
            family.list[i].parent != parent)
            seen->role = COUNTING_ROLES;
        read_process(seen);
    }
    family_fini(&family);
    return r;
}

/* Add this process, from `self`; there must be room. */
static void add_self(struct snapshot *snapshot, const struct seen *self)
{
    snapshot->list[snapshot->count++] = *self;
    qsort(snapshot->list, snapshot->count, sizeof(*snapshot->list), by_pid);
}

static void read_self(struct seen *self)
{
    *self = (struct seen){.pid = getpid(), .role = COUNTING_FRONT_END};
    read_process(self);
}

/* ---- events --------------------------------------------------------------- */

enum counting_what counting_place(const char *maps, uint64_t address)
{
    uint64_t behind_data = 0; /* end of a file's writable part */

    for (const char *line = maps; line && *line;) {
        const char *end = strchr(line, '\n');
        size_t len = end ? (size_t)(end - line) : strlen(line);
        const char *path = memchr(line, '/', len);
        const char *special = memchr(line, '[', len);
        uint64_t from = 0, to = 0;
        char may[5] = "";
        bool hit;

        sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &from, &to, may);
        hit = address >= from && address < to;
        if (hit && path)
            return may[2] == 'x' ? COUNTING_CODE : COUNTING_DATA;
        if (hit && special)
            return strncmp(special, "[stack]", 7) == 0  ? COUNTING_STACK
                   : strncmp(special, "[heap]", 6) == 0 ? COUNTING_HEAP
                                                        : COUNTING_CODE;
        if (hit && from == behind_data)
            return COUNTING_DATA;
        behind_data = path && may[1] == 'w' ? to : 0;
        line = end ? end + 1 : NULL;
    }
    return COUNTING_HEAP;
}

static void add_fault(struct seen *seen, const struct event *event)
{
    size_t len;

    if (event->time_ns < seen->exec_ns)
        return;
    if (!seen->maps)
        seen->maps = read_of(seen->pid, "maps", &len);
    seen->sum[counting_place(seen->maps, (uint64_t)event->value)]++;
}

static void add_call(struct seen *seen,
                     struct counts *counts,
                     const struct event *event)
{
    seen->sum[COUNTING_CALLS]++;
    if (event->call >= 0 && event->call < COUNTING_CALL_MAX)
        counts->calls[event->call]++;
    if (event->value <= 0)
        return;
    switch (event->call) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_recvfrom:
    case SYS_recvmsg:
        seen->sum[COUNTING_READ] += (double)event->value;
        break;
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_sendto:
    case SYS_sendmsg:
        seen->sum[COUNTING_WRITTEN] += (double)event->value;
        break;
    }
}

static void add_events(struct snapshot *snapshot,
                       struct counts roles[COUNTING_ROLES],
                       const struct event *list,
                       size_t count)
{
    struct seen *seen;

    for (size_t i = 0; i < count; i++)
        if (list[i].call == EVENT_EXEC &&
            (seen = find_seen(snapshot, list[i].pid)))
            seen->exec_ns = list[i].time_ns;
    for (size_t i = 0; i < count; i++) {
        seen = find_seen(snapshot, list[i].pid);
        if (!seen || seen->role == COUNTING_ROLES)
            continue;
        if (list[i].call == EVENT_FAULT)
            add_fault(seen, &list[i]);
        else if (list[i].call == EVENT_BLOCKED)
            seen->sum[COUNTING_BLOCKED]++;
        else if (list[i].call == EVENT_PREEMPTED)
            seen->sum[COUNTING_PREEMPTED]++;
        else if (list[i].call >= 0)
            add_call(seen, &roles[seen->role], &list[i]);
    }
}

/* Keep only the events between `from_ns` and `to_ns`. Returns how many. */
static size_t keep_window(struct event *list,
                          size_t count,
                          uint64_t from_ns,
                          uint64_t to_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (list[i].time_ns >= from_ns && list[i].time_ns < to_ns)
            list[kept++] = list[i];
    return kept;
}

/* ---- one piece of work --------------------------------------------------- */

int counting_new(struct counting **out)
{
    struct counting *counting = calloc(1, sizeof(*counting));
    int r;

    if (!counting)
        return -ENOMEM;
    r = events_open(&counting->events);
    if (r < 0)
        warnx("perf events: %s; without them only /proc is counted",
              strerror(-r));
    *out = counting;
    return 0;
}

void counting_free(struct counting *counting)
{
    if (!counting)
        return;
    events_close(counting->events);
    snapshot_fini(&counting->before);
    free(counting);
}

bool counting_knows(const struct counting *counting, enum counting_what what)
{
    if (what == COUNTING_CALLS || what == COUNTING_READ ||
        what == COUNTING_WRITTEN)
        return counting->events && events_have_calls(counting->events);
    if (what >= COUNTING_CODE && what <= COUNTING_STACK)
        return counting->events;
    return true;
}

/* This process is read last before the work, and first after it: the cost of
 * reading does not count. */
int counting_begin(struct counting *counting, pid_t parent)
{
    struct event *list;
    struct seen self;
    size_t count;
    int r;

    snapshot_fini(&counting->before);
    r = take_snapshot(&counting->before, parent);
    if (r < 0)
        return r;
    if (counting->events) /* older events may be too many */
        events_take(counting->events, &list, &count);
    read_self(&self);
    counting->began_ns = now_ns();
    add_self(&counting->before, &self);
    return 0;
}

/* Subtract the counts before the work. */
static void subtract(struct snapshot *after, const struct snapshot *before)
{
    for (size_t i = 0; i < after->count; i++) {
        struct seen *seen = &after->list[i];
        const struct seen *old = find_seen(before, seen->pid);

        if (!old)
            continue;
        if (seen->role != COUNTING_ROLES) /* else it has ended */
            seen->role = old->role;
        for (int what = 0; what < COUNTING_WHATS; what++)
            seen->sum[what] -= old->sum[what];
    }
}

int counting_end(struct counting *counting, struct counts roles[COUNTING_ROLES])
{
    uint64_t ended_ns = now_ns();
    struct snapshot after;
    struct event *list = NULL;
    size_t count = 0;
    struct seen self;
    int r;

    read_self(&self);
    r = take_snapshot(&after, 0);
    if (r < 0)
        goto out;
    add_self(&after, &self);
    if (counting->events)
        r = events_take(counting->events, &list, &count);
    if (r < 0)
        goto out;
    subtract(&after, &counting->before);
    for (size_t i = 0; counting->events && i < after.count; i++) {
        /* events give these, without the cost of reading processes */
        after.list[i].sum[COUNTING_BLOCKED] = 0;
        after.list[i].sum[COUNTING_PREEMPTED] = 0;
    }
    count = keep_window(list, count, counting->began_ns, ended_ns);
    add_events(&after, roles, list, count);
    for (size_t i = 0; i < after.count; i++) {
        const struct seen *seen = &after.list[i];

        if (seen->role == COUNTING_ROLES)
            continue;
        roles[seen->role].processes++;
        for (int what = 0; what < COUNTING_WHATS; what++)
            roles[seen->role].sum[what] += seen->sum[what];
    }
out:
    snapshot_fini(&after);
    return r;
}
