/* json.c - a report as JSON, as coppice-stat-json(5) describes it. */
#include "stat/write/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stat/show/edges.h"
#include "stat/show/folders.h"
#include "stat/show/movers.h"
#include "stat/show/origin.h"
#include "stat/show/short.h"
#include "stat/walk/runtime.h"
#include "stat/write/escape.h"
#include "stat/write/output.h"

/* A set, and where to store its number. */
struct use {
    const struct tasks *set;
    uint32_t *number;
};

/* All sets of a report; equal ones get the same number. */
struct sets {
    struct use *uses;
    size_t count;
    uint32_t *numbers;       /* array of the numbers below */
    uint32_t *under;         /* by node */
    uint32_t *ends;          /* by end */
    uint32_t *classes;       /* by class */
    uint32_t *hosts;         /* by host */
    struct tasks **of_hosts; /* by host; NULL: made up */
    size_t host_count;
    struct edge *edges; /* waits of threads and ranks */
    size_t edge_count;
    struct class_edge *links; /* waits between classes */
    size_t link_count;
    uint32_t *waiting;  /* by link */
    uint32_t *wanted;   /* by link */
    uint32_t *progress; /* by progress of the tree */
    uint32_t *moved;    /* by sample of the history */
    uint32_t moved_count;
    uint32_t missing_number; /* tasks without an answer */
    uint32_t left_out_number;
};

static int by_set(const void *a, const void *b)
{
    const struct use *x = a;
    const struct use *y = b;

    if (x->set == y->set)
        return 0;
    if (tasks_count(x->set) != tasks_count(y->set))
        return tasks_count(x->set) < tasks_count(y->set) ? -1 : 1;
    return tasks_compare(x->set, y->set);
}

static void use_set(struct sets *sets,
                    const struct tasks *set,
                    uint32_t *number)
{
    sets->uses[sets->count++] = (struct use){set, number};
}

/* Find the tasks of each host. */
static int find_hosts(struct sets *sets, const struct targets *targets)
{
    struct tasks_range *ranges;
    int r = 0;

    sets->host_count = targets->host_count;
    sets->of_hosts = calloc(sets->host_count + 1, sizeof(struct tasks *));
    ranges = calloc((size_t)targets->count + 1, sizeof(*ranges));
    if (!sets->of_hosts || !ranges)
        r = -ENOMEM;
    for (uint32_t host = 0; r == 0 && host < targets->host_count; host++) {
        size_t count = 0;

        for (uint32_t i = 0; i < targets->count; i++) {
            if (targets->hosts[i] == host)
                ranges[count++] =
                    (struct tasks_range){targets->tasks[i], targets->tasks[i]};
        }
        r = tasks_new(&sets->of_hosts[host], ranges, count);
    }
    free(ranges);
    return r;
}

static void sets_fini(struct sets *sets)
{
    for (size_t i = 0; sets->of_hosts && i < sets->host_count; i++)
        tasks_free(sets->of_hosts[i]);
    free(sets->of_hosts);
    edges_classes_free(sets->links, sets->link_count);
    free(sets->edges);
    free(sets->uses);
    free(sets->numbers);
}

/* Find the edges between threads and, if the tasks are ranks, between ranks.
 * Returns 0 or -ENOMEM. */
static int find_edges(struct sets *sets, const struct report *report)
{
    const struct targets *targets = report->source.targets;
    int r = edges_find(&sets->edges, &sets->edge_count, report->tree);

    if (r < 0 || !targets || !targets->ranked)
        return r;
    return edges_classes(&sets->links, &sets->link_count, sets->edges,
                         sets->edge_count, report->classes);
}

/* Find all sets of `report`, which will be numbered. */
static int sets_init(struct sets *sets, const struct report *report)
{
    const struct tree *tree = report->tree;
    const struct classes *classes = report->classes;
    const struct history *history = report->source.history;
    size_t most;
    int r = 0;

    if (report->source.targets)
        r = find_hosts(sets, report->source.targets);
    if (r == 0)
        r = find_edges(sets, report);
    if (r < 0)
        return r;
    sets->moved_count = history ? history->count : 0;
    if (sets->moved_count > HISTORY_MAX)
        sets->moved_count = HISTORY_MAX;
    most = (size_t)tree->node_count + tree->end_count + classes->count +
           sets->host_count + 2 * sets->link_count + tree->progress_count +
           sets->moved_count;
    sets->uses = calloc(most + 2, sizeof(*sets->uses));
    sets->numbers = calloc(most + 1, sizeof(uint32_t));
    if (!sets->uses || !sets->numbers)
        return -ENOMEM;
    sets->under = sets->numbers;
    sets->ends = sets->under + tree->node_count;
    sets->classes = sets->ends + tree->end_count;
    sets->hosts = sets->classes + classes->count;
    sets->waiting = sets->hosts + sets->host_count;
    sets->wanted = sets->waiting + sets->link_count;
    sets->progress = sets->wanted + sets->link_count;
    sets->moved = sets->progress + tree->progress_count;
    for (size_t i = 0; i < tree->node_count; i++)
        use_set(sets, report->under[i], &sets->under[i]);
    for (size_t i = 0; i < tree->end_count; i++)
        use_set(sets, tree->ends[i].tasks, &sets->ends[i]);
    for (size_t i = 0; i < classes->count; i++)
        use_set(sets, classes->sets[i], &sets->classes[i]);
    for (size_t i = 0; i < sets->host_count; i++)
        use_set(sets, sets->of_hosts[i], &sets->hosts[i]);
    for (size_t i = 0; i < sets->link_count; i++) {
        use_set(sets, sets->links[i].waiting, &sets->waiting[i]);
        use_set(sets, sets->links[i].wanted, &sets->wanted[i]);
    }
    for (size_t i = 0; i < tree->progress_count; i++)
        use_set(sets, tree->progress[i].tasks, &sets->progress[i]);
    for (size_t i = 0; i < sets->moved_count; i++)
        use_set(sets, history->moved[i], &sets->moved[i]);
    use_set(sets, report->silent, &sets->missing_number);
    use_set(sets, report->left_out, &sets->left_out_number);
    qsort(sets->uses, sets->count, sizeof(*sets->uses), by_set);
    return 0;
}

/* Number the sets, and write each once. */
static int write_sets(FILE *file, struct sets *sets)
{
    uint32_t number = 0;
    int r = 0;

    fputs(",\n\"sets\":[", file);
    for (size_t i = 0; r == 0 && i < sets->count; i++) {
        if (i == 0 || by_set(&sets->uses[i - 1], &sets->uses[i]) != 0) {
            fputs(i ? ",\n\"" : "\n\"", file);
            r = escape_tasks(file, sets->uses[i].set);
            fputc('"', file);
            number += i > 0;
        }
        *sets->uses[i].number = number;
    }
    fputs("]", file);
    return r;
}

static void write_string(FILE *file, const char *name, const char *text)
{
    fprintf(file, "\"%s\":\"", name);
    escape_json(file, text);
    fputc('"', file);
}

/* Write the function of a frame as pictures show it, if they shorten it. */
static int write_short(FILE *file, const struct tree *tree, uint32_t frame)
{
    const char *function = tree->strings[tree->frames[frame].function];
    char *name = short_name(function);

    if (!name)
        return -ENOMEM;
    if (!tree->frames[frame].not_walked && strcmp(name, function) != 0) {
        fputc(',', file);
        write_string(file, "short", name);
    }
    free(name);
    return 0;
}

/* Write the file of a frame, and how pictures show it, which begins behind
 * `folders` bytes. */
static void write_source(FILE *file, const char *path, uint32_t folders)
{
    if (!path[0])
        return;
    fputc(',', file);
    write_string(file, "file", path);
    if (folders == 0)
        return;
    fputc(',', file);
    write_string(file, "short_file", path + folders);
}

int json_write_frames(FILE *file, const struct tree *tree)
{
    uint32_t *folders;
    int r = folders_find(&folders, tree);

    if (r < 0)
        return r;
    fputs(",\n\"frames\":[", file);
    for (uint32_t i = 0; r == 0 && i < tree->frame_count; i++) {
        const struct tree_frame *frame = &tree->frames[i];

        fputs(i ? ",\n{\"function\":\"" : "\n{\"function\":\"", file);
        escape_function(file, tree, i, escape_json);
        fputs(frame->not_walked ? "\",\"not_walked\":true" : "\"", file);
        r = write_short(file, tree, i);
        write_source(file, tree->strings[frame->file], folders[frame->file]);
        if (frame->line)
            fprintf(file, ",\"line\":%u", frame->line);
        if (tree->strings[frame->module][0]) {
            fputc(',', file);
            write_string(file, "module", tree->strings[frame->module]);
            if (frame->offset)
                fprintf(file, ",\"offset\":%" PRIu64, frame->offset);
        }
        fputc('}', file);
    }
    fputs("]", file);
    free(folders);
    return r;
}

/* Write the ends at a node, from number `*end` on, which advances past them.
 * Returns 0 or -ENOMEM. */
static int write_ends(FILE *file,
                      const struct tree *tree,
                      const struct sets *sets,
                      uint32_t *end)
{
    uint32_t node = tree->ends[*end].node;
    const char *comma = "";
    int r = 0;

    fputs(",\"ends\":[", file);
    for (; r == 0 && *end < tree->end_count && tree->ends[*end].node == node;
         ++*end) {
        const struct tree_end *at = &tree->ends[*end];

        fprintf(file, "%s{\"set\":%u,\"samples\":%u,\"threads\":%u%s", comma,
                sets->ends[*end], at->samples, at->threads,
                at->current ? "" : ",\"left\":true");
        if (at->still > 0)
            fprintf(file, ",\"still\":%u", at->still);
        if (at->polls)
            fputs(",\"polls\":true", file);
        if (at->tids) {
            fputs(",\"tids\":\"", file);
            r = escape_tasks(file, at->tids);
            fputc('"', file);
        }
        fputc('}', file);
        comma = ",";
    }
    fputc(']', file);
    return r;
}

static int write_nodes(FILE *file,
                       const struct report *report,
                       const struct sets *sets)
{
    const struct tree *tree = report->tree;
    uint32_t end = 0;
    int r = 0;

    fputs(",\n\"nodes\":[", file);
    for (uint32_t i = 0; r == 0 && i < tree->node_count; i++) {
        fprintf(file,
                "%s{\"frame\":%u,\"depth\":%u,\"set\":%u,\"threads\":%" PRIu64,
                i ? ",\n" : "\n", tree->nodes[i].frame, tree->nodes[i].depth,
                sets->under[i], report->threads[i]);
        if (tree->nodes[i].call_line)
            fprintf(file, ",\"call_line\":%u", tree->nodes[i].call_line);
        if (report->shown[i] != i)
            fputs(",\"runtime\":true", file);
        if (tree->nodes[i].depth == 0 && runtime_is_own(tree, i))
            fputs(",\"progress\":true", file);
        if (report->odd[i])
            fputs(",\"odd\":true", file);
        if (report_has_end(report, i))
            r = write_ends(file, tree, sets, &end);
        fputc('}', file);
    }
    fputs("]", file);
    return r;
}

/* Write the note on class number `i`, and the node that it never left, if any.
 * Returns 0 or -ENOMEM. */
static int write_note(FILE *file, const struct report *report, size_t i)
{
    uint32_t node;
    char *note;
    int r = movers_note(&note, report, i);

    if (r < 0)
        return r;
    if (note[0]) {
        fputc(',', file);
        write_string(file, "note", note);
    }
    free(note);
    r = report_unchanged(report, report->classes->sets[i]) > 0
            ? 0
            : movers_never_left(&node, report, i);
    if (r > 0)
        fprintf(file, ",\"never_left\":%u", node);
    return r < 0 ? r : 0;
}

static int write_classes(FILE *file,
                         const struct report *report,
                         const struct sets *sets)
{
    const struct classes *classes = report->classes;

    fputs(",\n\"classes\":[", file);
    for (size_t i = 0; i < classes->count; i++) {
        fprintf(file,
                "%s{\"set\":%u,\"tasks\":%u,\"threads\":%" PRIu64
                ",\"outlier\":%s,\"unchanged\":%u",
                i ? ",\n" : "\n", sets->classes[i],
                tasks_count(classes->sets[i]),
                report_threads(report, classes->sets[i]),
                report_is_outlier(report, classes->sets[i]) ? "true" : "false",
                report_unchanged(report, classes->sets[i]));
        if (write_note(file, report, i) < 0)
            return -ENOMEM;
        fputs(",\"nodes\":[", file);
        for (uint32_t k = 0; k < classes->end_counts[i]; k++)
            fprintf(file, "%s%u", k ? "," : "", classes->ends[i][k]);
        fputs("]}", file);
    }
    fputs("]", file);
    return 0;
}

/* Write when tasks moved. */
static void write_progress(FILE *file,
                           const struct report *report,
                           const struct sets *sets)
{
    const struct tree *tree = report->tree;

    fputs(",\n\"progress\":[", file);
    for (uint32_t i = 0; i < tree->progress_count; i++)
        fprintf(file, "%s{\"set\":%u,\"moved\":%u,\"seen\":%u}",
                i ? ",\n" : "\n", sets->progress[i], tree->progress[i].moved,
                tree->progress[i].seen);
    fputs("],\n\"moved\":[", file);
    for (uint32_t i = 0; i < sets->moved_count; i++)
        fprintf(file, "%s%u", i ? "," : "", sets->moved[i]);
    fputs("]", file);
}

/* Write which tasks could not be walked, and why. */
static void write_not_walked(FILE *file,
                             const struct report *report,
                             const struct sets *sets)
{
    const struct tree *tree = report->tree;
    const char *comma = "\n";

    fputs(",\n\"not_walked\":[", file);
    for (uint32_t node = 0; node < tree->node_count;
         node += tree->nodes[node].size) {
        if (!tree_is_not_walked(tree, node))
            continue;
        fprintf(file, "%s{\"set\":%u,", comma, sets->under[node]);
        write_string(file, "reason", report_function(report, node));
        fputc('}', file);
        comma = ",\n";
    }
    fputs("]", file);
}

/* Write the processes of each host that has some, in the order of its tasks. */
static void write_hosts(FILE *file,
                        const struct report *report,
                        const struct sets *sets)
{
    const struct targets *targets = report->source.targets;
    const char *comma = "\n";

    fputs(",\n\"hosts\":[", file);
    for (size_t host = 0; host < sets->host_count; host++) {
        const struct tasks *set = sets->of_hosts[host];
        const char *pid_comma = "";

        if (tasks_count(set) == 0)
            continue;
        fprintf(file, "%s{", comma);
        write_string(file, "name", targets_host_name(targets, (uint32_t)host));
        fprintf(file, ",\"set\":%u,\"pids\":[", sets->hosts[host]);
        for (size_t i = 0; i < targets->count; i++) {
            if (i > 0 && targets->tasks[i - 1] == targets->tasks[i])
                continue; /* a helper */
            if (targets->hosts[i] != host)
                continue;
            fprintf(file, "%s%d", pid_comma, (int)targets->pids[i]);
            pid_comma = ",";
        }
        fputs("]}", file);
        comma = ",\n";
    }
    fputs("]", file);
}

/* Write the edges between classes, and between the threads of one task. */
static void write_edges(FILE *file,
                        const struct report *report,
                        const struct sets *sets)
{
    const char *comma = "\n";

    fputs(",\n\"waits\":[", file);
    for (size_t i = 0; i < sets->link_count; i++) {
        const struct class_edge *link = &sets->links[i];

        fprintf(file, "%s{\"waiting\":%u,\"for\":%u,\"call\":\"%s\"",
                i ? ",\n" : "\n", sets->waiting[i], sets->wanted[i],
                link->receives ? "receive" : "send");
        if (link->from < report->classes->count)
            fprintf(file, ",\"class\":%zu", link->from);
        if (link->to < report->classes->count)
            fprintf(file, ",\"for_class\":%zu", link->to);
        fputc('}', file);
    }
    fputs("],\n\"thread_waits\":[", file);
    for (size_t i = 0; i < sets->edge_count; i++) {
        const struct edge *edge = &sets->edges[i];

        if (!edge->threads)
            continue;
        fprintf(file, "%s{\"task\":%u,\"thread\":%d,\"for\":%d,\"node\":%u}",
                comma, edge->task, (int)edge->from, (int)edge->to, edge->node);
        comma = ",\n";
    }
    fputs("]", file);
}

/* Write the processes set aside, which are no ranks. */
static void write_asides(FILE *file, const struct targets *targets)
{
    if (!targets || targets->aside_count == 0)
        return;
    fputs(",\n\"without_rank\":[", file);
    for (uint32_t i = 0; i < targets->aside_count; i++) {
        const struct targets_aside *aside = &targets->asides[i];

        fputs(i ? ",\n{" : "\n{", file);
        write_string(file, "name", aside->facts.name);
        fputc(',', file);
        write_string(file, "host", targets_host_name(targets, aside->host));
        fprintf(file, ",\"pid\":%d,\"helper\":%s}", (int)aside->pid,
                aside->facts.helper ? "true" : "false");
    }
    fputs("]", file);
}

/* Write how the report was made, as pictures show it. */
static int write_origin(FILE *file, const struct report *report)
{
    const struct report_source *source = &report->source;
    char *origin = origin_text(report);

    if (!origin)
        return -ENOMEM;
    fputs(",\n", file);
    write_string(file, "origin", origin);
    free(origin);
    if (source->job && source->job[0]) {
        fputc(',', file);
        write_string(file, "job", source->job);
    }
    if (source->command) {
        fputc(',', file);
        write_string(file, "command", source->command);
        fputc(',', file);
        write_string(file, "tool",
                     source->tool ? source->tool : COPPICE_VERSION);
    }
    if (source->late && source->late[0]) {
        fputc(',', file);
        write_string(file, "partial_reason", source->late);
    }
    return 0;
}

int json_write(FILE *file, const struct report *report)
{
    static const char *const details[] = {
        [NAMING_FUNCTIONS] = "functions",
        [NAMING_LINES] = "lines",
        [NAMING_ADDRESSES] = "addresses",
    };
    const struct report_source *source = &report->source;
    struct sets sets = {0};
    int r;

    r = sets_init(&sets, report);
    if (r < 0)
        goto out;
    fprintf(file,
            "{\"format\":\"coppice-stat\",\"version\":%d,\n"
            "\"tasks\":%u,\"host_count\":%u,\"samples\":%u,"
            "\"interval_ms\":%u,"
            "\"stopped_ns\":%" PRIu64 ",\"stopped_median_ns\":%" PRIu64
            ",\n\"threads\":%" PRIu64 ",\"full\":%s,\"detail\":\"%s\"",
            JSON_VERSION, tasks_count(report->everyone), source->hosts,
            source->samples, source->interval_ms, report->tree->stop_ns,
            (uint64_t)tree_median_stop_us(report->tree) * 1000,
            report_threads(report, report->everyone),
            source->full ? "true" : "false", details[source->detail]);
    fprintf(file, ",\n\"outlier_most\":%u", report->outlier_most);
    if (source->threads)
        fputs(",\"threads_shown\":true", file);
    if (source->taken_s)
        fprintf(file, ",\"taken\":%" PRIu64, source->taken_s);
    r = write_origin(file, report);
    if (r < 0)
        goto out;
    if (source->targets && source->targets->ranked)
        fputs(",\"ranks\":true", file);
    fputs(",\n", file);
    write_string(file, "judgement", report->judgement);
    r = write_sets(file, &sets);
    if (r < 0)
        goto out;
    r = json_write_frames(file, report->tree);
    if (r < 0)
        goto out;
    r = write_nodes(file, report, &sets);
    if (r < 0)
        goto out;
    r = write_classes(file, report, &sets);
    if (r < 0)
        goto out;
    write_progress(file, report, &sets);
    write_not_walked(file, report, &sets);
    fprintf(file, ",\n\"missing\":%u,\"partial\":%s,\"not_looked_at\":%u",
            sets.missing_number, report->missing[0] ? "true" : "false",
            sets.left_out_number);
    write_hosts(file, report, &sets);
    write_asides(file, source->targets);
    write_edges(file, report, &sets);
    fputs("}\n", file);
out:
    sets_fini(&sets);
    return r;
}
