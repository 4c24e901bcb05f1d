/* daemon.c - coppice-statd: the back-end of coppice-stat, one per host. It
 * walks the processes of a request, and answers with one tree per sample. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coppice/coppice.h>

#include "stat/clock.h"
#include "stat/job/targets.h"
#include "stat/list.h"
#include "stat/request.h"
#include "stat/tree/note.h"
#include "stat/tree/tree.h"
#include "stat/walk/guard.h"
#include "stat/walk/motion.h"
#include "stat/walk/names.h"
#include "stat/walk/thread.h"
#include "stat/walk/traces.h"
#include "stat/walk/walk.h"

/* One of our tasks of a request. */
struct own_task {
    uint32_t index;   /* in the request */
    uint32_t task;    /* its number there: for a helper, that of its rank */
    bool walked;      /* it was there */
    bool stopped;     /* when it was last looked at */
    uint64_t started; /* when it was, as a thread_status says */
};

/* What this daemon has, from request to request. */
struct daemon {
    uint32_t rank;
    struct walker *walker;
    struct traces *traces;
    struct guard *guard;
    struct motion *motion; /* while sampling */
    size_t late;           /* how many threads to release when they stop */
    uint32_t task;         /* number of the task being walked */
    bool helper;           /* ... whose helper is walked */
    /* the packet of the present request; NULL: not sampling */
    struct cop_packet *asked;
    struct request request; /* it, read */
    struct own_task *mine;  /* our tasks of it */
    uint32_t mine_count;
    struct cop_stream *stream;
    uint32_t samples;  /* taken so far */
    uint64_t next_ms;  /* when the next sample is due */
    uint64_t stop_ns;  /* longest stop so far */
    uint64_t stuck_ns; /* time that this sample has waited for processes that
                          did not stop */
};

/* In larger jobs waits are not looked for: each one would be a node of the
 * tree. */
#define WAITS_TASKS_MAX 65536

/* In larger jobs threads have no ids: the ids differ in each task, so no two
 * tasks would share an end of the tree. */
#define TIDS_TASKS_MAX 64

/* How often to look whether late threads have stopped. */
#define RELEASE_MS 5

/* How long to wait for a process that does not stop, if another one has not
 * stopped either. */
#define STUCK_MS 20

static int take_stack(void *arg,
                      pid_t tid,
                      const struct frame *frames,
                      size_t count)
{
    struct daemon *daemon = arg;
    struct evidence evidence;
    bool told = daemon->request.task_count <= TIDS_TASKS_MAX;
    struct frame below[WALK_DEPTH_MAX + 1];
    int r;

    if (count == 1 && !daemon->helper &&
        note_read(frames[0].function).kind == NOTE_ENDED)
        return traces_end(daemon->traces, daemon->task, frames[0].function);
    r = motion_evidence(&evidence, daemon->motion, walker_kinds(daemon->walker),
                        walker_names(daemon->walker), tid, frames, count);
    if (r < 0)
        return r;
    if (daemon->request.flags & REQUEST_NATIVE)
        evidence.decisive = count;
    if (daemon->helper) {
        if (count > WALK_DEPTH_MAX)
            count = WALK_DEPTH_MAX;
        below[0] = FRAME_NOTE(FRAME_WORKER);
        memcpy(below + 1, frames, count * sizeof(*frames));
        frames = below;
        count++;
        evidence.decisive++;
    }
    return traces_add_thread(daemon->traces, daemon->task, told ? tid : 0,
                             frames, count, &evidence);
}

/* The rest of `text` after "pid N: ", if it begins with that; never "". */
static const char *reason_in(const char *text)
{
    int len = 0;

    sscanf(text, "pid %*d: %n", &len);
    return text[len] ? text + len : text;
}

/* Add a task that could not be walked to the tree, with the reason in `text`.
 * If `ended`, an earlier sample walked it, and it has ended. */
static int take_failure(struct daemon *daemon, const char *text, bool ended)
{
    struct frame frame = FRAME_NOT_WALKED(reason_in(text));

    return ended ? traces_end(daemon->traces, daemon->task, FRAME_EXITED)
                 : traces_add(daemon->traces, daemon->task, &frame, 1);
}

/* Release late threads that have stopped, and tell the guard whether more are
 * left. */
static void release_late(struct daemon *daemon)
{
    daemon->late = walker_release(daemon->walker);
    if (daemon->late > 0)
        guard_arm(daemon->guard, 0);
    else
        guard_idle(daemon->guard);
}

/* How long to wait for a process that does not stop. The first one of a sample
 * may take the whole allowed time. The others are usually stuck in the same
 * place, and share as much time again. */
static uint32_t stuck_patience_ms(const struct daemon *daemon)
{
    uint32_t all_ms = daemon->request.stop_ms;

    if (daemon->stuck_ns == 0)
        return all_ms;
    if (daemon->stuck_ns / 1000000 >= 2 * (uint64_t)all_ms)
        return 0;
    return all_ms < STUCK_MS ? all_ms : STUCK_MS;
}

/* Release threads that have stopped. If more threads than before are late, the
 * last process did not stop within `ns`. */
static void note_stuck(struct daemon *daemon, uint64_t ns)
{
    size_t late = walker_release(daemon->walker);

    if (late > daemon->late)
        daemon->stuck_ns += ns;
    daemon->late = late;
}

/* Walk one of our tasks. What its state forbids is part of the answer. */
static int walk_task(struct daemon *daemon, struct own_task *task)
{
    const struct request *request = &daemon->request;
    struct walk_options options = {
        .patience_ms = stuck_patience_ms(daemon),
        .max_stop_ms = request->max_stop_ms,
        .threads_max = WALK_THREADS_MAX,
        .names = request->flags & REQUEST_NAMES,
        .states = request->flags & REQUEST_STATES,
        .waits = request->task_count <= WAITS_TASKS_MAX,
        .native = request->flags & REQUEST_NATIVE,
        .guard = daemon->guard,
    };
    int32_t pid = abs(request->pids[task->index]);
    struct thread_status status = {.started = 0};
    struct cop_error error = {""};
    uint64_t ns = 0;
    int r;

    /* Another process has the pid now: it must not be stopped. */
    if (thread_status(&status, pid, pid) == 0 && task->walked &&
        status.started != task->started)
        return daemon->helper ? 0 : take_failure(daemon, "", true);
    r = motion_look(daemon->motion, pid, WALK_THREADS_MAX, task->stopped);
    if (r < 0)
        return r;
    r = walk_process(daemon->walker, pid, &options, &ns, take_stack, daemon,
                     &error);
    note_stuck(daemon, ns);
    task->stopped = ns > 0;
    if (ns > daemon->stop_ns)
        daemon->stop_ns = ns;
    if (r == 0) {
        task->walked = true;
        task->started = status.started;
        return ns == 0 ? 0 : traces_stopped(daemon->traces, daemon->task, ns);
    }
    /* Workers end when their work is done. */
    if (r == -ENOMEM || (r == -ESRCH && daemon->helper))
        return r == -ENOMEM ? r : 0;
    return take_failure(daemon, error.text[0] ? error.text : strerror(-r),
                        r == -ESRCH && task->walked);
}

/* Take one sample of this daemon's tasks, as many as there is time for. */
static int take_sample(struct daemon *daemon)
{
    const struct request *request = &daemon->request;
    char boot[REQUEST_BOOT_SIZE];
    uint64_t begin_ms;
    int r = 0;

    request_boot(boot);
    daemon->stuck_ns = 0;
    motion_sample(daemon->motion);
    begin_ms = clock_now_ms();
    guard_watch(daemon->guard);
    for (uint32_t i = 0; r == 0 && i < daemon->mine_count; i++) {
        daemon->task = daemon->mine[i].task;
        daemon->helper = daemon->mine[i].task != daemon->mine[i].index;
        if (request->boot[0] && strcmp(boot, request->boot) != 0)
            r = take_failure(daemon,
                             "its daemon runs on another host: use a topology "
                             "whose leaves are on this host",
                             false);
        else if (clock_now_ms() - begin_ms >= request->sample_ms)
            r = take_failure(daemon, "no time was left to look at it", false);
        else
            r = walk_task(daemon, &daemon->mine[i]);
    }
    release_late(daemon);
    return r;
}

/* Send the tree of this sample. */
static int send_sample(struct cop_stream *stream,
                       struct traces *traces,
                       uint64_t stop_ns)
{
    struct cop_packet *packet = NULL;
    struct tree *tree = NULL;
    int r;

    r = traces_sample(&tree, traces, stop_ns);
    if (r == 0)
        r = tree_pack(&packet, STAT_TAG_TREE, tree);
    if (r == 0)
        r = cop_stream_send_packet(stream, packet);
    cop_packet_free(packet);
    tree_free(tree);
    return r;
}

/* End sampling. */
static void stop_sampling(struct daemon *daemon)
{
    cop_packet_free(daemon->asked);
    traces_free(daemon->traces);
    motion_free(daemon->motion);
    free(daemon->mine);
    daemon->asked = NULL;
    daemon->traces = NULL;
    daemon->motion = NULL;
    daemon->mine = NULL;
    daemon->mine_count = 0;
}

/* Take the sample that is due, and send its tree. */
static int sample_and_send(struct daemon *daemon)
{
    int r;

    /* The guard is armed while the daemon waits for late threads, but sampling
     * may take long. */
    guard_disarm(daemon->guard);
    r = take_sample(daemon);
    guard_disarm(daemon->guard);
    if (r == 0)
        r = send_sample(daemon->stream, daemon->traces, daemon->stop_ns);
    daemon->next_ms = clock_now_ms() + daemon->request.interval_ms;
    if (++daemon->samples == daemon->request.samples || r < 0)
        stop_sampling(daemon);
    return r;
}

/* Find which tasks of the request are ours. Returns 0 or -ENOMEM. */
static int find_mine(struct daemon *daemon)
{
    const struct request *request = &daemon->request;
    uint32_t count = 0, i;

    for (i = 0; i < request->task_count; i++)
        count += request->daemons[i] == daemon->rank;
    daemon->mine = calloc((size_t)count + 1, sizeof(*daemon->mine));
    if (!daemon->mine)
        return -ENOMEM;
    for (i = 0; i < request->task_count; i++)
        if (request->daemons[i] == daemon->rank) {
            struct own_task *task = &daemon->mine[daemon->mine_count++];

            task->index = i;
            task->task = request->pids[i] > 0 ? i : task[-1].task;
        }
    return 0;
}

/* Begin to sample as `packet` requests; the first sample is taken at once. */
static int begin_sampling(struct daemon *daemon,
                          struct cop_stream *stream,
                          const struct cop_packet *packet)
{
    int r;

    stop_sampling(daemon);
    r = request_unpack(&daemon->request, packet);
    if (r == 0)
        r = traces_new(&daemon->traces);
    if (r == 0)
        r = motion_new(&daemon->motion);
    if (r == 0)
        r = find_mine(daemon);
    if (r < 0) {
        stop_sampling(daemon);
        return r;
    }
    if (daemon->request.samples == REQUEST_FOLLOW)
        traces_forget(daemon->traces);
    daemon->asked = cop_packet_ref(packet);
    daemon->stream = stream;
    daemon->samples = 0;
    daemon->stop_ns = 0;
    return sample_and_send(daemon);
}

/* An answer under construction. */
struct naming_answer {
    uint32_t *addresses;
    uint32_t *counts;
    uint32_t count;
    const char **functions;
    const char **files;
    uint32_t *lines;
    uint32_t *roles;
    uint32_t frame_count;
};

static void answer_fini(struct naming_answer *making)
{
    free(making->addresses);
    free(making->counts);
    free(making->functions);
    free(making->files);
    free(making->lines);
    free(making->roles);
}

/* Add the frames of one address; their strings are borrowed. */
static int answer_add(struct naming_answer *making,
                      uint32_t address,
                      const struct frame *frames,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t number = making->frame_count;

        if (list_grow(&making->functions, number, sizeof(char *)) < 0 ||
            list_grow(&making->files, number, sizeof(char *)) < 0 ||
            list_grow(&making->lines, number, sizeof(*making->lines)) < 0 ||
            list_grow(&making->roles, number, sizeof(*making->roles)) < 0)
            return -ENOMEM;
        making->functions[number] = frames[i].function;
        making->files[number] = frames[i].file;
        making->lines[number] = frames[i].line;
        making->roles[number] = role_of(frames[i].module);
        making->frame_count++;
    }
    making->addresses[making->count] = address;
    making->counts[making->count++] = (uint32_t)count;
    return 0;
}

/* Name the addresses of `question` that are for this daemon. */
static int name_all(struct daemon *daemon,
                    struct cop_stream *stream,
                    const struct question *question)
{
    struct naming_answer making = {0};
    struct names *names = walker_names(daemon->walker);
    struct cop_packet *packet = NULL;
    const struct frame *frames;
    size_t count;
    int r = -ENOMEM;

    making.addresses = calloc((size_t)question->address_count + 1, 4);
    making.counts = calloc((size_t)question->address_count + 1, 4);
    if (!making.addresses || !making.counts)
        goto out;
    r = 0;
    for (uint32_t i = 0; r == 0 && i < question->address_count; i++) {
        uint32_t module = question->modules[i];

        if (question->daemons[module] != daemon->rank)
            continue;
        if (daemon->late > 0)
            daemon->late = walker_release(daemon->walker);
        r = names_of(names, question->names[module], question->offsets[i],
                     &frames, &count);
        if (r == 0)
            r = answer_add(&making, i, frames, count);
        else if (r == -ENOENT)
            r = 0; /* it stays without a name */
    }
    if (r < 0 || making.count == 0)
        goto out;
    r = answer_pack(&packet,
                    &(struct answer){question->number, making.count,
                                     making.addresses, making.counts,
                                     making.frame_count, making.functions,
                                     making.files, making.lines, making.roles});
    if (r == 0)
        r = cop_stream_send_packet(stream, packet);
out:
    cop_packet_free(packet);
    answer_fini(&making);
    return r;
}

/* Find processes of this host, and send an answer even if there are none. */
static int find_all(const struct daemon *daemon,
                    struct cop_stream *stream,
                    const struct find *find)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < find->count; i++) {
        struct targets targets = {0};
        struct cop_error error;
        struct cop_packet *packet;

        if (find->daemons[i] != daemon->rank)
            continue;
        if (strcmp(find->jobs[i], TARGETS_PIDS) == 0)
            r = targets_add_pids(&targets, find->names[i]);
        else if (find->jobs[i][0])
            r = targets_add_step(&targets, find->jobs[i], &error);
        else
            r = targets_add_name(&targets, find->names[i], find->users[i],
                                 &error);
        if (r == 0 || r == -ENOENT)
            r = found_pack(&packet, i, &targets);
        if (r == 0) {
            r = cop_stream_send_packet(stream, packet);
            cop_packet_free(packet);
        }
        targets_fini(&targets);
    }
    return r;
}

/* Answer one packet. Returns 0 or a negative errno, after a message. */
static int answer_packet(struct daemon *daemon,
                         struct cop_stream *stream,
                         const struct cop_packet *packet)
{
    struct question question;
    struct find find;
    int r;

    guard_disarm(daemon->guard);
    switch (cop_packet_tag(packet)) {
    case STAT_TAG_REQUEST:
        r = begin_sampling(daemon, stream, packet);
        break;
    case STAT_TAG_STOP:
        stop_sampling(daemon);
        r = 0;
        break;
    case STAT_TAG_NAMES:
        r = question_unpack(&question, packet);
        if (r == 0)
            r = name_all(daemon, stream, &question);
        break;
    case STAT_TAG_FIND:
        r = find_unpack(&find, packet);
        if (r == 0)
            r = find_all(daemon, stream, &find);
        break;
    default:
        r = -EINVAL;
        break;
    }
    if (r < 0)
        fprintf(stderr, "coppice-statd: rank %u: %s\n", daemon->rank,
                r == -EINVAL || r == -EBADMSG
                    ? "not a request of this version of coppice-stat"
                    : strerror(-r));
    return r;
}

/* How long the daemon may wait for the next packet. */
static int receive_timeout_ms(const struct daemon *daemon)
{
    uint64_t now = clock_now_ms();
    uint64_t due_ms = UINT64_MAX;

    if (daemon->asked)
        due_ms = daemon->next_ms > now ? daemon->next_ms - now : 0;
    if (daemon->late > 0 && due_ms > RELEASE_MS)
        due_ms = RELEASE_MS;
    return due_ms == UINT64_MAX ? COP_FOREVER : (int)due_ms;
}

/* Serve until the network ends. Returns the exit status. */
static int serve_network(struct daemon *daemon, struct cop_network *network)
{
    int status = EXIT_SUCCESS;
    struct cop_packet *packet;
    struct cop_stream *stream;
    int r = 0;

    while (r == 0) {
        r = cop_network_receive(network, &stream, &packet,
                                receive_timeout_ms(daemon));
        if (r == 0) {
            int answered = answer_packet(daemon, stream, packet);

            cop_packet_free(packet);
            if (answered < 0)
                status = EXIT_FAILURE;
            /* The front-end notices that this daemon has ended. */
            if (answered == -EINVAL || answered == -EBADMSG)
                break;
        }
        if (daemon->late > 0)
            release_late(daemon);
        if (r == -EAGAIN)
            r = daemon->asked && clock_now_ms() >= daemon->next_ms
                    ? sample_and_send(daemon)
                    : 0;
    }
    return status;
}

int main(int argc, char **argv)
{
    struct cop_join join = COP_JOIN_INIT;
    struct daemon daemon = {0};
    struct cop_network *network;
    struct cop_error error;
    int status = EXIT_FAILURE;
    int r;

    (void)argv;
    if (argc > 1) {
        fprintf(stderr, "coppice-statd: is started by coppice-stat, without "
                        "arguments\n");
        return 2;
    }
    /* Many daemons that download symbols would overload the server. */
    unsetenv("DEBUGINFOD_URLS");
    /* Before the rest, so that the guard shares no descriptors or threads. */
    r = guard_new(&daemon.guard);
    if (r < 0)
        fprintf(stderr, "coppice-statd: cannot start its guard: %s\n",
                strerror(-r));
    r = cop_network_join(&network, &join, &error);
    if (r < 0) {
        fprintf(stderr, "coppice-statd: %s\n", error.text);
        guard_free(daemon.guard);
        return EXIT_FAILURE;
    }
    daemon.rank = cop_network_rank(network);
    r = walker_new(&daemon.walker);
    if (r == 0)
        status = serve_network(&daemon, network);
    stop_sampling(&daemon);
    walker_free(daemon.walker);
    cop_network_free(network);
    guard_free(daemon.guard);
    return status;
}
