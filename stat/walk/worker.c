/* worker.c - see worker.h. */
#include "stat/walk/worker.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
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
#include "stat/walk/touch.h"
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

/* What the worker has, from request to request. */
struct worker {
    uint32_t rank; /* of the daemon */
    struct channel *channel;
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
    struct worker *worker = arg;
    struct evidence evidence;
    bool told = worker->request.task_count <= TIDS_TASKS_MAX;
    struct frame below[WALK_DEPTH_MAX + 1];
    int r;

    if (count == 1 && !worker->helper &&
        note_read(frames[0].function).kind == NOTE_ENDED)
        return traces_end(worker->traces, worker->task, frames[0].function);
    r = motion_evidence(&evidence, worker->motion, walker_kinds(worker->walker),
                        walker_names(worker->walker), tid, frames, count);
    if (r < 0)
        return r;
    if (evidence.frames) {
        frames = evidence.frames;
        count = evidence.count;
    }
    if (worker->request.flags & REQUEST_NATIVE)
        evidence.decisive = count;
    if (worker->helper) {
        if (count > WALK_DEPTH_MAX)
            count = WALK_DEPTH_MAX;
        below[0] = FRAME_NOTE(FRAME_WORKER);
        memcpy(below + 1, frames, count * sizeof(*frames));
        frames = below;
        count++;
        evidence.decisive++;
    }
    return traces_add_thread(worker->traces, worker->task, told ? tid : 0,
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
static int take_failure(struct worker *worker, const char *text, bool ended)
{
    struct frame frame = FRAME_NOT_WALKED(reason_in(text));

    return ended ? traces_end(worker->traces, worker->task, FRAME_EXITED)
                 : traces_add(worker->traces, worker->task, &frame, 1);
}

/* Release late threads that have stopped, and tell the guard whether more are
 * left. */
static void release_late(struct worker *worker)
{
    worker->late = walker_release(worker->walker);
    if (worker->late > 0)
        guard_arm(worker->guard, 0);
    else
        guard_idle(worker->guard);
}

/* How long to wait for a process that does not stop. The first one of a sample
 * may take the whole allowed time. The others are usually stuck in the same
 * place, and share as much time again. */
static uint32_t stuck_patience_ms(const struct worker *worker)
{
    uint32_t all_ms = worker->request.stop_ms;

    if (worker->stuck_ns == 0)
        return all_ms;
    if (worker->stuck_ns / 1000000 >= 2 * (uint64_t)all_ms)
        return 0;
    return all_ms < STUCK_MS ? all_ms : STUCK_MS;
}

/* Release threads that have stopped. If more threads than before are late, the
 * last process did not stop within `ns`. */
static void note_stuck(struct worker *worker, uint64_t ns)
{
    size_t late = walker_release(worker->walker);

    if (late > worker->late)
        worker->stuck_ns += ns;
    worker->late = late;
}

/* Walk one of our tasks. What its state forbids is part of the answer. */
static int walk_task(struct worker *worker, struct own_task *task)
{
    const struct request *request = &worker->request;
    struct walk_options options = {
        .patience_ms = stuck_patience_ms(worker),
        .max_stop_ms = request->max_stop_ms,
        .threads_max = WALK_THREADS_MAX,
        .names = request->flags & REQUEST_NAMES,
        .states = request->flags & REQUEST_STATES,
        .waits = request->task_count <= WAITS_TASKS_MAX,
        .native = request->flags & REQUEST_NATIVE,
        .guard = worker->guard,
    };
    int32_t pid = abs(request->pids[task->index]);
    struct thread_status status = {.started = 0};
    struct cop_error error = {""};
    uint64_t ns = 0;
    int r;

    /* Another process has the pid now: it must not be stopped. */
    if (thread_status(&status, pid, pid) == 0 && task->walked &&
        status.started != task->started)
        return worker->helper ? 0 : take_failure(worker, "", true);
    if (!touch_process(pid))
        return take_failure(worker, touch_reason(), false);
    r = motion_look(worker->motion, pid, WALK_THREADS_MAX, task->stopped);
    if (r < 0)
        return r;
    r = walk_process(worker->walker, pid, &options, &ns, take_stack, worker,
                     &error);
    note_stuck(worker, ns);
    task->stopped = ns > 0;
    if (ns > worker->stop_ns)
        worker->stop_ns = ns;
    if (r == 0) {
        task->walked = true;
        task->started = status.started;
        return ns == 0 ? 0 : traces_stopped(worker->traces, worker->task, ns);
    }
    /* Workers end when their work is done. */
    if (r == -ENOMEM || (r == -ESRCH && worker->helper))
        return r == -ENOMEM ? r : 0;
    return take_failure(worker, error.text[0] ? error.text : strerror(-r),
                        r == -ESRCH && task->walked);
}

/* Take one sample of this daemon's tasks, as many as there is time for. */
static int take_sample(struct worker *worker)
{
    const struct request *request = &worker->request;
    char boot[REQUEST_BOOT_SIZE];
    uint64_t begin_ms;
    int r = 0;

    request_boot(boot);
    worker->stuck_ns = 0;
    motion_sample(worker->motion);
    begin_ms = touch_begun_ms();
    guard_watch(worker->guard);
    for (uint32_t i = 0; r == 0 && i < worker->mine_count; i++) {
        worker->task = worker->mine[i].task;
        worker->helper = worker->mine[i].task != worker->mine[i].index;
        if (request->boot[0] && strcmp(boot, request->boot) != 0)
            r = take_failure(worker,
                             "its daemon runs on another host: use a topology "
                             "whose leaves are on this host",
                             false);
        else if (clock_now_ms() - begin_ms >= request->sample_ms)
            r = take_failure(worker, "no time was left to look at it", false);
        else
            r = walk_task(worker, &worker->mine[i]);
    }
    release_late(worker);
    return r;
}

/* Send `packet`. Returns 0 or a negative errno. */
static int send_packet(struct worker *worker, const struct cop_packet *packet)
{
    touch_end();
    return channel_send(worker->channel, packet, 0, -1);
}

/* Send the tree of this sample. */
static int send_sample(struct worker *worker)
{
    struct cop_packet *packet = NULL;
    struct tree *tree = NULL;
    int r;

    r = traces_sample(&tree, worker->traces, worker->stop_ns);
    if (r == 0)
        r = tree_pack(&packet, STAT_TAG_TREE, tree);
    if (r == 0)
        r = send_packet(worker, packet);
    cop_packet_free(packet);
    tree_free(tree);
    return r;
}

/* End sampling. */
static void stop_sampling(struct worker *worker)
{
    cop_packet_free(worker->asked);
    traces_free(worker->traces);
    motion_free(worker->motion);
    free(worker->mine);
    worker->asked = NULL;
    worker->traces = NULL;
    worker->motion = NULL;
    worker->mine = NULL;
    worker->mine_count = 0;
}

/* Take the sample that is due, and send its tree. */
static int sample_and_send(struct worker *worker)
{
    int r;

    /* The guard is armed while the daemon waits for late threads, but sampling
     * may take long. */
    guard_disarm(worker->guard);
    touch_begin();
    r = take_sample(worker);
    guard_disarm(worker->guard);
    if (r == 0)
        r = send_sample(worker);
    worker->next_ms = clock_now_ms() + worker->request.interval_ms;
    if (++worker->samples == worker->request.samples || r < 0)
        stop_sampling(worker);
    return r;
}

/* Find which tasks of the request are ours. Returns 0 or -ENOMEM. */
static int find_mine(struct worker *worker)
{
    const struct request *request = &worker->request;
    uint32_t count = 0, i;

    for (i = 0; i < request->task_count; i++)
        count += request->daemons[i] == worker->rank;
    worker->mine = calloc((size_t)count + 1, sizeof(*worker->mine));
    if (!worker->mine)
        return -ENOMEM;
    for (i = 0; i < request->task_count; i++)
        if (request->daemons[i] == worker->rank) {
            struct own_task *task = &worker->mine[worker->mine_count++];

            task->index = i;
            task->task = request->pids[i] > 0 ? i : task[-1].task;
        }
    return 0;
}

/* Begin to sample as `packet` requests, after the first `samples`; the next one
 * is taken at once. */
static int begin_sampling(struct worker *worker,
                          const struct cop_packet *packet,
                          uint32_t samples)
{
    int r;

    stop_sampling(worker);
    r = request_unpack(&worker->request, packet);
    if (r == 0)
        r = traces_new(&worker->traces);
    if (r == 0)
        r = motion_new(&worker->motion);
    if (r == 0)
        r = find_mine(worker);
    if (r < 0) {
        stop_sampling(worker);
        return r;
    }
    if (worker->request.samples == REQUEST_FOLLOW)
        traces_forget(worker->traces);
    worker->asked = cop_packet_ref(packet);
    worker->samples = samples;
    worker->stop_ns = 0;
    return sample_and_send(worker);
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
    char **reasons; /* owns the texts */
    uint32_t reason_count;
    const char *module; /* the last one for which a reason was sought */
};

static void answer_fini(struct naming_answer *making)
{
    free(making->addresses);
    free(making->counts);
    free(making->functions);
    free(making->files);
    free(making->lines);
    free(making->roles);
    for (uint32_t i = 0; i < making->reason_count; i++)
        free(making->reasons[i]);
    free(making->reasons);
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

/* Add why `module` has no names, or no lines, if that is known. The addresses of a
 * module follow each other. Returns 0 or -ENOMEM. */
static int answer_add_reason(struct naming_answer *making,
                             const struct names *names,
                             const char *module)
{
    char text[PATH_MAX + 128];

    if (making->module == module)
        return 0;
    making->module = module;
    names_obstacle(text, sizeof(text), names, module);
    if (!text[0])
        return 0;
    if (list_grow(&making->reasons, making->reason_count, sizeof(char *)) < 0)
        return -ENOMEM;
    making->reasons[making->reason_count] = strdup(text);
    if (!making->reasons[making->reason_count])
        return -ENOMEM;
    making->reason_count++;
    return 0;
}

/* Name the addresses of `question` that are for this daemon. */
static int name_all(struct worker *worker, const struct question *question)
{
    struct naming_answer making = {0};
    struct names *names = walker_names(worker->walker);
    struct cop_packet *packet = NULL;
    const struct frame *frames;
    size_t count;
    int r = -ENOMEM;

    touch_begin();
    making.addresses = calloc((size_t)question->address_count + 1, 4);
    making.counts = calloc((size_t)question->address_count + 1, 4);
    if (!making.addresses || !making.counts)
        goto out;
    r = 0;
    for (uint32_t i = 0; r == 0 && i < question->address_count; i++) {
        uint32_t module = question->modules[i];

        if (question->daemons[module] != worker->rank)
            continue;
        if (worker->late > 0)
            worker->late = walker_release(worker->walker);
        r = names_of(names, question->names[module], question->offsets[i],
                     &frames, &count);
        if (r == -ENOENT) {
            r = 0; /* it stays without a name */
            continue;
        }
        if (r == 0)
            r = answer_add(&making, i, frames, count);
        if (r == 0)
            r = answer_add_reason(&making, names, question->names[module]);
    }
    if (r < 0 || making.count == 0)
        goto out;
    r = answer_pack(
        &packet,
        &(struct answer){question->number, making.count, making.addresses,
                         making.counts, making.frame_count, making.functions,
                         making.files, making.lines, making.roles,
                         making.reason_count, (const char **)making.reasons});
    if (r == 0)
        r = send_packet(worker, packet);
out:
    cop_packet_free(packet);
    answer_fini(&making);
    return r;
}

/* Find the processes that entry `i` asks for, and pack the answer. */
static int find_one(struct cop_packet **packet,
                    const struct find *find,
                    uint32_t i)
{
    struct targets targets = {0};
    struct cop_error error;
    int r;

    if (strcmp(find->jobs[i], TARGETS_PIDS) == 0)
        r = targets_add_pids(&targets, find->names[i], &error);
    else if (find->jobs[i][0])
        r = targets_add_step(&targets, find->jobs[i], &error);
    else
        r = targets_add_name(&targets, find->names[i], find->users[i], &error);
    if (r == 0 || r == -ENOENT)
        r = found_pack(packet, i, &targets);
    targets_fini(&targets);
    return r;
}

/* Find processes of this host, and send an answer even if there are none. If the
 * worker gets stuck, the whole question is asked again, so no answer is sent
 * before all are there. */
static int find_all(struct worker *worker, const struct find *find)
{
    struct cop_packet **packets =
        calloc((size_t)find->count + 1, sizeof(struct cop_packet *));
    int r = packets ? 0 : -ENOMEM;

    touch_begin();
    for (uint32_t i = 0; r == 0 && i < find->count; i++)
        if (find->daemons[i] == worker->rank)
            r = find_one(&packets[i], find, i);
    for (uint32_t i = 0; packets && i < find->count; i++) {
        if (r == 0 && packets[i])
            r = send_packet(worker, packets[i]);
        cop_packet_free(packets[i]);
    }
    free(packets);
    return r;
}

/* Answer one packet. Returns 0 or a negative errno, after a message. */
static int answer_packet(struct worker *worker,
                         const struct cop_packet *packet,
                         int32_t number)
{
    struct question question;
    struct find find;
    int r;

    guard_disarm(worker->guard);
    switch (cop_packet_tag(packet)) {
    case STAT_TAG_REQUEST:
        r = begin_sampling(worker, packet, (uint32_t)number);
        break;
    case STAT_TAG_STOP:
        stop_sampling(worker);
        r = 0;
        break;
    case STAT_TAG_NAMES:
        r = question_unpack(&question, packet);
        if (r == 0)
            r = name_all(worker, &question);
        break;
    case STAT_TAG_FIND:
        r = find_unpack(&find, packet);
        if (r == 0)
            r = find_all(worker, &find);
        break;
    default:
        r = -EINVAL;
        break;
    }
    if (r < 0)
        fprintf(stderr, "coppice-statd: rank %u: %s\n", worker->rank,
                r == -EINVAL || r == -EBADMSG
                    ? "not a request of this version of coppice-stat"
                    : strerror(-r));
    return r;
}

/* How long the worker may wait for the next packet. */
static int receive_timeout_ms(const struct worker *worker)
{
    uint64_t now = clock_now_ms();
    uint64_t due_ms = UINT64_MAX;

    if (worker->asked)
        due_ms = worker->next_ms > now ? worker->next_ms - now : 0;
    if (worker->late > 0 && due_ms > RELEASE_MS)
        due_ms = RELEASE_MS;
    return due_ms == UINT64_MAX ? -1 : (int)due_ms;
}

/* Serve until the channel is closed. */
static void serve(struct worker *worker)
{
    struct cop_packet *packet;
    int32_t number;
    int r = 0;

    while (r == 0) {
        r = channel_receive(worker->channel, &packet, &number,
                            receive_timeout_ms(worker));
        if (r == 0 && !packet) {
            worker->rank = (uint32_t)number;
        } else if (r == 0) {
            int answered = answer_packet(worker, packet, number);

            cop_packet_free(packet);
            touch_end();
            r = channel_send(worker->channel, NULL, answered, -1);
        }
        if (worker->late > 0)
            release_late(worker);
        if (r == -EAGAIN) {
            r = worker->asked && clock_now_ms() >= worker->next_ms
                    ? sample_and_send(worker)
                    : 0;
            touch_end();
        }
    }
}

void worker_run(struct channel *channel, bool restarted, void *arg)
{
    struct worker worker = {.channel = channel};
    int r;

    (void)arg;
    /* First, so that the guard shares no descriptors. */
    r = guard_new(&worker.guard);
    if (r < 0)
        fprintf(stderr, "coppice-statd: cannot start its guard: %s\n",
                strerror(-r));
    r = walker_new(&worker.walker);
    if (r == 0 && restarted)
        names_open_files(walker_names(worker.walker));
    if (r == 0)
        serve(&worker);
    stop_sampling(&worker);
    walker_free(worker.walker);
    guard_free(worker.guard);
}
