/* targets.c - see targets.h. */
#include "stat/job/targets.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coppice/hosts.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* A process, by its host and pid. */
struct known_process {
    UT_hash_handle hh;
    struct {
        uint32_t host;
        int32_t pid;
    } key;
};

/* A host, by its name. */
struct known_host {
    UT_hash_handle hh;
    uint32_t number;
    char name[];
};

/* Thousands of processes are added: each must be found at once. */
struct targets_index {
    struct known_process *processes;
    struct known_host *hosts;
};

/* One process of this host. */
struct process {
    int32_t pid;
    int32_t parent;
    bool has_child;
    char name[32];
};

/* All of them, by pid. */
struct table {
    struct process *processes;
    size_t count;
};

static void index_free(struct targets_index *index)
{
    struct known_process *process, *next_process;
    struct known_host *host, *next_host;

    if (!index)
        return;
    HASH_ITER (hh, index->processes, process, next_process) {
        HASH_DEL(index->processes, process);
        free(process);
    }
    HASH_ITER (hh, index->hosts, host, next_host) {
        HASH_DEL(index->hosts, host);
        free(host);
    }
    free(index);
}

void targets_fini(struct targets *targets)
{
    uint32_t i;

    for (i = 0; i < targets->wanted_count; i++) {
        free(targets->wanted[i].name);
        free(targets->wanted[i].user);
    }
    free(targets->pids);
    free(targets->hosts);
    free(targets->host_names);
    free(targets->wanted);
    index_free(targets->index);
    *targets = (struct targets){0};
}

/* Make room for one more in `*list` of `count`: it grows at powers of two.
 * Returns 0 or -ENOMEM. */
static int grow_list(void *list, uint32_t count, size_t size)
{
    void **at = list;
    void *grown;

    if ((count & (count - 1)) != 0)
        return 0;
    grown = reallocarray(*at, count ? 2 * (size_t)count : 1, size);
    if (!grown)
        return -ENOMEM;
    *at = grown;
    return 0;
}

static bool is_this_host(const char *name)
{
    char own[256] = "";

    if (!name[0] || strcmp(name, "localhost") == 0)
        return true;
    gethostname(own, sizeof(own) - 1);
    return strcmp(name, own) == 0;
}

uint32_t targets_hosts_used(const struct targets *targets)
{
    bool *used = calloc((size_t)targets->host_count + 1, sizeof(*used));
    uint32_t count = 0, i;

    if (!used)
        return targets->host_count > 0 ? targets->host_count : 1;
    for (i = 0; i < targets->count; i++) {
        count += !used[targets->hosts[i]];
        used[targets->hosts[i]] = true;
    }
    free(used);
    return count > 0 ? count : 1;
}

bool targets_are_ranked(const struct targets *targets)
{
    return targets->count > 0 && targets->ranked_count == targets->count;
}

/* Whether a host can have that name: a host list of it has that host. */
static int check_host(const char *name, struct cop_error *error)
{
    struct cop_hosts *list;
    int r = cop_hosts_new(&list, name, NULL);
    bool same = r == 0 && cop_hosts_count(list) == 1 &&
                strcmp(cop_hosts_name(list, 0), name) == 0;

    if (r == 0)
        cop_hosts_free(list);
    if (same || r == -ENOMEM)
        return same ? 0 : r;
    return cop_error_set(error, -EINVAL,
                         "\"%s\" is no name of a host: those have letters, "
                         "digits, '.', '-' and '_', and do not begin with '-'",
                         name);
}

int targets_host(struct targets *targets,
                 const char *name,
                 uint32_t *host,
                 struct cop_error *error)
{
    int r;

    struct known_host *known;

    if (!targets->index) {
        targets->index = calloc(1, sizeof(*targets->index));
        if (!targets->index)
            return -ENOMEM;
    }
    if (targets->host_count == 0) {
        if (grow_list(&targets->host_names, 0, sizeof(char *)) < 0)
            return -ENOMEM;
        targets->host_names[0] = NULL;
        targets->host_count = 1;
    }
    *host = 0;
    if (is_this_host(name))
        return 0;
    HASH_FIND_STR(targets->index->hosts, name, known);
    if (known) {
        *host = known->number;
        return 0;
    }
    r = check_host(name, error);
    if (r < 0)
        return r;
    if (grow_list(&targets->host_names, targets->host_count, sizeof(char *)) <
        0)
        return -ENOMEM;
    known = calloc(1, sizeof(*known) + strlen(name) + 1);
    if (!known)
        return -ENOMEM;
    known->number = targets->host_count;
    strcpy(known->name, name);
    HASH_ADD_STR(targets->index->hosts, name, known);
    if (!known->hh.tbl) {
        free(known);
        return -ENOMEM;
    }
    *host = known->number;
    targets->host_names[targets->host_count++] = known->name;
    return 0;
}

const char *targets_host_name(const struct targets *targets, uint32_t host)
{
    return host == 0 ? "localhost" : targets->host_names[host];
}

/* Add process `pid` of a host. Returns 0 or -ENOMEM. */
static int append(struct targets *targets, uint32_t host, pid_t pid)
{
    uint32_t none;

    if (targets_host(targets, "", &none, NULL) < 0 ||
        grow_list(&targets->pids, targets->count, sizeof(*targets->pids)) < 0 ||
        grow_list(&targets->hosts, targets->count, sizeof(*targets->hosts)) < 0)
        return -ENOMEM;
    targets->hosts[targets->count] = host;
    targets->pids[targets->count++] = pid;
    return 0;
}

int targets_add(struct targets *targets, uint32_t host, pid_t pid)
{
    struct known_process *known = NULL, *found;
    uint32_t none;
    int r;

    r = targets_host(targets, "", &none, NULL); /* so that there is an index */
    if (r < 0)
        return r;
    known = calloc(1, sizeof(*known));
    if (!known)
        return -ENOMEM;
    known->key.host = host;
    known->key.pid = (int32_t)pid;
    HASH_FIND(hh, targets->index->processes, &known->key, sizeof(known->key),
              found);
    if (found) {
        free(known);
        return 0;
    }
    r = append(targets, host, pid);
    if (r == 0) {
        HASH_ADD(hh, targets->index->processes, key, sizeof(known->key), known);
        if (known->hh.tbl)
            return 0;
        targets->count--;
        r = -ENOMEM;
    }
    free(known);
    return r;
}

int targets_add_core(struct targets *targets, pid_t pid)
{
    return append(targets, 0, pid);
}

/* Remember what is to be found at a host. Returns 0 or -ENOMEM. */
static int add_wanted(struct targets *targets,
                      uint32_t host,
                      const char *name,
                      const char *user)
{
    struct targets_wanted wanted = {host, strdup(name), strdup(user)};

    if (!wanted.name || !wanted.user ||
        grow_list(&targets->wanted, targets->wanted_count,
                  sizeof(*targets->wanted)) < 0) {
        free(wanted.name);
        free(wanted.user);
        return -ENOMEM;
    }
    targets->wanted[targets->wanted_count++] = wanted;
    return 0;
}

/* Whether all of `text` is a pid. */
static bool read_pid(const char *text, long *pid)
{
    char *end;

    errno = 0;
    *pid = strtol(text, &end, 10);
    return !errno && end != text && !*end && *pid > 0 && *pid <= INT_MAX;
}

int targets_add_text(struct targets *targets,
                     const char *text,
                     struct cop_error *error)
{
    const char *colon = strrchr(text, ':');
    char name[256];
    uint32_t host = 0;
    long pid;
    int r = 0;

    if (!colon) {
        if (!read_pid(text, &pid))
            return cop_error_set(error, -EINVAL,
                                 "\"%s\" is no pid: give numbers of "
                                 "processes, HOST:PID or HOST:NAME",
                                 text);
        return targets_add(targets, 0, (pid_t)pid);
    }
    if (colon == text || !colon[1] || (size_t)(colon - text) >= sizeof(name))
        return cop_error_set(error, -EINVAL,
                             "\"%s\" is neither HOST:PID nor HOST:NAME", text);
    snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
    r = targets_host(targets, name, &host, error);
    if (r < 0)
        return r;
    if (read_pid(colon + 1, &pid))
        return targets_add(targets, host, (pid_t)pid);
    if (host == 0)
        return targets_add_name(targets, colon + 1, "", error);
    return add_wanted(targets, host, colon + 1, "");
}

int targets_add_file(struct targets *targets,
                     const char *path,
                     struct cop_error *error)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");
    char *line = NULL, *rest, *word;
    struct cop_error wrong = {""};
    unsigned number = 0;
    bool any = false;
    size_t room = 0;
    int r = 0;

    if (!file)
        return cop_error_set(error, -errno, "%s: cannot read it: %s", path,
                             strerror(errno));
    while (r == 0 && getline(&line, &room, file) >= 0) {
        line[strcspn(line, "#\n")] = '\0';
        number++;
        rest = line;
        while (r == 0 && (word = strsep(&rest, " \t\r,")) != NULL)
            if (word[0]) {
                any = true;
                r = targets_add_text(targets, word, &wrong);
            }
    }
    if (r < 0 && r != -ENOMEM)
        cop_error_set(error, r, "%s: line %u: %s", path, number, wrong.text);
    if (r == 0 && !any)
        r = cop_error_set(error, -EINVAL,
                          "%s names no process: write pids, HOST:PID or "
                          "HOST:NAME into it",
                          path);
    if (r == 0 && ferror(file))
        r = cop_error_set(error, -EIO, "%s: cannot read it", path);
    free(line);
    if (!standard)
        fclose(file);
    return r;
}

int targets_want(struct targets *targets,
                 const char *name,
                 const char *user,
                 const char *hosts,
                 struct cop_error *error)
{
    struct cop_hosts *list;
    uint32_t host;
    size_t i;
    int r;

    r = cop_hosts_new(&list, hosts, error);
    for (i = 0; r == 0 && i < cop_hosts_count(list); i++) {
        r = targets_host(targets, cop_hosts_name(list, i), &host, error);
        if (r == 0)
            r = add_wanted(targets, host, name, user);
    }
    if (r == 0 || r == -ENOMEM)
        cop_hosts_free(list);
    return r;
}

/* Read /proc/PID/stat. Returns whether the process is alive. */
static bool process_read(struct process *process, long pid)
{
    char path[64];
    char text[512];
    const char *open;
    const char *close;
    size_t len;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    open = strchr(text, '(');
    close = strrchr(text, ')');
    if (!open || !close || close < open || close[1] != ' ' || close[2] == 'Z')
        return false;
    process->has_child = false;
    process->pid = (int32_t)pid;
    process->parent = (int32_t)strtol(close + 3, NULL, 10);
    snprintf(process->name, sizeof(process->name), "%.*s",
             (int)(close - open - 1), open + 1);
    return true;
}

static int by_pid(const void *a, const void *b)
{
    const struct process *x = a;
    const struct process *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Read all processes into `table`; free its array. */
static int table_read(struct table *table)
{
    struct dirent *entry;
    size_t room = 0;
    DIR *folder = opendir("/proc");

    if (!folder)
        return -errno;
    while ((entry = readdir(folder)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (*end || pid <= 0)
            continue;
        if (table->count == room) {
            struct process *grown;

            room = room ? 2 * room : 256;
            grown = reallocarray(table->processes, room, sizeof(*grown));
            if (!grown) {
                closedir(folder);
                return -ENOMEM;
            }
            table->processes = grown;
        }
        table->count += process_read(&table->processes[table->count], pid);
    }
    closedir(folder);
    if (table->count)
        qsort(table->processes, table->count, sizeof(*table->processes),
              by_pid);
    return 0;
}

static const struct process *table_find(const struct table *table, int32_t pid)
{
    struct process key = {.pid = pid};

    return table->count ? bsearch(&key, table->processes, table->count,
                                  sizeof(key), by_pid)
                        : NULL;
}

/* Whether the program of `pid` is a file called `name`. */
static bool runs_file(int32_t pid, const char *name)
{
    char path[64];
    char exe[PATH_MAX];
    const char *file;
    ssize_t len;

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    len = readlink(path, exe, sizeof(exe) - 1);
    if (len < 0)
        return false;
    exe[len] = '\0';
    file = strrchr(exe, '/');
    return file && strcmp(file + 1, name) == 0;
}

/* Read the number of a user, by name or number. */
static int read_user(uid_t *uid, const char *user, struct cop_error *error)
{
    const struct passwd *entry = getpwnam(user);
    char *end;
    unsigned long number = strtoul(user, &end, 10);

    if (entry) {
        *uid = entry->pw_uid;
        return 0;
    }
    if (end == user || *end || user[0] == '-' || number >= UINT32_MAX)
        return cop_error_set(error, -ENOENT, "there is no user \"%s\"", user);
    *uid = (uid_t)number;
    return 0;
}

static bool is_owned_by(int32_t pid, uid_t uid)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return stat(path, &status) == 0 && status.st_uid == uid;
}

int targets_add_name(struct targets *targets,
                     const char *name,
                     const char *user,
                     struct cop_error *error)
{
    struct table table = {NULL, 0};
    bool found = false;
    uid_t uid = 0;
    size_t i;
    int r = 0;

    if (user[0])
        r = read_user(&uid, user, error);
    if (r == 0)
        r = table_read(&table);
    for (i = 0; r == 0 && i < table.count; i++) {
        const struct process *process = &table.processes[i];

        if (process->pid == getpid() ||
            (name[0] && strcmp(process->name, name) != 0 &&
             !runs_file(process->pid, name)) ||
            (user[0] && !is_owned_by(process->pid, uid)))
            continue;
        found = true;
        r = targets_add(targets, 0, process->pid);
    }
    free(table.processes);
    if (r == 0 && !found)
        r = cop_error_set(error, -ENOENT, "no process%s%s%s%s%s on this host",
                          user[0] ? " of user " : "", user,
                          name[0] ? " is called \"" : "", name,
                          name[0] ? "\"" : "");
    return r;
}

/* Whether `process` is somewhere below `pid`, and not below this process. */
static bool is_below(const struct table *table,
                     const struct process *process,
                     pid_t pid)
{
    size_t steps;

    /* The table is no snapshot: a ring of parents must not hold us. */
    for (steps = 0; process && steps < table->count; steps++) {
        if (process->pid == getpid())
            return false;
        if (process->parent == pid)
            return true;
        process = table_find(table, process->parent);
    }
    return false;
}

/* Note which processes have children. */
static void find_parents(struct table *table)
{
    size_t i;

    for (i = 0; i < table->count; i++) {
        const struct process *parent =
            table_find(table, table->processes[i].parent);

        if (parent)
            table->processes[parent - table->processes].has_child = true;
    }
}

/* A process and the rank that its launcher gave it. */
struct ranked {
    int32_t pid;
    long rank; /* -1: none */
};

/* The rank in the environment of a process, as launchers of MPI and Slurm give
 * it; -1 if there is none, or it may not be read. */
static long rank_of(int32_t pid)
{
    static const char *const names[] = {
        "PMI_RANK=", "PMIX_RANK=", "OMPI_COMM_WORLD_RANK=", "MPI_RANKID=",
        "SLURM_PROCID="};
    char path[64], *text = NULL;
    size_t room = 0, i;
    long rank = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return -1;
    while (rank < 0 && getdelim(&text, &room, '\0', file) > 0) {
        for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            size_t len = strlen(names[i]);

            if (strncmp(text, names[i], len) == 0 && text[len] >= '0' &&
                text[len] <= '9')
                rank = strtol(text + len, NULL, 10);
        }
    }
    free(text);
    fclose(file);
    return rank;
}

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Whether each has a rank of its own; then they are sorted by it. */
static bool sort_ranked(struct ranked *list, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (list[i].rank < 0)
            return false;
    if (count)
        qsort(list, count, sizeof(*list), by_rank);
    for (i = 1; i < count; i++)
        if (list[i].rank == list[i - 1].rank)
            return false;
    return true;
}

static int by_ranked_pid(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

int targets_add_children(struct targets *targets,
                         pid_t pid,
                         struct cop_error *error)
{
    struct table table = {NULL, 0};
    struct ranked *list = NULL;
    bool ranked = targets->count == 0;
    size_t count = 0;
    size_t i;
    int r;

    r = table_read(&table);
    if (r == 0 && !table_find(&table, pid))
        r = cop_error_set(error, -ENOENT,
                          "pid %d: no such process: give the pid of a running "
                          "launcher",
                          (int)pid);
    if (r == 0) {
        list = calloc(table.count + 1, sizeof(*list));
        r = list ? 0 : -ENOMEM;
    }
    find_parents(&table);
    for (i = 0; r == 0 && i < table.count; i++) {
        const struct process *process = &table.processes[i];

        if (is_below(&table, process, pid) && !process->has_child)
            list[count++] =
                (struct ranked){process->pid, rank_of(process->pid)};
    }
    if (r == 0 && !sort_ranked(list, count) && count)
        qsort(list, count, sizeof(*list), by_ranked_pid);
    for (i = 0; r == 0 && i < count; i++) {
        ranked = ranked && list[i].rank == (long)i;
        r = targets_add(targets, 0, list[i].pid);
    }
    if (ranked)
        targets->ranked_count = targets->count;
    free(list);
    free(table.processes);
    if (r == 0 && count == 0)
        r = cop_error_set(error, -ENOENT, "pid %d has no children", (int)pid);
    return r;
}
