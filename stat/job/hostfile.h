/* hostfile.h - the hosts in a file or list for a launcher. */
#pragma once

#include <coppice/error.h>

/* Make a list of hosts for cop_hosts_new() from `given`: the path of a host file
 * as launchers read it, with one host on each line, or a list of hosts itself.
 * Numbers of slots, "host slots=4" or "host:4", and users, "user@host", are left
 * out. The caller frees the list.
 *
 * Returns 0, -ENOMEM, -EINVAL with a sentence if a host is an address of IPv6 or
 * the file names none, or the error of reading, with a sentence. */
int hostfile_read(char **out, const char *given, struct cop_error *error);
