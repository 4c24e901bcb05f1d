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

/* Make the report of a look as of the time when it was taken. */
static int report_of(struct report **out, const struct look *look)
{
    struct report_source source = {.targets = &look->targets,
                                   .hosts = targets_hosts_used(&look->targets),
                                   .samples = look->samples,
                                   .interval_ms = look->interval_ms,
                                   .history = &look->history,
                                   .never_left = look->never_left,
                                   .never_left_count = look->class_count,
                                   .threads = look->threads,
                                   .full = look->full,
                                   .detail = look->detail,
                                   .late = look->late,
                                   .command = look->command,
                                   .job = look->job,
                                   .tool = look->tool,
                                   .origin = look->origin,
                                   .taken_s = look->taken_s};

    return report_new(out, look->tree, &source);
}

/* Whether the file, at its end or at a separator, has another look. */
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
        struct report *report = NULL;

        r = look_read(&look, file, path, error);
        if (r < 0)
            break;
        r = report_of(&report, look);
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
