/* machine.h - what this machine asks for the three things of which the figures
 * of all benchmarks are made. */
#pragma once

struct machine {
    double fault_us;   /* the first touch of a page of anonymous memory */
    double switch_us;  /* from a write into a pipe until its reader, which was
                          blocked on the same CPU, has the byte */
    double wake_up_us; /* the same, with the reader on another CPU; 0: this
                          process has only one */
    double exec_us;    /* start `true`, and wait for its end */
};

/* Measure, in some 0.2 s. Each is the least of several medians: what else runs
 * can only add to it. Returns 0 or a negative errno. */
int machine_measure(struct machine *machine);

/* Measure and print one line, which stands above every table. */
void machine_print(void);
