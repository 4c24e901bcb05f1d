/* output.c - see output.h. */
#include "stat/write/output.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static int (*const writers[OUTPUT_KINDS])(FILE *, const struct report *) = {
#define OUTPUT_WRITER(kind, name, help) name##_write,
    OUTPUT_FORMATS(OUTPUT_WRITER)
#undef OUTPUT_WRITER
};

static bool is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

unsigned outputs_standard(const struct outputs *outputs)
{
    unsigned count = 0;

    for (int kind = 0; kind < OUTPUT_KINDS; kind++)
        count += is_standard(outputs->paths[kind]);
    return count;
}

int output_end(FILE *file)
{
    if (fflush(file) == 0 && !ferror(file))
        return 0;
    return errno > 0 ? -errno : -EIO;
}

int output_write(FILE *file, enum output_kind kind, const struct report *report)
{
    int r;

    errno = 0;
    r = writers[kind](file, report);
    return r < 0 ? r : output_end(file);
}

int output_path(const char *path,
                int (*write)(FILE *file, const void *arg),
                const void *arg,
                struct cop_error *error)
{
    bool standard = is_standard(path);
    FILE *file = standard ? stdout : fopen(path, "we");
    int r = file ? write(file, arg) : -errno;

    if (file && !standard && fclose(file) != 0 && r == 0)
        r = -errno;
    if (r < 0)
        cop_error_set(error, r, "%s: cannot write it: %s",
                      standard ? "standard output" : path, strerror(-r));
    return r;
}

/* A format, and the report to write. */
struct output {
    enum output_kind kind;
    const struct report *report;
};

static int write_one(FILE *file, const void *arg)
{
    const struct output *output = arg;

    return output_write(file, output->kind, output->report);
}

int outputs_write(const struct outputs *outputs,
                  const struct report *report,
                  struct cop_error *error)
{
    struct output output = {.report = report};
    struct cop_error others, one;
    int first = 0;
    int r;

    for (int kind = 0; kind < OUTPUT_KINDS; kind++) {
        if (!outputs->paths[kind])
            continue;
        output.kind = (enum output_kind)kind;
        r = output_path(outputs->paths[kind], write_one, &output, &one);
        if (r == 0)
            continue;
        others = *error;
        cop_error_set(error, r, "%s%s%s", first ? others.text : "",
                      first ? "; " : "", one.text);
        first = first ? first : r;
    }
    return first;
}
