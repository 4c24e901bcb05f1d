/* touch.c - see touch.h. */
#include "stat/walk/touch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat/clock.h"
#include "stat/walk/thread.h"

/* Bytes of a line of mountinfo or maps. */
#define LINE_SIZE (PATH_MAX + 512)

static struct touched *touched; /* NULL: this process is not watched */
static char refused[TOUCH_REASON_SIZE];

void touch_attach(struct touched *shared)
{
    touched = shared;
}

bool touch_is_watched(void)
{
    return touched != NULL;
}

pid_t touch_owner(void)
{
    return touched ? touched->owner : getpid();
}

void touch_begin(void)
{
    if (touched)
        atomic_store(&touched->busy, true);
}

void touch_end(void)
{
    if (!touched)
        return;
    atomic_store(&touched->busy, false);
    touched->begun_ms = 0;
    touched->pid = 0;
    touched->path[0] = '\0';
}

uint64_t touch_begun_ms(void)
{
    if (!touched)
        return clock_now_ms();
    if (touched->begun_ms == 0)
        touched->begun_ms = clock_now_ms();
    return touched->begun_ms;
}

const char *touch_reason(void)
{
    return refused;
}

/* Whether anything is known to be stuck. */
static bool any_is_stuck(void)
{
    for (size_t i = 0; i < TOUCH_STUCK_MAX; i++)
        if (atomic_load(&touched->stuck[i].valid))
            return true;
    return false;
}

static bool refuse(const char *reason)
{
    snprintf(refused, sizeof(refused), "%s", reason);
    return false;
}

static bool refuse_file(const char *path)
{
    snprintf(refused, sizeof(refused), "its file does not answer: %.*s",
             TOUCH_PATH_SIZE - 1, path);
    return false;
}

/* Whether a file system does not answer. */
static bool is_stuck_device(uint64_t device)
{
    for (size_t i = 0; device && i < TOUCH_STUCK_MAX; i++)
        if (atomic_load(&touched->stuck[i].valid) &&
            touched->stuck[i].device == device)
            return true;
    return false;
}

/* Undo the escapes of a path in /proc: "\040". */
static void unescape(char *path)
{
    char *to = path;

    for (const char *from = path; *from; to++) {
        bool escaped = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' &&
                       from[2] >= '0' && from[2] <= '7' && from[3] >= '0' &&
                       from[3] <= '7';

        *to = escaped ? (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
                               (from[3] - '0'))
                      : *from;
        from += escaped ? 4 : 1;
    }
    *to = '\0';
}

static uint64_t device_of(unsigned major, unsigned minor)
{
    return (uint64_t)major << 32 | minor;
}

/* Whether `path` is `folder`, or is in it. */
static bool is_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);

    return strcmp(folder, "/") == 0 ||
           (strncmp(path, folder, len) == 0 &&
            (path[len] == '/' || path[len] == '\0'));
}

uint64_t touch_device(pid_t pid, const char *path)
{
    char line[LINE_SIZE], point[PATH_MAX + 1];
    size_t longest = 0;
    uint64_t device = 0;
    FILE *file;

    if (path[0] != '/')
        return 0;
    snprintf(line, sizeof(line), "/proc/%d/mountinfo",
             (int)(pid ? pid : getpid()));
    file = fopen(line, "re");
    while (file && fgets(line, sizeof(line), file)) {
        unsigned major, minor;

        /* limited to PATH_MAX */
        if (sscanf(line, "%*s %*s %u:%u %*s %4096s", &major, &minor, point) !=
            3)
            continue;
        unescape(point);
        /* A later mount at the same point hides the former. */
        if (is_below(path, point) && strlen(point) >= longest) {
            longest = strlen(point);
            device = device_of(major, minor);
        }
    }
    if (file)
        fclose(file);
    return device;
}

bool touch_file(pid_t pid, const char *path)
{
    if (!touched)
        return true;
    refused[0] = '\0';
    touched->address = 0;
    snprintf(touched->path, sizeof(touched->path), "%s", path);
    if (!path[0] || !any_is_stuck())
        return true;
    for (size_t i = 0; i < TOUCH_STUCK_MAX; i++)
        if (atomic_load(&touched->stuck[i].valid) &&
            strncmp(touched->stuck[i].path, path, TOUCH_PATH_SIZE - 1) == 0)
            return refuse(touched->stuck[i].reason);
    return !is_stuck_device(touch_device(pid, path)) || refuse_file(path);
}

/* Note that the program of a process is touched. Returns whether it may be. */
static bool touch_program(pid_t pid)
{
    char path[64], program[TOUCH_PATH_SIZE];
    ssize_t len;

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    len = readlink(path, program, sizeof(program) - 1);
    program[len > 0 ? len : 0] = '\0';
    return touch_file(pid, program);
}

/* Whether no file that the process has mapped is on a file system that does not
 * answer. */
static bool may_be_mapped(pid_t pid)
{
    char line[LINE_SIZE];
    bool may = true;
    FILE *file;

    snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
    file = fopen(line, "re");
    while (may && file && fgets(line, sizeof(line), file)) {
        unsigned major, minor;
        int at = 0;

        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%*s %*s %*s %x:%x %*s %n", &major, &minor, &at) ==
                2 &&
            at > 0 && line[at] == '/' &&
            is_stuck_device(device_of(major, minor)))
            may = refuse_file(line + at);
    }
    if (file)
        fclose(file);
    return may;
}

void touch_address(uint64_t address)
{
    if (touched)
        touched->address = address;
}

/* Note that process `pid` is looked at. Returns whether it is not known to be
 * stuck, or with `words`, to be so for another reason than a file. */
static bool touch(pid_t pid, bool words)
{
    struct thread_status status;

    if (!touched)
        return true;
    touched->pid = pid;
    touched->address = 0;
    touched->path[0] = '\0';
    refused[0] = '\0';
    if (pid == 0 || !any_is_stuck())
        return true;
    for (size_t i = 0; i < TOUCH_STUCK_MAX; i++) {
        const struct stuck *stuck = &touched->stuck[i];

        if (atomic_load(&stuck->valid) && stuck->pid == pid &&
            !(words && stuck->path[0]) &&
            thread_status(&status, pid, pid) == 0 &&
            status.started == stuck->started)
            return refuse(stuck->reason);
    }
    return true;
}

bool touch_process(pid_t pid)
{
    return touch(pid, false);
}

bool touch_words(pid_t pid)
{
    return touch(pid, true);
}

bool touch_memory(pid_t pid)
{
    return touch_process(pid) &&
           (!touched ||
            (touch_program(pid) && (!any_is_stuck() || may_be_mapped(pid))));
}
