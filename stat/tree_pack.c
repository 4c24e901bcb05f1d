/* tree_pack.c - see tree_pack.h. */
#include "stat/tree_pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Longest stop; strings; of frames: function, file, line; of nodes: frame,
 * depth; of ends: node, samples, threads, set; of sets: length; their bytes. */
#define TREE_FORMAT                                                            \
    "%uld %as %aud %aud %aud %aud %aud %aud %aud %aud %aud %aud %auc"

/* The columns of numbers, in the order of the format. */
#define COLUMNS(X)                                                             \
    X(FUNCTION)                                                                \
    X(FILE_NAME)                                                               \
    X(LINE)                                                                    \
    X(NODE_FRAME)                                                              \
    X(NODE_DEPTH)                                                              \
    X(END_NODE)                                                                \
    X(END_SAMPLES)                                                             \
    X(END_THREADS)                                                             \
    X(END_SET)                                                                 \
    X(SET_LEN)

#define COLUMN_NAME(name) name,
enum column {
    COLUMNS(COLUMN_NAME) COLUMN_COUNT
};

/* A packet's values, with their counts. */
struct image {
    uint64_t stop_ns;
    uint32_t string_count;
    const char **strings;
    uint32_t count[COLUMN_COUNT];
    uint32_t *column[COLUMN_COUNT];
    uint32_t byte_count;
    unsigned char *bytes;
};

/* The ends of a tree sorted by their sets. */
static int by_set(const void *a, const void *b)
{
    const struct tree_end *const *x = a;
    const struct tree_end *const *y = b;

    return tasks_compare((*x)->tasks, (*y)->tasks);
}

static void image_fini(struct image *image)
{
    int i;

    for (i = 0; i < COLUMN_COUNT; i++)
        free(image->column[i]);
    free(image->bytes);
}

static int image_init(struct image *image, const struct tree *tree)
{
    int i;

    image->stop_ns = tree->stop_ns;
    image->strings = tree->strings;
    image->string_count = tree->string_count;
    for (i = 0; i < COLUMN_COUNT; i++) {
        if (i <= LINE)
            image->count[i] = tree->frame_count;
        else if (i <= NODE_DEPTH)
            image->count[i] = tree->node_count;
        else
            image->count[i] = tree->end_count;
        image->column[i] = calloc(image->count[i] + 1, sizeof(uint32_t));
        if (!image->column[i])
            return -ENOMEM;
    }
    return 0;
}

/* Store each distinct set once, in order, and number the ends' sets. */
static int image_sets(struct image *image, const struct tree *tree)
{
    const struct tree_end **sorted;
    uint32_t *set_len = image->column[SET_LEN];
    uint32_t sets = 0;
    size_t bytes = 0;
    uint32_t i;
    int r = -ENOMEM;

    sorted = calloc(tree->end_count + 1, sizeof(*sorted));
    if (!sorted)
        goto out;
    for (i = 0; i < tree->end_count; i++)
        sorted[i] = &tree->ends[i];
    qsort(sorted, tree->end_count, sizeof(*sorted), by_set);
    for (i = 0; i < tree->end_count; i++) {
        if (i == 0 || by_set(&sorted[i - 1], &sorted[i]) != 0) {
            set_len[sets] = (uint32_t)tasks_packed_len(sorted[i]->tasks);
            bytes += set_len[sets++];
        }
        image->column[END_SET][sorted[i] - tree->ends] = sets - 1;
    }
    r = -EMSGSIZE;
    if (bytes > COP_PACKET_MAX)
        goto out;
    r = -ENOMEM;
    image->bytes = malloc(bytes + 1);
    if (!image->bytes)
        goto out;
    image->byte_count = (uint32_t)bytes;
    image->count[SET_LEN] = sets;
    bytes = 0;
    for (i = 0; i < tree->end_count; i++) {
        if (i > 0 && by_set(&sorted[i - 1], &sorted[i]) == 0)
            continue;
        tasks_pack(sorted[i]->tasks, image->bytes + bytes);
        bytes += tasks_packed_len(sorted[i]->tasks);
    }
    r = 0;
out:
    free(sorted);
    return r;
}

int tree_pack(struct cop_packet **out, int32_t tag, const struct tree *tree)
{
    struct image image = {0};
    struct cop_value values[3 + COLUMN_COUNT];
    uint32_t i;
    int r;

    r = image_init(&image, tree);
    if (r < 0)
        goto out;
    for (i = 0; i < tree->frame_count; i++) {
        image.column[FUNCTION][i] = tree->frames[i].function;
        image.column[FILE_NAME][i] = tree->frames[i].file;
        image.column[LINE][i] = tree->frames[i].line;
    }
    for (i = 0; i < tree->node_count; i++) {
        image.column[NODE_FRAME][i] = tree->nodes[i].frame;
        image.column[NODE_DEPTH][i] = tree->nodes[i].depth;
    }
    for (i = 0; i < tree->end_count; i++) {
        image.column[END_NODE][i] = tree->ends[i].node;
        image.column[END_SAMPLES][i] = tree->ends[i].samples;
        image.column[END_THREADS][i] = tree->ends[i].threads;
    }
    r = image_sets(&image, tree);
    if (r < 0)
        goto out;
    values[0] = (struct cop_value){COP_UINT64, COP_SCALAR, 1, &image.stop_ns};
    values[1] = (struct cop_value){COP_STRING, COP_ARRAY, image.string_count,
                                   image.strings};
    for (i = 0; i < COLUMN_COUNT; i++)
        values[2 + i] = (struct cop_value){COP_UINT32, COP_ARRAY,
                                           image.count[i], image.column[i]};
    values[2 + COLUMN_COUNT] =
        (struct cop_value){COP_UCHAR, COP_ARRAY, image.byte_count, image.bytes};
    r = cop_packet_new_values(out, tag, values, 3 + COLUMN_COUNT);
out:
    image_fini(&image);
    return r;
}

/* Look at the values of `packet`; what `image` then points to is the
 * packet's. */
static int image_read(struct image *image, const struct cop_packet *packet)
{
    uint32_t *count = image->count;
    uint32_t **column = image->column;
    int r;

    r = cop_packet_unpack(
        packet, TREE_FORMAT, &image->stop_ns, &image->strings,
        &image->string_count, &column[FUNCTION], &count[FUNCTION],
        &column[FILE_NAME], &count[FILE_NAME], &column[LINE], &count[LINE],
        &column[NODE_FRAME], &count[NODE_FRAME], &column[NODE_DEPTH],
        &count[NODE_DEPTH], &column[END_NODE], &count[END_NODE],
        &column[END_SAMPLES], &count[END_SAMPLES], &column[END_THREADS],
        &count[END_THREADS], &column[END_SET], &count[END_SET],
        &column[SET_LEN], &count[SET_LEN], &image->bytes, &image->byte_count);
    if (r < 0)
        return r;
    if (count[FILE_NAME] != count[FUNCTION] || count[LINE] != count[FUNCTION] ||
        count[NODE_DEPTH] != count[NODE_FRAME] ||
        count[END_SAMPLES] != count[END_NODE] ||
        count[END_THREADS] != count[END_NODE] ||
        count[END_SET] != count[END_NODE])
        return -EBADMSG;
    return 0;
}

static int strings_read(struct tree *tree, const struct image *image)
{
    char *text = tree->text;
    uint32_t i;

    for (i = 0; i < image->string_count; i++) {
        size_t len = strlen(image->strings[i]) + 1;

        if (i > 0 && strcmp(image->strings[i - 1], image->strings[i]) >= 0)
            return -EBADMSG;
        memcpy(text, image->strings[i], len);
        tree->strings[tree->string_count++] = text;
        text += len;
    }
    return 0;
}

static int frames_read(struct tree *tree, const struct image *image)
{
    uint32_t i;

    for (i = 0; i < image->count[FUNCTION]; i++) {
        struct tree_frame frame = {image->column[FUNCTION][i],
                                   image->column[FILE_NAME][i],
                                   image->column[LINE][i]};
        const struct tree_frame *last = i > 0 ? &tree->frames[i - 1] : NULL;

        if (frame.function >= tree->string_count ||
            frame.file >= tree->string_count)
            return -EBADMSG;
        if (last && (last->function > frame.function ||
                     (last->function == frame.function &&
                      (last->file > frame.file || (last->file == frame.file &&
                                                   last->line >= frame.line)))))
            return -EBADMSG;
        tree->frames[tree->frame_count++] = frame;
    }
    return 0;
}

/* Nodes in pre-order, siblings by frame, and an end at each leaf. */
static int nodes_read(struct tree *tree, const struct image *image)
{
    uint32_t last_frame[TREE_DEPTH_MAX]; /* of the open node at each depth */
    const uint32_t *ends = image->column[END_NODE];
    uint32_t count = image->count[NODE_FRAME];
    uint32_t open = 0;
    uint32_t end = 0;
    uint32_t i;

    for (i = 0; i < count; i++) {
        uint32_t frame = image->column[NODE_FRAME][i];
        uint32_t depth = image->column[NODE_DEPTH][i];
        bool leaf = i + 1 == count || image->column[NODE_DEPTH][i + 1] <= depth;

        if (frame >= tree->frame_count || depth >= TREE_DEPTH_MAX ||
            depth > open || (depth < open && last_frame[depth] >= frame))
            return -EBADMSG;
        while (end < image->count[END_NODE] && ends[end] < i)
            end++;
        if (leaf && (end == image->count[END_NODE] || ends[end] != i))
            return -EBADMSG;
        last_frame[depth] = frame;
        open = depth + 1;
        tree->nodes[tree->node_count++] = (struct tree_node){frame, depth, 1};
    }
    return 0;
}

/* Read the sets into `sets`, which are freed by the caller. */
static int sets_read(struct tasks **sets, const struct image *image)
{
    uint32_t at = 0;
    uint32_t i;
    int r;

    for (i = 0; i < image->count[SET_LEN]; i++) {
        uint32_t len = image->column[SET_LEN][i];

        if (len == 0 || len > image->byte_count - at)
            return -EBADMSG;
        r = tasks_unpack(&sets[i], image->bytes + at, len);
        if (r < 0)
            return r;
        if (i > 0 && tasks_compare(sets[i - 1], sets[i]) >= 0)
            return -EBADMSG;
        at += len;
    }
    return at == image->byte_count ? 0 : -EBADMSG;
}

/* Whether the tasks of the last end are in no other end of its node. */
static int end_is_disjoint(const struct tree *tree)
{
    const struct tree_end *last = &tree->ends[tree->end_count - 1];
    const struct tree_end *end = last;
    struct tasks *both;
    uint32_t count;
    int r;

    while (end-- > tree->ends && end->node == last->node) {
        r = tasks_combine(&both, TASKS_BOTH, end->tasks, last->tasks);
        if (r < 0)
            return r;
        count = tasks_count(both);
        tasks_free(both);
        if (count)
            return -EBADMSG;
    }
    return 0;
}

/* Ends by node; at one node with falling (samples, threads). */
static int ends_read(struct tree *tree,
                     const struct image *image,
                     struct tasks **sets)
{
    uint32_t i;
    int r;

    for (i = 0; i < image->count[END_NODE]; i++) {
        struct tree_end end = {image->column[END_NODE][i],
                               image->column[END_SAMPLES][i],
                               image->column[END_THREADS][i], NULL};
        const struct tree_end *last = i > 0 ? &tree->ends[i - 1] : NULL;
        uint32_t set = image->column[END_SET][i];

        if (end.node >= tree->node_count || end.samples == 0 ||
            end.threads == 0 || set >= image->count[SET_LEN])
            return -EBADMSG;
        if (last &&
            (last->node > end.node ||
             (last->node == end.node &&
              (last->samples < end.samples || (last->samples == end.samples &&
                                               last->threads <= end.threads)))))
            return -EBADMSG;
        end.tasks = tasks_ref(sets[set]);
        tree->ends[tree->end_count++] = end;
        r = end_is_disjoint(tree);
        if (r < 0)
            return r;
    }
    return 0;
}

int tree_unpack(struct tree **out, const struct cop_packet *packet)
{
    struct image image = {0};
    struct tasks **sets = NULL;
    struct tree *tree = NULL;
    size_t text_len = 0;
    uint32_t i;
    int r;

    r = image_read(&image, packet);
    if (r < 0)
        return r;
    for (i = 0; i < image.string_count; i++)
        text_len += strlen(image.strings[i]) + 1;
    r = -ENOMEM;
    sets = calloc((size_t)image.count[SET_LEN] + 1, sizeof(struct tasks *));
    if (!sets)
        goto out;
    r = tree_new(&tree, text_len, image.string_count, image.count[FUNCTION],
                 image.count[NODE_FRAME], image.count[END_NODE]);
    if (r < 0)
        goto out;
    tree->stop_ns = image.stop_ns;
    r = strings_read(tree, &image);
    if (r == 0)
        r = frames_read(tree, &image);
    if (r == 0)
        r = nodes_read(tree, &image);
    if (r == 0)
        r = sets_read(sets, &image);
    if (r == 0)
        r = ends_read(tree, &image, sets);
    if (r < 0)
        goto out;
    tree_finish(tree);
    *out = tree;
    tree = NULL;
out:
    for (i = 0; sets && i < image.count[SET_LEN]; i++)
        tasks_free(sets[i]);
    free(sets);
    tree_free(tree);
    return r;
}
