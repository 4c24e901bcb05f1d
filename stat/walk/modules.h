/* modules.h - what one process has mapped: its program and its libraries. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <sys/types.h>

#include "stat/walk/python.h"

struct modules; /* opaque, with a count of references */

/* Look at what `pid` has mapped, finding the files through /proc/PID/exe,
 * /proc/PID/root and /proc/PID/map_files, so that deleted programs, containers
 * and those with another root work; and read what unwinding needs. Returns 0,
 * -ESRCH, -EPERM, -ENOMEM, or -EIO or -ENOEXEC if it cannot be read, as while
 * it becomes another program. */
int modules_new(struct modules **out, pid_t pid);

/* Whether the process is still the program that it was when `modules` were
 * looked at. */
bool modules_are_present(const struct modules *modules);

/* Look at what the process had mapped of which `path` is a core file, finding
 * the files by their paths and build-ids, and attach to its threads.
 * Returns 0, the error of opening it, -ENOEXEC if it is no core file or none
 * that can be read, or -ENOMEM. */
int modules_new_core(struct modules **out, const char *path);

/* Look at one file of this host, at the path in `text`, which modules_text()
 * made, perhaps on another host. Returns 0, -ENOENT if it is not there or is
 * not the same file, or -ENOMEM. */
int modules_new_file(struct modules **out, const char *text);

/* One more reference to `modules`. */
struct modules *modules_ref(struct modules *modules);

/* Give a reference back. NULL is fine. */
void modules_free(struct modules *modules);

/* Where the process has an interpreter of Python, if it has; borrowed. */
const struct python_place *modules_python(const struct modules *modules);

/* The session of libdwfl; borrowed. */
Dwfl *modules_dwfl(const struct modules *modules);

/* What identifies a module, a build-id where it has one, and behind a space its
 * path: the same in every process and on every host. The caller frees it.
 * Returns 0 or -ENOMEM. */
int modules_text(char **out, Dwfl_Module *dwfl_module);

/* A pointer that is kept with a module, for the caller's use; NULL at first. */
const void **modules_note(Dwfl_Module *dwfl_module);
