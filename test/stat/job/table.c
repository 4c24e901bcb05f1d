/* table.c - a launcher, for tests: has a table for debuggers, prints its pid, and
 * waits until its input ends.
 *
 *     table HOST PID... */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROWS_MAX 16

struct row {
    const char *host;
    const char *program;
    int pid;
};

/* The names that debuggers know. */
extern struct row *MPIR_proctable;
extern int MPIR_proctable_size;

static struct row rows[ROWS_MAX];
struct row *MPIR_proctable = rows;
int MPIR_proctable_size;

int main(int argc, char **argv)
{
    char byte;

    for (int i = 2; i < argc && i < 2 + ROWS_MAX; i++)
        rows[MPIR_proctable_size++] =
            (struct row){argv[1], argv[0], (int)strtol(argv[i], NULL, 10)};
    printf("%d\n", (int)getpid());
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}
