/* test_plugin.c - loading filters: each fault has its error message. */
#include "filters/plugin.h"

#include <errno.h>
#include <unistd.h>

#include "test/check.h"
#include "wire/limits.h"

static const char *good; /* the built-in filters' directory */
static char bad[4096];   /* the directory of the bad filters */

/* Check that opening `name` fails with `code`, and a text with all `words`. */
static void check_refused(const char *directories,
                          const char *name,
                          int code,
                          const char *const words[])
{
    struct plugin *plugin = NULL;
    struct cop_error error = {""};
    int r;

    r = plugin_open(&plugin, directories, name, &error);
    if (r != code)
        printf("\n%s: %d, \"%s\"\n", name, r, error.text);
    CU_ASSERT_EQUAL(r, code);
    CU_ASSERT_PTR_NULL(plugin);
    for (; *words; words++) {
        if (!strstr(error.text, *words))
            printf("\n\"%s\" does not say \"%s\"\n", error.text, *words);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.text, *words));
    }
    CHECK_IS(plugin_open(&plugin, directories, name, NULL), code);
}

#define REFUSED(directories, name, code, ...)                                  \
    check_refused(directories, name, code,                                     \
                  (const char *const[]){__VA_ARGS__, NULL})

/* A name with a directory is refused, so nothing outside the path is loaded. */
TEST(a_name_is_no_path)
{
    char longest[LIMIT_FILTER_NAME + 2];

    REFUSED(good, "", -EINVAL, "\"\"");
    REFUSED(good, "/lib/sum", -EINVAL, "/lib/sum", "without directory");
    REFUSED(good, "../filters/sum", -EINVAL, "../filters/sum");
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    REFUSED(good, longest, -EINVAL, "xxxx...", "255");
    longest[sizeof(longest) - 2] = '\0';
    REFUSED(good, longest, -ENOENT, "xxxx");
}

/* A missing file: the message has the path that was searched, and the remedy. */
TEST(a_missing_file_is_named)
{
    REFUSED(good, "nothing", -ENOENT, "\"nothing\"", "nothing.so", good,
            "add its directory");
    REFUSED("/none:/nowhere", "sum", -ENOENT, "/none:/nowhere");
    REFUSED("", "sum", -ENOENT, "empty");
    REFUSED(":::", "sum", -ENOENT, "sum.so");
}

/* Files that are no shared objects: the message quotes the dynamic linker. */
TEST(other_files_are_refused)
{
    char directory[] = "/tmp/test_plugin.XXXXXX";
    char path[64];
    FILE *file;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/text.so", directory);
    file = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("this is no ELF file, and longer than an ELF header has to be, so "
          "that the dynamic linker looks at it\n",
          file);
    fclose(file);
    REFUSED(directory, "text", -ENOEXEC, "\"text\"", path, "ELF");
    unlink(path);
    rmdir(directory);
}

/* A missing symbol: `coppice_filter`, or one that the filter uses. */
TEST(missing_symbols_are_named)
{
    REFUSED(bad, "bad_symbol", -ENOEXEC, "coppice_filter", "COP_FILTER_EXPORT");
    REFUSED(bad, "bad_undefined", -ENOEXEC, "nobody_defines_this");
    REFUSED(bad, "bad_null", -ENOEXEC, "NULL");
}

/* A filter for another version of the ABI. */
TEST(other_versions_are_refused)
{
    REFUSED(bad, "bad_abi", -ENOEXEC, "ABI 77", "compile it again");
    REFUSED(bad, "bad_size", -ENOEXEC, "24 bytes", "sizeof");
}

/* File and filter must agree on the name. */
TEST(another_name_is_refused)
{
    REFUSED(bad, "bad_name", -ENOEXEC, "\"another\"", "bad_name.so");
    REFUSED(bad, "bad_nameless", -ENOEXEC, "\"\"");
}

/* A filter needs certain functions together. */
TEST(missing_members_are_named)
{
    REFUSED(bad, "bad_neither", -ENOEXEC, "neither");
    REFUSED(bad, "bad_both", -ENOEXEC, "both");
    REFUSED(bad, "bad_free", -ENOEXEC, "`init` and `free`");
    REFUSED(bad, "bad_pack", -ENOEXEC, "needs `pack`");
    REFUSED(bad, "bad_stateless", -ENOEXEC, "`join` needs `init`");
    REFUSED(bad, "bad_difference", -ENOEXEC, "needs `difference`");
    REFUSED(bad, "bad_get_state", -ENOEXEC, "`get_state` needs");
    REFUSED(bad, "bad_wave_pack", -ENOEXEC, "for filters that `join`");
}

/* The first directory with the file counts. Opened twice, it is loaded once. */
TEST(the_first_directory_counts)
{
    struct plugin *first;
    struct plugin *second;
    char path[3 * sizeof(bad)];

    snprintf(path, sizeof(path), "/none::%s:%s", bad, good);
    CHECK_OK(plugin_open(&first, path, "sum", NULL));
    CHECK_OK(plugin_open(&second, good, "sum", NULL));
    CU_ASSERT_PTR_EQUAL(plugin_filter(first), plugin_filter(second));
    plugin_close(first);
    CU_ASSERT_STRING_EQUAL(plugin_filter(second)->name, "sum");
    plugin_close(second);
    plugin_close(NULL);
}

static void check_recoverable(const char *directories,
                              const char *name,
                              const char *reason)
{
    struct plugin *plugin;
    const char *why;

    CHECK_OK(plugin_open(&plugin, directories, name, NULL));
    why = plugin_why_not_recoverable(plugin_filter(plugin));
    if (reason) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(why);
        CU_ASSERT_PTR_NOT_NULL(strstr(why, reason));
    } else {
        CU_ASSERT_PTR_NULL(why);
    }
    plugin_close(plugin);
}

/* PROTOCOL 9.4 */
TEST(recoverable_is_idempotent_with_state)
{
    check_recoverable(good, "int_union", NULL);
    check_recoverable(bad, "echo", NULL);
    check_recoverable(good, "max", "stateless");
    check_recoverable(bad, "good_sums", "COP_IDEMPOTENT");
    check_recoverable(bad, "good_silent", "get_state");
}

int main(void)
{
    const char *build = getenv("BUILD");

    good = getenv("COPPICE_FILTER_PATH");
    if (!good || !build) {
        fprintf(stderr, "set BUILD and COPPICE_FILTER_PATH\n");
        return EXIT_FAILURE;
    }
    snprintf(bad, sizeof(bad), "%s/test/filters/.libs", build);
    return check_run("plugin");
}
