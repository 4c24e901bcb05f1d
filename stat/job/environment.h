/* environment.h - the environment of another process. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Bytes of a variable, with its end, that are read of one in a process's memory;
 * a longer one is cut. */
#define ENVIRONMENT_LINE_SIZE 1024

/* Gets one variable, "NAME=VALUE", valid during the call. */
typedef void (*environment_fn)(void *arg, const char *line);

/* Call `fn` for each variable that process `pid` got when it began. Returns
 * whether there is any: a program that writes its title there loses them. */
bool environment_read(pid_t pid, environment_fn fn, void *arg);

/* Call `fn` for each variable that process `pid` has at this moment, in the list
 * `environ` of its C library. Nothing of the process is trusted. Returns whether
 * there is any; a static program's cannot be found. */
bool environment_read_live(pid_t pid, environment_fn fn, void *arg);
