/* schedule.c - schedules as text. */
#include "sim/swarm/schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"
#include "sim/swarm/model.h"
#include "sim/tree.h"
#include "wire/limits.h"

/* The longest line: a tree of thousands of nodes is one. */
#define SCHEDULE_LINE 65536

static const struct {
    const char *name;
    const char *numbers[SCHEDULE_NUMBERS + 1]; /* up to NULL */
} verbs[] = {
#define SCHEDULE_VERB(verb, name, ...) [verb] = {name, {__VA_ARGS__}},
    SCHEDULE_VERBS(SCHEDULE_VERB)
#undef SCHEDULE_VERB
};

const char *schedule_name(enum schedule_verb verb)
{
    return verbs[verb].name;
}

bool schedule_is_fault(enum schedule_verb verb)
{
    return verb >= SCHEDULE_KILL && verb <= SCHEDULE_LIE;
}

void schedule_add(struct schedule *schedule, const struct schedule_step *step)
{
    memory_grow(&schedule->steps, &schedule->room, schedule->count,
                sizeof(*step));
    schedule->steps[schedule->count++] = *step;
}

void schedule_copy(struct schedule *out,
                   const struct schedule *schedule,
                   size_t from,
                   size_t to)
{
    *out = *schedule;
    out->tree = memory_text(schedule->tree);
    out->steps = NULL;
    out->count = out->room = 0;
    for (size_t i = 0; i < schedule->count; i++)
        if (i < from || i >= to) {
            struct schedule_step step = schedule->steps[i];

            step.members = (struct ranks){0};
            ranks_copy(&step.members, &schedule->steps[i].members);
            schedule_add(out, &step);
        }
}

void schedule_all(struct ranks *set)
{
    ranks_add(set, 0, LIMIT_NODES - 1);
}

/* ---- values ---- */

static const char *const syncs[] = {
    [COP_WAIT_FOR_ALL] = "wait_for_all",
    [COP_DO_NOT_WAIT] = "do_not_wait",
    [COP_TIME_OUT] = "time_out",
};

/* The word for `value` of the number called `name`; NULL if it has none. */
static const char *word_for(const char *name, uint32_t value)
{
    if (strcmp(name, "filter") == 0 && value < MODEL_FILTERS)
        return value == MODEL_NONE ? "none" : model_filter_name(value);
    if (strcmp(name, "sync") == 0 && value <= COP_TIME_OUT)
        return syncs[value];
    return NULL;
}

static void write_members(const struct ranks *set, FILE *file)
{
    if (set->count == 0)
        fputs("none", file);
    else if (set->runs[0].last == LIMIT_NODES - 1)
        fputs("all", file);
    for (size_t i = 0; i < set->count && set->runs[i].last < LIMIT_NODES - 1;
         i++) {
        fprintf(file, "%s%u", i > 0 ? "," : "", set->runs[i].first);
        if (set->runs[i].last > set->runs[i].first)
            fprintf(file, "-%u", set->runs[i].last);
    }
}

static void write_value(const struct schedule_step *step,
                        const char *name,
                        uint32_t value,
                        FILE *file)
{
    const char *word = word_for(name, value);

    fprintf(file, " %s=", name);
    if (strcmp(name, "members") == 0)
        write_members(&step->members, file);
    else if (word)
        fputs(word, file);
    else
        fprintf(file, "%u", value);
}

void schedule_write(const struct schedule *schedule, FILE *file)
{
    fprintf(file,
            "seed %" PRIu64 "\ntree %s\ndelay %u %u\nfragment %u\nstart %u\n",
            schedule->seed, schedule->tree, schedule->delay_min_ms,
            schedule->delay_max_ms, schedule->fragment_percent,
            schedule->start_max_ms);
    for (size_t i = 0; i < schedule->count; i++) {
        const struct schedule_step *step = &schedule->steps[i];

        fprintf(file, "+%u %s", step->after_ms, verbs[step->verb].name);
        for (size_t k = 0; verbs[step->verb].numbers[k]; k++)
            write_value(step, verbs[step->verb].numbers[k], step->numbers[k],
                        file);
        fputc('\n', file);
    }
}

/* Read a number at `*text`, and advance it. Returns 0 or -EINVAL. */
static int read_number(char **text, uint32_t *out)
{
    char *end;
    unsigned long long number;

    errno = 0;
    number = strtoull(*text, &end, 10);
    if (end == *text || **text == '-' || errno || number > UINT32_MAX)
        return -EINVAL;
    *text = end;
    *out = (uint32_t)number;
    return 0;
}

/* Whether `word` is at `*text`; if so, advance it. */
static bool read_word(char **text, const char *word)
{
    size_t len = strlen(word);

    if (strncmp(*text, word, len) != 0 || ((*text)[len] && (*text)[len] != ' '))
        return false;
    *text += len;
    return true;
}

static int read_members(char **text, struct ranks *out)
{
    uint32_t first, last;
    int r;

    if (read_word(text, "none"))
        return 0;
    if (read_word(text, "all")) {
        schedule_all(out);
        return 0;
    }
    do {
        *text += **text == ',';
        r = read_number(text, &first);
        last = first;
        if (r == 0 && **text == '-') {
            ++*text;
            r = read_number(text, &last);
        }
        if (r == 0)
            r = ranks_add(out, first, last);
    } while (r == 0 && **text == ',');
    return r;
}

/* Read " NAME=VALUE". Returns 0 or -EINVAL. */
static int read_value(char **text,
                      const char *name,
                      struct schedule_step *step,
                      uint32_t *out)
{
    size_t len = strlen(name);

    if (**text != ' ' || strncmp(*text + 1, name, len) != 0 ||
        (*text)[1 + len] != '=')
        return -EINVAL;
    *text += len + 2;
    if (strcmp(name, "members") == 0)
        return read_members(text, &step->members);
    if (!word_for(name, 0))
        return read_number(text, out);
    for (*out = 0; word_for(name, *out); ++*out)
        if (read_word(text, word_for(name, *out)))
            return 0;
    return -EINVAL;
}

/* Read a line that begins with '+'. Returns 0 or -EINVAL. */
static int read_step(struct schedule *schedule, char *text)
{
    struct schedule_step step = {.verb = SCHEDULE_APP};
    size_t len;
    int r;

    text++;
    r = read_number(&text, &step.after_ms);
    if (r < 0 || *text++ != ' ')
        return -EINVAL;
    len = strcspn(text, " ");
    while (step.verb < SCHEDULE_VERB_COUNT &&
           (strncmp(verbs[step.verb].name, text, len) != 0 ||
            verbs[step.verb].name[len]))
        step.verb++;
    if (step.verb == SCHEDULE_VERB_COUNT)
        return -EINVAL;
    text += len;
    for (size_t k = 0; r == 0 && verbs[step.verb].numbers[k]; k++)
        r = read_value(&text, verbs[step.verb].numbers[k], &step,
                       &step.numbers[k]);
    if (r == 0 && *text)
        r = -EINVAL;
    if (r == 0)
        schedule_add(schedule, &step);
    else
        ranks_fini(&step.members);
    return r;
}

/* If `line` is "NAME REST" with that name, return REST; else NULL. */
static char *rest_of(char *line, const char *name)
{
    size_t len = strlen(name);

    return strncmp(line, name, len) == 0 && line[len] == ' ' ? line + len + 1
                                                             : NULL;
}

static int read_tree(struct schedule *schedule, const char *text)
{
    struct tree tree;

    if (schedule->tree || tree_read(&tree, text) < 0)
        return -EINVAL;
    tree_fini(&tree);
    schedule->tree = memory_text(text);
    return 0;
}

static int read_delays(struct schedule *schedule, char *text)
{
    if (read_number(&text, &schedule->delay_min_ms) < 0 || *text++ != ' ' ||
        read_number(&text, &schedule->delay_max_ms) < 0 || *text ||
        schedule->delay_min_ms > schedule->delay_max_ms)
        return -EINVAL;
    return 0;
}

static int read_whole(char *text, uint32_t *out)
{
    return read_number(&text, out) < 0 || *text ? -EINVAL : 0;
}

static int read_line(struct schedule *schedule, char *line)
{
    char *rest;
    char *end;

    if (*line == '+')
        return read_step(schedule, line);
    if (*line == '\0' || *line == '#')
        return 0;
    rest = rest_of(line, "seed");
    if (rest) {
        schedule->seed = strtoull(rest, &end, 10);
        return end == rest || *end ? -EINVAL : 0;
    }
    rest = rest_of(line, "tree");
    if (rest)
        return read_tree(schedule, rest);
    rest = rest_of(line, "delay");
    if (rest)
        return read_delays(schedule, rest);
    rest = rest_of(line, "fragment");
    if (rest)
        return read_whole(rest, &schedule->fragment_percent);
    rest = rest_of(line, "start");
    if (rest)
        return read_whole(rest, &schedule->start_max_ms);
    return -EINVAL;
}

int schedule_read(struct schedule *out, FILE *file, size_t *line)
{
    struct schedule schedule = {0};
    char *text = memory_new(SCHEDULE_LINE);
    int r = 0;

    *line = 0;
    while (r == 0 && fgets(text, SCHEDULE_LINE, file)) {
        size_t len = strlen(text);

        ++*line;
        if (len == 0 || text[len - 1] != '\n')
            r = -EINVAL;
        else
            text[len - 1] = '\0';
        if (r == 0)
            r = read_line(&schedule, text);
    }
    if (r == 0 && !schedule.tree)
        r = -EINVAL;
    if (r < 0)
        schedule_fini(&schedule);
    else
        *out = schedule;
    free(text);
    return r;
}

void schedule_fini(struct schedule *schedule)
{
    for (size_t i = 0; i < schedule->count; i++)
        ranks_fini(&schedule->steps[i].members);
    free(schedule->tree);
    free(schedule->steps);
    *schedule = (struct schedule){0};
}
