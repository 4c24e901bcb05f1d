/* injection.h - what this process does to itself when it is to be broken on
 * purpose (PROTOCOL 15.6). */
#ifndef NET_INJECTION_H
#define NET_INJECTION_H

#include <stdint.h>

struct connection;

/* Kill this process with SIGKILL; or have it stopped and, after `freeze_ms`,
 * continued: it returns then, or at once if there is no process to be had for
 * that; or reset the connection `parent`, which may be NULL. `kind` is an enum
 * cop_injection. */
void injection_suffer(int kind, uint32_t freeze_ms, struct connection *parent);

#endif
