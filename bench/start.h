/* start.h - launching a network of the benchmarks' back-ends. */
#ifndef BENCH_START_H
#define BENCH_START_H

struct cop_network;

/* Launch one on this machine, of which exactly one of `shape` and `text`, a
 * topology file's, is given. Every back-end is bench_be. In the build tree its
 * programs, filters and library are taken, unless the environment says
 * otherwise; an installed library knows for itself.
 *
 * Returns 0, or a negative errno, said. */
int start_network(struct cop_network **out,
                  const char *shape,
                  const char *text);

#endif
