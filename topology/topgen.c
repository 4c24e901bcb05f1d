/* topgen.c - coppice-topgen: prints a topology file, or verifies one. */
#include "topology/hostlist.h"
#include "topology/topology.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_WRONG 2 /* usage, or bad input */

#define PROGRAM "coppice-topgen"

struct options {
    const char *hosts;
    const char *hosts_path;
    const char *commnode_hosts;
    const char *check_path;
    const char *shape;
};

static void print_help(void)
{
    puts("Usage: " PROGRAM
         " [--hosts LIST | --hosts-file FILE] [OPTION] SHAPE\n"
         "       " PROGRAM " --check FILE\n"
         "\n"
         "Print a topology file for a tree of SHAPE, or verify one.\n"
         "\n"
         "  SHAPE  8x8       8 children at the front-end, 8 at each of those\n"
         "         2^5       fan-out 2, depth 5\n"
         "         flat:16   16 back-ends right under the front-end\n"
         "         k:4@64    k-nomial tree of 64 nodes in all\n"
         "         each:16   a back-end on each host, no node with more than\n"
         "                   16 children\n"
         "\n"
         "  --hosts LIST       hosts to place nodes on, such as "
         "node[01-32],login\n"
         "  --hosts-file FILE  the same from FILE (-: standard input)\n"
         "  --commnode-hosts LIST  hosts for the commnodes of each:F; else "
         "they\n"
         "                     run on the first host of those below them\n"
         "  --check FILE       verify FILE (-: standard input); print its\n"
         "                     nodes, leaves, depth and fan-outs\n"
         "  --help             this text\n"
         "  --version          the version\n"
         "\n"
         "Without hosts, every node is on localhost. Exit status: 0, or 2\n"
         "for wrong usage or bad input, or 1 when the output fails.");
}

static int print_check(const char *path)
{
    struct cop_error error = {""};
    struct topology_fanouts fanouts;
    struct topology *topo = NULL;

    if (topology_read(&topo, path, &error) < 0) {
        fprintf(stderr, "%s: %s\n", PROGRAM, error.text);
        return EXIT_WRONG;
    }
    topology_fanouts(topo, &fanouts);
    printf("nodes %u\n"
           "leaves %u\n"
           "depth %u\n"
           "fan-outs %u min, %.1f mean, %u max\n",
           topology_count(topo), topology_leaf_count(topo),
           topology_height(topo), fanouts.min, fanouts.mean, fanouts.max);
    topology_free(topo);
    return EXIT_SUCCESS;
}

static int print_shape(const struct options *options)
{
    struct cop_error error = {""};
    struct hostlist *hosts = NULL, *commnode_hosts = NULL;
    struct topology *topo = NULL;
    char *text = NULL;
    int r = 0;

    if (options->hosts)
        r = hostlist_parse(&hosts, options->hosts, strlen(options->hosts),
                           "--hosts", &error);
    else if (options->hosts_path)
        r = hostlist_read(&hosts, options->hosts_path, &error);
    if (r == 0 && options->commnode_hosts)
        r = hostlist_parse(&commnode_hosts, options->commnode_hosts,
                           strlen(options->commnode_hosts), "--commnode-hosts",
                           &error);
    if (r == 0)
        r = topology_from_shape(&topo, options->shape, hosts, commnode_hosts,
                                &error);
    if (r == 0)
        r = topology_text(topo, &text, NULL);
    if (r == -ENOMEM && error.text[0] == '\0')
        cop_error_set(&error, r, "out of memory");
    if (r == 0)
        fputs(text, stdout);
    else
        fprintf(stderr, "%s: %s\n", PROGRAM, error.text);
    free(text);
    topology_free(topo);
    hostlist_free(hosts);
    hostlist_free(commnode_hosts);
    return r == 0 ? EXIT_SUCCESS : EXIT_WRONG;
}

static int fail_usage(const char *sentence)
{
    fprintf(stderr, "%s: %s; try --help\n", PROGRAM, sentence);
    return EXIT_WRONG;
}

/* Fill `options`. Returns -1 to continue, or the exit status. */
static int read_options(struct options *options, int argc, char **argv)
{
    static const struct option longs[] = {
        {"hosts", required_argument, NULL, 'H'},
        {"hosts-file", required_argument, NULL, 'f'},
        {"commnode-hosts", required_argument, NULL, 'n'},
        {"check", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    int option;

    for (;;) {
        option = getopt_long(argc, argv, "", longs, NULL);
        switch (option) {
        case 'H':
            options->hosts = optarg;
            break;
        case 'f':
            options->hosts_path = optarg;
            break;
        case 'n':
            options->commnode_hosts = optarg;
            break;
        case 'c':
            options->check_path = optarg;
            break;
        case 'h':
            print_help();
            return EXIT_SUCCESS;
        case 'v':
            puts(PROGRAM " " COPPICE_VERSION);
            return EXIT_SUCCESS;
        case -1:
            return -1;
        default: /* getopt has printed the error */
            return fail_usage("wrong usage");
        }
    }
}

static int topgen_run(int argc, char **argv)
{
    struct options options = {0};
    int status = read_options(&options, argc, argv);

    if (status >= 0)
        return status;
    if (options.hosts && options.hosts_path)
        return fail_usage("--hosts and --hosts-file exclude each other");
    if (options.check_path) {
        if (optind < argc || options.hosts || options.hosts_path ||
            options.commnode_hosts)
            return fail_usage("--check FILE stands alone");
        return print_check(options.check_path);
    }
    if (optind == argc)
        return fail_usage("no SHAPE was given");
    if (optind + 1 < argc)
        return fail_usage("more than one SHAPE was given");
    options.shape = argv[optind];
    return print_shape(&options);
}

int main(int argc, char **argv)
{
    int status = topgen_run(argc, argv);

    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "%s: cannot write: %s\n", PROGRAM, strerror(errno));
        return status == EXIT_SUCCESS ? EXIT_FAILURE : status;
    }
    return status;
}
