/* record.c - see record.h. */
#include "stat/write/record.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/write/output.h"

/* One look, as --json writes it. */
struct text {
    char *bytes;
    size_t len;
};

struct record {
    const char *path;
    struct text looks[RECORD_LOOKS_MAX]; /* a ring */
    size_t first;
    size_t count;
    size_t len; /* of all looks together */
};

static volatile sig_atomic_t wanted;

static void take_signal(int number)
{
    (void)number;
    wanted = 1;
}

int record_new(struct record **out, const char *path)
{
    const struct sigaction action = {.sa_handler = take_signal,
                                     .sa_flags = SA_RESTART};
    struct record *record = calloc(1, sizeof(*record));

    if (!record)
        return -ENOMEM;
    record->path = path;
    sigaction(SIGUSR1, &action, NULL);
    *out = record;
    return 0;
}

/* Drop the oldest look. */
static void drop_first(struct record *record)
{
    struct text *text = &record->looks[record->first];

    record->len -= text->len;
    free(text->bytes);
    record->first = (record->first + 1) % RECORD_LOOKS_MAX;
    record->count--;
}

void record_free(struct record *record)
{
    if (!record)
        return;
    while (record->count > 0)
        drop_first(record);
    free(record);
}

int record_add(struct record *record, const struct report *report)
{
    struct text text = {NULL, 0};
    FILE *file = open_memstream(&text.bytes, &text.len);
    int r = file ? output_write(file, OUTPUT_JSON, report) : -ENOMEM;

    if (file && fclose(file) != 0 && r == 0)
        r = -ENOMEM;
    if (r < 0) {
        free(text.bytes);
        return r;
    }
    while (record->count > 0 && (record->count == RECORD_LOOKS_MAX ||
                                 record->len + text.len > RECORD_BYTES_MAX))
        drop_first(record);
    record->looks[(record->first + record->count++) % RECORD_LOOKS_MAX] = text;
    record->len += text.len;
    return 0;
}

/* As output_path() needs it. */
static int write_looks(FILE *file, const void *arg)
{
    const struct record *record = arg;

    for (size_t i = 0; i < record->count; i++) {
        const struct text *text =
            &record->looks[(record->first + i) % RECORD_LOOKS_MAX];

        fputc(RECORD_SEPARATOR, file);
        fwrite(text->bytes, 1, text->len, file);
    }
    return output_end(file);
}

int record_write(const struct record *record, struct cop_error *error)
{
    char path[PATH_MAX];
    int r;

    if (snprintf(path, sizeof(path), "%s.new", record->path) >=
        (int)sizeof(path))
        return cop_error_set(error, -ENAMETOOLONG, "%s: its name is too long",
                             record->path);
    r = output_path(path, write_looks, record, error);
    if (r == 0 && rename(path, record->path) < 0)
        r = cop_error_set(error, -errno, "%s: cannot write it: %s",
                          record->path, strerror(errno));
    if (r < 0)
        remove(path);
    return r;
}

bool record_is_wanted(void)
{
    bool is = wanted;

    wanted = 0;
    return is;
}
