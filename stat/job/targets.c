/* targets.c - see targets.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf() */
#endif
#include "stat/job/targets.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coppice/hosts.h>

#include "stat/job/processes.h"
#include "stat/list.h"
#include "stat/table.h"

/* A process, by its host and pid. */
struct known_process {
    UT_hash_handle hh;
    struct {
        uint32_t host;
        int32_t pid;
    } key;
    uint32_t index;
};

/* A host, by its name. */
struct known_host {
    UT_hash_handle hh;
    uint32_t number;
    char name[];
};

/* Finds each of thousands of processes quickly. */
struct targets_index {
    struct known_process *processes;
    struct known_host *hosts;
};

static void index_free(struct targets_index *index)
{
    if (!index)
        return;
    TABLE_FREE(index->processes);
    TABLE_FREE(index->hosts);
    free(index);
}

void targets_fini(struct targets *targets)
{
    for (uint32_t i = 0; i < targets->wanted_count; i++) {
        free(targets->wanted[i].name);
        free(targets->wanted[i].user);
        free(targets->wanted[i].job);
    }
    free(targets->pids);
    free(targets->hosts);
    free(targets->tasks);
    free(targets->facts);
    free(targets->asides);
    tasks_free(targets->absent);
    free(targets->host_names);
    free(targets->wanted);
    free(targets->slurm_job);
    index_free(targets->index);
    *targets = (struct targets){0};
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

/* Check that a host can have that name, as the one host of a list. */
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
        if (list_grow(&targets->host_names, 0, sizeof(char *)) < 0)
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
    if (list_grow(&targets->host_names, targets->host_count, sizeof(char *)) <
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
static int append(struct targets *targets,
                  uint32_t host,
                  pid_t pid,
                  const struct targets_facts *facts)
{
    uint32_t count = targets->count, none;

    if (targets_host(targets, "", &none, NULL) < 0 ||
        list_grow(&targets->pids, count, sizeof(*targets->pids)) < 0 ||
        list_grow(&targets->hosts, count, sizeof(*targets->hosts)) < 0 ||
        list_grow(&targets->tasks, count, sizeof(*targets->tasks)) < 0 ||
        list_grow(&targets->facts, count, sizeof(*targets->facts)) < 0)
        return -ENOMEM;
    targets->pids[count] = (int32_t)pid;
    targets->hosts[count] = host;
    targets->tasks[count] = count;
    targets->facts[count] = facts ? *facts : (struct targets_facts){0};
    targets->count++;
    return 0;
}

/* Whether only the pid of a process is known. */
static bool is_unknown(const struct targets_facts *facts)
{
    return facts->rank.source == RANK_NONE && !facts->name[0] && !facts->sought;
}

int targets_add(struct targets *targets,
                uint32_t host,
                pid_t pid,
                const struct targets_facts *facts)
{
    struct known_process *known = NULL, *found;
    uint32_t none;
    int r;

    r = targets_host(targets, "", &none, NULL); /* makes the index */
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
        if (facts && is_unknown(&targets->facts[found->index])) {
            targets->facts[found->index] = *facts;
            targets->facts[found->index].sought = false;
        }
        free(known);
        return 0;
    }
    known->index = targets->count;
    r = append(targets, host, pid, facts);
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

const struct targets_facts *targets_facts_of(const struct targets *targets,
                                             uint32_t host,
                                             int32_t pid)
{
    struct known_process key = {.key = {host, pid}}, *found = NULL;

    if (targets->index)
        HASH_FIND(hh, targets->index->processes, &key.key, sizeof(key.key),
                  found);
    return found ? &targets->facts[found->index] : NULL;
}

bool targets_share_pid(const struct targets *targets,
                       uint32_t one,
                       uint32_t other)
{
    for (uint32_t i = 0; i < targets->count; i++)
        if (targets->hosts[i] == one &&
            targets_facts_of(targets, other, targets->pids[i]))
            return true;
    return false;
}

int targets_merge_host(struct targets *targets, uint32_t from, uint32_t to)
{
    int32_t *pids = targets->pids;
    uint32_t *hosts = targets->hosts;
    struct targets_facts *facts = targets->facts;
    uint32_t count = targets->count;
    int r = 0;

    TABLE_FREE(targets->index->processes);
    targets->pids = NULL;
    targets->hosts = NULL;
    targets->facts = NULL;
    targets->count = 0;
    free(targets->tasks);
    targets->tasks = NULL;
    for (uint32_t i = 0; r == 0 && i < count; i++)
        r = targets_add(targets, hosts[i] == from ? to : hosts[i], pids[i],
                        &facts[i]);
    free(pids);
    free(hosts);
    free(facts);
    return r;
}

int targets_append(struct targets *targets,
                   uint32_t task,
                   uint32_t host,
                   pid_t pid)
{
    int r = append(targets, host, pid, NULL);

    if (r == 0)
        targets->tasks[targets->count - 1] = task;
    return r;
}

/* Add a search on a host. Returns 0 or -ENOMEM. */
static int add_wanted(struct targets *targets,
                      uint32_t host,
                      const char *name,
                      const char *user,
                      const char *job)
{
    struct targets_wanted wanted = {host, NULL, strdup(user), strdup(job)};

    if (process_full_name(&wanted.name, name) < 0 || !wanted.user ||
        !wanted.job ||
        list_grow(&targets->wanted, targets->wanted_count,
                  sizeof(*targets->wanted)) < 0) {
        free(wanted.name);
        free(wanted.user);
        free(wanted.job);
        return -ENOMEM;
    }
    targets->wanted[targets->wanted_count++] = wanted;
    return 0;
}

int targets_find_given(struct targets *targets, struct cop_error *error)
{
    char **texts = calloc((size_t)targets->host_count + 1, sizeof(*texts));
    int r = texts ? 0 : -ENOMEM, here = 0;

    for (uint32_t i = 0; r == 0 && i < targets->count; i++) {
        char **text = &texts[targets->hosts[i]], *longer;

        if (!is_unknown(&targets->facts[i]) &&
            targets->facts[i].rank.source != RANK_TABLE)
            continue;
        if (asprintf(&longer, "%s%s%d", *text ? *text : "", *text ? " " : "",
                     (int)targets->pids[i]) < 0) {
            r = -ENOMEM;
        } else {
            free(*text);
            *text = longer;
        }
    }
    for (uint32_t host = 0; texts && host < targets->host_count; host++) {
        if (r == 0 && texts[host] && host > 0)
            r = add_wanted(targets, host, texts[host], "", TARGETS_PIDS);
        else if (r == 0 && texts[host])
            here = targets_add_pids(targets, texts[host], error);
        free(texts[host]);
    }
    free(texts);
    return r < 0 ? r : here;
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
                                 "\"%s\" is no pid: for processes of that "
                                 "name give --name %s, or HOST:NAME",
                                 text, text);
        return targets_add(targets, 0, (pid_t)pid, NULL);
    }
    if (colon == text || !colon[1] || (size_t)(colon - text) >= sizeof(name))
        return cop_error_set(error, -EINVAL,
                             "\"%s\" is neither HOST:PID nor HOST:NAME", text);
    snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
    r = targets_host(targets, name, &host, error);
    if (r < 0)
        return r;
    if (read_pid(colon + 1, &pid))
        return targets_add(targets, host, (pid_t)pid, NULL);
    if (host == 0)
        return targets_add_name(targets, colon + 1, "", error);
    return add_wanted(targets, host, colon + 1, "", "");
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
                 const char *job,
                 const char *hosts,
                 struct cop_error *error)
{
    struct cop_hosts *list;
    uint32_t host;
    int r;

    r = cop_hosts_new(&list, hosts, error);
    for (size_t i = 0; r == 0 && i < cop_hosts_count(list); i++) {
        r = targets_host(targets, cop_hosts_name(list, i), &host, error);
        if (r == 0)
            r = add_wanted(targets, host, name, user, job);
    }
    if (r == 0 || r == -ENOMEM)
        cop_hosts_free(list);
    return r;
}
