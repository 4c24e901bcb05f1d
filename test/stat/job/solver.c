/* solver.c - a process of a job, for tests: prints its pid, and waits until its
 * input ends.
 *
 *     solver [PLACE]
 *
 * PLACE is where it waits: "exchange" (the default), "refine", or "system", for
 * a program that it has started. With "end" it exits at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAME __attribute__((noinline))

/* Wait for the end of the input. */
static void wait_here(void)
{
    char byte;

    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}

FRAME static int exchange(void)
{
    wait_here();
    return 0;
}

FRAME static int refine(void)
{
    wait_here();
    return 1;
}

/* Not by a jump, which leaves no frame. */
FRAME static int compress(void)
{
    return system("cat >/dev/null; true") == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *place = argc > 1 ? argv[1] : "exchange";

    printf("%d\n", (int)getpid());
    fflush(stdout);
    if (strcmp(place, "refine") == 0)
        return refine() == 2;
    if (strcmp(place, "system") == 0)
        return compress() != 0;
    if (strcmp(place, "end") == 0)
        return 0;
    return exchange();
}
