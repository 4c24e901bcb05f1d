/* test_bootstrap.c - the bootstrap of a node, and session files. */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/bootstrap.h"
#include "net/descriptors.h"
#include "net/session.h"
#include "test/check.h"
#include "topology/adopter.h"
#include "topology/topology.h"
#include "wire/limits.h"

static char *argv_be[] = {(char[]){"./be"}, (char[]){"two words"}, (char[]){""},
                          NULL};

static struct bootstrap *front_end(const char *shape)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    struct topology *topology;
    struct bootstrap *bootstrap;

    launch.backend_argv = argv_be;
    launch.times.heartbeat_ms = 123;
    launch.networks = "127.0.0.0/8";
    launch.filter_path = "/a:/b";
    launch.launcher = "ssh";
    CHECK_OK(topology_from_shape(&topology, shape, NULL, NULL, NULL));
    launch.reconfiguration = "GP+-WR";
    CHECK_OK(bootstrap_launch(&bootstrap, &launch, topology, NULL));
    return bootstrap;
}

TEST(front_ends_is_complete)
{
    struct bootstrap *bootstrap = front_end("2x2");
    unsigned char zero[BOOTSTRAP_KEY_LEN] = {0};

    CU_ASSERT_EQUAL(bootstrap->role, NODE_FRONTEND);
    CU_ASSERT_EQUAL(bootstrap->rank, 0);
    CU_ASSERT_EQUAL(bootstrap->next_rank, 7);
    CU_ASSERT_EQUAL(bootstrap->fd, -1);
    CU_ASSERT_EQUAL(bootstrap->times.heartbeat_ms, 123);
    CU_ASSERT_STRING_EQUAL(adopter_name(bootstrap->algorithm), "GP+-WR");
    CU_ASSERT_EQUAL(bootstrap->times.failure_timeout_ms,
                    LIMIT_FAILURE_TIMEOUT_MS);
    CU_ASSERT(memcmp(bootstrap->key, zero, sizeof(zero)) != 0);
    CU_ASSERT_STRING_EQUAL(bootstrap->launcher_argv[0], "ssh");
    bootstrap_free(bootstrap);
}

/* The whole bootstrap arrives, at a commnode and at a back-end. */
TEST(children_are_told_everything)
{
    struct bootstrap *parent = front_end("2x2");
    struct bootstrap child;
    struct bootstrap *read;
    unsigned char *bytes;
    size_t len;

    CHECK_OK(bootstrap_child(&child, parent, 2, "127.0.0.1 99"));
    CHECK_OK(bootstrap_encode(&child, &bytes, &len));
    CHECK_OK(bootstrap_decode(&read, bytes, len));
    CU_ASSERT_EQUAL(read->role, NODE_COMMNODE);
    CU_ASSERT_EQUAL(read->rank, 2);
    CU_ASSERT_EQUAL(read->depth, 1);
    CU_ASSERT_EQUAL(read->parent_rank, 0);
    CU_ASSERT_STRING_EQUAL(read->parent_address, "127.0.0.1 99");
    CU_ASSERT_STRING_EQUAL(read->networks, "127.0.0.0/8");
    CU_ASSERT_EQUAL(strncmp(read->filter_path, "/a:/b:/", 7), 0);
    CU_ASSERT_STRING_EQUAL(read->backend_argv[1], "two words");
    CU_ASSERT_STRING_EQUAL(read->backend_argv[2], "");
    CU_ASSERT_PTR_NULL(read->backend_argv[3]);
    CU_ASSERT_EQUAL(memcmp(read->key, parent->key, BOOTSTRAP_KEY_LEN), 0);
    CU_ASSERT_EQUAL(read->times.heartbeat_ms, 123);
    CU_ASSERT_STRING_EQUAL(adopter_name(read->algorithm), "GP+-WR");
    CU_ASSERT_EQUAL(topology_count(read->subtree), 3);
    free(bytes);
    topology_free(child.subtree);

    CHECK_OK(bootstrap_child(&child, read, 5, "127.0.0.1 98"));
    CU_ASSERT_EQUAL(child.role, NODE_BACKEND);
    CU_ASSERT_EQUAL(child.depth, 2);
    CU_ASSERT_EQUAL(child.parent_rank, 2);
    CU_ASSERT_PTR_NULL(child.subtree);
    CHECK_IS(bootstrap_child(&child, read, 3, ""), -EINVAL);
    CHECK_IS(bootstrap_child(&child, read, 2, ""), -EINVAL);
    bootstrap_free(read);
    bootstrap_free(parent);
}

/* Damaged bytes are refused, or decode to a valid bootstrap: never a crash. */
TEST(damaged_bytes_are_refused)
{
    struct bootstrap *parent = front_end("2x2");
    struct bootstrap child;
    struct bootstrap *read;
    unsigned char *bytes;
    size_t len;
    int r;

    CHECK_OK(bootstrap_child(&child, parent, 2, "127.0.0.1 99"));
    CHECK_OK(bootstrap_encode(&child, &bytes, &len));
    for (size_t i = 0; i < len; i++)
        CHECK_IS(bootstrap_decode(&read, bytes, i), -EBADMSG);
    for (size_t i = 0; i < len * 8; i++) {
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        r = bootstrap_decode(&read, bytes, len);
        if (r == 0)
            bootstrap_free(read);
        else
            CHECK_IS(r, -EBADMSG);
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    CHECK_OK(bootstrap_decode(&read, bytes, len));
    bootstrap_free(read);
    free(bytes);
    topology_free(child.subtree);
    bootstrap_free(parent);
}

TEST(bad_options_are_named)
{
    struct cop_launch launch = COP_LAUNCH_INIT;
    char *none[] = {NULL};
    struct cop_error error;
    struct topology *topology;
    struct bootstrap *bootstrap;

    CHECK_OK(topology_from_shape(&topology, "flat:2", NULL, NULL, NULL));
    launch.launcher = "rsh";
    CHECK_IS(bootstrap_launch(&bootstrap, &launch, topology, &error), -EINVAL);
    CU_ASSERT(strstr(error.text, "rsh") != NULL);
    launch.launcher = NULL;
    launch.networks = "10.0.0.0/8,oops/3";
    CHECK_IS(bootstrap_launch(&bootstrap, &launch, topology, &error), -EINVAL);
    CU_ASSERT(strstr(error.text, "\"oops/3\"") != NULL);
    launch.networks = NULL;
    launch.backend_argv = none;
    CHECK_IS(bootstrap_launch(&bootstrap, &launch, topology, &error), -EINVAL);
    CU_ASSERT(strstr(error.text, "backend_argv") != NULL);
    topology_free(topology);
}

/* ---- the descriptor ---- */

static void name_descriptor(int fd)
{
    char number[16];

    snprintf(number, sizeof(number), "%d", fd);
    CHECK_OK(setenv(BOOTSTRAP_VARIABLE, number, 1));
}

TEST(descriptor_is_inherited_and_answered)
{
    struct bootstrap *parent = front_end("flat:2");
    struct bootstrap child;
    struct bootstrap *read;
    unsigned char *bytes;
    size_t len;
    int pair[2];
    char byte = 0;

    CHECK_OK(bootstrap_child(&child, parent, 1, "127.0.0.1 99"));
    CHECK_OK(bootstrap_encode(&child, &bytes, &len));
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    CHECK_IS(write(pair[0], bytes, len), len);
    name_descriptor(pair[1]);
    CHECK_OK(bootstrap_inherit(&read, 60000, NULL));
    CU_ASSERT_PTR_NULL(getenv(BOOTSTRAP_VARIABLE));
    CU_ASSERT_EQUAL(read->fd, pair[1]);
    bootstrap_accepted(read);
    CU_ASSERT_EQUAL(read->fd, -1);
    CHECK_IS(recv(pair[0], &byte, 1, 0), 1);
    CU_ASSERT_EQUAL(byte, 'A');
    close(pair[0]);
    free(bytes);
    bootstrap_free(read);
    topology_free(child.subtree);
    bootstrap_free(parent);
}

TEST(descriptor_that_is_none_is_told)
{
    struct bootstrap *read;
    struct cop_error error;
    int pair[2];

    unsetenv(BOOTSTRAP_VARIABLE);
    CHECK_IS(bootstrap_inherit(&read, 100, &error), -ENOTCONN);
    CU_ASSERT(strstr(error.text, "session file") != NULL);
    CHECK_OK(setenv(BOOTSTRAP_VARIABLE, "12x", 1));
    CHECK_IS(bootstrap_inherit(&read, 100, &error), -EBADMSG);
    CHECK_OK(setenv(BOOTSTRAP_VARIABLE, "987654", 1));
    CHECK_IS(bootstrap_inherit(&read, 100, &error), -EBADMSG);
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    name_descriptor(pair[1]);
    CHECK_IS(bootstrap_inherit(&read, 20, &error), -ETIMEDOUT);
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    close(pair[0]);
    name_descriptor(pair[1]);
    CHECK_IS(bootstrap_inherit(&read, 60000, &error), -EPIPE);
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    CHECK_IS(write(pair[0], "nonsense and more", 17), 17);
    name_descriptor(pair[1]);
    CHECK_IS(bootstrap_inherit(&read, 60000, &error), -EBADMSG);
    close(pair[0]);
}

/* ---- session files ---- */

static const char session_text[] = "coppice session 1\n"
                                   "id 000102030405060708090a0b0c0d0e0f\n"
                                   "key 000102030405060708090a0b0c0d0e0f"
                                   "101112131415161718191a1b1c1d1e1f\n"
                                   "times 1 2 3 4 5 6 7 8 9\n"
                                   "filters /a:/b\n"
                                   "reconfiguration ANY-R\n"
                                   "node 0 127.0.0.1 10\n"
                                   "host n3\n"
                                   "node 3 127.0.0.1 11\n"
                                   "end\n";

static char path[64];

static void write_file(const char *text, size_t len, mode_t mode)
{
    FILE *file = fopen(path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CHECK_IS(fwrite(text, 1, len, file), len);
    fclose(file);
    CHECK_OK(chmod(path, mode));
}

TEST(session_file_is_read)
{
    struct bootstrap *read;

    write_file(session_text, strlen(session_text), 0600);
    CHECK_OK(session_read(&read, path, 7, 0, NULL));
    CU_ASSERT_EQUAL(read->role, NODE_BACKEND);
    CU_ASSERT_EQUAL(read->rank, RANK_NONE);
    CU_ASSERT_EQUAL(read->parent_rank, 3);
    CU_ASSERT_STRING_EQUAL(read->parent_address, "127.0.0.1 11");
    CU_ASSERT_EQUAL(read->times.probe_timeout_ms, 4);
    CU_ASSERT_EQUAL(read->times.filter_timeout_ms, 9);
    CU_ASSERT_STRING_EQUAL(adopter_name(read->algorithm), "ANY-R");
    CU_ASSERT_EQUAL(read->key[31], 0x1f);
    bootstrap_free(read);
    CHECK_OK(session_read(&read, path, 8, 0, NULL));
    CU_ASSERT_EQUAL(read->parent_rank, 0);
    bootstrap_free(read);
    unlink(path);
}

/* The commnodes of this machine are called first, the front-end of this machine
 * in its turn. The first question is for the front-end. */
TEST(session_of_this_machine_first)
{
    static const uint32_t own[] = {70, 90};
    char text[8192], name[LIMIT_HOST_NAME + 1] = "";
    uint32_t seen[100] = {0};
    struct bootstrap *read;
    size_t len;

    CHECK_OK(gethostname(name, sizeof(name) - 1));
    len = (size_t)(strstr(session_text, "node 0") - session_text);
    memcpy(text, session_text, len);
    for (uint32_t rank = 0; rank < 100; rank++)
        len += (size_t)snprintf(
            text + len, sizeof(text) - len, "host %s\nnode %u 127.0.0.1 10\n",
            rank == 0 || rank == own[0] || rank == own[1] ? name : "n1", rank);
    len += (size_t)snprintf(text + len, sizeof(text) - len, "end\n");
    write_file(text, len, 0600);
    for (uint32_t attempt = 0; attempt < 64; attempt++) {
        CHECK_OK(session_read(&read, path, 12345, attempt, NULL));
        CU_ASSERT_EQUAL(read->node_count, 64);
        CU_ASSERT_EQUAL(seen[read->parent_rank]++, 0);
        if (attempt < 2)
            CU_ASSERT(read->parent_rank == own[0] ||
                      read->parent_rank == own[1]);
        bootstrap_free(read);
    }
    CU_ASSERT_EQUAL(seen[0], 1);
    CHECK_OK(session_read(&read, path, 12345, SESSION_FRONTEND, NULL));
    CU_ASSERT_EQUAL(read->parent_rank, 0);
    bootstrap_free(read);
    unlink(path);
}

TEST(session_file_of_others_is_refused)
{
    struct bootstrap *read;
    struct cop_error error;

    write_file(session_text, strlen(session_text), 0644);
    CHECK_IS(session_read(&read, path, 0, 0, &error), -EACCES);
    CU_ASSERT(strstr(error.text, "chmod 600") != NULL);
    unlink(path);
    CHECK_IS(session_read(&read, path, 0, 0, &error), -ENOENT);
    CHECK_IS(session_read(&read, "/", 0, 0, &error), -EBADMSG);
}

/* The file names directories whose filters are run, so root does not trust
 * another user's file either. Only root can test that. */
TEST(session_file_of_another_user_is_refused)
{
    struct bootstrap *read;
    struct cop_error error;

    if (geteuid() != 0)
        return;
    write_file(session_text, strlen(session_text), 0600);
    CHECK_OK(chown(path, 65534, 65534));
    CHECK_IS(session_read(&read, path, 0, 0, &error), -EACCES);
    CU_ASSERT(strstr(error.text, "belongs to user 65534") != NULL);
    unlink(path);
}

/* With few descriptors a node gets an error, with or without children. Runs in
 * its own process, as the limit cannot be raised again. */
static int check_few_descriptors(struct bootstrap *bootstrap)
{
    struct rlimit few = {.rlim_cur = 32, .rlim_max = 32};
    struct cop_error error = {""};
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        if (setrlimit(RLIMIT_NOFILE, &few) < 0 ||
            descriptors_check(bootstrap, &error) != -EMFILE ||
            !strstr(error.text, "ulimit -n"))
            _exit(1);
        _exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    return status;
}

TEST(few_descriptors_are_an_error)
{
    struct bootstrap *parent = front_end("2x2");
    struct bootstrap *backend;

    CHECK_IS(check_few_descriptors(parent), 0);
    bootstrap_free(parent);
    write_file(session_text, strlen(session_text), 0600);
    CHECK_OK(session_read(&backend, path, 0, 0, NULL));
    CHECK_IS(check_few_descriptors(backend), 0);
    bootstrap_free(backend);
    unlink(path);
}

/* A file that is cut anywhere, or that has a wrong byte, is refused. */
TEST(damaged_session_file_is_refused)
{
    char copy[sizeof(session_text)];
    struct bootstrap *read;
    struct cop_error error;
    size_t len = strlen(session_text);

    for (size_t i = 0; i < len; i++) {
        write_file(session_text, i, 0600);
        CHECK_IS(session_read(&read, path, 0, 0, &error), -EBADMSG);
    }
    memcpy(copy, session_text, sizeof(copy));
    copy[strlen("coppice session 1\nid 00")] = 'x';
    write_file(copy, len, 0600);
    CHECK_IS(session_read(&read, path, 0, 0, &error), -EBADMSG);
    CU_ASSERT(strstr(error.text, ":2:") != NULL);
    unlink(path);
}

int main(void)
{
    snprintf(path, sizeof(path), "test-session-%ld", (long)getpid());
    return check_run("bootstrap");
}
