/* speedscope.c - a merged tree as JSON for www.speedscope.app: one profile of
 * all tasks, and one for each of the first SPEEDSCOPE_CLASSES classes. */
#include "stat/write/output.h"

#include <errno.h>
#include <stdlib.h>

#include "stat/write/escape.h"

/* How many classes have their own profile. */
#define SPEEDSCOPE_CLASSES 20

/* A node where traces end, and the part of a profile that ends there. */
struct sample {
    uint32_t node;
    uint64_t weight;
};

/* Find the number of tasks of `of` (NULL: all) at each node, times their
 * samples. `samples` has room for all ends. Returns their count or -ENOMEM. */
static long find_samples(struct sample *samples,
                         const struct report *report,
                         struct tasks *of)
{
    const struct tree *tree = report->tree;
    long count = 0;

    for (uint32_t i = 0; i < tree->end_count; i++) {
        const struct tree_end *end = &tree->ends[i];
        struct tasks *both;
        uint64_t weight;
        int r;

        if (tree_is_not_walked(tree, end->node))
            continue;
        r = of ? tasks_combine(&both, TASKS_BOTH, end->tasks, of) : 0;
        if (r < 0)
            return r;
        weight = (uint64_t)tasks_count(of ? both : end->tasks) * end->samples;
        if (of)
            tasks_free(both);
        if (weight == 0)
            continue;
        if (count > 0 && samples[count - 1].node == end->node)
            samples[count - 1].weight += weight;
        else
            samples[count++] = (struct sample){end->node, weight};
    }
    return count;
}

static void write_frames(FILE *file, const struct tree *tree)
{
    fputs("\"shared\":{\"frames\":[", file);
    for (uint32_t i = 0; i < tree->frame_count; i++) {
        const struct tree_frame *frame = &tree->frames[i];

        fputs(i ? ",\n{\"name\":\"" : "\n{\"name\":\"", file);
        escape_function(file, tree, i, escape_json);
        fputc('"', file);
        if (tree->strings[frame->file][0]) {
            fputs(",\"file\":\"", file);
            escape_json(file, tree->strings[frame->file]);
            fputc('"', file);
        }
        if (frame->line)
            fprintf(file, ",\"line\":%u", frame->line);
        fputc('}', file);
    }
    fputs("]},\n", file);
}

/* Write the stack that ends at `node`, outermost frame first. */
static void write_stack(FILE *file, const struct report *report, uint32_t node)
{
    const struct tree *tree = report->tree;
    uint32_t path[TREE_DEPTH_MAX];
    uint32_t depth = tree->nodes[node].depth;

    for (uint32_t i = depth + 1; i-- > 0; node = report->above[node])
        path[i] = node;
    fputc('[', file);
    for (uint32_t i = 0; i <= depth; i++)
        fprintf(file, "%s%u", i ? "," : "", tree->nodes[path[i]].frame);
    fputc(']', file);
}

/* Write one profile; its name is already begun, and is ended here. */
static void write_profile(FILE *file,
                          const struct report *report,
                          const struct sample *samples,
                          long count)
{
    uint64_t sum = 0;
    long i;

    for (i = 0; i < count; i++)
        sum += samples[i].weight;
    fprintf(file,
            "\",\"unit\":\"none\",\"startValue\":0,\"endValue\":%llu,\n"
            "\"samples\":[",
            (unsigned long long)sum);
    for (i = 0; i < count; i++) {
        if (i > 0)
            fputs(",\n", file);
        write_stack(file, report, samples[i].node);
    }
    fputs("],\n\"weights\":[", file);
    for (i = 0; i < count; i++)
        fprintf(file, "%s%llu", i ? "," : "",
                (unsigned long long)samples[i].weight);
    fputs("]}", file);
}

/* Write the profile of all tasks, and of the first classes. */
static int write_profiles(FILE *file,
                          const struct report *report,
                          struct sample *samples)
{
    const struct classes *classes = report->classes;
    long count = find_samples(samples, report, NULL);

    if (count < 0)
        return (int)count;
    fprintf(file, "\"profiles\":[\n{\"type\":\"sampled\",\"name\":\"%s",
            report->summary);
    write_profile(file, report, samples, count);
    for (size_t i = 0; i < classes->count && i < SPEEDSCOPE_CLASSES; i++) {
        char ranks[64];

        count = find_samples(samples, report, classes->sets[i]);
        if (count < 0)
            return (int)count;
        fprintf(file,
                ",\n{\"type\":\"sampled\",\"name\":\"class %zu: %u %s%s: %s",
                i + 1, tasks_count(classes->sets[i]), report_noun(report),
                tasks_count(classes->sets[i]) == 1 ? "" : "s",
                tasks_text(classes->sets[i], ranks, sizeof(ranks)));
        write_profile(file, report, samples, count);
    }
    fputs("]}\n", file);
    return 0;
}

int speedscope_write(FILE *file, const struct report *report)
{
    struct sample *samples =
        calloc((size_t)report->tree->end_count + 1, sizeof(*samples));
    int r;

    if (!samples)
        return -ENOMEM;
    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\""
          ",\n\"exporter\":\"coppice-stat\",\n\"name\":\"",
          file);
    escape_json(file, report->judgement);
    fputs("\",\n", file);
    write_frames(file, report->tree);
    r = write_profiles(file, report, samples);
    free(samples);
    return r;
}
