/* test_plugin.c - loading filters: each fault has its error message. */
#include "filters/plugin.h"

#include <errno.h>
#include <link.h>
#include <stddef.h>
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

/* Read the file `path` into `out`, which has `room` bytes; returns its length. */
static size_t read_file(const char *path, unsigned char *out, size_t room)
{
    FILE *file = fopen(path, "r");
    size_t len;

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    len = fread(out, 1, room, file);
    CU_ASSERT_FATAL(len < room && !ferror(file));
    fclose(file);
    return len;
}

static void write_file(const char *path, const unsigned char *bytes, size_t len)
{
    FILE *file = fopen(path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(fwrite(bytes, 1, len, file), len);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

/* A filter's file, in a directory of its own. */
struct copy {
    char directory[32];
    char path[64];
    unsigned char bytes[1 << 20];
    size_t len;
};

static struct copy *copy_new(void)
{
    struct copy *copy = calloc(1, sizeof(*copy));
    char path[sizeof(bad) + 16];

    strcpy(copy->directory, "/tmp/coppice-cut-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(copy->directory));
    snprintf(copy->path, sizeof(copy->path), "%s/echo.so", copy->directory);
    snprintf(path, sizeof(path), "%s/echo.so", bad);
    copy->len = read_file(path, copy->bytes, sizeof(copy->bytes));
    return copy;
}

static void copy_free(struct copy *copy)
{
    CHECK_OK(unlink(copy->path));
    CHECK_OK(rmdir(copy->directory));
    free(copy);
}

/* A file that was cut off, at whatever length, is refused and kills nobody. A
 * file that lacks only what is not mapped can be opened. */
TEST(a_cut_file_is_refused)
{
    struct copy *copy = copy_new();
    struct plugin *plugin;
    struct cop_error error;
    size_t least = SIZE_MAX, said = 0;
    int r;

    for (size_t len = 0; len <= copy->len; len += len < 1024 ? 7 : 61) {
        write_file(copy->path, copy->bytes, len);
        error.text[0] = '\0';
        r = plugin_open(&plugin, copy->directory, "echo", &error);
        if (r == 0) {
            plugin_close(plugin);
            least = len < least ? len : least;
            continue;
        }
        CHECK_IS(r, -ENOEXEC);
        CU_ASSERT(len < least);
        said += strstr(error.text, "is cut short: it has ") != NULL;
    }
    CU_ASSERT(said > 100);
    write_file(copy->path, copy->bytes, copy->len);
    CHECK_OK(plugin_open(&plugin, copy->directory, "echo", NULL));
    plugin_close(plugin);
    copy_free(copy);
}

/* Nor does a file kill anybody whose program headers name what is not there. */
TEST(program_headers_are_not_trusted)
{
    static const uint64_t wrong[] = {UINT64_MAX, UINT64_MAX - 7,
                                     INT64_MAX,  UINT64_C(1) << 63,
                                     UINT32_MAX, 1 << 24};
    struct copy *copy = copy_new();
    ElfW(Ehdr) header;
    ElfW(Phdr) part;
    size_t at;

    memcpy(&header, copy->bytes, sizeof(header));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        for (int field = 0; field < 3; field++) {
            struct copy *spoilt = malloc(sizeof(*spoilt));

            memcpy(spoilt, copy, sizeof(*spoilt));
            at = header.e_phoff;
            memcpy(&part, copy->bytes + at, sizeof(part));
            if (field == 0)
                part.p_offset = wrong[i];
            else if (field == 1)
                part.p_filesz = wrong[i];
            memcpy(spoilt->bytes + at, &part, sizeof(part));
            if (field == 2)
                memcpy(spoilt->bytes + offsetof(ElfW(Ehdr), e_phoff), &wrong[i],
                       sizeof(header.e_phoff));
            write_file(copy->path, spoilt->bytes, copy->len);
            REFUSED(copy->directory, "echo", -ENOEXEC, "is cut short");
            free(spoilt);
        }
    }
    copy_free(copy);
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
