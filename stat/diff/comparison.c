/* comparison.c - see comparison.h. */
#include "stat/diff/comparison.h"

#include <string.h>

#include "stat/diff/look.h"
#include "stat/write/output.h"

static int write_json(FILE *file, const void *diff)
{
    return diff_json_write(file, diff);
}

int comparison_run(const char *const paths[DIFF_SIDES],
                   const char *json,
                   const struct render_options *options,
                   struct cop_error *error)
{
    struct look *looks[DIFF_SIDES] = {NULL, NULL};
    struct diff *diff = NULL;
    int r;

    r = look_open(&looks[DIFF_A], paths[DIFF_A], error);
    if (r == 0)
        r = look_open(&looks[DIFF_B], paths[DIFF_B], error);
    if (r == 0)
        r = diff_new(&diff, looks[DIFF_A], looks[DIFF_B], error);
    if (r == 0 && json)
        r = output_path(json, write_json, diff, error);
    if (r == 0 && !(json && strcmp(json, "-") == 0))
        r = diff_picture_write(stdout, diff, paths, options);
    if (r == 0 && tasks_count(diff->unknown) > 0)
        r = COMPARISON_PARTIAL;
    else if (r == 0)
        r = tasks_count(diff->unchanged) == diff->everyone ? COMPARISON_SAME
                                                           : COMPARISON_DIFFERS;
    diff_free(diff);
    look_free(looks[DIFF_A]);
    look_free(looks[DIFF_B]);
    return r;
}
