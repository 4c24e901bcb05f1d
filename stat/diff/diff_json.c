/* diff_json.c - the differences between two looks as JSON. */
#include "stat/diff/comparison.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stat/write/escape.h"
#include "stat/write/json.h"
#include "stat/write/output.h"

static int write_set(FILE *file, const char *name, const struct tasks *set)
{
    int r;

    fprintf(file, "\"%s\":\"", name);
    r = escape_tasks(file, set);
    fputc('"', file);
    return r;
}

/* Write those tasks of a set of the tree of both that are of one look. */
static int write_side(FILE *file,
                      const char *name,
                      const struct diff *diff,
                      enum diff_side side,
                      struct tasks *tasks)
{
    struct tasks *set = NULL;
    int r;

    r = diff_tasks(&set, diff, side, tasks);
    if (r == 0)
        r = write_set(file, name, set);
    tasks_free(set);
    return r;
}

static int write_nodes(FILE *file, const struct diff *diff)
{
    const struct tree *tree = diff->tree;
    int r = 0;

    fputs(",\n\"nodes\":[", file);
    for (uint32_t i = 0; r == 0 && i < tree->node_count; i++) {
        fprintf(file, "%s{\"frame\":%u,\"depth\":%u,", i ? ",\n" : "\n",
                tree->nodes[i].frame, tree->nodes[i].depth);
        r = write_side(file, "a", diff, DIFF_A, diff->report->under[i]);
        fputc(',', file);
        if (r == 0)
            r = write_side(file, "b", diff, DIFF_B, diff->report->under[i]);
        fputc('}', file);
    }
    fputs("]", file);
    return r;
}

/* Write where the stacks of a class end; nowhere if it is -1. */
static void write_places(FILE *file,
                         const char *name,
                         const struct classes *classes,
                         long class)
{
    fprintf(file, ",\"%s\":[", name);
    for (uint32_t i = 0; class >= 0 && i < classes->end_counts[class]; i++)
        fprintf(file, "%s%u", i ? "," : "", classes->ends[class][i]);
    fputc(']', file);
}

static int write_moves(FILE *file, const struct diff *diff)
{
    int r = 0;

    fputs(",\n\"moves\":[", file);
    for (size_t i = 0; r == 0 && i < diff->move_count; i++) {
        const struct diff_move *move = &diff->moves[i];

        fputs(i ? ",\n{" : "\n{", file);
        r = write_set(file, "tasks", move->tasks);
        write_places(file, "from", diff->report->classes, move->from);
        write_places(file, "to", diff->report->classes, move->to);
        fputc('}', file);
    }
    fputs("]", file);
    return r;
}

static int write_gaps(FILE *file, const struct diff *diff)
{
    int r = 0;

    fputs(",\n\"gaps\":[", file);
    for (size_t i = 0; r == 0 && i < diff->gap_count; i++) {
        const struct diff_gap *gap = &diff->gaps[i];

        fprintf(file, "%s{\"look\":\"%c\",", i ? ",\n" : "\n",
                gap->side == DIFF_A ? 'a' : 'b');
        r = write_set(file, "tasks", gap->tasks);
        fputs(",\"reason\":\"", file);
        escape_json(file, gap->reason);
        fputs("\"}", file);
    }
    fputs("]", file);
    return r;
}

int diff_json_write(FILE *file, const struct diff *diff)
{
    const struct {
        const char *name;
        const struct tasks *set;
    } sets[] = {{"unchanged", diff->unchanged},
                {"moved", diff->moved},
                {"appeared", diff->appeared},
                {"vanished", diff->vanished},
                {"unknown", diff->unknown}};
    int r = 0;

    fprintf(file,
            "{\"format\":\"coppice-stat-diff\",\"version\":%d,\n\"tasks\":%u",
            DIFF_JSON_VERSION, diff->everyone);
    for (size_t i = 0; r == 0 && i < sizeof(sets) / sizeof(sets[0]); i++) {
        fputs(",\n", file);
        r = write_set(file, sets[i].name, sets[i].set);
    }
    if (r == 0)
        r = json_write_frames(file, diff->tree);
    if (r == 0)
        r = write_nodes(file, diff);
    if (r == 0)
        r = write_moves(file, diff);
    if (r == 0)
        r = write_gaps(file, diff);
    fputs("}\n", file);
    return r < 0 ? r : output_end(file);
}
