/* driver_machine.c - step the node, and carry out its actions. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/driver_parts.h"
#include "protocol/check.h"
#include "topology/topology.h"
#include "wire/limits.h"

/* ---- the node ---- */

/* List all nodes below us, in the topology's order. */
static int list_below(const struct bootstrap *bootstrap,
                      struct node_child **out)
{
    const struct topology *subtree = bootstrap->subtree;
    uint32_t count = topology_count(subtree);
    struct node_child *below = calloc(count, sizeof(*below));

    if (!below)
        return -ENOMEM;
    for (uint32_t i = 1; i < count; i++)
        below[i - 1] = (struct node_child){
            .rank = topology_rank(subtree, i),
            .host = topology_host(subtree, i),
            .role = topology_is_leaf(subtree, i) && !bootstrap->attach
                        ? NODE_BACKEND
                        : NODE_COMMNODE,
            .parent = topology_rank(subtree, topology_parent(subtree, i)),
        };
    *out = below;
    return 0;
}

int driver_machine_make(struct driver *driver, const char *address)
{
    const struct bootstrap *bootstrap = driver->bootstrap;
    const struct topology *subtree = bootstrap->subtree;
    struct node_config config = {
        .role = bootstrap->role,
        .rank = bootstrap->rank,
        .depth = bootstrap->depth,
        .host = bootstrap->host,
        .label = bootstrap->label,
        .address = address,
        .next_rank = bootstrap->next_rank,
        .attach = bootstrap->attach,
        .allow_injection = bootstrap->allow_injection,
        .allow_administration = bootstrap->allow_administration,
        .views = bootstrap->views,
        .replace = bootstrap->replace,
        .keep_shape = bootstrap->keep_shape,
        .spares = (const char *const *)bootstrap->spares,
        .spare_count = words_count(bootstrap->spares),
        .place = bootstrap->place,
        .tree = bootstrap->role == NODE_FRONTEND ? subtree : NULL,
        .missing = bootstrap->missing,
        .times = bootstrap->times,
        .algorithm = bootstrap->algorithm,
        .survive_ms = bootstrap->survive_ms,
        .resumes = bootstrap->resumes,
    };
    struct node_child *below = NULL;
    int r;

    if (subtree && !bootstrap->resumes) {
        r = list_below(bootstrap, &below);
        if (r < 0)
            return r;
        config.child_count = topology_child_count(subtree, 0);
        config.children = below; /* breadth first: the children are first */
        config.below = below;
        config.below_count = topology_count(subtree) - 1;
        config.height = topology_height(subtree);
    }
    driver->machine.stepped = true;
    r = node_new(&driver->machine.node, &config);
    free(below);
    return r;
}

void driver_machine_free(struct driver *driver)
{
    actions_fini(&driver->machine.actions);
    node_free(driver->machine.node);
}

/* ---- actions ---- */

/* Set the time of `event`, in microseconds too if it is measured. */
static void set_time(struct driver *driver, struct event *event)
{
    event->now_ms = helm_now_ms(driver->helm);
    if (event->type == EVENT_LINK_DOWN || event_is_timed(event) ||
        driver->machine.actions.exact)
        event->now_us = helm_clock_us();
}

#ifdef NODE_CHECK_FILE
/* In a build for tests: end the process if the node is inconsistent. The tree
 * may recover, so it says so in a file, which scripts/check-in looks for. A check
 * walks over all stored packets: after many steps one in a hundred is checked. */
static void check_node(const struct driver *driver, const struct event *event)
{
    static unsigned steps;
    char text[NODE_CHECK_TEXT];
    FILE *file;

    if ((++steps > 1000 && steps % 100 != 0) ||
        node_check(driver->machine.node, text))
        return;
    fprintf(stderr, "node_check: %s\n", text);
    file = fopen(NODE_CHECK_FILE, "a");
    if (file) {
        fprintf(file, "rank %u, process %d, after event %d: %s\n",
                driver->bootstrap->rank, (int)getpid(), event->type, text);
        fclose(file);
    }
    signal(SIGABRT, SIG_DFL); /* not a crash in a filter call */
    abort();
}
#else
#define check_node(driver, event) ((void)0)
#endif

static int step(struct driver *driver, const struct event *event)
{
    int r = node_step(driver->machine.node, event, &driver->machine.actions);

    check_node(driver, event);
    return r;
}

/* Step the machine while its actions run: new ones are appended to them. */
static void step_again(struct driver *driver, struct event *event)
{
    set_time(driver, event);
    step(driver, event);
}

bool driver_machine_is_ending(const struct driver *driver)
{
    const struct actions *actions = &driver->machine.actions;

    return actions->count > 0 &&
           actions->list[actions->count - 1].type == ACTION_EXIT;
}

void driver_tell(struct driver *driver, const struct action *action)
{
    driver_changed(driver);
    if (action->tell == TELL_NODE_ADOPTED &&
        action->rank == driver->bootstrap->rank) {
        driver_call_adopted(driver);
        driver_log(driver, "ADOPTED", "by rank %u", (uint32_t)action->sequence);
    }
    if (action->tell == TELL_LOSSY)
        driver_log(driver, "LOSSY",
                   "stream %u: packets of epoch %u may be lost with link %u-%u",
                   action->stream, (uint32_t)action->sequence,
                   driver->bootstrap->rank, action->rank);
    if (action->tell == TELL_ENDED)
        driver_log(driver, "NODE-END", "%s", action->text);
    if (action->tell == TELL_LAUNCHED)
        connections_be_patient(driver->links.connections,
                               driver->bootstrap->times.handshake_timeout_ms);
    driver->ops->tell(driver->arg, action);
}

static void load_filters(struct driver *driver,
                         const struct stream_definition *definition)
{
    struct stream_filters filters = {0};
    char text[LIMIT_TEXT] = "";
    bool slow = false;
    struct event event = {.type = EVENT_LOADED, .stream = definition->id};
    int r;

    r = driver->ops->load(driver->arg, definition, &filters, &slow, text,
                          sizeof(text));
    if (r == 0 && slow)
        r = filter_calls_be_slow(&driver->filters, definition->id);
    event.filters = &filters;
    if (r < 0)
        event.text = *text ? text : strerror(-r);
    step_again(driver, &event);
}

static void start_child(struct driver *driver, const struct action *action)
{
    struct event event = {.type = EVENT_CHILD_GONE, .rank = action->rank};
    int r;

    if (action->type == ACTION_SPAWN) {
        r = children_start(driver->children, action->rank);
    } else {
        driver_log(driver, "REPLACE", "rank %u, on %s", action->rank,
                   action->text ? action->text : "its own host");
        r = children_replace(driver->children, action->rank, action->text);
    }
    if (r == 0)
        return;
    event.text = strerror(ENOMEM);
    step_again(driver, &event);
}

static void carry_out(struct driver *driver, struct action *action)
{
    switch (action->type) {
    case ACTION_SPAWN:
    case ACTION_REPLACE:
        start_child(driver, action);
        break;
    case ACTION_STOP:
        children_stop(driver->children, action->rank,
                      action->text ? action->text : "it is not waited for");
        break;
    case ACTION_KILL:
        children_end(driver->children, action->rank);
        break;
    case ACTION_SEND: /* see carry_out_all() */
        break;
    case ACTION_RECORD:
        driver_record(driver, &action->frame);
        break;
    case ACTION_CLOSE:
        driver_links_close(driver, action->link);
        break;
    case ACTION_DIAL:
    case ACTION_KNOCK:
        driver_call_ask(driver, action);
        break;
    case ACTION_CLOCK:
        step_again(driver, &(struct event){.type = EVENT_CLOCK});
        break;
    case ACTION_RANK:
        driver->bootstrap->rank = action->rank;
        connections_identify(driver->links.connections,
                             &(struct handshake_identity){
                                 .rank = action->rank,
                                 .role = driver->bootstrap->role,
                             });
        break;
    case ACTION_LOAD:
        load_filters(driver, action->definition);
        break;
    case ACTION_UNLOAD:
        filter_calls_unload(&driver->filters, action->stream);
        break;
    case ACTION_FILTER:
        filter_calls_put(&driver->filters, action->call);
        break;
    case ACTION_DELIVER:
        driver_changed(driver);
        driver->ops->deliver(driver->arg, action->stream, &action->frame);
        action->frame.payload = NULL;
        break;
    case ACTION_TELL:
        driver_tell(driver, action);
        break;
    case ACTION_INJECT:
        driver_log(driver, "INJECT", "kind %d", action->code);
        injection_suffer(action->code, (uint32_t)action->sequence,
                         driver_links_find(driver, action->link));
        break;
    case ACTION_EXIT:
        driver->detached |= action->sequence == 1;
        driver_exit(driver, action->code);
        break;
    }
}

/* Carry out the machine's actions. An action may add more, which may move the
 * array, so each is copied out first. */
static void carry_out_all(struct driver *driver)
{
    struct driver_machine *machine = &driver->machine;
    struct action action, *at;

    for (; machine->done < machine->actions.count; machine->done++) {
        at = &machine->actions.list[machine->done];
        if (at->type == ACTION_SEND) {
            /* The usual case. A send adds no action, and has no text. */
            driver_links_send(driver, at->link, &at->frame);
            continue;
        }
        action = *at;
        at->frame.payload = NULL;
        at->text = NULL;
        at->adoption = NULL;
        carry_out(driver, &action);
        frame_fini(&action.frame);
        free(action.text);
        free(action.adoption);
    }
    actions_clear(&machine->actions);
    machine->done = 0;
    if (machine->actions.failed)
        driver_end(driver, -ENOMEM, "out of memory");
}

uint64_t driver_machine_deadline_ms(struct driver *driver)
{
    if (driver->machine.stepped)
        driver->machine.deadline_ms = node_deadline_ms(driver->machine.node);
    driver->machine.stepped = false;
    return driver->machine.deadline_ms;
}

int driver_machine_step(struct driver *driver,
                        struct event *event,
                        uint64_t *result)
{
    bool outermost = driver->machine.actions.count == 0;
    int r;

    if (driver->ended) {
        if (event->type != EVENT_TAKEN) /* whose frame is borrowed */
            frame_fini(&event->frame);
        return -ENOTCONN;
    }
    set_time(driver, event);
    driver->machine.stepped = true;
    r = step(driver, event);
    if (result)
        *result = driver->machine.actions.result;
    if (outermost)
        carry_out_all(driver);
    if (outermost && driver->ops->stepped)
        driver->ops->stepped(driver->arg);
    return r;
}
