/* test_guarantee.c - which guarantee a stream gets when it is opened, and which
 * are refused. */
#include <sys/stat.h>

#include "test/frontend/tree.h"

static int open_as(struct cop_network *network,
                   const struct cop_stream_options *options,
                   struct cop_stream **stream,
                   struct cop_error *error)
{
    *stream = NULL;
    return cop_stream_open(stream, network, cop_network_everyone(network),
                           options, error);
}

static const struct {
    const char *filter;
    const char *frontend; /* or NULL */
    enum cop_sync sync;
    enum cop_guarantee asked;
    enum cop_guarantee kept;
} kept_cases[] = {
    {"int_union", NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_EXACT,
     COP_GUARANTEE_COMPENSATION},
    {"int_union", NULL, COP_DO_NOT_WAIT, COP_GUARANTEE_EXACT,
     COP_GUARANTEE_COMPENSATION},
    {"int_union", NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_COMPENSATION,
     COP_GUARANTEE_COMPENSATION},
    {"int_union", NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_TOTAL,
     COP_GUARANTEE_TOTAL},
    {"int_union", NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_NONE,
     COP_GUARANTEE_NONE}, /* its compensations are not received */
    {"int_union", NULL, COP_DO_NOT_WAIT, COP_GUARANTEE_NONE,
     COP_GUARANTEE_COMPENSATION},
    {"sum", NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_EXACT, COP_GUARANTEE_TOTAL},
    {"max", NULL, COP_DO_NOT_WAIT, COP_GUARANTEE_EXACT, COP_GUARANTEE_TOTAL},
    {"histogram", NULL, COP_DO_NOT_WAIT, COP_GUARANTEE_EXACT,
     COP_GUARANTEE_TOTAL},
    {"sum", NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_WAVES, COP_GUARANTEE_WAVES},
    {"sum", NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_NONE, COP_GUARANTEE_NONE},
    {"sum", "max", COP_WAIT_FOR_ALL, COP_GUARANTEE_EXACT, COP_GUARANTEE_WAVES},
    {"concat", NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_EXACT,
     COP_GUARANTEE_WAVES},
    {"concat", "poison", COP_WAIT_FOR_ALL, COP_GUARANTEE_WAVES,
     COP_GUARANTEE_WAVES},
    {NULL, NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_EXACT, COP_GUARANTEE_WAVES},
    {NULL, NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_NONE, COP_GUARANTEE_NONE},
};

/* Filters, synchronisation and the requested guarantee decide the stream's. */
TEST(the_cheapest_way_is_taken)
{
    struct cop_packet *parameters; /* of histogram */
    struct cop_network *network;

    CHECK_OK(cop_packet_new(&parameters, 0, "%lf %lf %ud", 0., 1., 2u));
    tree_own_filters();
    network = tree_launch("2x2");
    for (size_t i = 0; i < sizeof(kept_cases) / sizeof(*kept_cases); i++) {
        struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
        enum cop_guarantee kept;
        struct cop_stream *stream;
        const char *reason = "";

        options.up_filter = kept_cases[i].filter;
        options.parameters = parameters;
        options.up_filter_frontend = kept_cases[i].frontend;
        options.sync = kept_cases[i].sync;
        options.guarantee = kept_cases[i].asked;
        stream = tree_open_with(network, &options);
        kept = cop_stream_guarantee(stream, &reason);
        if (kept != kept_cases[i].kept)
            printf("\ncase %zu: %d\n", i, (int)kept);
        CU_ASSERT_EQUAL(kept, kept_cases[i].kept);
        CU_ASSERT_EQUAL(!reason, kept != COP_GUARANTEE_NONE);
        cop_stream_close(stream);
    }
    cop_packet_free(parameters);
    tree_end(network);
}

static const struct {
    const char *filter;
    const char *frontend;
    enum cop_sync sync;
    enum cop_guarantee asked;
    const char *says; /* between bars */
} refused_cases[] = {
    {"concat", NULL, COP_DO_NOT_WAIT, COP_GUARANTEE_EXACT,
     "is stateless|has no `join`|COP_WAIT_FOR_ALL"},
    {"poison", "sum", COP_WAIT_FOR_ALL, COP_GUARANTEE_EXACT,
     "filter \"sum\": it is stateless|up_filter_frontend|filter \"poison\" "
     "does not declare COP_STATELESS"},
    {NULL, NULL, COP_DO_NOT_WAIT, COP_GUARANTEE_EXACT,
     "no upstream filter|no upstream filter to make totals|COP_WAIT_FOR_ALL"},
    {"sum", NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_COMPENSATION,
     "COP_GUARANTEE_COMPENSATION cannot be kept|is stateless"},
    {"concat", NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_TOTAL,
     "COP_GUARANTEE_TOTAL cannot be kept|has no `join`"},
    {NULL, NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_TOTAL, "no upstream filter"},
    {"sum", "max", COP_WAIT_FOR_ALL, COP_GUARANTEE_TOTAL, "up_filter_frontend"},
    {"int_union", NULL, COP_WAIT_FOR_ALL, COP_GUARANTEE_WAVES,
     "COP_GUARANTEE_WAVES cannot be kept|COP_STATELESS|up_filter_frontend"},
    {"sum", NULL, COP_DO_NOT_WAIT, COP_GUARANTEE_WAVES, "COP_WAIT_FOR_ALL"},
    {"sum", NULL, COP_TIME_OUT, COP_GUARANTEE_WAVES, "COP_WAIT_FOR_ALL"},
    {"sum", NULL, COP_WAIT_FOR_ALL, (enum cop_guarantee)99, "guarantee is 99"},
};

/* A guarantee that no stream can keep is refused, with the reason. "poison" has
 * a state and is idempotent; "concat" has neither law. */
TEST(what_cannot_be_kept_is_refused)
{
    struct cop_network *network;

    tree_own_filters();
    network = tree_launch("2x2");
    for (size_t i = 0; i < sizeof(refused_cases) / sizeof(*refused_cases);
         i++) {
        struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
        struct cop_error error = {""};
        struct cop_stream *stream;

        options.up_filter = refused_cases[i].filter;
        options.up_filter_frontend = refused_cases[i].frontend;
        options.sync = refused_cases[i].sync;
        options.wave_timeout_ms = options.sync == COP_TIME_OUT ? 10 : 0;
        options.guarantee = refused_cases[i].asked;
        CHECK_IS(open_as(network, &options, &stream, &error), -EINVAL);
        CU_ASSERT_PTR_NULL(stream);
        tree_check_says(error.text, refused_cases[i].says);
    }
    tree_end(network);
}

/* Joiners count from the first sync that names them. A downstream filter that
 * is not one-to-one rules out syncs, so sends of joiners would never return. */
TEST(joiners_of_whole_waves_need_syncs)
{
    struct cop_network *network = tree_launch("flat:2");
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_error error = {""};
    struct cop_stream *stream;

    options.up_filter = "concat";
    options.down_filter = "int_union";
    options.guarantee = COP_GUARANTEE_EXACT;
    options.grow = true;
    CHECK_IS(open_as(network, &options, &stream, &error), -EINVAL);
    tree_check_says(error.text, "\"int_union\" is not one-to-one|grow");
    options.grow = false;
    CHECK_OK(open_as(network, &options, &stream, &error));
    tree_end(network);
}

/* The bounds of whole waves are refused with any other guarantee, and late
 * packets with one that has none. */
TEST(bounds_need_waves)
{
    struct cop_network *network = tree_launch("flat:2");
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_error error = {""};
    struct cop_stream *stream;

    options.up_filter = "sum";
    options.guarantee = COP_GUARANTEE_TOTAL;
    options.keep = 1;
    CHECK_IS(open_as(network, &options, &stream, &error), -EINVAL);
    tree_check_says(error.text, "keep is given");
    options.keep = 0;
    options.redo_limit = 1;
    options.guarantee = COP_GUARANTEE_NONE;
    CHECK_IS(open_as(network, &options, &stream, &error), -EINVAL);
    tree_check_says(error.text, "redo_limit is given");
    options.redo_limit = 0;
    options.stragglers = true;
    options.guarantee = COP_GUARANTEE_WAVES;
    CHECK_IS(open_as(network, &options, &stream, &error), -EINVAL);
    tree_check_says(error.text, "stragglers is given");
    tree_end(network);
}

/* If the front-end cannot open a filter, it does not know the filter's laws. */
TEST(a_filter_that_is_missing)
{
    struct cop_network *network = tree_launch("flat:2");
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct cop_error error = {""};
    struct cop_stream *stream;

    options.up_filter = "no_such_filter";
    for (int g = COP_GUARANTEE_EXACT; g <= COP_GUARANTEE_WAVES; g++) {
        options.guarantee = (enum cop_guarantee)g;
        CHECK_IS(open_as(network, &options, &stream, &error), -ELIBBAD);
        tree_check_says(error.text, "no_such_filter.so");
    }
    tree_end(network);
}

/* Make `folder`/filters, with the built-in filters or, if `older`, with other
 * versions of two of them. */
static void make_filters(const char *folder, bool older)
{
    static const char *const names[] = {"sum", "int_union"};
    static const char *const files[] = {"older_sum", "older_union"};
    const char *build = getenv("BUILD");
    char from[4200], to[4200];

    snprintf(to, sizeof(to), "%s/filters", folder);
    CHECK_OK(mkdir(folder, 0700));
    CHECK_OK(mkdir(to, 0700));
    for (size_t i = 0; i < 2; i++) {
        snprintf(from, sizeof(from),
                 older ? "%s/test/frontend/.libs/%s.so"
                       : "%s/run/filters/%s.so",
                 build ? build : ".", older ? files[i] : names[i]);
        snprintf(to, sizeof(to), "%s/filters/%s.so", folder, names[i]);
        CHECK_OK(symlink(from, to));
    }
}

/* Launch 2x2; one commnode, and the back-ends that it starts, find another
 * version of the filters. Makes the folder `work`; its folder newer
 * becomes the working folder. */
static struct cop_network *launch_mixed(char *work)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    char wrapper[64];
    FILE *file;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(work));
    CHECK_OK(chdir(work));
    make_filters("newer", false);
    make_filters("older", true);
    snprintf(wrapper, sizeof(wrapper), "%s/commnode", work);
    file = fopen(wrapper, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fprintf(file,
            "#!/bin/sh\n"
            "mkdir '%s/first' 2>/dev/null && cd '%s/older'\n"
            "exec '%s' \"$@\"\n",
            work, work, getenv("COPPICE_COMMNODE"));
    fclose(file);
    CHECK_OK(chmod(wrapper, 0700));
    CHECK_OK(chdir("newer"));
    launch.commnode_path = wrapper;
    launch.filter_path = "/proc/self/cwd/filters";
    return tree_launch_as(launch, "2x2", NULL);
}

/* One host has a version of a filter with fewer laws than the front-end's:
 * opening the stream is refused, with the name of the node. */
TEST(another_version_on_one_host_is_refused)
{
    static const struct {
        const char *filter;
        enum cop_guarantee asked;
        const char *says;
    } cases[] = {
        {"int_union", COP_GUARANTEE_COMPENSATION, "COP_IDEMPOTENT"},
        {"int_union", COP_GUARANTEE_EXACT, "COP_IDEMPOTENT"},
        {"sum", COP_GUARANTEE_TOTAL, "it has no `join`"},
        {"sum", COP_GUARANTEE_EXACT, "it has no `join`"},
        {"sum", COP_GUARANTEE_WAVES, "COP_STATELESS"},
    };
    char work[] = "/tmp/coppice-test-XXXXXX";
    char clean[64];
    struct cop_network *network = launch_mixed(work);
    struct cop_stream *stream;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
        struct cop_error error = {""};
        unsigned rank = 0;

        options.up_filter = cases[i].filter;
        options.guarantee = cases[i].asked;
        CHECK_IS(open_as(network, &options, &stream, &error), -ELIBBAD);
        CU_ASSERT_EQUAL(sscanf(error.text, "node %u cannot use", &rank), 1);
        CU_ASSERT(rank > 0);
        tree_check_says(error.text, cases[i].says);
        tree_check_says(error.text, cases[i].filter);
    }
    tree_end(network);
    CHECK_OK(chdir("/"));
    snprintf(clean, sizeof(clean), "rm -r '%s'", work);
    CHECK_OK(system(clean));
}
