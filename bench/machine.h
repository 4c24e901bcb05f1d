/* machine.h - the cost on this machine of the basic operations that determine
 * the results of all benchmarks. */
#pragma once

struct machine {
    double fault_us;   /* the first touch of a page of anonymous memory */
    double switch_us;  /* from a write to a pipe until its reader, blocked on
                          the same CPU, has the byte */
    double wake_up_us; /* the same, with the reader on another CPU; 0: this
                          process has only one */
    double exec_us;    /* start `true`, and wait for it */
};

/* Measure, for about 0.2 s. Each result is the least of several medians,
 * because other load can only add to it. Returns 0 or a negative errno. */
int machine_measure(struct machine *machine);

/* Measure, and print the line that heads every table. */
void machine_print(void);
