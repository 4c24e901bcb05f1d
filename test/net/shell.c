/* shell.c - a bare shell around a driver, for tests of net/ alone. */
#include "test/net/shell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "net/session.h"
#include "topology/topology.h"
#include "wire/payload.h"

/* Packets of one wave in these tests. */
#define SHELL_INPUTS_MAX 256

static int on_load(void *arg,
                   const struct stream_definition *definition,
                   struct stream_filters *filters,
                   bool *slow,
                   char *text,
                   size_t text_len)
{
    struct shell *shell = arg;

    (void)definition;
    memset(filters, 0, sizeof(*filters));
    filters->down_one_to_one = true;
    filters->up = shell->slow_ms > 0;
    filters->up_single = filters->up;
    *slow = filters->up;
    if (!shell->fail_load)
        return 0;
    snprintf(text, text_len, "this shell loads no filters");
    return -ENOENT;
}

static void on_unload(void *arg, uint32_t stream)
{
    (void)arg;
    (void)stream;
}

/* Pass the inputs on, after a while. */
static void on_filter(void *arg,
                      const struct node_call *call,
                      struct event *answer)
{
    static struct frame passed[SHELL_INPUTS_MAX];
    struct shell *shell = arg;
    struct timespec pause = {shell->slow_ms / 1000,
                             (long)(shell->slow_ms % 1000) * 1000000};

    nanosleep(&pause, NULL);
    if (call->input_count > SHELL_INPUTS_MAX)
        abort();
    for (size_t i = 0; i < call->input_count; i++)
        passed[i] = frame_ref(&call->inputs[i]);
    answer->up = passed;
    answer->up_count = call->input_count;
}

static void on_deliver(void *arg, uint32_t stream, struct frame *frame)
{
    struct shell *shell = arg;

    if (shell->last - shell->first == SHELL_FRAMES_MAX)
        abort();
    shell->frames[shell->last % SHELL_FRAMES_MAX] = *frame;
    shell->streams[shell->last % SHELL_FRAMES_MAX] = stream;
    shell->last++;
}

static void on_tell(void *arg, const struct action *news)
{
    struct shell *shell = arg;

    switch (news->tell) {
    case TELL_LAUNCHED:
        shell->launched = true;
        break;
    case TELL_LAUNCH_FAILED:
        shell->failed = true;
        shell->code = news->code;
        snprintf(shell->text, sizeof(shell->text), "%s", news->text);
        break;
    case TELL_OPENED:
        shell->opened = true;
        shell->code = news->code;
        if (news->text)
            snprintf(shell->text, sizeof(shell->text), "%s", news->text);
        break;
    case TELL_NODE_SUSPECTED:
    case TELL_NODE_BACK:
    case TELL_NODE_LOST:
    case TELL_BACKEND_LOST:
        shell->lost_count++;
        break;
    case TELL_BACKEND_JOINED:
        shell->joined_count++;
        break;
    case TELL_NODE_ADOPTED:
    case TELL_SYNCED:
    case TELL_STATE:
    case TELL_CLOSED:
    case TELL_FILTER_ERROR:
    case TELL_STREAM_FAILED:
    case TELL_NODE_REFUSED:
    case TELL_ENDED:
        break;
    }
}

static void on_exit_node(void *arg, const char *text)
{
    struct shell *shell = arg;

    shell->ended = true;
    if (!shell->failed)
        snprintf(shell->text, sizeof(shell->text), "%s", text);
}

static void on_log(void *arg, const char *id, const char *text)
{
    struct shell *shell = arg;

    if (getenv("COPPICE_LOG"))
        fprintf(stderr, "[%ld] rank %u: %s %s\n", (long)getpid(),
                shell->driver ? driver_bootstrap(shell->driver)->rank : 0, id,
                text);
}

const struct driver_ops shell_ops = {
    .load = on_load,
    .unload = on_unload,
    .filter = on_filter,
    .deliver = on_deliver,
    .tell = on_tell,
    .exit = on_exit_node,
    .log = on_log,
};

static bool settled(void *arg)
{
    struct shell *shell = arg;

    return shell->launched || shell->failed;
}

/* Take `bootstrap`, start, and wait until it is launched or not. */
static int begin(struct shell *shell, struct bootstrap *bootstrap)
{
    struct cop_error error = {""};
    int r;

    r = driver_new(&shell->driver, bootstrap, &shell_ops, shell, &error);
    if (r < 0) {
        bootstrap_free(bootstrap);
        snprintf(shell->text, sizeof(shell->text), "%s", error.text);
        return r;
    }
    r = driver_lock(shell->driver);
    if (r < 0)
        return r;
    r = driver_start(shell->driver);
    if (r == 0)
        r = driver_wait(shell->driver, settled, shell,
                        (int)bootstrap->times.launch_timeout_ms);
    if (r == -ENOTCONN && driver_error(shell->driver) < 0)
        r = driver_error(shell->driver);
    driver_unlock(shell->driver);
    if (r == 0 && shell->failed)
        r = shell->code;
    return r;
}

int shell_launch(struct shell *shell,
                 const char *shape,
                 char *const *argv,
                 const struct cop_launch *launch)
{
    struct cop_launch options = COP_LAUNCH_INIT;
    struct topology *topology = NULL;
    struct bootstrap *bootstrap;
    struct cop_error error = {""};
    int r;

    memset(shell, 0, sizeof(*shell));
    if (launch)
        options = *launch;
    be_patient(&options);
    options.backend_argv = argv;
    if (options.topology_text)
        r = topology_parse(&topology, options.topology_text,
                           strlen(options.topology_text), "text", &error);
    else
        r = topology_from_shape(&topology, shape, NULL, &error);
    if (r == 0)
        r = bootstrap_launch(&bootstrap, &options, topology, &error);
    if (r < 0) {
        topology_free(topology);
        snprintf(shell->text, sizeof(shell->text), "%s", error.text);
        return r;
    }
    return begin(shell, bootstrap);
}

int shell_join(struct shell *shell, const char *session_path)
{
    struct bootstrap *bootstrap;
    struct cop_error error = {""};
    int r;

    memset(shell, 0, sizeof(*shell));
    if (session_path)
        r = session_read(&bootstrap, session_path, (uint32_t)getpid(), &error);
    else
        r = bootstrap_inherit(&bootstrap, PATIENCE_MS, &error);
    if (r < 0) {
        snprintf(shell->text, sizeof(shell->text), "%s", error.text);
        return r;
    }
    return begin(shell, bootstrap);
}

struct joined {
    struct shell *shell;
    uint32_t count;
};

static bool have_joined(void *arg)
{
    struct joined *joined = arg;

    return joined->shell->joined_count >= joined->count;
}

int shell_wait_joined(struct shell *shell, uint32_t count)
{
    struct joined joined = {shell, count};
    int r;

    r = driver_lock(shell->driver);
    if (r < 0)
        return r;
    r = driver_wait(shell->driver, have_joined, &joined, PATIENCE_MS);
    driver_unlock(shell->driver);
    return r;
}

static bool is_opened(void *arg)
{
    struct shell *shell = arg;

    return shell->opened;
}

int shell_open(struct shell *shell, uint32_t first, uint32_t last)
{
    struct stream_definition definition = {
        .sync = COP_WAIT_FOR_ALL,
        .up_filter = (char *)(uintptr_t) "",
        .up_filter_frontend = (char *)(uintptr_t) "",
        .up_filter_backend = (char *)(uintptr_t) "",
        .down_filter = (char *)(uintptr_t) "",
    };
    struct event event = {.type = EVENT_OPEN, .definition = &definition};
    uint64_t stream = 0;
    int r;

    r = ranks_add(&definition.members, first, last);
    if (r < 0 || (r = driver_lock(shell->driver)) < 0)
        return r;
    shell->opened = false;
    r = driver_step(shell->driver, &event, &stream);
    if (r == 0)
        r = driver_wait(shell->driver, is_opened, shell, PATIENCE_MS);
    if (r == 0)
        r = shell->code;
    driver_unlock(shell->driver);
    ranks_fini(&definition.members);
    return r < 0 ? r : (int)stream;
}

struct credit {
    struct shell *shell;
    uint32_t stream;
};

static bool has_credit(void *arg)
{
    struct credit *credit = arg;

    return node_can_send(driver_node(credit->shell->driver), credit->stream);
}

int shell_post(struct shell *shell,
               uint32_t stream,
               int32_t tag,
               struct payload *payload)
{
    struct credit credit = {shell, stream};
    struct event event = {.type = EVENT_SEND, .stream = stream};
    int r;

    r = driver_lock(shell->driver);
    if (r < 0)
        return r;
    do {
        event.frame = (struct frame){
            .type = FRAME_DATA,
            .tag = tag,
            .count = 1,
            .payload = payload_ref(payload),
        };
        r = driver_step(shell->driver, &event, NULL);
        if (r == -EAGAIN &&
            driver_wait(shell->driver, has_credit, &credit, COP_FOREVER) < 0)
            r = -ENOTCONN;
    } while (r == -EAGAIN);
    driver_unlock(shell->driver);
    return r;
}

int shell_send(struct shell *shell, uint32_t stream, int32_t tag, size_t len)
{
    struct payload *payload = NULL;
    int r;

    if (len > 0) {
        r = payload_new(&payload, len);
        if (r < 0)
            return r;
        memset(payload->bytes, tag & 0xff, len);
    }
    r = shell_post(shell, stream, tag, payload);
    payload_free(payload);
    return r;
}

static bool has_frame(void *arg)
{
    struct shell *shell = arg;

    return shell->last > shell->first;
}

int shell_receive(struct shell *shell,
                  uint32_t *stream,
                  struct frame *out,
                  int timeout_ms)
{
    struct event event = {.type = EVENT_RECEIVE};
    int r;

    r = driver_lock(shell->driver);
    if (r < 0)
        return r;
    if (!has_frame(shell))
        driver_step(shell->driver, &event, NULL);
    r = driver_wait(shell->driver, has_frame, shell, timeout_ms);
    if (r == 0) {
        *out = shell->frames[shell->first % SHELL_FRAMES_MAX];
        *stream = shell->streams[shell->first % SHELL_FRAMES_MAX];
        shell->first++;
        event.type = EVENT_TAKEN;
        event.stream = *stream;
        event.frame = *out;
        driver_step(shell->driver, &event, NULL);
    }
    driver_unlock(shell->driver);
    return r;
}

static bool has_ended(void *arg)
{
    struct shell *shell = arg;

    return shell->ended;
}

int shell_shutdown(struct shell *shell, int timeout_ms)
{
    struct event event = {.type = EVENT_SHUTDOWN};
    int r;

    r = driver_lock(shell->driver);
    if (r < 0)
        return r;
    driver_step(shell->driver, &event, NULL);
    driver_wait(shell->driver, has_ended, shell, timeout_ms);
    r = driver_reap(shell->driver, timeout_ms, timeout_ms);
    driver_unlock(shell->driver);
    shell_fini(shell);
    return r;
}

void shell_fini(struct shell *shell)
{
    driver_free(shell->driver);
    shell->driver = NULL;
    for (; shell->first < shell->last; shell->first++)
        frame_fini(&shell->frames[shell->first % SHELL_FRAMES_MAX]);
}
