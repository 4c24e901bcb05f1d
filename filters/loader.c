/* loader.c - the filters of one stream at one node. */
#include "filters/loader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/call.h"
#include "filters/plugin.h"
#include "filters/slots.h"
#include "wire/packet.h"

/* One filter in one direction, with this node's state for this stream. */
struct instance {
    struct plugin *plugin; /* NULL: no filter */
    const struct cop_filter *filter;
    bool is_upward;
    bool is_ready;   /* `state` has been made */
    bool has_joined; /* a join filter's `state` is not the empty one */
    void *state;
};

struct loader {
    struct instance up;
    struct instance down;
    bool is_total;
    struct slots slots;          /* of a stream of totals */
    struct cop_packet **packets; /* of the current call */
    size_t packet_room;
    const struct payload *parameters_seen; /* the payload of `parameters` */
    struct cop_packet *parameters;         /* or NULL */
    const struct payload *refused_seen;    /* the payload of `refused` */
    struct cop_packet *refused; /* parameters that `init` has refused */
    bool is_proved;             /* `init` has taken parameters */
};

/* ---- loading ---- */

/* Load filter `name`; "": no filter. */
static int instance_init(struct instance *instance,
                         const char *directories,
                         const char *name,
                         struct cop_error *error)
{
    int r;

    if (name[0] == '\0')
        return 0;
    r = plugin_open(&instance->plugin, directories, name, error);
    if (r < 0)
        return r;
    instance->filter = plugin_filter(instance->plugin);
    return 0;
}

static void instance_fini(struct instance *instance)
{
    if (instance->is_ready && instance->filter->free)
        instance->filter->free(instance->state);
    plugin_close(instance->plugin);
}

const char *loader_up_name(const struct stream_definition *definition,
                           enum node_role role)
{
    const char *own = NULL, *name;

    if (role == NODE_FRONTEND)
        own = definition->up_filter_frontend;
    else if (role == NODE_BACKEND)
        own = definition->up_filter_backend;
    name = own && own[0] != '\0' ? own : definition->up_filter;
    return name && strcmp(name, LOADER_NONE) != 0 ? name : "";
}

/* Whether a stream of totals can have the filter. */
static int check_total(const struct loader *loader, struct cop_error *error)
{
    const struct cop_filter *filter = loader->up.filter;
    const char *why;

    if (!filter)
        return cop_error_set(error, -EOPNOTSUPP,
                             "there is no upstream filter to make totals");
    why = plugin_why_not_total(filter);
    if (!why)
        return 0;
    return cop_error_set(error, -EOPNOTSUPP,
                         "filter \"%s\" makes no totals: %s", filter->name,
                         why);
}

/* Whether a stream of whole waves can have the filters (PROTOCOL 16.1): a wave
 * that is sent again passes commnodes again, and joiners need markers. */
static int check_exact(const struct loader *loader,
                       const struct stream_definition *definition,
                       enum node_role role,
                       struct cop_error *error)
{
    const struct cop_filter *filter = loader->up.filter;

    if (definition->grow && !loader_facts(loader).down_one_to_one)
        return cop_error_set(error, -EOPNOTSUPP,
                             "downstream filter \"%s\" is not one-to-one, so "
                             "no sync can say from where a late joiner counts; "
                             "leave grow unset",
                             loader->down.filter->name);
    if (role != NODE_COMMNODE || !filter || filter->laws & COP_STATELESS)
        return 0;
    return cop_error_set(error, -EOPNOTSUPP,
                         "filter \"%s\" does not declare COP_STATELESS, as "
                         "that of commnodes must; it may be up_filter_frontend",
                         filter->name);
}

/* Whether the filters of `role` allow the stream's guarantee. */
static int check_promise(const struct loader *loader,
                         const struct stream_definition *definition,
                         enum node_role role,
                         struct cop_error *error)
{
    const char *why;

    if (loader->is_total)
        return check_total(loader, error);
    if (definition->kind == STREAM_WAVES)
        return check_exact(loader, definition, role, error);
    why = definition->compensates ? loader_why_not_recoverable(loader) : NULL;
    if (!why)
        return 0;
    return cop_error_set(error, -EOPNOTSUPP, "upstream filter \"%s\": %s",
                         loader_up_name(definition, role), why);
}

int loader_new(struct loader **out,
               const struct stream_definition *definition,
               enum node_role role,
               const char *directories,
               struct cop_error *error)
{
    const char *down = definition->down_filter ? definition->down_filter : "";
    struct loader *loader;
    int r;

    loader = calloc(1, sizeof(*loader));
    if (!loader)
        return cop_error_set(error, -ENOMEM, "out of memory");
    loader->up.is_upward = true;
    r = instance_init(&loader->up, directories,
                      loader_up_name(definition, role), error);
    if (r < 0)
        goto out;
    r = instance_init(&loader->down, directories, down, error);
    if (r < 0)
        goto out;
    loader->is_total = definition->kind == STREAM_TOTAL;
    r = check_promise(loader, definition, role, error);
    if (r < 0)
        goto out;
    *out = loader;
    loader = NULL; /* now the caller's */
out:
    loader_free(loader);
    return r;
}

void loader_free(struct loader *loader)
{
    if (!loader)
        return;
    if (loader->up.filter)
        slots_fini(&loader->slots, loader->up.filter);
    instance_fini(&loader->up);
    instance_fini(&loader->down);
    cop_packet_free(loader->parameters);
    cop_packet_free(loader->refused);
    free(loader->packets);
    free(loader);
}

struct stream_filters loader_facts(const struct loader *loader)
{
    const uint32_t skippable = COP_IDENTITY | COP_STATELESS;
    const struct cop_filter *up = loader->up.filter;
    const struct cop_filter *down = loader->down.filter;

    return (struct stream_filters){
        .up = up != NULL,
        .up_single =
            up && (loader->is_total || (up->laws & skippable) != skippable),
        .down = down != NULL,
        .down_one_to_one = !down || (down->laws & COP_STATELESS &&
                                     down->laws & COP_ONE_TO_ONE),
        .recoverable = !loader_why_not_recoverable(loader),
        .inits = (up && up->init) || (down && down->init),
    };
}

const char *loader_why_not_recoverable(const struct loader *loader)
{
    if (loader->is_total)
        return NULL;
    if (!loader->up.filter)
        return "it has no upstream filter";
    return plugin_why_not_recoverable(loader->up.filter);
}

/* ---- running ---- */

/* Run a wave filter. If it fails, its output is dropped. */
static int run_filter(struct instance *instance, struct cop_filter_call *call)
{
    int r;

    r = call_result(call, "filter",
                    instance->filter->filter(instance->state, call));
    if (r < 0)
        loader_output_drop(call->output);
    return r;
}

/* Join the packets of the call into `wave`, leaving out those that cannot be
 * joined. Returns 0, or the first error. */
static int join_wave(void *wave, struct cop_filter_call *call)
{
    int first = 0;
    int r;

    for (size_t i = 0; i < call->packet_count; i++) {
        r = call_result(call, "join",
                        call->filter->join(wave, call->packets[i], call));
        if (r < 0 && first == 0)
            first = r;
    }
    return first;
}

/* Join `packet`, the packed `wave`, into the state. An empty state is swapped
 * with `wave` instead, so that the first wave is read only once. */
static int keep_wave(struct instance *instance,
                     void **wave,
                     const struct cop_packet *packet,
                     struct cop_filter_call *call)
{
    void *empty = instance->state;

    if (instance->has_joined)
        return call_result(
            call, "join",
            instance->filter->join(instance->state, packet, call));
    instance->state = *wave;
    instance->has_joined = true;
    *wave = empty;
    return 0;
}

/* Run a join filter. Equation 3.8: out = wave - state; state = state + out. */
static int run_join(struct instance *instance, struct cop_filter_call *call)
{
    const struct cop_filter *filter = instance->filter;
    bool keeps = !(filter->laws & COP_STATELESS);
    struct cop_packet *packet = NULL;
    void *wave = NULL;
    int first;
    int r;

    r = call_new_state(&wave, call);
    if (r < 0)
        return r;
    first = join_wave(wave, call);
    if (instance->has_joined && filter->laws & COP_IDEMPOTENT)
        r = call_result(call, "difference",
                        filter->difference(wave, instance->state));
    if (r == 0)
        r = call_result(call, "pack", filter->pack(wave, &packet));
    if (r == 0 && packet && keeps)
        r = keep_wave(instance, &wave, packet, call);
    if (r == 0 && packet) {
        r = cop_filter_emit(call, packet);
        packet = NULL; /* taken */
        if (r < 0)
            loader_output_fail(call->output, filter, r);
    }
    cop_packet_free(packet);
    filter->free(wave);
    return first < 0 ? first : (r < 0 ? r : 0);
}

/* Make loader->packets from the call's inputs. */
static int packets_make(struct loader *loader, const struct node_call *call)
{
    struct cop_packet **grown;
    struct frame frame;
    int r;

    if (call->input_count > loader->packet_room) {
        grown = reallocarray(loader->packets, call->input_count,
                             sizeof(*loader->packets));
        if (!grown)
            return -ENOMEM;
        loader->packets = grown;
        loader->packet_room = call->input_count;
    }
    for (size_t i = 0; i < call->input_count; i++) {
        loader->packets[i] = NULL;
        if (call->inputs[i].flags & FRAME_EMPTY)
            continue;
        frame = frame_ref(&call->inputs[i]);
        r = packet_from_frame(&loader->packets[i], &frame);
        if (r < 0) {
            while (i-- > 0)
                cop_packet_free(loader->packets[i]);
            return r;
        }
    }
    return 0;
}

/* Call `init` of `instance`, and drop what it emits. `keeps`: the state is the
 * instance's; else it is freed at once. */
static int instance_begin(struct instance *instance,
                          bool keeps,
                          const struct cop_filter_call *call)
{
    struct node_call what = *call->call;
    struct cop_filter_call given = *call;
    void *state = NULL;
    int r;

    if (!instance->filter)
        return 0;
    what.upward = instance->is_upward;
    given.call = &what;
    given.filter = instance->filter;
    r = call_new_state(&state, &given);
    loader_output_drop(given.output);
    if (r < 0)
        return loader_output_fail(given.output, instance->filter, r);
    if (keeps) {
        instance->state = state;
        instance->is_ready = true;
    } else if (instance->filter->init) {
        instance->filter->free(state);
    }
    return 0;
}

/* Whether `init` of both filters takes the present parameters; `keeps`: their
 * states are kept. The state of a stream of totals's filter is in its slots:
 * they have another one each. */
static int loader_begin(struct loader *loader,
                        bool keeps,
                        const struct cop_filter_call *call)
{
    int r;

    r = instance_begin(&loader->up, keeps && !loader->is_total, call);
    if (r >= 0)
        r = instance_begin(&loader->down, keeps, call);
    return r;
}

/* `init` has refused `packet`, new parameters (taken): the old ones stay. */
static void parameters_refuse(struct loader *loader,
                              struct cop_packet *packet,
                              const struct payload *payload,
                              struct loader_output *output)
{
    size_t len = strlen(output->text);

    snprintf(output->text + len, sizeof(output->text) - len,
             "; the parameters before these stay");
    cop_packet_free(loader->refused);
    loader->refused = packet;
    loader->refused_seen = payload;
}

/* Make a packet of the parameters if they have changed since the last call. If
 * `init` has taken others before and refuses these, the others stay, and the
 * output has the reason (PROTOCOL 3.2). A packet holds a reference to its
 * payload, so no other payload can have the same address. */
static int parameters_make(struct loader *loader,
                           const struct payload *payload,
                           const struct cop_filter_call *call)
{
    const struct payload *seen = loader->parameters_seen;
    struct cop_packet *old = loader->parameters;
    struct cop_packet *packet = NULL;
    int r;

    if (payload == seen || (loader->refused && payload == loader->refused_seen))
        return 0;
    if (payload) {
        r = packet_open(&packet, (struct payload *)payload);
        if (r < 0)
            return r;
    }
    loader->parameters = packet;
    loader->parameters_seen = payload;
    if (!loader->is_proved || loader_begin(loader, false, call) == 0) {
        cop_packet_free(old);
        return 0;
    }
    loader->parameters = old;
    loader->parameters_seen = seen;
    parameters_refuse(loader, packet, payload, call->output);
    return 0;
}

/* Without a filter, emit the inputs. */
static int pass_inputs_on(const struct node_call *call,
                          struct loader_output *output)
{
    int r;

    for (size_t i = 0; i < call->input_count; i++) {
        r = loader_output_add(output, call->upward,
                              frame_ref(&call->inputs[i]));
        if (r < 0)
            return r;
    }
    return 0;
}

/* Run the filter of `instance` on loader->packets. */
static int run_instance(struct instance *instance, struct cop_filter_call *call)
{
    int r;

    if (!instance->is_ready) {
        r = instance_begin(instance, true, call);
        if (r < 0)
            return r;
    }
    if (plugin_joins(instance->filter))
        return run_join(instance, call);
    return run_filter(instance, call);
}

int loader_state(struct loader *loader, struct frame *out)
{
    const struct instance *up = &loader->up;
    struct cop_packet *packet = NULL;
    const struct frame *frame;
    int r;

    if (!up->is_ready || up->filter->laws & COP_STATELESS)
        return 0;
    if (plugin_joins(up->filter))
        r = up->filter->pack(up->state, &packet);
    else if (up->filter->get_state)
        r = up->filter->get_state(up->state, &packet);
    else
        return 0;
    if (r > 0)
        r = -EINVAL; /* a filter must not return it */
    if (r < 0 || !packet)
        return r;
    frame = packet_frame(packet);
    *out = (struct frame){
        .type = FRAME_DATA,
        .tag = frame->tag,
        .payload = payload_ref(frame->payload),
    };
    cop_packet_free(packet);
    return 1;
}

/* A call for the state: the output is one packet with the state. */
static int call_state(struct loader *loader, struct loader_output *output)
{
    struct frame frame = {0};
    int r = loader_state(loader, &frame);

    if (r < 0)
        return loader_output_fail(output, loader->up.filter, r);
    return r == 0 ? 0 : loader_output_add(output, true, frame);
}

/* A call for `init`: make the states, or prove new parameters. */
static int call_init(struct loader *loader, const struct cop_filter_call *call)
{
    const struct cop_filter *filter =
        loader->up.filter ? loader->up.filter : loader->down.filter;
    int r;

    r = parameters_make(loader, call->call->parameters, call);
    if (r < 0)
        return loader_output_fail(call->output, filter, r);
    if (!loader->is_proved)
        r = loader_begin(loader, true, call);
    loader->is_proved = r >= 0;
    return r;
}

int loader_call(struct loader *loader,
                const struct node_call *call,
                const struct loader_node *node,
                struct loader_output *output)
{
    struct instance *instance = call->upward ? &loader->up : &loader->down;
    struct cop_filter_call given = {
        .call = call,
        .node = node,
        .filter = instance->filter,
        .packet_count = call->input_count,
        .parameters = &loader->parameters,
        .output = output,
    };
    int r;

    loader_output_clear(output);
    if (call->init)
        return call_init(loader, &given);
    if (!instance->filter)
        return pass_inputs_on(call, output);
    if (call->state && !call->slots)
        return call_state(loader, output);
    r = parameters_make(loader, call->parameters, &given);
    if (r >= 0)
        r = packets_make(loader, call);
    if (r < 0)
        return loader_output_fail(output, instance->filter, r);
    given.packets = loader->packets;
    r = call->slots ? slots_call(&loader->slots, &given)
                    : run_instance(instance, &given);
    for (size_t i = 0; i < call->input_count; i++)
        cop_packet_free(loader->packets[i]);
    return r;
}
