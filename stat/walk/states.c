/* states.c - see states.h. */
#include "stat/walk/states.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "stat/table.h"
#include "stat/walk/thread.h"

/* What a thread did before it was stopped. */
struct before {
    UT_hash_handle hh;
    pid_t tid;
    char note[THREAD_PLACE_SIZE + 32];
};

struct states {
    struct before *list;
};

void states_free(struct states *states)
{
    if (!states)
        return;
    TABLE_FREE(states->list);
    free(states);
}

/* Note the state of one thread, if it is one that is shown. */
static int look_at(struct states *states, pid_t pid, pid_t tid, bool all)
{
    char place[THREAD_PLACE_SIZE] = "";
    struct thread_status status;
    struct before *before;
    const char *word;

    if (thread_status(&status, pid, tid) < 0)
        return 0;
    if (status.state == 'R')
        word = "running";
    else if (!all)
        return 0;
    else if (status.state == 'S')
        word = "sleeping";
    else if (status.state == 'D')
        word = "uninterruptible";
    else
        return 0;
    before = calloc(1, sizeof(*before));
    if (!before)
        return -ENOMEM;
    if (status.state != 'R')
        thread_place(place, pid, tid);
    snprintf(before->note, sizeof(before->note), "[%s%s%s]", word,
             place[0] ? " in " : "", place);
    before->tid = tid;
    HASH_ADD(hh, states->list, tid, sizeof(tid), before);
    if (before->hh.tbl)
        return 0;
    free(before);
    return -ENOMEM;
}

int states_look(struct states **out,
                pid_t pid,
                const struct walk_options *options)
{
    struct states *states = calloc(1, sizeof(*states));
    struct dirent *entry;
    char path[64];
    DIR *folder;
    int r = 0;

    if (!states)
        return -ENOMEM;
    *out = states;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    folder = opendir(path);
    if (!folder)
        return 0; /* the stop will report why */
    while (r == 0 && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.' &&
            HASH_COUNT(states->list) < options->threads_max)
            r = look_at(states, pid, (pid_t)strtol(entry->d_name, NULL, 10),
                        options->states);
    closedir(folder);
    return r;
}

const char *states_note(const struct states *states, pid_t tid)
{
    const struct before *before = NULL;

    if (states)
        HASH_FIND(hh, states->list, &tid, sizeof(tid), before);
    return before ? before->note : NULL;
}
