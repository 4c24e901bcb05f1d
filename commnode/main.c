/* main.c - the program coppice-commnode. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "commnode/commnode.h"

#define STATUS_USAGE 2

static const char usage[] =
    "Usage: coppice-commnode\n"
    "       coppice-commnode --session FILE\n"
    "       coppice-commnode --start -- PROGRAM [ARGUMENT...]\n"
    "       coppice-commnode --agent\n"
    "\n"
    "A commnode of a Coppice network, started by the network itself, or by\n"
    "hand to join a running one.\n"
    "\n"
    "  --session FILE\n"
    "             join the network of this session file, and adopt nodes "
    "whose\n"
    "             parents die\n"
    "  --start    start PROGRAM on this host for a node on another one, as\n"
    "             ssh does: its bootstrap comes on standard input\n"
    "  --agent    start the nodes of this host for a network that one command\n"
    "             starts on all hosts: its bootstrap comes on standard input\n"
    "  --help     print this and exit\n"
    "  --version  print the version and exit\n"
    "\n"
    "COPPICE_LOG in the environment: log to standard error.\n";

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"start", no_argument, NULL, 's'},
        {"agent", no_argument, NULL, 'a'},
        {"session", required_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    int start = 0;
    int agent = 0;
    const char *session = NULL;
    int option;

    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        switch (option) {
        case 's':
            start = 1;
            break;
        case 'a':
            agent = 1;
            break;
        case 'f':
            session = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        case 'v':
            printf("coppice-commnode %s\n", COPPICE_VERSION);
            return EXIT_SUCCESS;
        default:
            fputs("Try: coppice-commnode --help\n", stderr);
            return STATUS_USAGE;
        }
    }
    if (session && !agent && !start && optind == argc)
        return cop_commnode_join(session);
    if (agent && !start && !session && optind == argc)
        return cop_commnode_agent();
    if (start && !agent && !session && optind < argc)
        return cop_commnode_start(argv + optind);
    if (start || agent || session || optind < argc) {
        fputs(start && !agent && !session
                  ? "coppice-commnode: --start needs a program\n"
                  : "coppice-commnode: unexpected argument\n",
              stderr);
        fputs("Try: coppice-commnode --help\n", stderr);
        return STATUS_USAGE;
    }
    return cop_commnode_main();
}
