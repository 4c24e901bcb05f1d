/* output.c - see output.h. */
#include "stat/output.h"

#include <errno.h>
#include <string.h>

#include "stat/dot.h"
#include "stat/folded.h"
#include "stat/html.h"
#include "stat/json.h"
#include "stat/speedscope.h"
#include "stat/svg.h"

typedef int (*output_fn)(FILE *file, const struct report *report);

static const output_fn writers[OUTPUT_KINDS] = {
    [OUTPUT_DOT] = dot_write,
    [OUTPUT_FOLDED] = folded_write,
    [OUTPUT_HTML] = html_write,
    [OUTPUT_JSON] = json_write,
    [OUTPUT_SPEEDSCOPE] = speedscope_write,
    [OUTPUT_SVG] = svg_write,
};

int output_write(FILE *file, enum output_kind kind, const struct report *report)
{
    int r = writers[kind](file, report);

    if (r == 0 && (fflush(file) != 0 || ferror(file)))
        r = errno > 0 ? -errno : -EIO;
    return r;
}

/* Write one of them to `path`. */
static int write_path(const char *path,
                      enum output_kind kind,
                      const struct report *report,
                      struct cop_error *error)
{
    FILE *file = fopen(path, "we");
    int r;

    if (!file)
        return cop_error_set(error, -errno, "%s: cannot write it: %s", path,
                             strerror(errno));
    r = output_write(file, kind, report);
    if (fclose(file) != 0 && r == 0)
        r = -errno;
    if (r < 0)
        cop_error_set(error, r, "%s: cannot write it: %s", path, strerror(-r));
    return r;
}

int outputs_write(const struct outputs *outputs,
                  const struct report *report,
                  struct cop_error *error)
{
    int kind;
    int first = 0;
    int r;

    for (kind = 0; kind < OUTPUT_KINDS; kind++) {
        struct cop_error *say = first == 0 ? error : NULL;

        if (!outputs->paths[kind])
            continue;
        r = write_path(outputs->paths[kind], (enum output_kind)kind, report,
                       say);
        if (first == 0)
            first = r;
    }
    return first;
}
