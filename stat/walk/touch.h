/* touch.h - what a process that looks at others touches at present, and what is
 * known to be stuck.
 *
 * A file on a dead file system, or a process in the middle of execve(), may
 * block for ever whoever touches it. So another process, the watcher, has them
 * touched by a process of its own, and reads in shared memory what that was about
 * when it got stuck (aside.h). The next one is told by these functions what not
 * to touch. In a process without a watcher they do nothing. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes of a path, and of a reason, with their ends. */
#define TOUCH_PATH_SIZE   1024
#define TOUCH_REASON_SIZE (TOUCH_PATH_SIZE + 64)

/* Most stuck things that are known at once. */
#define TOUCH_STUCK_MAX 64

/* Something that does not answer. */
struct stuck {
    atomic_bool valid;
    int32_t pid;      /* the process that was looked at; 0: none */
    uint64_t address; /* in it; 0: none */
    uint64_t started; /* when it was, as a thread_status says */
    uint64_t device;  /* the file system that does not answer; 0: not known */
    char path[TOUCH_PATH_SIZE]; /* the file; "": not known */
    char reason[TOUCH_REASON_SIZE];
};

/* Memory shared by the watcher and the watched. */
struct touched {
    atomic_bool busy; /* the watched one is at work, and does not only wait */
    int32_t pid;      /* the process that it looks at; 0: none */
    uint64_t address; /* in a file that the process has mapped; 0: none */
    char path[TOUCH_PATH_SIZE]; /* the file that it touches; "": none */
    int32_t owner;              /* the watcher */
    uint64_t begun_ms;          /* touch_begun_ms() */
    struct stuck stuck[TOUCH_STUCK_MAX];
};

/* From now on this process is watched through `touched`. */
void touch_attach(struct touched *touched);

/* Whether this process is watched. */
bool touch_is_watched(void);

/* This process, or the one that watches it. */
pid_t touch_owner(void);

/* The watched process begins its work, or ends it and waits, as long as it has
 * to, for something else than what it looks at. */
void touch_begin(void);
void touch_end(void);

/* When the work began that is done: now, or when a process that was lost began
 * it. */
uint64_t touch_begun_ms(void);

/* Note that process `pid` is looked at, 0: none. Returns whether it may be: it
 * is not known to be stuck. */
bool touch_process(pid_t pid);

/* The same, if only its command line and its environment are read: also if it is
 * stuck because of a file. */
bool touch_words(pid_t pid);

/* Note that the memory of process `pid` is read, into which its program's file is
 * mapped. Returns whether it may be: also no file that it has mapped is on a file
 * system that is known to be stuck. */
bool touch_memory(pid_t pid);

/* Note that the file `path`, as process `pid` sees it (0: as this one does), is
 * touched; "": none is. Returns whether it may be. */
bool touch_file(pid_t pid, const char *path);

/* Note that the file is touched that the process has mapped at `address`. */
void touch_address(uint64_t address);

/* Why the last of these was refused; "" if it was not. */
const char *touch_reason(void);

/* The device of the file system of `path` as process `pid` sees it, without
 * touching it; 0: not known. */
uint64_t touch_device(pid_t pid, const char *path);
