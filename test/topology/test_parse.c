/* test_parse.c - reading topology files, and the error messages. */
#include "test/topology/tree.h"

#include <errno.h>
#include <unistd.h>

static int parse_text(struct topology **out,
                      const char *text,
                      struct cop_error *err)
{
    return topology_parse(out, text, strlen(text), "t", err);
}

/* Files of MRNet can be read: dots and dashes in names as in the dissertation,
 * comments, free white space, statements of a single node. */
TEST(mrnets_files_are_read)
{
    static const struct {
        const char *text;
        uint32_t count;
    } files[] = {
        {"a:0 => b:0 ;", 2},
        {"a:0=>b:0;", 2},
        {"a : 0 =>\r\n\tb\n:\n1\v\f;", 2},
        {"# first\na:0 => # of all\n b:0; # done", 2},
        {"node-1.example.org:0 => 10.0.0.7:0 x_y:12 ;", 3},
        {"b:0 ; a:0 => b:0 ; b:0 ;", 2},
        {"a:0 => a:1 a:2 ; a:1 => a:4294967294 ;", 4},
        {"a:00 => a:01;", 2},
        {"a:0 ;", 1},
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct cop_error error = {""};
        struct topology *topo = NULL;
        int r = parse_text(&topo, files[i].text, &error);

        if (r < 0)
            printf("\n%s: %s\n", files[i].text, error.text);
        CU_ASSERT_EQUAL_FATAL(r, 0);
        CU_ASSERT_EQUAL(topology_count(topo), files[i].count);
        topology_free(topo);
    }
}

/* Each error names the exact place and the cause. */
TEST(errors_name_place_and_cause)
{
    static const struct {
        const char *text;
        const char *says;
    } files[] = {
        {"", "t:1:1: no nodes"},
        {"# only words\n \n", "t:3:1: no nodes"},
        {"a:0 => b:0", "t:1:11: the end where ';'"},
        {"a:0 => b:0\n\n", "t:1:11: the end where ';'"},
        {"a:0", "t:1:4: the end where \"=>\""},
        {"a:0 =", "t:1:5: '=' where \"=>\""},
        {"a:0 = > b:0;", "t:1:5: '=' where \"=>\""},
        {"a:0 => b:0\nb:0 => c:0;", "t:2:1: missing ';' before b:0"},
        {"a:0 => ;", "t:1:8: no child between"},
        {"a:0 =>", "t:1:7: the end where a node"},
        {"a:0 => b:0 & c:0;", "t:1:12: '&' where ';'"},
        {"a:0 => b:0;;", "t:1:12: ';' where a node"},
        {"a:0 => b;", "t:1:9: ';' where ':'"},
        {"a => b:0;", "t:1:3: '=' where ':'"},
        {"a:x => b:0;", "t:1:3: 'x' where an instance number"},
        {"a: ;", "t:1:4: ';' where an instance number"},
        {"a:0b => c:0;", "t:1:4: a letter in an instance number"},
        {"a:4294967295 ;", "t:1:3: the instance number is above 4294967294"},
        {"a:99999999999999999999999 ;", "t:1:3: the instance number"},
        {"a:-1 ;", "t:1:3: '-' where an instance number"},
        {"-o.x:0 ;", "t:1:1: a host name cannot begin with '-'"},
        {"\xc3\xa9:0 ;", "t:1:1: '\\xc3' where a node"},
        {"a:0 => a:0;", "t:1:8: a:0 is its own child"},
        {"a:0 => b:0 b:00;", "t:1:12: b:0 is a child of a:0 already (line 1)"},
        {"a:0 => b:0 c:0;\nc:0 => b:0;",
         "t:2:8: b:0 has the parent a:0 already (line 1)"},
        {"a:0 => b:0;\nc:0 => d:0;", "t:2:1: a second root: c:0"},
        {"a:0; b:0;", "t:1:6: a second root: b:0"},
        {"a:0 => b:0;\n b:0 => a:0;", "t:2:9: a:0 is a descendant of itself"},
        {"r:0 => q:0;\nq:0;\nc:0 => d:0;\nd:0 => c:0 e:0;",
         "t:4:8: c:0 is a descendant of itself"},
        {"r:0 => q:0;\nx:0 => y:0;\nb:0 => c:0 x:0;\nc:0 => b:0;",
         "t:4:8: b:0 is a descendant of itself"},
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct cop_error error = {""};
        struct topology *topo = NULL;
        size_t len = strlen(files[i].says);

        CHECK_IS(parse_text(&topo, files[i].text, &error), -EINVAL);
        if (strncmp(error.text, files[i].says, len) != 0)
            printf("\n%s\n says %s\n  not %s\n", files[i].text, error.text,
                   files[i].says);
        CU_ASSERT(strncmp(error.text, files[i].says, len) == 0);
        CU_ASSERT_PTR_NULL(topo);
        CHECK_IS(parse_text(&topo, files[i].text, NULL), -EINVAL);
    }
}

/* A zero byte is an invalid character, not an end. */
TEST(a_zero_byte_is_refused)
{
    struct cop_error error = {""};
    struct topology *topo = NULL;

    CHECK_IS(topology_parse(&topo, "a:0 ;\0b:0;", 10, "t", &error), -EINVAL);
    CU_ASSERT_EQUAL(strncmp(error.text, "t:1:6: '\\x00'", 13), 0);
}

/* Names of 255 bytes are accepted, longer ones are refused. */
TEST(long_names_are_refused)
{
    char text[300];
    struct cop_error error = {""};
    struct topology *topo = NULL;

    memset(text, 'a', sizeof text);
    strcpy(text + HOSTNAME_MAX, ":0 ;");
    CHECK_OK(parse_text(&topo, text, &error));
    CU_ASSERT_EQUAL(strlen(topology_host(topo, 0)), HOSTNAME_MAX);
    topology_free(topo);
    memset(text, 'a', sizeof text);
    strcpy(text + HOSTNAME_MAX + 1, ":0 ;");
    CHECK_IS(parse_text(&topo, text, &error), -EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "t:1:1: the host name is longe"));
}

/* One child more than the limit is refused, with its place. */
TEST(too_many_children_are_refused)
{
    size_t room = (TOPOLOGY_CHILDREN_MAX + 2) * (size_t)10;
    char *text = malloc(room);
    struct cop_error error = {""};
    struct topology *topo = NULL;
    size_t len = (size_t)sprintf(text, "a:0 =>\n");

    for (uint32_t i = 1; i <= TOPOLOGY_CHILDREN_MAX; i++)
        len += (size_t)sprintf(text + len, "a:%u\n", i);
    strcpy(text + len, ";");
    CHECK_OK(parse_text(&topo, text, &error));
    CU_ASSERT_EQUAL(topology_leaf_count(topo), TOPOLOGY_CHILDREN_MAX);
    topology_free(topo);
    strcpy(text + len, "b:0;");
    CHECK_IS(parse_text(&topo, text, &error), -E2BIG);
    CU_ASSERT_EQUAL(strncmp(error.text, "t:131074:1: more than 131072", 28), 0);
    free(text);
}

/* The error for a file that cannot be read has its name and the cause. */
TEST(unreadable_files_are_named)
{
    struct cop_error error = {""};
    struct topology *topo = NULL;

    CHECK_IS(topology_read(&topo, "/nowhere/tree.top", &error), -ENOENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/nowhere/tree.top: cannot op"));
    CHECK_IS(topology_read(&topo, "/", &error), -EISDIR);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/: cannot read"));
    CHECK_IS(topology_read(&topo, "/dev/null", &error), -EINVAL);
    CU_ASSERT_STRING_EQUAL(
        error.text,
        "/dev/null:1:1: no nodes; write for example \"a:0 => b:0 c:0 ;\"");
}

/* A file gives the same tree as its text; errors name its path. */
TEST(files_are_read)
{
    char path[] = "/tmp/coppice-test-XXXXXX";
    int fd = mkstemp(path);
    struct cop_error error = {""};
    struct topology *topo = NULL;
    char *text = tree_file(5, 200);
    char says[64];

    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    CHECK_OK(topology_read(&topo, path, &error));
    CU_ASSERT_EQUAL(topology_count(topo), 200);
    topology_free(topo);
    CU_ASSERT_EQUAL(ftruncate(fd, 3), 0);
    CHECK_IS(topology_read(&topo, path, &error), -EINVAL);
    snprintf(says, sizeof says, "%s:1:4: the end", path);
    CU_ASSERT_EQUAL(strncmp(error.text, says, strlen(says)), 0);
    free(text);
    close(fd);
    unlink(path);
}
