/* hostfile.c - see hostfile.h. */
#include "stat/job/hostfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The length of the first word of `text`: up to a white space, a comma outside
 * brackets, or the end. */
static size_t word_length(const char *text)
{
    bool inside = false;
    size_t len = 0;

    for (; text[len]; len++) {
        if (text[len] == '[' || text[len] == ']')
            inside = text[len] == '[';
        else if (strchr(" \t\r\n", text[len]) || (text[len] == ',' && !inside))
            break;
    }
    return len;
}

/* Write the host in a word, without user and slots, to the list. */
static int add_word(FILE *list,
                    const char *word,
                    size_t len,
                    struct cop_error *error)
{
    const char *at = memchr(word, '@', len), *colon;

    if (at) {
        len -= (size_t)(at + 1 - word);
        word = at + 1;
    }
    colon = memchr(word, ':', len);
    if (colon && (word[0] == '[' ||
                  memchr(colon + 1, ':', len - (size_t)(colon + 1 - word))))
        return cop_error_set(error, -EINVAL,
                             "%.*s: an address of IPv6: give the host's name",
                             (int)len, word);
    if (colon)
        len = (size_t)(colon - word);
    fprintf(list, "%s%.*s", ftell(list) > 0 ? "," : "", (int)len, word);
    return 0;
}

/* Write each word of a list. */
static int add_words(FILE *list, const char *text, struct cop_error *error)
{
    int r = 0;

    while (r == 0 && *text) {
        size_t len = word_length(text);

        if (len > 0)
            r = add_word(list, text, len, error);
        text += len + (text[len] != '\0');
    }
    return r;
}

/* Write the first word of each line of a file. */
static int add_lines(FILE *list, const char *path, struct cop_error *error)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    int r = 0;

    if (!file)
        return cop_error_set(error, -errno, "%s: cannot read it: %s", path,
                             strerror(errno));
    while (r == 0 && getline(&line, &room, file) >= 0) {
        const char *word = line + strspn(line, " \t\r\n");
        size_t len;

        line[strcspn(line, "#")] = '\0';
        len = word_length(word);
        if (len > 0)
            r = add_word(list, word, len, error);
    }
    if (r == 0 && ftell(list) == 0)
        r = cop_error_set(error, -EINVAL, "%s names no host", path);
    free(line);
    fclose(file);
    return r;
}

int hostfile_read(char **out, const char *given, struct cop_error *error)
{
    struct stat status;
    char *text = NULL;
    size_t len;
    FILE *list = open_memstream(&text, &len);
    int r;

    if (!list)
        return -ENOMEM;
    if (strchr(given, '/') ||
        (stat(given, &status) == 0 && S_ISREG(status.st_mode)))
        r = add_lines(list, given, error);
    else
        r = add_words(list, given, error);
    if (fclose(list) != 0 && r == 0)
        r = -ENOMEM;
    if (r < 0) {
        free(text);
        return r;
    }
    *out = text;
    return 0;
}
