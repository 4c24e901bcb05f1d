/* open.c - open and close streams. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "api/network.h"
#include "api/options.h"
#include "filters/loader.h"
#include "frontend/communicator.h"
#include "frontend/guarantee.h"
#include "wire/packet.h"

/* ---- options ---- */

/* A filter has a name, not a path: the launch decides where filters are, not a
 * packet. */
static int check_name(const char *what,
                      const char *name,
                      struct cop_error *error)
{
    if (!name)
        return 0;
    if (!*name)
        return cop_error_set(error, -EINVAL,
                             "%s is empty; leave it NULL for no filter", what);
    if (strchr(name, '/'))
        return cop_error_set(error, -EINVAL,
                             "%s \"%s\" is a path; give the filter's name "
                             "alone and its directory in filter_path",
                             what, name);
    if (strlen(name) > LIMIT_FILTER_NAME)
        return cop_error_set(error, -EINVAL,
                             "%s has %zu bytes; a filter's name has at most "
                             "%d",
                             what, strlen(name), LIMIT_FILTER_NAME);
    return 0;
}

static int check_options(const struct cop_stream_options *options,
                         struct cop_error *error)
{
    int r;

    if ((unsigned)options->sync > COP_TIME_OUT)
        return cop_error_set(error, -EINVAL,
                             "sync is %d; it is one of COP_WAIT_FOR_ALL, "
                             "COP_DO_NOT_WAIT and COP_TIME_OUT",
                             (int)options->sync);
    if (options->sync == COP_TIME_OUT && options->wave_timeout_ms == 0)
        return cop_error_set(error, -EINVAL,
                             "COP_TIME_OUT needs wave_timeout_ms");
    if (options->sync != COP_TIME_OUT && options->wave_timeout_ms != 0)
        return cop_error_set(error, -EINVAL,
                             "wave_timeout_ms is given, but sync is not "
                             "COP_TIME_OUT");
    if (options->stragglers && options->guarantee != COP_GUARANTEE_NONE &&
        options->guarantee != COP_GUARANTEE_COMPENSATION)
        return cop_error_set(error, -EINVAL,
                             "stragglers is given, but no packet of a stream "
                             "with a guarantee other than "
                             "COP_GUARANTEE_COMPENSATION comes after its wave");
    r = check_name("up_filter", options->up_filter, error);
    if (r == 0)
        r = check_name("up_filter_frontend", options->up_filter_frontend,
                       error);
    if (r == 0)
        r = check_name("up_filter_backend", options->up_filter_backend, error);
    if (r == 0)
        r = check_name("down_filter", options->down_filter, error);
    return r;
}

/* The name of a filter; "" if the user wants none. The definition's strings are
 * not const, but the machine only reads them. */
static char *open_name(const char *given)
{
    if (!given || strcmp(given, LOADER_NONE) == 0)
        given = "";
    return (char *)(uintptr_t)given;
}

/* The name of a filter for one role: "none" overrides that for all. */
static char *open_role(const char *given)
{
    return (char *)(uintptr_t)(given ? given : "");
}

/* ---- opening ---- */

static bool is_answered(void *arg)
{
    const struct cop_stream *stream = arg;

    return stream->root->opened || stream->closed;
}

/* Report why `stream` could not be opened. */
static int open_say(const struct cop_stream *stream, struct cop_error *error)
{
    const char *text = stream->root->open_text ? stream->root->open_text : "";

    if (!stream->root->opened)
        return cop_error_set(error, -ENOTCONN, "the network has ended");
    if (stream->root->open_code == -ELIBBAD)
        return cop_error_set(error, -ELIBBAD,
                             "node %u cannot use the stream's filters: %s",
                             stream->root->open_rank, text);
    return cop_error_set(error, stream->root->open_code,
                         "the stream cannot be opened: %s", text);
}

/* Ask the machine to open a stream, and wait for all members. Entered. */
static int open_stream(struct cop_stream **out,
                       struct cop_network *network,
                       const struct stream_definition *definition,
                       struct cop_error *error)
{
    struct event event = {.type = EVENT_OPEN, .definition = definition};
    struct cop_stream *stream;
    uint64_t id = 0;
    int r;

    r = driver_step(network->driver, &event, &id);
    if (r == -ENOTCONN)
        return cop_error_set(error, r, "the network has ended");
    if (r < 0)
        return cop_error_set(error, r, "cannot open a stream: %s",
                             strerror(-r));
    stream = stream_make(network, (uint32_t)id);
    if (!stream)
        return cop_error_set(error, -ENOMEM, "out of memory");
    stream_enter(stream);
    network_wait(network, is_answered, stream, UINT64_MAX);
    r = stream->root->opened && stream->root->open_code == 0
            ? 0
            : open_say(stream, error);
    if (r < 0) {
        event = (struct event){.type = EVENT_CLOSE, .stream = stream->id};
        driver_step(network->driver, &event, NULL);
        stream_release(stream);
    } else {
        *out = stream;
    }
    stream_leave(stream);
    return r;
}

int cop_stream_open(struct cop_stream **out,
                    struct cop_network *network,
                    const struct cop_communicator *communicator,
                    const struct cop_stream_options *given,
                    struct cop_error *error)
{
    struct cop_stream_options options = COP_STREAM_OPTIONS_INIT;
    struct stream_definition definition = {0};
    int r = 0;

    if (given)
        r = options_read(&options, sizeof(options), given, sizeof(options),
                         "COP_STREAM_OPTIONS_INIT", error);
    if (r < 0)
        return r;
    if (network->role != NODE_FRONTEND)
        return cop_error_set(error, -EPERM, "only the front-end opens streams");
    if (!communicator || communicator->network != network)
        return cop_error_set(error, -EINVAL,
                             "the communicator is another network's");
    r = check_options(&options, error);
    if (r < 0)
        return r;
    definition.keep = options.keep;
    definition.redo_limit = options.redo_limit;
    definition.sync = options.sync;
    definition.wave_timeout_ms = options.wave_timeout_ms;
    definition.grow = options.grow;
    definition.waves_only = options.sync == COP_WAIT_FOR_ALL &&
                            options.guarantee == COP_GUARANTEE_NONE &&
                            !options.stragglers;
    definition.up_filter = open_name(options.up_filter);
    definition.up_filter_frontend = open_role(options.up_filter_frontend);
    definition.up_filter_backend = open_role(options.up_filter_backend);
    definition.down_filter = open_name(options.down_filter);
    r = guarantee_choose(&definition, options.guarantee,
                         driver_bootstrap(network->driver)->survive_ms > 0,
                         network->filter_path, error);
    if (r < 0)
        return r;
    if (options.parameters)
        definition.parameters = packet_frame(options.parameters)->payload;
    r = network_enter(network);
    if (r < 0)
        return cop_error_set(error, r,
                             "the network belongs to the parent process");
    r = communicator_members(communicator, &definition.members);
    if (r < 0)
        cop_error_set(error, r, "out of memory");
    else if (definition.members.count == 0 && !options.grow)
        r = cop_error_set(error, -EINVAL,
                          "the communicator has no member that lives");
    else
        r = open_stream(out, network, &definition, error);
    network_leave(network);
    ranks_fini(&definition.members);
    return r;
}

void cop_stream_close(struct cop_stream *stream)
{
    struct event event = {.type = EVENT_CLOSE};
    struct cop_network *network;

    if (!stream)
        return;
    network = stream->network;
    if (network_enter(network) < 0)
        return; /* cop_network_free() frees it */
    event.stream = stream->id;
    stream_enter(stream);
    if (network->role == NODE_FRONTEND)
        driver_step(network->driver, &event, NULL);
    stream_release(stream);
    stream_leave(stream);
    network_leave(network);
}
