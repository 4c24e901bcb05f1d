/* folded.c - a merged tree as folded stacks, the input of flamegraph.pl and
 * others: a line for each place where stacks end, with the functions of the
 * stack, outermost first, separated by semicolons, and the number of tasks
 * there times their samples. Tasks that could not be walked are left out. */
#include "stat/write/output.h"

#include "stat/write/escape.h"

/* The number of tasks that end at `node`, times their samples. */
static uint64_t weight(const struct report *report, uint32_t node)
{
    const struct tree *tree = report->tree;
    uint64_t sum = 0;

    for (uint32_t end = report->first_end[node];
         end < tree->end_count && tree->ends[end].node == node; end++)
        sum += (uint64_t)tasks_count(tree->ends[end].tasks) *
               tree->ends[end].samples;
    return sum;
}

int folded_write(FILE *file, const struct report *report)
{
    const struct tree *tree = report->tree;
    uint32_t above[TREE_DEPTH_MAX];

    for (uint32_t node = 0; node < tree->node_count; node++) {
        uint32_t depth = tree->nodes[node].depth;

        above[depth] = node;
        if (!report_has_end(report, node) || tree_is_not_walked(tree, above[0]))
            continue;
        for (uint32_t i = 0; i <= depth; i++) {
            if (i > 0)
                fputc(';', file);
            escape_folded(file, report_function(report, above[i]));
        }
        fprintf(file, " %llu\n", (unsigned long long)weight(report, node));
    }
    if (tasks_count(report->left_out) > 0)
        fprintf(file, "[partial: not looked at] %u\n",
                tasks_count(report->left_out));
    return 0;
}
