/* main.c - of each test program that has no main() of its own. */
#include "test/check.h"

int main(int argc, char **argv)
{
    (void)argc;
    return check_run(argv[0]);
}
