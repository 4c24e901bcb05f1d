/* bad_filter.c - a filter with one of many faults, chosen by macros. */
#include <coppice/filter.h>

#ifdef BAD_UNDEFINED
void nobody_defines_this(void);
#endif

#ifndef BAD_ABI
#define BAD_ABI COP_FILTER_ABI
#endif
#ifndef BAD_SIZE
#define BAD_SIZE sizeof(struct cop_filter)
#endif
#ifndef BAD_LAWS
#define BAD_LAWS 0
#endif

__attribute__((unused)) static int bad_init(void **state,
                                            struct cop_filter_call *call)
{
    (void)call;
    *state = NULL;
    return 0;
}

__attribute__((unused)) static void bad_free(void *state)
{
    (void)state;
}

__attribute__((unused)) static int bad_run(void *state,
                                           struct cop_filter_call *call)
{
    (void)state;
    (void)call;
#ifdef BAD_UNDEFINED
    nobody_defines_this();
#endif
    return 0;
}

__attribute__((unused)) static int bad_join(void *state,
                                            const struct cop_packet *packet,
                                            struct cop_filter_call *call)
{
    (void)state;
    (void)packet;
    (void)call;
    return 0;
}

__attribute__((unused)) static int bad_pack(const void *state,
                                            struct cop_packet **out)
{
    (void)state;
    (void)out;
    return 0;
}

__attribute__((unused)) static int bad_get_state(void *state,
                                                 struct cop_packet **out)
{
    (void)state;
    (void)out;
    return 0;
}

__attribute__((unused)) static const struct cop_filter filter = {
    .abi = BAD_ABI,
    .size = BAD_SIZE,
    .name = BAD_NAME,
    .laws = BAD_LAWS,
    BAD_MEMBERS};

#ifdef BAD_NULL
__attribute__((visibility("default")))
const struct cop_filter *const coppice_filter = NULL;
#elif !defined(BAD_SYMBOL)
COP_FILTER_EXPORT(filter);
#endif
