/* test_journal.c - the file in which a front-end keeps its records (PROTOCOL
 * 23.3, 23.4). */
#include "net/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/check.h"
#include "topology/topology.h"

#define ADDRESS "127.0.0.1 23456"
#define FRAMES  3

static char folder[32];
static char path[64];

static struct bootstrap *make_bootstrap(void)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct bootstrap *bootstrap = NULL;
    struct topology *topology = NULL;

    launch.survive_ms = 1000;
    launch.journal_path = path;
    CHECK_OK(topology_from_shape(&topology, "2x2", NULL, NULL, NULL));
    CHECK_OK(bootstrap_launch(&bootstrap, &launch, topology, NULL));
    return bootstrap;
}

static void begin(void)
{
    strcpy(folder, "/tmp/coppice-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/journal", folder);
}

/* Check that no file is left but the journal, if that. */
static void end(void)
{
    unlink(path);
    CHECK_OK(rmdir(folder));
}

/* Write a journal with FRAMES frames; frame number n has n bytes. */
static void write_one(void)
{
    struct bootstrap *bootstrap = make_bootstrap();
    struct journal *journal = NULL;

    CHECK_OK(journal_create(&journal, path, bootstrap, ADDRESS, NULL));
    for (uint32_t i = 1; i <= FRAMES; i++) {
        struct frame frame = {.type = FRAME_DATA, .stream = 7, .number = i};

        CHECK_OK(payload_new(&frame.payload, i));
        memset(frame.payload->bytes, (int)i, i);
        CHECK_OK(journal_write(journal, &frame));
        frame_fini(&frame);
    }
    journal_free(journal);
    bootstrap_free(bootstrap);
}

/* Open the journal, and count its frames. Returns the error of either. */
static int read_one(uint32_t *count, struct cop_error *error)
{
    struct bootstrap *bootstrap = NULL;
    struct journal *journal = NULL;
    struct frame frame;
    uint64_t at;
    int r = journal_open(&journal, &bootstrap, path, error);

    *count = 0;
    if (r < 0)
        return r;
    CU_ASSERT_EQUAL(bootstrap->survive_ms, 1000);
    CU_ASSERT_EQUAL(bootstrap->ports.low, 23456);
    CU_ASSERT_EQUAL(bootstrap->ports.count, 1);
    while ((r = journal_next(journal, &frame, &at)) == 1) {
        CU_ASSERT_EQUAL(frame.number, ++*count);
        CU_ASSERT_EQUAL(frame.payload->len, *count);
        frame_fini(&frame);
    }
    journal_free(journal);
    bootstrap_free(bootstrap);
    return r;
}

static off_t length(void)
{
    struct stat status;

    CHECK_OK(stat(path, &status));
    return status.st_size;
}

TEST(what_is_written_is_read)
{
    struct stat status;
    uint32_t count;

    begin();
    write_one();
    CHECK_OK(stat(path, &status));
    CU_ASSERT_EQUAL(status.st_mode & 0777, 0600);
    CHECK_IS(read_one(&count, NULL), 0);
    CU_ASSERT_EQUAL(count, FRAMES);
    end();
}

/* A last record that is cut short at any byte has never been sent: it is gone,
 * and the file ends behind the one before. */
TEST(a_torn_record_is_cut_off)
{
    off_t whole, before = 0;
    uint32_t count;

    begin();
    for (off_t cut = 1;; cut++) {
        write_one();
        whole = length();
        CHECK_OK(truncate(path, whole - cut));
        CHECK_IS(read_one(&count, NULL), 0);
        if (count < FRAMES - 1) { /* it was cut into the record before */
            before = cut - 1;
            unlink(path);
            break;
        }
        CU_ASSERT_EQUAL(count, FRAMES - 1);
        unlink(path);
    }
    CU_ASSERT(before > FRAME_HEADER_LEN + FRAMES);
    end();
}

/* Any other damage is found, wherever it is, and the sentence says what to do. */
TEST(damage_is_found)
{
    struct cop_error error = {""};
    unsigned char byte;
    uint32_t count;
    off_t whole;
    int fd;

    begin();
    write_one();
    whole = length();
    fd = open(path, O_RDWR | O_CLOEXEC);
    for (off_t at = 0; at < whole; at++) {
        CU_ASSERT_EQUAL_FATAL(pread(fd, &byte, 1, at), 1);
        byte ^= 0x10;
        CU_ASSERT_EQUAL_FATAL(pwrite(fd, &byte, 1, at), 1);
        CHECK_IS(read_one(&count, &error), -EBADMSG);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.text, path));
        byte ^= 0x10;
        CU_ASSERT_EQUAL_FATAL(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
    CU_ASSERT_EQUAL(length(), whole);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "remove the file"));
    end();
}

/* The file has the key: a link, a pipe, or a file that others may read, is
 * refused. */
TEST(only_a_file_of_ones_own)
{
    char other[96];
    uint32_t count;

    begin();
    snprintf(other, sizeof(other), "%s.other", path);
    write_one();
    CHECK_OK(chmod(path, 0640));
    CHECK_IS(read_one(&count, NULL), -EPERM);
    CHECK_OK(chmod(path, 0600));
    CHECK_OK(rename(path, other));
    CHECK_OK(symlink(other, path));
    CHECK_IS(read_one(&count, NULL), -EPERM);
    CHECK_OK(unlink(path));
    CHECK_OK(mkdir(path, 0700));
    CHECK_IS(read_one(&count, NULL), -EPERM);
    CHECK_OK(rmdir(path));
    CHECK_OK(mkfifo(path, 0600));
    CHECK_IS(read_one(&count, NULL), -EPERM);
    unlink(other);
    end();
}

/* A front-end that was killed in its launch has written no frame: there is no
 * network to take over, and the file is removed. */
TEST(an_unfinished_launch_is_none)
{
    struct bootstrap *bootstrap = make_bootstrap();
    struct frame first = {.type = FRAME_READY};
    struct cop_error error = {""};
    struct journal *journal = NULL;
    uint32_t count;

    begin();
    CHECK_OK(journal_create(&journal, path, bootstrap, ADDRESS, NULL));
    journal_free(journal);
    CHECK_IS(read_one(&count, &error), -ENOENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "launch was not finished"));
    CU_ASSERT_EQUAL(access(path, F_OK), -1);
    /* the first frame was torn: no node had what follows it */
    CHECK_OK(journal_create(&journal, path, bootstrap, ADDRESS, NULL));
    CHECK_OK(journal_write(journal, &first));
    journal_free(journal);
    CHECK_OK(truncate(path, length() - 1));
    CHECK_IS(read_one(&count, NULL), -ENOENT);
    bootstrap_free(bootstrap);
    end();
}

/* What was done to the file of a front-end that runs is found with its next
 * record. */
TEST(a_file_that_was_changed_is_not_written)
{
    const int codes[] = {-ENOENT, -EIO, -EIO};
    struct bootstrap *bootstrap = make_bootstrap();
    struct frame frame = {.type = FRAME_READY};
    struct journal *journal = NULL;

    begin();
    for (int i = 0; i < 3; i++) {
        CHECK_OK(journal_create(&journal, path, bootstrap, ADDRESS, NULL));
        CHECK_OK(journal_write(journal, &frame));
        if (i == 0)
            CHECK_OK(unlink(path));
        else
            CHECK_OK(truncate(path, i == 1 ? 0 : length() + 1));
        CHECK_IS(journal_write(journal, &frame), codes[i]);
        journal_remove(journal);
        journal_free(journal);
    }
    bootstrap_free(bootstrap);
    end();
}

/* One process at a time, and that one once. */
TEST(one_process_has_it)
{
    struct bootstrap *bootstrap = make_bootstrap();
    struct cop_error error = {""};
    struct journal *journal = NULL, *second = NULL;
    char says[32];
    uint32_t count;
    pid_t pid;
    int status = 0;

    begin();
    CHECK_OK(journal_create(&journal, path, bootstrap, ADDRESS, NULL));
    snprintf(says, sizeof(says), "process %d", (int)getpid());
    /* what the same process tries does not give the lock up */
    CHECK_IS(journal_create(&second, path, bootstrap, ADDRESS, NULL), -EBUSY);
    CHECK_IS(read_one(&count, &error), -EBUSY);
    pid = fork();
    if (pid == 0) {
        int r = read_one(&count, &error);

        _exit(r == -EBUSY && strstr(error.text, says) ? 0 : 1);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
    journal_remove(journal);
    journal_free(journal);
    bootstrap_free(bootstrap);
    CHECK_IS(read_one(&count, &error), -ENOENT);
    end();
}
