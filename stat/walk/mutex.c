/* mutex.c - see mutex.h. */
#include "stat/walk/mutex.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "stat/tree/frame.h"
#include "stat/walk/thread.h"

/* In the kind of a mutex: several processes share it. */
#define KIND_SHARED 128

/* Whether thread `tid` has ended; its id is the same here. */
static bool has_ended(pid_t tid)
{
    struct thread_status status;

    if (thread_status(&status, tid, tid) == 0)
        return thread_has_ended(status.state);
    /* /proc may hide the threads of others. */
    return kill(tid, 0) < 0 && errno == ESRCH;
}

bool mutex_note(char note[static MUTEX_NOTE_SIZE],
                const struct mutex *mutex,
                pid_t pid,
                pid_t tid)
{
    bool shares_ids = thread_shares_ids(pid);
    struct thread_status status;
    const char *where = "";

    /* In a container threads have other ids: then the owner's id here is not
     * known. */
    if (mutex->lock == 0 || mutex->owner <= 0 ||
        thread_inner_tid(pid, tid) != tid)
        return false;
    if (shares_ids && has_ended(mutex->owner)) {
        where = FRAME_OVER;
    } else if (thread_status(&status, pid, mutex->owner) < 0) {
        if (!shares_ids || (mutex->kind & KIND_SHARED))
            return false;
        where = FRAME_ELSEWHERE;
    }
    snprintf(note, MUTEX_NOTE_SIZE, "[thread %d waits for thread %d%s]",
             (int)tid, (int)mutex->owner, where);
    return true;
}
