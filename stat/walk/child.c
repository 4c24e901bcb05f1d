/* child.c - see child.h. */
#include "stat/walk/child.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "stat/walk/thread.h"

/* Most threads whose children are read: of more nothing is said. */
#define THREADS_MAX 256

/* What is known of the processes that a process waits for. */
struct children {
    pid_t parent;
    pid_t wanted;   /* by the id that the parent knows; not positive: any */
    bool inner;     /* ... which is not the id that it has for us */
    unsigned count; /* of those found */
    pid_t found;    /* the last one, */
    char name[THREAD_NAME_SIZE]; /* and its name */
};

/* Count process `pid` if the parent waits for it. */
static void add_child(struct children *children, pid_t pid)
{
    pid_t known = children->inner && children->wanted > 0
                      ? thread_inner_tid(pid, pid)
                      : pid;
    struct thread_status status;

    if ((children->wanted > 0 && known != children->wanted) ||
        thread_status(&status, pid, pid) < 0 ||
        thread_has_ended(status.state) || status.parent != children->parent)
        return;
    children->count++;
    children->found = pid;
    snprintf(children->name, sizeof(children->name), "%s", status.name);
}

/* Add the processes that thread `tid` has started. */
static void add_children(struct children *children, pid_t tid)
{
    char path[64];
    FILE *file;
    int pid;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
             (int)children->parent, (int)tid);
    file = fopen(path, "re");
    if (!file)
        return;
    while (fscanf(file, "%d", &pid) == 1)
        add_child(children, (pid_t)pid);
    fclose(file);
}

/* Write the note. Returns whether there is one. */
static bool note_write(char note[static CHILD_NOTE_SIZE],
                       const struct children *children)
{
    if (children->count == 1)
        snprintf(note, CHILD_NOTE_SIZE, "[waits for process %d (%.15s)]",
                 (int)children->found, children->name);
    else if (children->count > 1)
        snprintf(note, CHILD_NOTE_SIZE, "[waits for one of %u processes]",
                 children->count);
    return children->count > 0;
}

bool child_note(char note[static CHILD_NOTE_SIZE],
                pid_t pid,
                pid_t tid,
                int32_t wanted)
{
    struct children children = {.parent = pid,
                                .wanted = wanted,
                                .inner = thread_inner_tid(pid, tid) != tid};
    unsigned threads = 0;
    struct dirent *entry;
    char path[64];
    DIR *folder;

    if (wanted > 0 && !children.inner) {
        add_child(&children, wanted);
        return note_write(note, &children);
    }
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    folder = opendir(path);
    if (!folder)
        return false;
    while (threads < THREADS_MAX && (entry = readdir(folder)) != NULL) {
        pid_t number = (pid_t)strtol(entry->d_name, NULL, 10);

        if (number <= 0)
            continue;
        add_children(&children, number);
        threads++;
    }
    closedir(folder);
    return threads < THREADS_MAX && note_write(note, &children);
}
