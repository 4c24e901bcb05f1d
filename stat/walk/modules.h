/* modules.h - the program and the libraries that one process has mapped. */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <sys/types.h>

#include "stat/walk/python.h"

/* The mark after the path of a file that is not the one that the process of a
 * core file had mapped. */
#define MODULES_REPLACED " (replaced)"

struct modules; /* opaque, with a count of references */

/* Find the files that `pid` has mapped through /proc/PID/exe, /proc/PID/root
 * and /proc/PID/map_files, so that deleted programs, containers and changed
 * roots work, and read what unwinding needs. Returns 0, -ESRCH, -EPERM,
 * -ENOMEM, or -EIO or -ENOEXEC if the mappings cannot be read, for example
 * during execve(). */
int modules_new(struct modules **out, pid_t pid);

/* Whether the process still runs the program for which `modules` was made. */
bool modules_are_present(const struct modules *modules);

/* Find the files that the process of core file `path` had mapped, by their
 * paths, and attach to its threads. A file with another build-id, or that begins
 * differently than in the core file, is left out. Returns 0, the error of
 * opening `path`, -ENOEXEC if it is no readable core file, or -ENOMEM. */
int modules_new_core(struct modules **out, const char *path);

/* Open one file of this host, at the path in `text`, which modules_text() made,
 * perhaps on another host. Returns 0, -ENOENT if the file is missing or is not
 * the same file, or -ENOMEM. */
int modules_new_file(struct modules **out, const char *text);

/* Add a reference to `modules`. */
struct modules *modules_ref(struct modules *modules);

/* Drop a reference. NULL is fine. */
void modules_free(struct modules *modules);

/* The place of the process's Python interpreter, if it has one; borrowed. */
const struct python_place *modules_python(const struct modules *modules);

/* The session of libdwfl; borrowed. */
Dwfl *modules_dwfl(const struct modules *modules);

/* Make a text that identifies a module: its build-id if it has one, a space,
 * and its path. It is the same in every process and on every host. The caller
 * frees it. Returns 0 or -ENOMEM. */
int modules_text(char **out, Dwfl_Module *dwfl_module);

/* A pointer that the caller may store with a module; NULL at first. */
const void **modules_note(Dwfl_Module *dwfl_module);
