/* search_adoption.c - PROTOCOL 8.5 on the real machine: every schedule of a
 * small tree, every order of frames, faults and timers.
 *
 * usage: search_adoption [quick | full | long]
 *        search_adoption PARENTS FAULTS ATTEMPTS [any] [late] [needed]
 *                        [orderly] [leaves] [bushy]
 *                        [nofail | noloss | noprobe | deaf]
 *                        [moves=N [overlap] [passes | adopts]]
 *                        [waves=N [twins] [stops] [noredo | nocheck]]
 *
 * PARENTS, such as 0,0,1, are those of the internal nodes 1, 2, 3; "-": the
 * front-end is the only one. With `waves` each back-end sends N packets on a
 * stream of whole waves (PROTOCOL 16). SIGTERM ends a search that takes too
 * long. The search is depth-first; a state on the stack is kept as the bytes of
 * the arena, and found again by its digest. To check that the digest is
 * sufficient, some states that are met again are tested: their successors must
 * have the same digests as the first time. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/models/arena.h"
#include "test/models/field.h"
#include "test/models/seen.h"

#define DEPTH_MAX 400

/* The search gives up after this many states: 3.2 GB, an hour. */
#define STATES_MAX ((size_t)120000000)
#define TOO_MANY   "NOT complete: stopped, or too many states"

/* The successors of one in this many states that are met again are compared. */
#define COMPARE_ONE_OF 64

/* One state on the path from the first state to the present one. */
struct level {
    struct arena_image image;
    uint64_t digest;
    struct field_move moves[FIELD_MOVES];
    uint32_t count;
    bool final; /* no moves are left except faults */
    uint32_t next;
    uint32_t sum; /* of the successors' digests so far */
};

struct search {
    struct seen seen;
    struct seen trees; /* of the final states */
    uint64_t steps;
    uint64_t compared;
    uint64_t settled;
    uint64_t answers[FIELD_ANSWERS];
    uint32_t depth;
    uint32_t deepest;
    const char *wrong;
};

static struct level levels[DEPTH_MAX];

/* Set by SIGTERM: report the progress of the search, and end. */
static volatile sig_atomic_t is_stopped;

static void stop_search(int signal)
{
    (void)signal;
    is_stopped = 1;
}

/* Zero what earlier calls left on the stack, as it gets into the padding of
 * copied structs. */
static __attribute__((noinline)) void clean_stack(void)
{
    char bytes[64 << 10];

    memset(bytes, 0, sizeof(bytes));
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

/* Returns the digest of the state after `move` from `level`; the arena is then
 * in that state. */
static uint64_t follow(struct field *field,
                       const struct level *level,
                       uint32_t move)
{
    uint64_t digest;

    arena_put_back(&level->image);
    arena_use(true);
    clean_stack();
    field_move(field, &level->moves[move]);
    digest = field_digest(field);
    arena_use(false);
    return digest;
}

static uint32_t fold_digest(uint64_t digest)
{
    return (uint32_t)(digest ^ digest >> 32);
}

/* List the moves of the present state; none if it is calm. A state with a
 * stopped node that no other can notice is not final: it equals that of a
 * schedule in which the node continued before (search.md). */
static void list_moves(const struct field *field, struct level *level)
{
    uint32_t faults_at = 0;

    level->count = 0;
    if (!field_is_calm(field))
        level->count = field_moves(field, level->moves, &faults_at);
    level->final = faults_at == 0;
    for (uint32_t i = 0; i < field->node_count; i++)
        level->final &= !field->nodes[i].stopped;
}

/* Keep the present state, which is new, and list its moves. */
static void enter_state(struct search *search,
                        struct field *field,
                        uint64_t digest)
{
    struct level *level = &levels[search->depth++];

    if (search->depth == DEPTH_MAX) {
        search->wrong = "the search is too deep";
        return;
    }
    if (search->depth > search->deepest)
        search->deepest = search->depth;
    level->digest = digest;
    level->next = 0;
    level->sum = 0;
    arena_keep(&level->image);
    list_moves(field, level);
}

/* Nothing is in flight: check that the tree becomes whole. */
static void settle(struct search *search, struct field *field)
{
    const struct level *level = &levels[search->depth - 1];

    arena_put_back(&level->image);
    search->settled++;
    seen_add(&search->trees, field_tree_digest(field));
    arena_use(true);
    search->wrong = field_settle(field);
    arena_use(false);
}

/* Check that states with equal digests have equal successors. */
static void compare(struct search *search, struct field *field, uint64_t digest)
{
    uint32_t mark = *seen_mark(&search->seen, digest);
    struct level *level = &levels[search->depth];
    uint32_t sum = 0;

    /* with a stream of whole waves the digest has every byte */
    if (mark == 0 || digest % COMPARE_ONE_OF != 0 || field->bounds.waves > 0)
        return;
    arena_keep(&level->image);
    list_moves(field, level);
    for (uint32_t i = 0; i < level->count; i++) {
        uint64_t next = follow(field, level, i);

        sum += next != digest ? fold_digest(next) : 0;
    }
    search->compared++;
    if ((sum | 1) != mark)
        search->wrong = "equal digests, and something else follows";
}

/* Print the schedule that led to the present state. */
static void print_way(struct search *search, struct field *field)
{
    for (uint32_t i = 0; i < search->depth; i++) {
        if (levels[i].next == 0)
            break;
        arena_put_back(&levels[i].image);
        field_print(field, &levels[i].moves[levels[i].next - 1], stdout);
    }
}

static void run_search(struct search *search, struct field *field)
{
    uint64_t digest = field_digest(field);

    seen_add(&search->seen, digest);
    enter_state(search, field, digest);
    while (search->depth > 0 && !search->wrong) {
        struct level *level = &levels[search->depth - 1];

        if (level->next == 0 && level->final)
            settle(search, field);
        if (search->wrong)
            break;
        if (level->next == level->count) {
            *seen_mark(&search->seen, level->digest) = level->sum | 1;
            search->depth--;
            continue;
        }
        digest = follow(field, level, level->next++);
        if (digest != level->digest)
            level->sum += fold_digest(digest);
        search->steps++;
        search->wrong = field->wrong;
        search->answers[field->answer]++;
        if (search->wrong)
            break;
        if (search->seen.count == STATES_MAX || is_stopped)
            search->wrong = TOO_MANY;
        else if (seen_add(&search->seen, digest))
            enter_state(search, field, digest);
        else
            compare(search, field, digest);
    }
}

/* The duration of a part: seconds, minutes, hours. */
enum part {
    PART_QUICK,
    PART_FULL,
    PART_LONG
};

static const char *const parts[] = {
    [PART_QUICK] = "quick", [PART_FULL] = "full", [PART_LONG] = "long"};

/* A search, and its required result. */
struct task {
    const char *text; /* as on the command line */
    enum part part;
    const char *wrong; /* the violation that a missing rule must cause */
};

#define CYCLE "the parents form a CYCLE"
#define SHORT "a wave is not whole, and nothing is left to do"
#define STUCK "an orphan is not adopted, and nothing fails any more"

static const struct task tasks[] = {
    {"0 2 2", PART_QUICK, NULL},
    {"0 1 2 any leaves", PART_QUICK, NULL},
    {"0,0 1 2 any", PART_QUICK, NULL},
    {"0,1 1 2 any", PART_QUICK, NULL},
    {"0,1 1 1 any leaves", PART_QUICK, NULL},
    {"0,0,1 1 1", PART_QUICK, NULL},
    {"0,0 2 2 late", PART_QUICK, NULL},
    {"0,0 2 2 any needed", PART_QUICK, NULL},
    {"0,1 2 2 any needed", PART_QUICK, NULL},
    {"0,1,1 1 2 any late needed", PART_QUICK, NULL},
    /* rules that are missing */
    {"0,1 1 2 any noprobe", PART_QUICK, CYCLE},
    {"0,1 1 2 any late needed noprobe", PART_QUICK, CYCLE},
    {"0,1 2 2 any orderly nofail", PART_QUICK, CYCLE},
    {"0,0 2 2 any nofail", PART_QUICK, CYCLE},
    {"0,1 2 2 any late orderly nofail", PART_QUICK, CYCLE},
    {"0,0 2 2 any late nofail", PART_QUICK, CYCLE},
    {"0,0 2 2 any late needed nofail", PART_QUICK, CYCLE},
    {"0,0,1 2 2 any late needed noloss", PART_QUICK, CYCLE},
    {"0,0 1 1 deaf", PART_QUICK, STUCK},
    {"0,0 1 1 late deaf", PART_QUICK, STUCK},
    {"0,1 2 2 any late needed deaf", PART_QUICK, STUCK},
    /* planned moves */
    {"0,0 0 2 any moves=2 overlap", PART_QUICK, NULL},
    {"0,1 0 2 any moves=2 overlap", PART_QUICK, NULL},
    {"0,0,1 0 2 any moves=2 overlap", PART_QUICK, NULL},
    {"0,0 1 2 late orderly moves=1", PART_QUICK, NULL},
    {"0,0 0 2 any moves=2 overlap passes", PART_QUICK, CYCLE},
    {"0,1 1 2 late orderly moves=1", PART_FULL, NULL},
    {"0,0 1 2 any moves=1 adopts", PART_FULL, CYCLE},
    {"0,0 1 2 any late moves=1", PART_FULL, NULL},
    {"0,1 1 2 any late orderly moves=1", PART_FULL, NULL},
    /* a stream of whole waves */
    {"- 2 2 late orderly waves=2 twins", PART_QUICK, NULL},
    {"0 1 2 late orderly waves=1 stops", PART_QUICK, NULL},
    {"0 1 2 late orderly waves=1 twins", PART_QUICK, NULL},
    {"0,0 1 2 late orderly waves=1", PART_QUICK, NULL},
    {"0,1 1 2 late orderly waves=1", PART_QUICK, NULL},
    {"0 1 2 late orderly waves=1 noredo", PART_QUICK, SHORT},
    {"0 1 2 late orderly waves=2 twins nocheck", PART_QUICK, SHORT},
    {"0 2 2 late orderly waves=2", PART_FULL, NULL},
    {"0,1 2 1 late orderly waves=2", PART_LONG, NULL},
    /* all trees of three internal nodes */
    {"0 2 2 any leaves needed", PART_FULL, NULL},
    {"0 2 2 any leaves", PART_LONG, NULL},
    {"0,0 2 2 bushy", PART_FULL, NULL},
    {"0,1 2 2 bushy", PART_LONG, NULL},
    {"0,0 2 2 any late", PART_LONG, NULL},
    {"0,1 2 2 any late", PART_LONG, NULL},
    {"0,0 1 2 leaves late needed", PART_FULL, NULL},
    {"0,1 1 2 leaves late needed", PART_FULL, NULL},
    {"0,0 1 2 leaves", PART_LONG, NULL},
    {"0,1 1 2 leaves", PART_LONG, NULL},
    /* and of four, any choice */
    {"0,0,0 2 2 any late orderly needed", PART_FULL, NULL},
    {"0,0,1 2 2 any late orderly needed", PART_FULL, NULL},
    {"0,1,2 2 2 any late orderly needed", PART_FULL, NULL},
    {"0,1,1 2 2 any late orderly needed", PART_FULL, NULL},
    {"0,0,1 2 2 any orderly needed", PART_LONG, NULL},
    {"0,1,2 2 2 any orderly needed", PART_LONG, NULL},
    /* NHI-WM's choice: 0,0,2 is 0,0,1 with its ranks in another order */
    {"0,0,0 2 2 late orderly", PART_FULL, NULL},
    {"0,0,1 2 2 late orderly needed", PART_LONG, NULL},
    {"0,0,2 2 2 late orderly needed", PART_LONG, NULL},
    {"0,1,2 2 2 late orderly needed", PART_LONG, NULL},
    {"0,1,1 2 1 late orderly needed", PART_LONG, NULL},
    {"0,1,1 1 2 late orderly needed", PART_FULL, NULL},
    {"0,1,1 2 2 late orderly needed", PART_LONG, NULL},
};

/* Searched with faults at all times and all knowledge of the nodes, with `late`
 * faults, with only what is `needed`, and with both: the final trees must be
 * the same (search.md). */
static const struct task pairs[] = {
    {"0,0 1 2", PART_QUICK, NULL},
    {"0,1 1 2", PART_QUICK, NULL},
    {"0,1 1 2 orderly", PART_QUICK, NULL},
    {"0,0 1 1 leaves", PART_QUICK, NULL},
    {"0,0 1 2 any orderly", PART_QUICK, NULL},
    {"0,1 1 1 any leaves", PART_QUICK, NULL},
    {"0,0 2 2", PART_FULL, NULL},
    {"0,1 1 2 any", PART_FULL, NULL},
    {"0,0,1 1 2 orderly", PART_FULL, NULL},
    {"0,1 2 2 orderly", PART_FULL, NULL},
    {"0,1,1 1 1 any orderly", PART_FULL, NULL},
    {"0,0,1 1 2 any orderly", PART_LONG, NULL},
    {"0,1,2 1 2 orderly", PART_LONG, NULL},
    {"0,1 2 2", PART_LONG, NULL},
};

static void take_word(struct field_bounds *bounds, const char *word)
{
    static const char *const rules[] = {
        [FIELD_ALL_RULES] = "",       [FIELD_NO_FAIL] = "nofail",
        [FIELD_NO_LOSS] = "noloss",   [FIELD_NO_PROBE] = "noprobe",
        [FIELD_DEAF] = "deaf",        [FIELD_NO_REDO] = "noredo",
        [FIELD_NO_CHECK] = "nocheck", [FIELD_PASSES] = "passes",
        [FIELD_ADOPTS] = "adopts",
    };

    bounds->any |= strcmp(word, "any") == 0;
    bounds->late |= strcmp(word, "late") == 0;
    bounds->orderly |= strcmp(word, "orderly") == 0;
    bounds->leaves |= strcmp(word, "leaves") == 0;
    bounds->needed |= strcmp(word, "needed") == 0;
    bounds->bushy |= strcmp(word, "bushy") == 0;
    bounds->stops |= strcmp(word, "stops") == 0;
    bounds->twins |= strcmp(word, "twins") == 0;
    bounds->overlap |= strcmp(word, "overlap") == 0;
    if (strncmp(word, "moves=", 6) == 0)
        bounds->moves = (uint32_t)atoi(word + 6);
    if (strncmp(word, "waves=", 6) == 0 && atoi(word + 6) < FIELD_WAVES) {
        bounds->waves = (uint32_t)atoi(word + 6);
        bounds->leaves = true;
    }
    for (uint32_t i = FIELD_NO_FAIL; i <= FIELD_NO_CHECK; i++)
        if (strcmp(word, rules[i]) == 0)
            bounds->without = (enum field_rule)i;
}

/* Read PARENTS FAULTS ATTEMPTS and words. Returns whether they are valid. */
static bool read_bounds(const char *text, struct field_bounds *bounds)
{
    char copy[128], *save = NULL, *word;
    const char *at = text[0] == '-' ? text + 2 : text;

    *bounds = (struct field_bounds){.internal_count = 1};
    while (at == text || at[-1] == ',') {
        uint32_t parent = (uint32_t)strtoul(at, (char **)&at, 10);

        if (bounds->internal_count >= FIELD_NODES / 2 ||
            parent >= bounds->internal_count)
            return false;
        bounds->parents[bounds->internal_count++] = parent;
        at += *at != '\0';
    }
    snprintf(copy, sizeof(copy), "%s", at);
    word = strtok_r(copy, " ", &save);
    bounds->faults = word ? (uint32_t)atoi(word) : 0;
    word = strtok_r(NULL, " ", &save);
    bounds->attempts = word ? (uint32_t)atoi(word) : 0;
    while ((word = strtok_r(NULL, " ", &save)) != NULL)
        take_word(bounds, word);
    return bounds->faults + bounds->moves > 0 && bounds->attempts > 0;
}

/* Search the tree of `text`. Returns what is wrong, or NULL; then `trees`, if
 * not NULL, gets the sum of the final trees. */
static const char *search_one(const char *text, bool show, uint64_t *trees)
{
    struct search search = {0};
    struct field_bounds bounds;
    struct field *field;
    clock_t begin = clock();

    if (!read_bounds(text, &bounds))
        return "this names no search";
    field = field_new(&bounds);
    arena_use(false);
    search.wrong = field->wrong;
    if (!search.wrong)
        run_search(&search, field);
    printf(
        "%s: %zu states, %llu steps, %u deep, %llu final, %zu trees,"
        " %llu compared;"
        " adopted %llu, orphan %llu, stale %llu, too high %llu; %.1f s: %s\n",
        text, search.seen.count, (unsigned long long)search.steps,
        search.deepest, (unsigned long long)search.settled, search.trees.count,
        (unsigned long long)search.compared,
        (unsigned long long)search.answers[ADOPTION_OK],
        (unsigned long long)search.answers[ADOPTION_ORPHAN],
        (unsigned long long)search.answers[ADOPTION_STALE],
        (unsigned long long)search.answers[ADOPTION_TOO_HIGH],
        (double)(clock() - begin) / CLOCKS_PER_SEC,
        search.wrong ? search.wrong : "complete");
    if (trees)
        *trees = seen_sum(&search.trees);
    if (search.wrong && show && strcmp(search.wrong, TOO_MANY) != 0) {
        field_show(field, stdout);
        print_way(&search, field);
    }
    fflush(stdout);
    seen_fini(&search.seen);
    seen_fini(&search.trees);
    return search.wrong;
}

/* Returns whether the task has the required result. A search that gives up is
 * reported, and does not fail. */
static bool run_task(const struct task *task, int *given_up)
{
    const char *wrong = search_one(task->text, task->wrong == NULL, NULL);

    if (wrong && strcmp(wrong, TOO_MANY) == 0) {
        ++*given_up;
        return true;
    }
    if (wrong == task->wrong ||
        (wrong && task->wrong && strcmp(wrong, task->wrong) == 0))
        return true;
    printf("FAIL: expected: %s\n", task->wrong ? task->wrong : "complete");
    return false;
}

static bool run_pair(const struct task *task)
{
    uint64_t all, reduced;
    bool same = true;
    char text[128];

    if (search_one(task->text, true, &all))
        return false;
    for (int i = 1; i < 4; i++) {
        snprintf(text, sizeof(text), "%s%s%s", task->text, i & 1 ? " late" : "",
                 i & 2 ? " needed" : "");
        if (search_one(text, true, &reduced))
            return false;
        same &= all == reduced;
    }
    if (!same)
        printf("FAIL: other trees remain where less is searched\n");
    return same;
}

/* Run the tasks. Returns how many had another result. */
static int run_tasks(enum part part)
{
    int bad = 0, given_up = 0;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (pairs[i].part <= part)
            bad += !run_pair(&pairs[i]);
    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
        if (tasks[i].part <= part)
            bad += !run_task(&tasks[i], &given_up);
    printf("search: %s; %d not to the end\n",
           bad ? "NOT as expected" : "as expected", given_up);
    return bad;
}

int main(int argc, char **argv)
{
    struct field_bounds bounds;
    char text[128] = "";
    size_t len = 0;

    signal(SIGTERM, stop_search);
    if (argc == 1)
        return run_tasks(PART_QUICK) != 0;
    for (int i = PART_QUICK; argc == 2 && i <= PART_LONG; i++)
        if (strcmp(argv[1], parts[i]) == 0)
            return run_tasks((enum part)i) != 0;
    for (int i = 1; i < argc && len < sizeof(text); i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
                                i > 1 ? " " : "", argv[i]);
    if (len >= sizeof(text) || !read_bounds(text, &bounds)) {
        fprintf(stderr, "usage: search_adoption [quick | full | long]\n"
                        "       search_adoption PARENTS FAULTS ATTEMPTS"
                        " [any] [late] [needed] [orderly]\n"
                        "                       [leaves] [bushy]"
                        " [nofail | noloss | noprobe | deaf]\n"
                        "                       [moves=N [overlap]"
                        " [passes | adopts]]\n"
                        "                       [waves=N [twins] [stops]"
                        " [noredo | nocheck]]\n");
        return 2;
    }
    return search_one(text, true, NULL) != NULL;
}
