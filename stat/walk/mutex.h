/* mutex.h - the thread whose mutex another one waits for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes of the note. */
#define MUTEX_NOTE_SIZE 80

/* The beginning of a mutex of glibc. */
struct mutex {
    int32_t lock; /* the futex */
    uint32_t count;
    int32_t owner;
    uint32_t users;
    int32_t kind;
};

/* Write a note on the mutex that thread `tid` of process `pid` waits for, if its
 * owner is a thread of the same process, or has ended; or if nobody can release
 * it, as it was held when the process was forked:
 * "[thread 18 waits for thread 17]". Returns whether there is one. */
bool mutex_note(char note[static MUTEX_NOTE_SIZE],
                const struct mutex *mutex,
                pid_t pid,
                pid_t tid);
