/* journal.h - the log of all nodes of a network, in a file that a test reads.
 *
 * Between journal_begin() and journal_end() the standard error of this process,
 * and of all processes that it starts, goes to the file. */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct journal {
    char path[64];
    int kept; /* a copy of the previous standard error */
};

/* Returns 0 or -1. */
static inline int journal_begin(struct journal *journal)
{
    int fd;

    snprintf(journal->path, sizeof(journal->path), "/tmp/coppice-test.XXXXXX");
    fd = mkostemp(journal->path, O_APPEND | O_CLOEXEC);
    journal->kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0 || journal->kept < 0 || dup2(fd, STDERR_FILENO) < 0)
        return -1;
    close(fd);
    return setenv("COPPICE_LOG", "1", 1);
}

/* If `show`, copy the journal to the previous standard error. */
static inline void journal_end(struct journal *journal, bool show)
{
    FILE *file = fopen(journal->path, "re");
    char line[1024];

    unsetenv("COPPICE_LOG");
    dup2(journal->kept, STDERR_FILENO);
    close(journal->kept);
    while (show && file && fgets(line, sizeof(line), file))
        fputs(line, stderr);
    if (file)
        fclose(file);
    unlink(journal->path);
}

/* Find the first line after the `from`-th that begins with `who` and contains
 * `words`. The line is copied to `out`, of `room` bytes, if not NULL. Returns
 * the line's number, from 1; 0 if there is none. */
static inline int journal_find(const struct journal *journal,
                               int from,
                               const char *who,
                               const char *words,
                               char *out,
                               size_t room)
{
    FILE *file = fopen(journal->path, "re");
    int number = 0, found = 0;
    char line[1024];

    while (file && !found && fgets(line, sizeof(line), file)) {
        if (++number <= from || strncmp(line, who, strlen(who)) != 0 ||
            !strstr(line, words))
            continue;
        found = number;
        if (out)
            snprintf(out, room, "%.*s", (int)room - 1, line);
    }
    if (file)
        fclose(file);
    return found;
}

/* The number of lines so far. */
static inline int journal_lines(const struct journal *journal)
{
    int count = 0;

    while (journal_find(journal, count, "", "", NULL, 0) > count)
        count++;
    return count;
}
