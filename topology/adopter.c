/* adopter.c - the candidates of an orphan, and their order. */
#include "topology/adopter.h"

#include "topology/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The sort takes this many bits of a key at a time. */
#define DIGIT_BITS  11
#define DIGIT_COUNT (1 << DIGIT_BITS)

/* Up to this many keys are counted on the stack, instead of a sort, for one
 * choice: so few that the counts stay within one page. */
#define KEY_COUNT 512

enum criterion {
    CRITERION_GP,
    CRITERION_RT,
    CRITERION_GP_PLUS,
    CRITERION_RT_PLUS,
    CRITERION_NHI,
    CRITERION_ANY
};

enum sorting {
    SORTING_R,
    SORTING_M,
    SORTING_WR,
    SORTING_WM,
    SORTING_WF
};

/* The first is ADOPTER_DEFAULT; the order is that of the wire. */
#define ALGORITHMS(X)                                                          \
    X("NHI-WM", CRITERION_NHI, SORTING_WM)                                     \
    X("NHI-WR", CRITERION_NHI, SORTING_WR)                                     \
    X("NHI-M", CRITERION_NHI, SORTING_M)                                       \
    X("NHI-R", CRITERION_NHI, SORTING_R)                                       \
    X("ANY-WM", CRITERION_ANY, SORTING_WM)                                     \
    X("ANY-WR", CRITERION_ANY, SORTING_WR)                                     \
    X("ANY-M", CRITERION_ANY, SORTING_M)                                       \
    X("ANY-R", CRITERION_ANY, SORTING_R)                                       \
    X("GP+-WM", CRITERION_GP_PLUS, SORTING_WM)                                 \
    X("GP+-WR", CRITERION_GP_PLUS, SORTING_WR)                                 \
    X("GP+-M", CRITERION_GP_PLUS, SORTING_M)                                   \
    X("GP+-R", CRITERION_GP_PLUS, SORTING_R)                                   \
    X("RT+-WM", CRITERION_RT_PLUS, SORTING_WM)                                 \
    X("RT+-WR", CRITERION_RT_PLUS, SORTING_WR)                                 \
    X("RT+-M", CRITERION_RT_PLUS, SORTING_M)                                   \
    X("RT+-R", CRITERION_RT_PLUS, SORTING_R)                                   \
    X("GP", CRITERION_GP, SORTING_M)                                           \
    X("RT", CRITERION_RT, SORTING_M)                                           \
    X("NHI-WF", CRITERION_NHI, SORTING_WF)

struct algorithm {
    const char *name;
    enum criterion criterion;
    enum sorting sorting;
};

#define ROW(name, criterion, sorting) {name, criterion, sorting},
static const struct algorithm algorithms[] = {ALGORITHMS(ROW)};

_Static_assert(sizeof algorithms / sizeof algorithms[0] == ADOPTER_ALGORITHMS,
               "ADOPTER_ALGORITHMS");

/* A candidate and its key; the lowest key is the best. */
struct candidate {
    uint32_t rank;
    uint32_t key; /* key_of() */
};

/* A candidate's place in a weighted random order. */
struct lot {
    uint32_t rank;
    double log_key; /* log2(r) / w: in the order of r^(1/w) */
};

struct adopter_survey {
    enum criterion criterion;
    enum sorting sorting;
    bool asked; /* pick_weighted() was called before */
    uint32_t count;
    uint32_t key_max;
    uint32_t rise_depth;      /* below candidates at this depth or more the tree
                               gets higher */
    struct table_site *all;   /* by rank */
    struct candidate *sorted; /* by key, then rank; NULL: not needed yet */
    uint32_t *drawn;          /* the order of one seed; NULL: not needed yet */
    uint64_t drawn_seed;
};

const char *adopter_name(uint32_t algorithm)
{
    return algorithm < ADOPTER_ALGORITHMS ? algorithms[algorithm].name : NULL;
}

const char *adopter_names(void)
{
#define ALSO(name, criterion, sorting) ", " name
    return &ALGORITHMS(ALSO)[2];
}

int adopter_find(const char *name)
{
    for (int i = 0; i < ADOPTER_ALGORITHMS; i++) {
        if (strcmp(name, algorithms[i].name) == 0)
            return i;
    }
    return -ENOENT;
}

bool adopter_may_raise(uint32_t algorithm)
{
    return algorithm < ADOPTER_ALGORITHMS &&
           algorithms[algorithm].criterion == CRITERION_ANY;
}

/* The nearest live ancestor of the lost parent that could adopt the orphan; the
 * front-end if none is known. */
static uint32_t live_ancestor(const struct table *table,
                              const struct adopter_orphan *orphan)
{
    uint32_t at = table_last_parent(table, orphan->lost);

    for (uint32_t steps = 0; steps < table_count(table) && at != TABLE_NONE;
         steps++) {
        if (table_depth(table, at) != TABLE_NO_PATH &&
            !table_is_below(table, at, orphan->rank))
            return at;
        at = table_last_parent(table, at);
    }
    return 0;
}

/* Twice the fan-out, plus 1 if the tree would get higher. */
static uint32_t key_of(const struct adopter_survey *survey,
                       const struct table_site *site)
{
    return 2 * site->fan_out + (site->depth >= survey->rise_depth);
}

/* Append a candidate. `site` may be an element of `all` at or after the end. */
static void add_candidate(struct adopter_survey *survey,
                          const struct table_site *site)
{
    uint32_t key = key_of(survey, site);

    survey->all[survey->count++] = *site;
    if (key > survey->key_max)
        survey->key_max = key;
}

/* GP+, RT+: collect `top` and its internal children; GP, RT: `top` alone. */
static void collect_near(struct adopter_survey *survey,
                         const struct table *table,
                         uint32_t top,
                         const struct adopter_orphan *orphan)
{
    bool children = survey->criterion == CRITERION_GP_PLUS ||
                    survey->criterion == CRITERION_RT_PLUS;
    struct table_entry entry;

    for (uint32_t i = 0; i < table_count(table); i++) {
        table_at(table, i, &entry);
        if (entry.rank == top ||
            (children && entry.parent == top && entry.rank != orphan->rank))
            add_candidate(survey,
                          &(struct table_site){entry.rank, entry.fan_out, 0});
    }
}

/* NHI, ANY: collect all nodes that have a path and are not too deep. */
static void collect_far(struct adopter_survey *survey,
                        const struct table *table,
                        const struct adopter_orphan *orphan,
                        uint32_t height_limit)
{
    bool any = survey->criterion == CRITERION_ANY;
    uint32_t present = any ? table_height(table) : 0;
    uint32_t height = present > height_limit ? present : height_limit;
    uint32_t count = table_count(table);
    uint32_t end;

    end = height > orphan->height ? height - orphan->height : 0;
    if (any)
        survey->rise_depth = end;
    table_sites(table, orphan->rank, survey->all);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t depth = survey->all[i].depth;

        if (depth < end || (any && depth != TABLE_NO_PATH))
            add_candidate(survey, &survey->all[i]);
    }
}

static void collect_candidates(struct adopter_survey *survey,
                               const struct table *table,
                               const struct adopter_orphan *orphan,
                               uint32_t height_limit)
{
    switch (survey->criterion) {
    case CRITERION_GP:
    case CRITERION_GP_PLUS:
        collect_near(survey, table, live_ancestor(table, orphan), orphan);
        break;
    case CRITERION_RT:
    case CRITERION_RT_PLUS:
        collect_near(survey, table, 0, orphan);
        break;
    case CRITERION_NHI:
    case CRITERION_ANY:
        collect_far(survey, table, orphan, height_limit);
        break;
    }
    if (survey->count == 0)
        add_candidate(survey, &(struct table_site){0, 0, 0});
}

int adopter_survey_new(struct adopter_survey **out,
                       const struct table *table,
                       uint32_t algorithm,
                       const struct adopter_orphan *orphan,
                       uint32_t height_limit)
{
    struct adopter_survey *survey = calloc(1, sizeof *survey);
    int r = -ENOMEM;

    if (!survey)
        goto out;
    survey->criterion = algorithms[algorithm].criterion;
    survey->sorting = algorithms[algorithm].sorting;
    survey->all = malloc((table_count(table) + 1) * sizeof *survey->all);
    if (!survey->all)
        goto out;
    survey->rise_depth = TABLE_NO_PATH;
    collect_candidates(survey, table, orphan, height_limit);
    r = 0;
    *out = survey;
    survey = NULL; /* now the caller's */
out:
    adopter_survey_free(survey);
    return r;
}

void adopter_survey_free(struct adopter_survey *survey)
{
    if (!survey)
        return;
    free(survey->all);
    free(survey->sorted);
    free(survey->drawn);
    free(survey);
}

uint32_t adopter_survey_count(const struct adopter_survey *survey)
{
    return survey->count;
}

/* Sort by the digit of the key that begins at bit `shift`; a stable sort. */
static void sort_by_digit(struct candidate *to,
                          const struct candidate *from,
                          uint32_t count,
                          unsigned shift)
{
    uint32_t begin[DIGIT_COUNT + 1] = {0};

    for (uint32_t i = 0; i < count; i++)
        begin[(from[i].key >> shift) % DIGIT_COUNT + 1]++;
    for (uint32_t i = 1; i < DIGIT_COUNT; i++)
        begin[i] += begin[i - 1];
    for (uint32_t i = 0; i < count; i++)
        to[begin[(from[i].key >> shift) % DIGIT_COUNT]++] = from[i];
}

/* Make survey->sorted, unless it exists. */
static int sort_candidates(struct adopter_survey *survey)
{
    size_t size = survey->count * sizeof(struct candidate);
    struct candidate *from = NULL;
    struct candidate *to = NULL;
    struct candidate *swap;
    int r = 0;

    if (survey->sorted)
        return 0;
    from = malloc(size);
    to = malloc(size);
    if (!from || !to) {
        r = -ENOMEM;
        goto out;
    }
    for (uint32_t i = 0; i < survey->count; i++) {
        from[i].rank = survey->all[i].rank;
        from[i].key = key_of(survey, &survey->all[i]);
    }
    for (unsigned shift = 0; shift < 32 && survey->key_max >> shift > 0;
         shift += DIGIT_BITS) {
        sort_by_digit(to, from, survey->count, shift);
        swap = from;
        from = to;
        to = swap;
    }
    survey->sorted = from;
    from = NULL; /* now the survey's */
out:
    free(from);
    free(to);
    return r;
}

/* The rank that sort_candidates() would put at `place`, without a sort. All
 * keys must be below KEY_COUNT. */
static uint32_t select_sorted(const struct adopter_survey *survey,
                              uint32_t place)
{
    uint32_t counts[KEY_COUNT];
    uint32_t key = 0;

    memset(counts, 0, (survey->key_max + 1) * sizeof(*counts));
    for (uint32_t i = 0; i < survey->count; i++)
        counts[key_of(survey, &survey->all[i])]++;
    while (place >= counts[key])
        place -= counts[key++];
    for (uint32_t i = 0;; i++) {
        if (key_of(survey, &survey->all[i]) != key)
            continue;
        if (place-- == 0)
            return survey->all[i].rank;
    }
}

/* NHI-WF: the index in `sorted` at which orphan `ordinal` begins. At each level
 * every candidate with that fan-out or less takes one orphan. */
static uint32_t fill_place(const struct adopter_survey *survey,
                           uint32_t ordinal)
{
    uint64_t left = ordinal;
    uint64_t level = survey->sorted[0].key / 2;
    uint32_t width = 0;

    for (;;) {
        while (width < survey->count && survey->sorted[width].key / 2 <= level)
            width++;
        if (width == survey->count)
            return (uint32_t)(left % width);
        if (left < width)
            return (uint32_t)left;
        left -= width;
        level++;
    }
}

/* Random number `index` of the sequence of `seed`: splitmix64's finaliser. */
static uint64_t random_at(uint64_t seed, uint64_t index)
{
    uint64_t mixed = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* The same as a number between 0 and 1, both excluded. */
static double fraction_at(uint64_t seed, uint64_t index)
{
    return ((double)(random_at(seed, index) >> 11) + 0.5) / 9007199254740992.0;
}

/* A candidate's weight: how many children it could take until it had one more
 * than the largest fan-out; half of that if the tree would get higher. */
static double weight_of(const struct adopter_survey *survey, uint32_t key)
{
    double room = (double)(survey->key_max / 2 - key / 2) + 1;

    return key % 2 ? room / 2 : room;
}

/* The binary logarithm of `x` > 0, to some 1e-15 of its value or of 1. That of
 * the C library would be the only reason to load libm, in each process. */
static double log_2(double x)
{
    int exponent;
    double mantissa = frexp(x, &exponent); /* 0.5 to 1 */
    double ratio, square, term, sum = 0;

    if (mantissa < M_SQRT1_2) {
        mantissa *= 2;
        exponent--;
    }
    /* ln m = 2 artanh((m - 1) / (m + 1)) */
    ratio = (mantissa - 1) / (mantissa + 1);
    square = ratio * ratio;
    term = ratio;
    for (int i = 1; i < 24; i += 2) {
        sum += term / i;
        term *= square;
    }
    return exponent + 2 / M_LN2 * sum;
}

/* WR: the rank with the largest r^(1/w). The logarithm is computed only if r is
 * large enough to win with the largest weight. */
static uint32_t first_weighted(const struct adopter_survey *survey,
                               uint64_t seed)
{
    double weight_max = (double)(survey->key_max / 2) + 1;
    double best = -INFINITY;
    double least = 0;
    uint32_t rank = 0;

    for (uint32_t i = 0; i < survey->count; i++) {
        const struct table_site *site = &survey->all[i];
        double fraction = fraction_at(seed, site->rank);
        double log_key;

        if (fraction < least)
            continue;
        log_key = log_2(fraction) / weight_of(survey, key_of(survey, site));
        if (log_key <= best)
            continue;
        best = log_key;
        rank = site->rank;
        least = 1 + best * weight_max * M_LN2 - 1e-9; /* below the power */
    }
    return rank;
}

static int lot_compare(const void *a, const void *b)
{
    const struct lot *left = a;
    const struct lot *right = b;

    if (left->log_key != right->log_key)
        return left->log_key < right->log_key ? 1 : -1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* WR: write the order by r^(1/w) to survey->drawn. */
static int draw_weighted(struct adopter_survey *survey, uint64_t seed)
{
    struct lot *lots = malloc(survey->count * sizeof *lots);

    if (!lots)
        return -ENOMEM;
    for (uint32_t i = 0; i < survey->count; i++) {
        uint32_t rank = survey->all[i].rank;

        lots[i].rank = rank;
        lots[i].log_key = log_2(fraction_at(seed, rank)) /
                          weight_of(survey, key_of(survey, &survey->all[i]));
    }
    qsort(lots, survey->count, sizeof *lots, lot_compare);
    for (uint32_t i = 0; i < survey->count; i++)
        survey->drawn[i] = lots[i].rank;
    free(lots);
    return 0;
}

/* R: write a random order to survey->drawn. first_random() is its first. */
static void draw_shuffled(struct adopter_survey *survey, uint64_t seed)
{
    uint32_t *drawn = survey->drawn;

    for (uint32_t i = 0; i < survey->count; i++)
        drawn[i] = survey->all[i].rank;
    for (uint32_t i = 0; i < survey->count; i++) {
        uint32_t j = i + (uint32_t)(random_at(seed, i) % (survey->count - i));
        uint32_t rank = drawn[j];

        drawn[j] = drawn[i];
        drawn[i] = rank;
    }
}

static uint32_t first_random(const struct adopter_survey *survey, uint64_t seed)
{
    return survey->all[random_at(seed, 0) % survey->count].rank;
}

/* Make survey->drawn, unless it exists for this seed. */
static int draw_order(struct adopter_survey *survey, uint64_t seed)
{
    int r = 0;

    if (survey->drawn && survey->drawn_seed == seed)
        return 0;
    if (!survey->drawn)
        survey->drawn = malloc(survey->count * sizeof *survey->drawn);
    if (!survey->drawn)
        return -ENOMEM;
    survey->drawn_seed = seed;
    if (survey->sorting == SORTING_WR)
        r = draw_weighted(survey, seed);
    else
        draw_shuffled(survey, seed);
    if (r < 0) {
        free(survey->drawn);
        survey->drawn = NULL;
    }
    return r;
}

/* R, WR. */
static int pick_random(struct adopter_survey *survey,
                       uint64_t seed,
                       uint32_t turn,
                       uint32_t *rank)
{
    int r;

    if (turn == 0) {
        *rank = survey->sorting == SORTING_WR ? first_weighted(survey, seed)
                                              : first_random(survey, seed);
        return 0;
    }
    r = draw_order(survey, seed);
    if (r == 0)
        *rank = survey->drawn[turn];
    return r;
}

/* WM, WF. */
static int pick_weighted(struct adopter_survey *survey,
                         uint32_t ordinal,
                         uint32_t turn,
                         uint32_t *rank)
{
    bool filling = survey->sorting == SORTING_WF;
    uint64_t place = (uint64_t)ordinal + turn;
    bool first = !survey->asked && turn == 0;
    int r;

    survey->asked = true;
    /* a second choice is likely to be followed by more: then sort */
    if (first && !filling && survey->key_max < KEY_COUNT) {
        *rank = select_sorted(survey, ordinal % survey->count);
        return 0;
    }
    r = sort_candidates(survey);
    if (r < 0)
        return r;
    if (filling)
        place = (uint64_t)fill_place(survey, ordinal) + turn;
    *rank = survey->sorted[place % survey->count].rank;
    return 0;
}

int adopter_survey_pick(struct adopter_survey *survey,
                        const struct adopter_orphan *orphan,
                        uint32_t turn,
                        uint32_t *rank)
{
    uint64_t place = (uint64_t)orphan->ordinal + turn;

    if (turn >= survey->count)
        return -ENOENT;
    switch (survey->sorting) {
    case SORTING_R:
    case SORTING_WR:
        return pick_random(survey, orphan->seed, turn, rank);
    case SORTING_M:
        *rank = survey->all[place % survey->count].rank;
        return 0;
    case SORTING_WM:
    case SORTING_WF:
        return pick_weighted(survey, orphan->ordinal, turn, rank);
    }
    return -EINVAL;
}
