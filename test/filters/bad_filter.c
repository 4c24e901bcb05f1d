/* bad_filter.c - a filter with one of many faults, chosen by its file name.
 *
 * FAULT is that name as a string; IS_name is defined too. */
#include <coppice/filter.h>

#include <string.h>

static int bad_init(void **state, struct cop_filter_call *call)
{
    (void)call;
    *state = NULL;
    return 0;
}

static void bad_free(void *state)
{
    (void)state;
}

#ifdef IS_bad_undefined
void nobody_defines_this(void);
#endif

static int bad_run(void *state, struct cop_filter_call *call)
{
    (void)state;
    (void)call;
#ifdef IS_bad_undefined
    nobody_defines_this();
#endif
    return 0;
}

static int bad_join(void *state,
                    const struct cop_packet *packet,
                    struct cop_filter_call *call)
{
    (void)state;
    (void)packet;
    (void)call;
    return 0;
}

static int bad_pack(const void *state, struct cop_packet **out)
{
    (void)state;
    (void)out;
    return 0;
}

static int bad_difference(void *newer, const void *older)
{
    (void)newer;
    (void)older;
    return 0;
}

static int bad_get_state(void *state, struct cop_packet **out)
{
    (void)state;
    (void)out;
    return 0;
}

/* A filter without faults; each fault changes one thing of it. */
static struct cop_filter filter = {
    .abi = COP_FILTER_ABI,
    .size = sizeof(struct cop_filter),
    .name = FAULT,
    .filter = bad_run,
};

static bool is_named(const char *name)
{
    return strcmp(FAULT, name) == 0;
}

static void become_join_filter(void)
{
    filter.filter = NULL;
    filter.init = bad_init;
    filter.free = bad_free;
    filter.join = bad_join;
    filter.pack = bad_pack;
}

__attribute__((constructor)) static void choose_fault(void)
{
    if (is_named("bad_abi")) {
        filter.abi = 77;
    } else if (is_named("bad_size")) {
        filter.size = 24;
    } else if (is_named("bad_name")) {
        filter.name = "another";
    } else if (is_named("bad_nameless")) {
        filter.name = NULL;
    } else if (is_named("bad_neither")) {
        filter.filter = NULL;
        filter.init = bad_init;
        filter.free = bad_free;
    } else if (is_named("bad_both")) {
        become_join_filter();
        filter.filter = bad_run;
        filter.difference = bad_difference;
    } else if (is_named("bad_free")) {
        filter.init = bad_init;
    } else if (is_named("bad_pack")) {
        become_join_filter();
        filter.pack = NULL;
    } else if (is_named("bad_stateless")) {
        become_join_filter();
        filter.init = NULL;
        filter.free = NULL;
    } else if (is_named("bad_difference")) {
        become_join_filter();
        filter.laws = COP_IDEMPOTENT;
    } else if (is_named("bad_get_state")) {
        filter.get_state = bad_get_state;
    } else if (is_named("bad_wave_pack")) {
        filter.pack = bad_pack;
    } else if (is_named("good_sums")) {
        become_join_filter();
    } else if (is_named("good_silent")) {
        filter.laws = COP_IDEMPOTENT;
        filter.init = bad_init;
        filter.free = bad_free;
    }
}

#ifdef IS_bad_null
COP_FILTER_EXTERN COP_API const struct cop_filter *const coppice_filter;
const struct cop_filter *const coppice_filter = NULL;
#elif !defined(IS_bad_symbol)
COP_FILTER_EXPORT(filter);
#endif
