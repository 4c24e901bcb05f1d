/* member.c - the back-end of the tests: obeys the packets of member.h. Its
 * argument says what else it does:
 *
 *   exit           ends at once, with status 3
 *   fell N FOLDER  the first back-end that makes FOLDER kills the process N
 *                  levels above it, then joins
 *   halt N FOLDER  likewise, but stops that process for HALT_MS
 *   session FILE   attaches to the network of that session file
 *   poll           waits in poll(), never in a receive
 *   packets        likewise, and never asks for events
 *   chatter        answers questions as in chatter() */
#include "test/frontend/member.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <coppice/status.h>

/* How a back-end waits for a packet. */
enum waiting {
    WAIT_IN_RECEIVE,
    WAIT_IN_POLL,         /* takes events, too */
    WAIT_FOR_PACKETS_ONLY /* in poll() */
};

/* How often poll() has returned. */
static int wakes;

static void send_bytes(struct cop_stream *stream, int count)
{
    char *bytes = calloc(1, (size_t)count + 1);

    if (bytes)
        cop_stream_send(stream, TAG_BYTES, "%ac", bytes, (uint32_t)count);
    free(bytes);
}

static void send_many(struct cop_network *network,
                      struct cop_stream *stream,
                      int modulo)
{
    uint32_t count = cop_network_rank(network) % (uint32_t)modulo;

    while (count-- > 0)
        cop_stream_send(stream, TAG_MANY, "%d", 1);
}

static void send_hashes(struct cop_network *network,
                        struct cop_stream *stream,
                        int count)
{
    static uint32_t index;

    while (count-- > 0)
        if (cop_stream_send(stream, TAG_HASHES, "%uld",
                            member_hash(cop_network_rank(network), index++)) <
            0)
            return;
}

/* The stream of TAG_FILL, and the number of packets sent. */
static struct filled {
    struct cop_stream *stream;
    uint32_t sent;
} filled;

static void fill(struct cop_network *network,
                 struct cop_stream *stream,
                 const struct cop_packet *packet)
{
    int count = 0, numbers = 0, patience_ms = 0;
    uint64_t *values;
    int r = 0;

    cop_packet_unpack(packet, "%d %d %d", &count, &numbers, &patience_ms);
    values = calloc((size_t)numbers, sizeof(*values));
    if (!values)
        err(1, "%d numbers", numbers);
    filled.stream = stream;
    cop_stream_set_send_timeout(stream, patience_ms);
    while (r == 0 && count-- > 0) {
        values[0] = member_hash(cop_network_rank(network), filled.sent);
        r = cop_stream_send(stream, TAG_FILL, "%auld", values,
                            (uint32_t)numbers);
        filled.sent += r == 0;
    }
    cop_stream_set_send_timeout(stream, COP_FOREVER);
    free(values);
}

static void send_kept(struct cop_stream *stream)
{
    size_t packets = 0, bytes = 0;
    uint64_t values[3];

    if (filled.stream)
        cop_stream_unfinal(filled.stream, &packets, &bytes);
    values[0] = filled.sent;
    values[1] = packets;
    values[2] = bytes;
    cop_stream_send(stream, TAG_KEPT, "%auld", values, (uint32_t)3);
}

/* Stop the process that started this one, and wait until it does not run. */
static void stop_starter(void)
{
    char path[64], state = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)getppid());
    kill(getppid(), SIGSTOP);
    while (state != 'T') {
        file = fopen(path, "re");
        if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            errx(1, "%s is not readable", path);
        fclose(file);
    }
}

/* Begin to leave behind a stopped parent, which then dies. */
static void lose_starter(struct cop_network *network)
{
    struct cop_error error = {""};
    int r;

    stop_starter();
    for (int i = 0; i < 2; i++) {
        r = cop_network_leave(network, 50, &error);
        if (r != -ETIMEDOUT)
            errx(1, "leaving behind a stopped parent: %d, %s", r, error.text);
    }
    kill(getppid(), SIGKILL);
}

static _Noreturn void go(struct cop_network *network)
{
    struct cop_error error;

    if (cop_network_leave(network, COP_FOREVER, &error) < 0)
        errx(1, "leaving: %s", error.text);
    cop_network_free(network);
    exit(0);
}

/* Send `count` of our own numbers, `rate` per second, or until the network
 * ends. */
static void feed(struct cop_network *network,
                 struct cop_stream *stream,
                 int count,
                 int rate)
{
    struct timespec due;
    int32_t number;
    int r;

    clock_gettime(CLOCK_MONOTONIC, &due);
    for (int i = 0; i < count; i++) {
        number = member_number(cop_network_rank(network), i);
        r = cop_stream_send(stream, TAG_FEED, "%ad", &number, 1);
        if (r == -EPIPE || r == -ENOTCONN)
            return;
        if (r < 0)
            errx(1, "a number could not be sent: %s", strerror(-r));
        due.tv_nsec += 1000000000 / rate;
        due.tv_sec += due.tv_nsec / 1000000000;
        due.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
}

static void send_sum(struct cop_stream *stream, const struct cop_packet *packet)
{
    struct cop_value value;
    uint32_t sum = 0;

    if (cop_packet_value(packet, 0, &value) < 0)
        return;
    for (uint64_t i = 0; i < value.count; i++)
        sum += ((const unsigned char *)value.data)[i];
    cop_stream_send(stream, TAG_SUM, "%ud", sum);
}

/* Call every function in a forked child. Returns 0 if each returned -EPERM. */
static int calls_in_a_child(struct cop_network *network,
                            struct cop_stream *stream)
{
    struct cop_event event = COP_EVENT_INIT;
    struct cop_packet *packet;
    int status = -1;
    pid_t pid = fork();

    if (pid != 0)
        return pid < 0 || waitpid(pid, &status, 0) != pid ? -1 : status;
    if (cop_stream_send(stream, TAG_ECHO, "%d", 1) != -EPERM)
        _exit(1);
    if (cop_network_receive(network, NULL, &packet, 0) != -EPERM ||
        cop_stream_receive(stream, &packet, COP_FOREVER) != -EPERM)
        _exit(2);
    if (cop_network_event(network, &event, COP_FOREVER) != -EPERM)
        _exit(3);
    if (cop_stream_settle(stream) != -EPERM)
        _exit(4);
    if (cop_network_shutdown(network, 1000) != -EPERM)
        _exit(5);
    cop_network_free(network);
    _exit(0);
}

static void spout(struct cop_stream *stream)
{
    cop_stream_settle(stream);
    while (cop_stream_send(stream, TAG_SPOUT, "%d", 1) == 0)
        ;
}

/* Write 1 MiB to standard error; return when a reader has taken all of it. */
static void shout(void)
{
    static char line[1024];

    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\n';
    for (int i = 0; i < 1024; i++)
        fwrite(line, 1, sizeof(line), stderr);
}

static int threads(void)
{
    struct stat status;

    return stat("/proc/self/task", &status) < 0 ? -1 : (int)status.st_nlink;
}

/* Close all of Coppice's descriptors, open other files under the same numbers,
 * and leave the network. These files must stay untouched. If `is_late`, a
 * thread of Coppice is the first to use such a descriptor. */
static void close_all(struct cop_network *network, bool is_late)
{
    struct cop_event event = COP_EVENT_INIT;
    struct timespec pause = {0, 1000000};
    struct cop_packet *packet;
    int fd, count = 0, before = threads(), looks = 0;

    closefrom(STDERR_FILENO + 1);
    while (count < 64 && open("/proc/self/exe", O_RDONLY | O_CLOEXEC) >= 0)
        count++;
    while (is_late && threads() == before) {
        if (++looks == 10000)
            errx(1, "no thread ends without descriptors");
        nanosleep(&pause, NULL);
    }
    if (cop_network_receive(network, NULL, &packet, COP_FOREVER) != -ENOTCONN)
        errx(1, "a receive goes on without descriptors");
    while (cop_network_event(network, &event, 0) == 0)
        if (event.type == COP_EVENT_ENDED)
            warnx("%s", event.text);
    if (event.type != COP_EVENT_ENDED)
        errx(1, "the end is not told");
    cop_network_free(network);
    for (fd = STDERR_FILENO + 1; fd <= STDERR_FILENO + count; fd++)
        if (lseek(fd, 0, SEEK_CUR) != 0)
            errx(1, "descriptor %d was closed, or read from", fd);
    exit(0);
}

/* Write the packet's bytes to our parent, between two frames of Coppice. */
static void say(const struct cop_packet *packet)
{
    struct sockaddr_storage peer;
    socklen_t room = sizeof(peer);
    const char *bytes;
    uint32_t len;
    int fd = STDERR_FILENO + 1;

    while (getpeername(fd, (struct sockaddr *)&peer, &room) < 0 ||
           peer.ss_family == AF_UNIX) {
        room = sizeof(peer);
        if (++fd == 1024)
            errx(1, "there is no connection to a parent");
    }
    if (cop_packet_unpack(packet, "%ac", &bytes, &len) < 0 ||
        write(fd, bytes, len) != (ssize_t)len)
        errx(1, "%u bytes could not be written", len);
}

/* Send the results of calls on the stream `id`, which the front-end closes. */
static void send_codes(struct cop_network *network,
                       struct cop_stream *stream,
                       uint32_t id)
{
    struct cop_stream *other = cop_network_stream(network, id);
    struct cop_packet *packet;
    int32_t codes[4];

    codes[0] = cop_stream_receive(other, &packet, COP_FOREVER);
    codes[1] = cop_stream_send(other, TAG_CODES, "");
    codes[2] = cop_stream_flush(other);
    codes[3] = cop_stream_settle(other);
    cop_stream_send(stream, TAG_CODES, "%ad", codes, 4u);
}

static _Noreturn void end(struct cop_network *network, const char *path)
{
    FILE *file = fopen(path, "we");

    if (!file)
        err(1, "%s", path);
    setvbuf(file, NULL, _IOLBF, 0);
    fprintf(file, "%d\n", cop_network_leave(network, 0, NULL));
    fprintf(file, "%d\n", cop_network_shutdown(network, COP_FOREVER));
    fclose(file);
    cop_network_free(network);
    exit(0);
}

/* Obey a packet that may end the node. Returns whether the node continues. */
static bool goes_on(struct cop_network *network, int32_t tag)
{
    if (tag == TAG_QUIT)
        lose_starter(network);
    if (tag == TAG_GO || tag == TAG_QUIT)
        go(network);
    if (tag == TAG_STUCK)
        alarm(50); /* if the commnode that should end this process is late */
    while (tag == TAG_STUCK)
        pause();
    return tag != TAG_LEAVE;
}

/* Obey a packet that asks for many packets, or that may end the node. Returns
 * whether the node continues. */
static bool obey_more(struct cop_network *network,
                      struct cop_stream *stream,
                      const struct cop_packet *packet)
{
    const char *path;
    int number = 0;

    if (cop_packet_tag(packet) == TAG_END &&
        cop_packet_unpack(packet, "%s", &path) == 0)
        end(network, path);
    cop_packet_unpack(packet, "%d", &number);
    switch (cop_packet_tag(packet)) {
    case TAG_MANY:
        send_many(network, stream, number);
        return true;
    case TAG_HASHES:
        send_hashes(network, stream, number);
        return true;
    case TAG_FILL:
        fill(network, stream, packet);
        return true;
    case TAG_KEPT:
        send_kept(stream);
        return true;
    case TAG_SAY:
        say(packet);
        return true;
    case TAG_CODES:
        send_codes(network, stream, (uint32_t)number);
        return true;
    default:
        return goes_on(network, cop_packet_tag(packet));
    }
}

/* Its view. It has no list of ranks. */
static void send_view(struct cop_network *network,
                      struct cop_stream *stream,
                      int tag)
{
    struct cop_view view = COP_VIEW_INIT;

    if (cop_network_view(network, &view) < 0 || view.ranks ||
        view.stable > view.number)
        errx(1, "a back-end does not know its view");
    cop_stream_send(stream, tag, "%d", (int)view.number);
}

/* Obey one packet. Returns false at the end. */
static bool obey(struct cop_network *network,
                 struct cop_stream *stream,
                 const struct cop_packet *packet)
{
    static int total;
    int32_t tag = cop_packet_tag(packet);
    int number = 0, rate = 0;

    cop_packet_unpack(packet, "%d", &number);
    if (tag != TAG_TOTAL)
        total++;
    switch (tag) {
    case TAG_ECHO:
        cop_stream_send(stream, tag, "%d", number);
        break;
    case TAG_RANK:
        cop_stream_send(stream, tag, "%d", (int)cop_network_rank(network));
        break;
    case TAG_VIEW:
        send_view(network, stream, tag);
        break;
    case TAG_PID:
        cop_stream_send(stream, tag, "%d", (int)getpid());
        break;
    case TAG_BARE:
        close_all(network, number == 1);
        break;
    case TAG_TEXT:
        cop_stream_send(stream, tag, "%s", "no number");
        break;
    case TAG_BYTES:
        send_bytes(stream, number);
        break;
    case TAG_FEED:
        if (cop_packet_unpack(packet, "%d %d", &number, &rate) == 0)
            feed(network, stream, number, rate);
        break;
    case TAG_SUM:
        send_sum(stream, packet);
        break;
    case TAG_TOTAL:
        cop_stream_send(stream, tag, "%d", total);
        break;
    case TAG_CLOSE:
        cop_stream_close(stream);
        break;
    case TAG_WAKES:
        cop_stream_send(stream, tag, "%d", wakes);
        break;
    case TAG_HEAP:
        cop_stream_send(stream, tag, "%d", (int)mallinfo2().uordblks);
        break;
    case TAG_FORK:
        cop_stream_send(stream, tag, "%d", calls_in_a_child(network, stream));
        break;
    case TAG_SHOUT:
        shout();
        cop_stream_send(stream, tag, "%d", 1);
        break;
    case TAG_SPOUT:
        spout(stream);
        break;
    default:
        return obey_more(network, stream, packet);
    }
    return true;
}

/* Like cop_network_receive() with COP_FOREVER, but wait in poll(). */
static int receive_by_poll(struct cop_network *network,
                           struct cop_stream **stream,
                           struct cop_packet **packet,
                           enum waiting how)
{
    struct cop_event event = COP_EVENT_INIT;
    struct pollfd waited = {.events = POLLIN};
    int r;

    for (;;) {
        r = cop_network_receive(network, stream, packet, 0);
        if (r != -EAGAIN)
            return r;
        while (how == WAIT_IN_POLL &&
               cop_network_event(network, &event, 0) == 0)
            ;
        waited.fd = cop_network_fd(network);
        if (poll(&waited, 1, -1) < 0 && errno != EINTR)
            return -errno;
        wakes++;
    }
}

static int receive(struct cop_network *network,
                   struct cop_stream **stream,
                   struct cop_packet **packet,
                   enum waiting how)
{
    if (how == WAIT_IN_RECEIVE)
        return cop_network_receive(network, stream, packet, COP_FOREVER);
    return receive_by_poll(network, stream, packet, how);
}

/* How long "halt" stops a process. */
#define HALT_MS 3000

/* The process `levels` above this one. */
static pid_t ancestor(int levels)
{
    char path[64];
    int pid = getppid();
    FILE *file;

    while (--levels > 0) {
        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        file = fopen(path, "r");
        if (!file || fscanf(file, "%*d (%*[^)]) %*c %d", &pid) != 1)
            err(1, "%s", path);
        fclose(file);
    }
    return pid;
}

/* Stop process `pid` for HALT_MS. */
static void halt(pid_t pid)
{
    struct timespec pause = {HALT_MS / 1000, HALT_MS % 1000 * 1000000L};

    kill(pid, SIGSTOP);
    nanosleep(&pause, NULL);
    kill(pid, SIGCONT);
}

/* Answer each question with 1. A back-end of odd rank answers at once, and
 * sends a 0 in each millisecond without a question. A back-end of even rank
 * first waits 3 ms and sends a packet on the stream on which TAG_RANK came. */
static void chatter(struct cop_network *network)
{
    struct cop_stream *stream, *question = NULL, *aside = NULL;
    struct timespec pause = {0, 3000000};
    bool is_odd = cop_network_rank(network) % 2 == 1;
    struct cop_packet *packet;
    int r;

    for (;;) {
        r = cop_network_receive(network, &stream, &packet,
                                is_odd && question ? 1 : COP_FOREVER);
        if (r == -EAGAIN) {
            cop_stream_send(question, TAG_ECHO, "%d", 0);
            continue;
        }
        if (r < 0)
            return;
        *(cop_packet_tag(packet) == TAG_RANK ? &aside : &question) = stream;
        cop_packet_free(packet);
        if (stream == aside)
            continue;
        if (!is_odd) {
            nanosleep(&pause, NULL);
            cop_stream_send(aside, TAG_RANK, "%d", 1);
        }
        cop_stream_send(question, TAG_ECHO, "%d", 1);
    }
}

/* A back-end knows itself, and the front-end above it. */
static void check_own_path(struct cop_network *network, const char *label)
{
    struct cop_status_node node = COP_STATUS_NODE_INIT;
    uint32_t rank = cop_network_rank(network);

    if (cop_network_node(network, rank, &node) < 0 || node.rank != rank ||
        node.role != COP_BACKEND || node.parent >= rank ||
        strcmp(node.label, label) != 0)
        errx(1, "rank %u does not know itself", rank);
    if (cop_network_node(network, 0, &node) < 0 || node.role != COP_FRONTEND ||
        node.parent != COP_RANK_NONE)
        errx(1, "rank %u does not know the front-end", rank);
    if (cop_network_node(network, rank + 1, &node) == 0 &&
        node.role == COP_BACKEND)
        errx(1, "rank %u knows another back-end", rank);
}

int main(int argc, char **argv)
{
    struct cop_join join = COP_JOIN_INIT;
    struct cop_network *network;
    struct cop_stream *stream;
    struct cop_packet *packet;
    struct cop_error error;
    enum waiting how = WAIT_IN_RECEIVE;
    bool goes_on = true;
    char label[32];

    snprintf(label, sizeof(label), "pid %d", (int)getpid());
    join.label = label;
    if (argc > 1 && strcmp(argv[1], "exit") == 0)
        return 3;
    if (argc > 3 && strcmp(argv[1], "fell") == 0 && mkdir(argv[3], 0700) == 0)
        kill(ancestor(atoi(argv[2])), SIGKILL);
    if (argc > 3 && strcmp(argv[1], "halt") == 0 && mkdir(argv[3], 0700) == 0)
        halt(ancestor(atoi(argv[2])));
    if (argc > 2 && strcmp(argv[1], "session") == 0)
        join.session_path = argv[2];
    if (cop_network_join(&network, &join, &error) < 0)
        errx(1, "%s", error.text);
    check_own_path(network, label);
    if (argc > 1 && strcmp(argv[1], "chatter") == 0)
        chatter(network);
    if (argc > 1 && strcmp(argv[1], "poll") == 0)
        how = WAIT_IN_POLL;
    if (argc > 1 && strcmp(argv[1], "packets") == 0)
        how = WAIT_FOR_PACKETS_ONLY;
    while (goes_on && receive(network, &stream, &packet, how) == 0) {
        goes_on = obey(network, stream, packet);
        cop_packet_free(packet);
    }
    cop_network_free(network);
    return 0;
}
