/* replay.c - run a fuzz target over its corpus, without libFuzzer.
 *
 * usage: fuzz_NOUN [FILE|FOLDER]...
 *
 * Without arguments the corpus is test/fuzz/corpus/NOUN under $SOURCE, the top
 * of the project. Prints each file before running it, so that the last line
 * names the file that crashed, or at which the processor time exceeded LIMIT_S.
 * Fails if there is nothing to run. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf() */
#endif

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define LIMIT_S 60 /* a corpus takes less than 1 s, even under sanitizers */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Run the file at `path`. Returns 1, or a negative errno. */
static int replay_file(const char *path, size_t len)
{
    /* Exactly the input's length, so that a sanitizer sees any overrun. */
    uint8_t *data = malloc(len > 0 ? len : 1);
    FILE *file = NULL;
    int r = 1;

    if (!data)
        return -ENOMEM;
    file = fopen(path, "re");
    if (!file) {
        r = -errno;
        goto out;
    }
    if (fread(data, 1, len, file) != len) {
        r = -EIO;
        goto out;
    }
    printf("%s: %zu bytes\n", path, len);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, len);
out:
    if (file)
        fclose(file);
    free(data);
    return r;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Run every file of the folder at `path`, by name. Returns their number, or a
 * negative errno after printing which file failed. */
static int replay_folder(const char *path)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, visible, alphasort);
    int r = 0;

    if (count < 0)
        return -errno;
    for (int i = 0; i < count; i++) {
        char *inner = NULL;
        struct stat status;

        if (r >= 0 && asprintf(&inner, "%s/%s", path, entries[i]->d_name) < 0)
            r = -ENOMEM;
        if (r >= 0 && stat(inner, &status) < 0)
            r = -errno;
        if (r >= 0)
            r = replay_file(inner, (size_t)status.st_size);
        free(inner);
        free(entries[i]);
    }
    free(entries);
    return r < 0 ? r : count;
}

/* Run the file or folder at `path`. Returns the number of files, or a negative
 * errno after printing why. */
static int replay(const char *path)
{
    struct stat status;
    int r;

    if (stat(path, &status) < 0)
        r = -errno;
    else if (S_ISDIR(status.st_mode))
        r = replay_folder(path);
    else
        r = replay_file(path, (size_t)status.st_size);
    if (r < 0)
        fprintf(stderr, "%s: %s\n", path, strerror(-r));
    return r;
}

/* Run the corpus of the program called `name`. */
static int replay_own(const char *name)
{
    const char *source = getenv("SOURCE");
    const char *noun = strstr(name, "fuzz_");
    char *path = NULL;
    int r;

    if (!noun || !source) {
        fprintf(stderr,
                "%s: cannot tell which corpus: set SOURCE to the top of the "
                "project, or name files\n",
                name);
        return -EINVAL;
    }
    if (asprintf(&path, "%s/test/fuzz/corpus/%s", source,
                 noun + strlen("fuzz_")) < 0)
        return -ENOMEM;
    r = replay(path);
    if (r == 0)
        fprintf(stderr, "%s: an empty corpus: add a file\n", path);
    free(path);
    return r;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    struct rlimit limit = {LIMIT_S, LIMIT_S};
    int count = 0;
    int r = setrlimit(RLIMIT_CPU, &limit);

    if (r == 0 && argc < 2)
        count = r = replay_own(slash ? slash + 1 : argv[0]);
    for (int i = 1; i < argc && r >= 0; i++) {
        r = replay(argv[i]);
        count += r;
    }
    if (r < 0 || count == 0)
        return EXIT_FAILURE;
    printf("%d inputs\n", count);
    return EXIT_SUCCESS;
}
