/* test_hostlist.c - host lists: read, refused, written. */
#include "test/topology/tree.h"
#include "topology/hostlist.h"

#include <errno.h>

static int parse_text(struct hostlist **out,
                      const char *text,
                      struct cop_error *err)
{
    return hostlist_parse(out, text, strlen(text), "h", err);
}

/* The hosts of `list`, separated by spaces. free() it. */
static char *joined_text(const struct hostlist *list)
{
    char *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);

    for (uint32_t i = 0; i < hostlist_count(list); i++)
        fprintf(file, "%s%s", i > 0 ? " " : "", hostlist_host(list, i));
    fclose(file);
    return text;
}

/* Each list gives these hosts, which are written as that text. */
TEST(lists_are_read_and_written)
{
    static const struct {
        const char *text, *hosts, *back;
    } lists[] = {
        {"a", "a", "a"},
        {"a,b", "a b", "a,b"},
        {"n[1-3]", "n1 n2 n3", "n[1-3]"},
        {"n[08-11]", "n08 n09 n10 n11", "n[08-11]"},
        {"n[8-11]", "n8 n9 n10 n11", "n[8-11]"},
        {"n[098-101]", "n098 n099 n100 n101", "n[098-101]"},
        {"n[99-101]", "n99 n100 n101", "n[99-101]"},
        {"n[00-02]", "n00 n01 n02", "n[00-02]"},
        {"n[0-2]", "n0 n1 n2", "n[0-2]"},
        {"n[01]", "n01", "n01"},
        {"n[01-02,40],login", "n01 n02 n40 login", "n[01-02,40],login"},
        {"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2", "r1n[1-2],r2n[1-2]"},
        {"n[1-2].x.org", "n1.x.org n2.x.org", "n[1-2].x.org"},
        {"[1-2]", "1 2", "[1-2]"},
        {"n[1,01,001]", "n1 n01 n001", "n[1,01,001]"},
        {"n9,n010", "n9 n010", "n[9,010]"},
        {"n2,n1", "n2 n1", "n[2,1]"},
        {"n1 n1,n1", "n1 n1 n1", "n[1,1,1]"},
        {"a\n b # c,d\n\r,,e\t", "a b e", "a,b,e"},
        {"a,#[", "a", "a"},
        {"n12345678901 n12345678902", "n12345678901 n12345678902",
         "n12345678901,n12345678902"},
        {"x1a2 x1a3 x2a4", "x1a2 x1a3 x2a4", "x1a[2-3],x2a4"},
        {"10.0.0.[1-3]", "10.0.0.1 10.0.0.2 10.0.0.3", "10.0.0.[1-3]"},
    };

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct cop_error error = {""};
        struct hostlist *list = NULL;
        char *hosts;
        char *back = NULL;
        size_t len = 0;
        int r = parse_text(&list, lists[i].text, &error);

        if (r < 0)
            printf("\n%s: %s\n", lists[i].text, error.text);
        CU_ASSERT_FATAL(r == 0);
        hosts = joined_text(list);
        CU_ASSERT_STRING_EQUAL(hosts, lists[i].hosts);
        CHECK_OK(hostlist_text(list, &back, &len));
        CU_ASSERT_STRING_EQUAL(back, lists[i].back);
        CU_ASSERT_EQUAL(strlen(back), len);
        free(back);
        free(hosts);
        hostlist_free(list);
    }
}

/* A written text is read as the same hosts in the same order. */
TEST(texts_read_as_the_same_hosts)
{
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        uint64_t state = seed;
        char text[2000] = "";
        size_t len = 0;
        struct hostlist *list = NULL;
        struct hostlist *back = NULL;
        char *written = NULL;
        char *before;
        char *after;
        uint32_t count = 1 + tree_random(&state) % 30;
        uint32_t number = tree_random(&state) % 120;

        while (count-- > 0) {
            number = tree_random(&state) % 3 ? number + 1
                                             : tree_random(&state) % 1200;
            len += (size_t)sprintf(text + len, "n%s%0*u%s,",
                                   tree_random(&state) % 8 ? "" : "0-",
                                   (int)(tree_random(&state) % 8 / 7 * 3),
                                   number, tree_random(&state) % 8 ? "" : ".b");
        }
        CHECK_OK(parse_text(&list, text, NULL));
        CHECK_OK(hostlist_text(list, &written, NULL));
        CHECK_OK(parse_text(&back, written, NULL));
        before = joined_text(list);
        after = joined_text(back);
        if (strcmp(before, after) != 0)
            printf("\nseed %llu: %s\n", (unsigned long long)seed, written);
        CU_ASSERT_STRING_EQUAL(before, after);
        free(before);
        free(after);
        free(written);
        hostlist_free(back);
        hostlist_free(list);
    }
}

/* Each error names the exact place and the cause. */
TEST(errors_name_place_and_cause)
{
    static const struct {
        const char *text;
        int code;
        const char *says;
    } lists[] = {
        {"", -EINVAL, "h:1:1: no hosts"},
        {",\n,", -EINVAL, "h:2:2: no hosts"},
        {"a,b&", -EINVAL, "h:1:4: '&' in a host name"},
        {"a]", -EINVAL, "h:1:2: ']' in a host name"},
        {"a\nn[1-", -EINVAL, "h:2:5: the end where a number"},
        {"n[1-2", -EINVAL, "h:1:2: this '[' is never closed"},
        {"n[1 ]", -EINVAL, "h:1:4: '\\x20' in a bracket"},
        {"n[]", -EINVAL, "h:1:3: ']' where a number"},
        {"n[1,]", -EINVAL, "h:1:5: ']' where a number"},
        {"n[-3]", -EINVAL, "h:1:3: '-' where a number"},
        {"n[a]", -EINVAL, "h:1:3: 'a' where a number"},
        {"n[1-2-3]", -EINVAL, "h:1:6: '-' in a bracket"},
        {"n[4,3-1]", -EINVAL, "h:1:5: the range runs backwards; write 1-3"},
        {"n[1234567890]", -EINVAL, "h:1:3: a number of more than 9 digits"},
        {"-n1", -EINVAL, "h:1:1: a host name cannot begin with '-'"},
        {"a,-[1-2]", -EINVAL, "h:1:3: a host name cannot begin with '-'"},
        {"[1][1][1][1][1][1][1][1][1]", -EINVAL,
         "h:1:25: more than 8 brackets"},
        {"a,n[0-999999999]", -E2BIG, "h:1:3: more than 2097152 hosts"},
        {"n[0-2097152]", -E2BIG, "h:1:1: more than 2097152 hosts"},
        {"n[0-9999][0-9999][0-9999][0-9999][0-9999][0-9999]", -E2BIG,
         "h:1:1: more than 2097152 hosts"},
    };

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct cop_error error = {""};
        struct hostlist *list = NULL;

        CHECK_IS(parse_text(&list, lists[i].text, &error), lists[i].code);
        if (strncmp(error.text, lists[i].says, strlen(lists[i].says)) != 0)
            printf("\n%s\n says %s\n", lists[i].text, error.text);
        CU_ASSERT(strncmp(error.text, lists[i].says, strlen(lists[i].says)) ==
                  0);
        CU_ASSERT_PTR_NULL(list);
    }
}

/* Hosts and names at the limits are accepted; one more is refused. */
TEST(limits_are_exact)
{
    struct cop_error error = {""};
    struct hostlist *list = NULL;
    char text[400];

    CHECK_OK(parse_text(&list, "n[0-2097151]", NULL));
    CU_ASSERT_EQUAL(hostlist_count(list), HOSTLIST_HOSTS_MAX);
    CU_ASSERT_STRING_EQUAL(hostlist_host(list, 2097151), "n2097151");
    hostlist_free(list);
    list = NULL;
    CHECK_IS(parse_text(&list, "n[0-2097151] x", &error), -E2BIG);
    memset(text, 'a', HOSTNAME_MAX);
    text[HOSTNAME_MAX] = '\0';
    CHECK_OK(parse_text(&list, text, NULL));
    hostlist_free(list);
    list = NULL;
    strcpy(text + HOSTNAME_MAX, "b");
    CHECK_IS(parse_text(&list, text, &error), -EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "h:1:1: a host name longer"));
    strcpy(text + 249, "[0-999999]");
    CHECK_IS(parse_text(&list, text, &error), -E2BIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "above 67108864 bytes"));
    CHECK_IS(hostlist_read(&list, "/nowhere/hosts", &error), -ENOENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/nowhere/hosts: cannot open"));
    hostlist_free(NULL);
}
