/* origin.c - see origin.h. */
#include "stat/show/origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stat/show/columns.h"

/* Most processes whose command lines are tried, and most words of one. */
#define TRIES     16
#define WORDS_MAX 64

/* Most hosts that are named. */
#define HOSTS_MAX 8

/* Whether a shell takes `word` literally. */
static bool is_plain(const char *word)
{
    return word[0] && strspn(word, "abcdefghijklmnopqrstuvwxyz"
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_-+=:,./@%") == strlen(word);
}

char *origin_words(int count, char *const *words)
{
    char *text = strdup("");
    size_t len = 0;

    for (int i = 0; text && i < count && len < ORIGIN_WORDS_MAX; i++) {
        const char *quote = is_plain(words[i]) ? "" : "'";

        text = columns_append(text, "%s%s%s%s", i ? " " : "", quote, words[i],
                              quote);
        len = text ? strlen(text) : 0;
    }
    if (len >= ORIGIN_WORDS_MAX)
        strcpy(text + ORIGIN_WORDS_MAX - 4, "...");
    return text;
}

char *origin_command(int argc, char *const *argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    char *text = origin_words(argc, argv), *command;

    if (!text || !slash || strncmp(text, argv[0], strlen(argv[0])) != 0)
        return text;
    command = strdup(text + (slash + 1 - argv[0]));
    free(text);
    return command;
}

/* The command line of a process; NULL if it cannot be read. */
static char *command_of(pid_t pid)
{
    char path[64], line[ORIGIN_WORDS_MAX + 1], *words[WORDS_MAX];
    size_t len;
    int count = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return NULL;
    len = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    line[len] = '\0';
    for (size_t at = 0; at < len && count < WORDS_MAX;
         at += strlen(line + at) + 1)
        words[count++] = line + at;
    return count > 0 ? origin_words(count, words) : NULL;
}

char *origin_job(const struct targets *targets)
{
    uint32_t tries = 0, i;

    for (i = 0; i < targets->count && tries < TRIES; i++) {
        char *command;

        if (targets->hosts[i] != 0 || targets->pids[i] <= 0)
            continue;
        tries++;
        command = command_of(targets->pids[i]);
        if (command)
            return command;
    }
    return strdup("");
}

/* Append the first hosts that have tasks; NULL without memory. */
static char *append_hosts(char *text, const struct targets *targets)
{
    char own[256] = "";
    const char *name;
    uint32_t host, named = 0, all = targets_hosts_used(targets), i;

    for (host = 0; host < targets->host_count && named < HOSTS_MAX; host++) {
        for (i = 0; i < targets->count && targets->hosts[i] != host; i++)
            ;
        if (i == targets->count)
            continue;
        name = targets_host_name(targets, host);
        if (host == 0 && gethostname(own, sizeof(own) - 1) == 0)
            name = own; /* "localhost" means nothing elsewhere */
        text = columns_append(text, "%s%s", named ? ", " : " on ", name);
        named++;
    }
    return all > named ? columns_append(text, " and %u more", all - named)
                       : text;
}

char *origin_text(const struct report *report)
{
    const struct report_source *source = &report->source;
    time_t taken = (time_t)source->taken_s;
    char stamp[64] = "";
    struct tm local;
    char *text;

    if (source->origin)
        return strdup(source->origin);
    if (taken > 0 && localtime_r(&taken, &local))
        strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S %z", &local);
    text = strdup(stamp);
    if (source->job && source->job[0])
        text = columns_append(text, "%s%s", stamp[0] ? ": " : "", source->job);
    if (source->targets && source->targets->count > 0)
        text = append_hosts(text, source->targets);
    if (source->command)
        text = columns_append(text, "; %s (version %s)", source->command,
                              COPPICE_VERSION);
    if (text)
        columns_clean(text);
    return text;
}
