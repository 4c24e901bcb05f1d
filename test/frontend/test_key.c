/* test_key.c - where processes of a tree have the session key in memory. */
#include <fcntl.h>

#include <coppice/status.h>

#include "test/frontend/tree.h"

#define KEY_LEN 32

/* Larger mappings are skipped: they are the shadow memory of a sanitizer. */
#define MAPPING_MAX (UINT64_C(1) << 30)

/* The test masks its copy of the key, so as not to find it. */
#define MASK 0x5a

struct needle {
    unsigned char masked[2 * KEY_LEN];
    size_t len;
};

struct search {
    struct needle raw;
    struct needle text; /* in hexadecimal digits, as in the session file */
    unsigned raw_count;
    unsigned dumped_count; /* in memory that a core dump includes */
    unsigned text_count;
};

/* Read the key of the session file at `path`. */
static void read_key(struct search *search, const char *path)
{
    char file[4096], digits[3] = "";
    const char *key;
    ssize_t len;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    CHECK_OK(fd);
    len = read(fd, file, sizeof(file) - 1);
    CHECK_OK(len);
    close(fd);
    file[len] = '\0';
    key = strstr(file, "\nkey ");
    CU_ASSERT_FATAL(key != NULL && strlen(key) > 5 + 2 * KEY_LEN);
    key += 5;
    for (size_t i = 0; i < 2 * KEY_LEN; i++)
        search->text.masked[i] = (unsigned char)key[i] ^ MASK;
    for (size_t i = 0; i < KEY_LEN; i++) {
        memcpy(digits, key + 2 * i, 2);
        search->raw.masked[i] =
            (unsigned char)(strtoul(digits, NULL, 16) ^ MASK);
    }
    search->text.len = 2 * KEY_LEN;
    search->raw.len = KEY_LEN;
    explicit_bzero(file, sizeof(file));
}

static bool is_at(const struct needle *needle, const unsigned char *at)
{
    for (size_t i = 0; i < needle->len; i++)
        if ((at[i] ^ MASK) != needle->masked[i])
            return false;
    return true;
}

static unsigned count_in(const struct needle *needle,
                         const unsigned char *bytes,
                         size_t len)
{
    unsigned count = 0;

    for (size_t i = 0; i + needle->len <= len; i++)
        count += is_at(needle, bytes + i);
    return count;
}

/* Search a mapping in pieces that overlap by one byte less than a needle. */
static void search_mapping(
    struct search *search, int mem, uint64_t from, uint64_t to, bool dumped)
{
    static unsigned char bytes[1 << 16];
    unsigned count;
    ssize_t len;

    while (from < to) {
        size_t room = to - from < sizeof(bytes) ? to - from : sizeof(bytes);

        len = pread(mem, bytes, room, (off_t)from);
        if (len <= 0)
            return; /* such as a guard page */
        count = count_in(&search->raw, bytes, (size_t)len);
        search->raw_count += count;
        if (dumped)
            search->dumped_count += count;
        search->text_count += count_in(&search->text, bytes, (size_t)len);
        explicit_bzero(bytes, (size_t)len);
        if (from + (size_t)len == to)
            return;
        from += (size_t)len - (KEY_LEN - 1);
    }
}

/* Search all writable memory of process `pid`. */
static void search_process(struct search *search, pid_t pid)
{
    unsigned long from = 0, to = 0, start, end;
    char path[64], line[4096], flags[5], kept[5] = "";
    FILE *maps;
    int mem;

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    mem = open(path, O_RDONLY | O_CLOEXEC);
    CHECK_OK(mem);
    snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
    maps = fopen(path, "re");
    CU_ASSERT_FATAL(maps != NULL);
    search->raw_count = search->dumped_count = search->text_count = 0;
    while (fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx %4s", &start, &end, flags) == 3) {
            from = start;
            to = end;
            memcpy(kept, flags, sizeof(kept));
        } else if (strncmp(line, "VmFlags:", 8) == 0 && kept[1] == 'w' &&
                   to - from <= MAPPING_MAX) {
            search_mapping(search, mem, from, to, !strstr(line, " dd"));
        }
    }
    fclose(maps);
    close(mem);
}

/* The process has the key once, in memory that no core dump includes. */
static void check_process(struct search *search, const char *what, pid_t pid)
{
    search_process(search, pid);
    if (search->raw_count != 1 || search->dumped_count || search->text_count)
        printf("\n%s: the key is there %u times, %u of them in a core dump, "
               "and %u times as text\n",
               what, search->raw_count, search->dumped_count,
               search->text_count);
    CU_ASSERT_EQUAL(search->raw_count, 1);
    CU_ASSERT_EQUAL(search->dumped_count, 0);
    CU_ASSERT_EQUAL(search->text_count, 0);
}

static void check_back_ends(struct search *search, struct cop_network *network)
{
    struct cop_stream *stream = tree_open(network, COP_DO_NOT_WAIT, NULL);
    struct cop_packet *packet;
    int pid;

    CHECK_OK(cop_stream_send(stream, TAG_PID, ""));
    for (size_t i = 0; i < cop_stream_size(stream); i++) {
        CHECK_OK(cop_stream_receive(stream, &packet, TREE_PATIENCE_MS));
        CHECK_OK(cop_packet_unpack(packet, "%d", &pid));
        cop_packet_free(packet);
        check_process(search, "a back-end", pid);
    }
}

/* After a launch, after writing a session file, and after reading one. */
TEST(key_is_once_in_each_process_and_in_no_core_dump)
{
    char folder[] = "/tmp/coppice-test.XXXXXX";
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct search search = {0};
    struct cop_network *network;
    struct cop_status *status;
    struct cop_error error;
    pid_t nodes[NODES_MAX];
    size_t count;

    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    CHECK_OK(chdir(folder));
    launch.session_path = "session";
    network = tree_launch_as(launch, "2x2x2", NULL);
    read_key(&search, "session");
    check_process(&search, "the front-end", getpid());
    CHECK_OK(cop_status_read(&status, "session", TREE_PATIENCE_MS, &error));
    cop_status_free(status);
    check_process(&search, "the front-end, which has read a session file",
                  getpid());
    count = nodes_all(nodes);
    CU_ASSERT_EQUAL(count, 6);
    for (size_t i = 0; i < count; i++)
        check_process(&search, "a commnode", nodes[i]);
    check_back_ends(&search, network);
    tree_end(network);
    search_process(&search, getpid());
    CU_ASSERT_EQUAL(search.raw_count, 0);
    unlink("session");
    CHECK_OK(chdir("/"));
    rmdir(folder);
}
