/* comparison.c - see comparison.h. */
#include "stat/comparison.h"

#include <errno.h>
#include <string.h>

#include "stat/diff_json.h"
#include "stat/diff_picture.h"
#include "stat/look.h"

/* Write the JSON of it to `path`. */
static int write_json(const char *path,
                      const struct diff *diff,
                      struct cop_error *error)
{
    FILE *file = fopen(path, "we");
    int r = file ? 0 : -errno;

    if (file)
        r = diff_json_write(file, diff);
    if (file && fclose(file) != 0 && r == 0)
        r = -errno;
    return r < 0 ? cop_error_set(error, r, "%s: cannot write it: %s", path,
                                 strerror(-r))
                 : 0;
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
    if (r == 0)
        r = diff_picture_write(stdout, diff, paths, options);
    if (r == 0 && json)
        r = write_json(json, diff, error);
    if (r == 0 && tasks_count(diff->unknown) > 0)
        r = COMPARISON_PARTIAL;
    else if (r == 0)
        r = tasks_count(diff->unchanged) == diff->count ? COMPARISON_SAME
                                                        : COMPARISON_DIFFERS;
    diff_free(diff);
    look_free(looks[DIFF_A]);
    look_free(looks[DIFF_B]);
    return r;
}
