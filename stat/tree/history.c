/* history.c - see history.h. */
#include "stat/tree/history.h"

#include <stddef.h>

void history_fini(struct history *history)
{
    for (uint32_t i = 0; i < HISTORY_MAX; i++)
        tasks_free(history->moved[i]);
    *history = (struct history){.count = 0};
}

int history_note(struct history *history, const struct tree *tree)
{
    struct tasks **slot = &history->moved[history->count % HISTORY_MAX];
    uint32_t last = tree_samples(tree);
    struct tasks *moved;
    int r;

    if (last <= history->sample)
        return 0;
    if (history->sample == 0) {
        history->sample = last;
        return 0;
    }
    r = tree_moved(&moved, tree, history->sample);
    if (r < 0)
        return r;
    tasks_free(*slot);
    *slot = moved;
    history->count++;
    history->sample = last;
    return 0;
}

int history_times(const struct history *history,
                  struct tasks *tasks,
                  uint32_t *of)
{
    uint32_t known =
        history->count < HISTORY_MAX ? history->count : HISTORY_MAX;
    int times = 0;

    for (uint32_t i = 0; i < known; i++) {
        struct tasks *both;
        int r = tasks_combine(&both, TASKS_BOTH, history->moved[i], tasks);

        if (r < 0)
            return r;
        times += tasks_count(both) > 0;
        tasks_free(both);
    }
    *of = known;
    return times;
}
