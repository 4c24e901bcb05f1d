/* corefile.h - what is wrong with the file of a core dump. */
#pragma once

#define COREFILE_FLAW_SIZE 160

/* Write that the file is compressed, or that its end is missing; "" if neither
 * is seen. */
void corefile_flaw(char text[static COREFILE_FLAW_SIZE], const char *path);
