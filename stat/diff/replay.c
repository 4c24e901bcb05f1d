/* replay.c - see replay.h. */
#include "stat/diff/replay.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "stat/diff/look.h"
#include "stat/write/record.h"

/* Print one look. */
static int print_look(const struct report *report,
                      unsigned number,
                      const struct render_options *options)
{
    time_t taken = (time_t)report->source.taken_s;
    char stamp[64] = "";
    struct tm local;

    if (taken > 0 && localtime_r(&taken, &local))
        strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S, ", &local);
    printf("--- %slook %u\n", stamp, number);
    return render_report(stdout, report, options);
}

/* Whether there is one more look in the file, which is at its end or at a
 * separator. */
static bool has_more(FILE *file)
{
    int next = getc(file);

    while (next == RECORD_SEPARATOR)
        next = getc(file);
    return next != EOF && ungetc(next, file) != EOF;
}

int replay_run(const char *path,
               const struct outputs *outputs,
               const struct render_options *options,
               struct cop_error *error)
{
    FILE *file = fopen(path, "re");
    struct look *look = NULL;
    unsigned number = 0;
    bool more = true;
    int r = 0;

    if (!file)
        return cop_error_set(error, -errno, "%s: cannot read it: %s", path,
                             strerror(errno));
    while (r == 0 && more) {
        struct report_source source = {.samples = 1};
        struct report *report = NULL;

        r = look_read(&look, file, path, error);
        if (r < 0)
            break;
        source.targets = &look->targets;
        source.hosts = targets_hosts_used(&look->targets);
        source.present_only = true;
        source.full = look->full;
        source.detail = look->detail;
        source.taken_s = look->taken_s;
        r = report_new(&report, look->tree, &source);
        more = has_more(file);
        if (r == 0)
            r = print_look(report, ++number, options);
        if (r == 0 && !more)
            r = outputs_write(outputs, report, error);
        report_free(report);
        look_free(look);
    }
    fclose(file);
    return r;
}
