/* past.c - see past.h. */
#include "stat/show/past.h"

int past_init(struct past *past,
              const struct window *window,
              const struct report_source *source)
{
    static const uint32_t nothing = UINT32_MAX;
    struct report_source own = {.samples = window_samples(window),
                                .full = source->full,
                                .detail = source->detail,
                                .never_left = &nothing};
    int r;

    *past = (struct past){NULL, NULL};
    if (own.samples < 2)
        return 0;
    r = window_tree(&past->tree, window, source->detail != NAMING_FUNCTIONS);
    if (r == 0)
        r = report_new(&past->report, past->tree, &own);
    if (r < 0)
        past_fini(past);
    return r;
}

void past_fini(struct past *past)
{
    report_free(past->report);
    tree_free(past->tree);
    *past = (struct past){NULL, NULL};
}
