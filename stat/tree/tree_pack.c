/* tree_pack.c - packs a merged tree into the values of a packet, and back. */
#include "stat/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One array of bytes with numbers, 7 bits a byte, the low ones first, and
 * NUL-terminated texts:
 *
 *   longest stop
 *   strings: count; texts
 *   frames: count; function, file, line, module, offset, and whether
 *     it is not walked, of each
 *   nodes: count; frame, and how much its depth is below the most possible
 *   sets of tasks: count; length and bytes of each
 *   sets of thread ids: count; length and bytes of each
 *   ends: count; node minus the last end's, samples, 4 threads + 2 polls +
 *     current, still, set of tasks, set of thread ids from 1 on or 0
 *   progress: count; moved, seen - moved, set
 *   stops: count; task, microseconds of each */
#define TREE_FORMAT "%auc"

/* A strided set of a few bytes takes megabytes in memory. The sets of a tree
 * together may take this many bytes, plus some for each byte of the packet, as
 * bitmaps do. */
#define SETS_MAX      (8 * (uint64_t)TASKS_MAX)
#define SETS_PER_BYTE 32

/* Bytes of the longest number. */
#define NUMBER_MAX 10

struct writer {
    unsigned char *bytes;
    size_t len;
    size_t room;
    bool failed;
};

static void write_bytes(struct writer *writer, const void *bytes, size_t len)
{
    size_t room = writer->room ? writer->room : 256;
    unsigned char *grown;

    while (room - writer->len < len)
        room *= 2;
    if (room != writer->room) {
        grown = realloc(writer->bytes, room);
        if (!grown) {
            writer->failed = true;
            return;
        }
        writer->bytes = grown;
        writer->room = room;
    }
    memcpy(writer->bytes + writer->len, bytes, len);
    writer->len += len;
}

static void write_number(struct writer *writer, uint64_t number)
{
    unsigned char bytes[NUMBER_MAX];
    size_t len = 0;

    while (number >= 0x80) {
        bytes[len++] = (unsigned char)(number | 0x80);
        number >>= 7;
    }
    bytes[len++] = (unsigned char)number;
    write_bytes(writer, bytes, len);
}

/* A set, and where to write its number. */
struct set_use {
    struct tasks *tasks;
    uint32_t number;
    uint32_t place;
};

static int by_set(const void *a, const void *b)
{
    const struct set_use *x = a;
    const struct set_use *y = b;

    if (!x->tasks || !y->tasks)
        return (x->tasks != NULL) - (y->tasks != NULL);
    return tasks_compare(x->tasks, y->tasks);
}

static int by_place(const void *a, const void *b)
{
    const struct set_use *x = a;
    const struct set_use *y = b;

    return (x->place > y->place) - (x->place < y->place);
}

/* Write each distinct one of `count` sets once, in order, and number them from
 * 1; NULL is number 0. */
static void write_sets(struct writer *writer,
                       struct set_use *uses,
                       uint32_t count)
{
    uint32_t sets = 0, i;

    qsort(uses, count, sizeof(*uses), by_set);
    for (i = 0; i < count; i++) {
        if (uses[i].tasks && (i == 0 || by_set(&uses[i - 1], &uses[i]) != 0))
            sets++;
        uses[i].number = sets;
    }
    write_number(writer, sets);
    for (i = 0; i < count && !writer->failed; i++) {
        unsigned char *bytes;
        size_t len;

        if (uses[i].number == (i > 0 ? uses[i - 1].number : 0))
            continue;
        len = tasks_packed_len(uses[i].tasks);
        bytes = malloc(len);
        if (!bytes) {
            writer->failed = true;
            break;
        }
        tasks_pack(uses[i].tasks, bytes);
        write_number(writer, len);
        write_bytes(writer, bytes, len);
        free(bytes);
    }
    qsort(uses, count, sizeof(*uses), by_place);
}

static void write_nodes(struct writer *writer, const struct tree *tree)
{
    write_number(writer, tree->stop_ns);
    write_number(writer, tree->string_count);
    for (uint32_t i = 0; i < tree->string_count; i++)
        write_bytes(writer, tree->strings[i], strlen(tree->strings[i]) + 1);
    write_number(writer, tree->frame_count);
    for (uint32_t i = 0; i < tree->frame_count; i++) {
        write_number(writer, tree->frames[i].function);
        write_number(writer, tree->frames[i].file);
        write_number(writer, tree->frames[i].line);
        write_number(writer, tree->frames[i].module);
        write_number(writer, tree->frames[i].offset);
        write_number(writer, tree->frames[i].not_walked);
    }
    write_number(writer, tree->node_count);
    for (uint32_t i = 0; i < tree->node_count; i++) {
        uint32_t most = i > 0 ? tree->nodes[i - 1].depth + 1 : 0;

        write_number(writer, tree->nodes[i].frame);
        write_number(writer, most - tree->nodes[i].depth);
    }
}

static void write_ends(struct writer *writer,
                       const struct tree *tree,
                       const struct set_use *uses,
                       const struct set_use *tids)
{
    write_number(writer, tree->end_count);
    for (uint32_t i = 0; i < tree->end_count; i++) {
        const struct tree_end *end = &tree->ends[i];

        write_number(writer, end->node - (i > 0 ? end[-1].node : 0));
        write_number(writer, end->samples);
        write_number(writer, 4 * (uint64_t)end->threads + 2 * end->polls +
                                 end->current);
        write_number(writer, end->still);
        write_number(writer, uses[i].number - 1);
        write_number(writer, tids[i].number);
    }
    write_number(writer, tree->progress_count);
    for (uint32_t i = 0; i < tree->progress_count; i++) {
        const struct tree_progress *progress = &tree->progress[i];

        write_number(writer, progress->moved);
        write_number(writer, progress->seen - progress->moved);
        write_number(writer, uses[tree->end_count + i].number - 1);
    }
    write_number(writer, tree->stop_count);
    for (uint32_t i = 0; i < tree->stop_count; i++) {
        write_number(writer, tree->stops[i].task);
        write_number(writer, tree->stops[i].us);
    }
}

int tree_pack(struct cop_packet **out, int32_t tag, const struct tree *tree)
{
    uint32_t ends = tree->end_count, count = ends + tree->progress_count, i;
    struct set_use *uses = calloc((size_t)count + 1, sizeof(*uses));
    struct set_use *tids = calloc((size_t)ends + 1, sizeof(*tids));
    struct writer writer = {0};
    int r = -ENOMEM;

    if (!uses || !tids)
        goto out;
    for (i = 0; i < count; i++)
        uses[i] = (struct set_use){i < ends ? tree->ends[i].tasks
                                            : tree->progress[i - ends].tasks,
                                   0, i};
    for (i = 0; i < ends; i++)
        tids[i] = (struct set_use){tree->ends[i].tids, 0, i};
    write_nodes(&writer, tree);
    write_sets(&writer, uses, count);
    write_sets(&writer, tids, ends);
    write_ends(&writer, tree, uses, tids);
    if (!writer.failed)
        r = writer.len > COP_PACKET_MAX
                ? -EMSGSIZE
                : cop_packet_new(out, tag, TREE_FORMAT, writer.bytes,
                                 (uint32_t)writer.len);
out:
    free(uses);
    free(tids);
    free(writer.bytes);
    return r;
}

/* The rest to read; after an error every value read is 0. */
struct reader {
    const unsigned char *at;
    size_t left;
    uint64_t size; /* how many more bytes sets may take */
    bool failed;
};

static uint64_t read_number(struct reader *reader, uint64_t most)
{
    uint64_t number = 0;
    unsigned shift = 0;
    unsigned char byte;

    do {
        if (reader->left == 0 || shift > 63)
            goto fail;
        byte = *reader->at++;
        reader->left--;
        if (shift == 63 && byte > 1)
            goto fail;
        number |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (byte == 0 && shift > 7) /* not the shortest form */
        goto fail;
    if (number <= most)
        return number;
fail:
    reader->failed = true;
    reader->left = 0;
    return 0;
}

/* Read how many items follow, each of at least `least` bytes. */
static uint32_t read_count(struct reader *reader, size_t least)
{
    return (uint32_t)read_number(reader, reader->left / least < UINT32_MAX
                                             ? reader->left / least
                                             : UINT32_MAX - 1);
}

/* Enlarge the array `*list`, which is freed on failure. */
static int make_room(void *list, size_t count, size_t size)
{
    void **at = list;

    free(*at);
    *at = calloc(count + 1, size);
    return *at ? 0 : -ENOMEM;
}

static int read_strings(struct tree *tree, struct reader *reader)
{
    uint32_t count = read_count(reader, 1), i;
    char *text;

    free(tree->text);
    tree->text = malloc(reader->left + 1);
    if (!tree->text || make_room(&tree->strings, count, sizeof(char *)) < 0)
        return -ENOMEM;
    text = tree->text;
    for (i = 0; i < count; i++) {
        const unsigned char *end = memchr(reader->at, '\0', reader->left);
        size_t len;

        if (!end)
            return -EBADMSG;
        len = (size_t)(end - reader->at) + 1;
        memcpy(text, reader->at, len);
        if (i > 0 && strcmp(tree->strings[i - 1], text) >= 0)
            return -EBADMSG;
        tree->strings[tree->string_count++] = text;
        text += len;
        reader->at += len;
        reader->left -= len;
    }
    return reader->failed ? -EBADMSG : 0;
}

/* Whether frame number `number` has a reason and nothing else. */
static bool is_reason(const struct tree *tree, uint32_t number)
{
    struct frame frame = tree_frame(tree, number);

    return frame.function[0] && !frame.file[0] && frame.line == 0 &&
           !frame.module[0] && frame.offset == 0;
}

static int read_frames(struct tree *tree, struct reader *reader)
{
    uint32_t count = read_count(reader, 6), i;
    uint32_t last = tree->string_count - 1;

    if (count > 0 && tree->string_count == 0)
        return -EBADMSG;
    if (make_room(&tree->frames, count, sizeof(*tree->frames)) < 0)
        return -ENOMEM;
    for (i = 0; i < count && !reader->failed; i++) {
        struct tree_frame *frame = &tree->frames[i];

        frame->function = (uint32_t)read_number(reader, last);
        frame->file = (uint32_t)read_number(reader, last);
        frame->line = (uint32_t)read_number(reader, UINT32_MAX);
        frame->module = (uint32_t)read_number(reader, last);
        frame->offset = read_number(reader, UINT64_MAX);
        frame->not_walked = read_number(reader, 1);
        frame->note = note_read(tree->strings[frame->function]);
        if (i > 0 && tree_frame_compare(frame - 1, frame) >= 0)
            return -EBADMSG;
        if (frame->not_walked && !is_reason(tree, i))
            return -EBADMSG;
        tree->frame_count++;
    }
    return reader->failed ? -EBADMSG : 0;
}

/* Read nodes in pre-order, siblings by frame. The node of tasks that could not
 * be walked is at the top level, without children. */
static int read_nodes(struct tree *tree, struct reader *reader)
{
    uint32_t last_frame[TREE_DEPTH_MAX]; /* of the last node at each depth */
    uint32_t count = read_count(reader, 2), open = 0, i;

    if (count > 0 && tree->frame_count == 0)
        return -EBADMSG;
    if (make_room(&tree->nodes, count, sizeof(*tree->nodes)) < 0)
        return -ENOMEM;
    for (i = 0; i < count && !reader->failed; i++) {
        uint32_t frame = (uint32_t)read_number(reader, tree->frame_count - 1);
        uint32_t depth = open - (uint32_t)read_number(reader, open);

        if (depth >= TREE_DEPTH_MAX ||
            (depth < open && last_frame[depth] >= frame) ||
            (depth > 0 && (tree->frames[frame].not_walked ||
                           tree->frames[last_frame[0]].not_walked)))
            return -EBADMSG;
        last_frame[depth] = frame;
        open = depth + 1;
        tree->nodes[tree->node_count++] =
            (struct tree_node){frame, depth, 1, 0};
    }
    return reader->failed ? -EBADMSG : 0;
}

/* Sets read from a packet. */
struct sets {
    struct tasks **list;
    uint32_t count;
};

static void sets_fini(struct sets *sets)
{
    for (uint32_t i = 0; i < sets->count; i++)
        tasks_free(sets->list[i]);
    free(sets->list);
}

/* Read sets; the caller frees them, even on error. */
static int read_sets(struct sets *read, struct reader *reader)
{
    uint32_t i, most = read_count(reader, 2);
    struct tasks **sets = calloc((size_t)most + 1, sizeof(struct tasks *));
    size_t size;
    int r;

    if (!sets)
        return -ENOMEM;
    read->list = sets;
    for (i = 0; i < most; i++) {
        size_t len = (size_t)read_number(reader, reader->left);

        if (reader->failed || len == 0 || len > reader->left)
            return -EBADMSG;
        r = tasks_unpack(&sets[i], reader->at, len);
        if (r < 0)
            return r;
        read->count++;
        size = tasks_size(sets[i]);
        if (size > reader->size ||
            (i > 0 && tasks_compare(sets[i - 1], sets[i]) >= 0))
            return -EBADMSG;
        reader->size -= size;
        reader->at += len;
        reader->left -= len;
    }
    return reader->failed ? -EBADMSG : 0;
}

/* Read a set by its number; NULL if it does not exist or is empty. */
static struct tasks *read_set(struct reader *reader, const struct sets *sets)
{
    uint64_t number = read_number(reader, UINT32_MAX);

    return !reader->failed && number < sets->count &&
                   !tasks_is_empty(sets->list[number])
               ? sets->list[number]
               : NULL;
}

/* Whether none of `tasks` is in an earlier end of the last end's node. */
static bool is_disjoint(const struct tree *tree, const struct tasks *tasks)
{
    const struct tree_end *last = &tree->ends[tree->end_count - 1];
    const struct tree_end *end = last;

    while (end-- > tree->ends && end->node == last->node)
        if (tasks_meet(end->tasks, tasks))
            return false;
    return true;
}

/* Read the thread ids of an end: as many as it has threads. Borrowed. Returns
 * whether they are valid. */
static bool read_tids(struct tree_end *end,
                      struct reader *reader,
                      const struct sets *tids)
{
    uint64_t number = read_number(reader, tids->count);

    end->tids = number > 0 ? tids->list[number - 1] : NULL;
    return !end->tids || tasks_count(end->tids) == end->threads;
}

/* Read ends by node; at one node the heavier ones first. */
static int read_ends(struct tree *tree,
                     struct reader *reader,
                     const struct sets *sets,
                     const struct sets *tids)
{
    uint32_t count = read_count(reader, 6), node = 0, i;

    if (count > 0 && tree->node_count == 0)
        return -EBADMSG;
    if (make_room(&tree->ends, count, sizeof(*tree->ends)) < 0)
        return -ENOMEM;
    for (i = 0; i < count; i++) {
        struct tree_end *end = &tree->ends[i];
        uint64_t threads;

        node += (uint32_t)read_number(reader, tree->node_count - 1 - node);
        end->node = node;
        end->samples = (uint32_t)read_number(reader, UINT32_MAX);
        threads = read_number(reader, 4 * (uint64_t)UINT32_MAX + 3);
        end->threads = (uint32_t)(threads / 4);
        end->polls = threads / 2 % 2;
        end->current = threads % 2;
        end->still = (uint32_t)read_number(reader, UINT32_MAX);
        end->tasks = read_set(reader, sets);
        if (!read_tids(end, reader, tids) || reader->failed || !end->tasks ||
            end->samples == 0 || end->threads == 0)
            return -EBADMSG;
        tasks_ref(end->tasks);
        tasks_ref(end->tids);
        tree->end_count++;
        if (i > 0 && end[-1].node == node &&
            (tree_end_compare(&end[-1], end) <= 0 ||
             !is_disjoint(tree, end->tasks)))
            return -EBADMSG;
    }
    return reader->failed ? -EBADMSG : 0;
}

/* Read progress in order, no task in two; `known` becomes all its tasks. */
static int read_progress(struct tree *tree,
                         struct reader *reader,
                         const struct sets *sets,
                         struct tasks **known)
{
    uint32_t count = read_count(reader, 3), i;
    int r;

    if (make_room(&tree->progress, count, sizeof(*tree->progress)) < 0)
        return -ENOMEM;
    for (i = 0; i < count; i++) {
        struct tree_progress *progress = &tree->progress[i];

        progress->moved = (uint32_t)read_number(reader, UINT32_MAX);
        progress->seen =
            progress->moved +
            (uint32_t)read_number(reader, UINT32_MAX - progress->moved);
        progress->tasks = read_set(reader, sets);
        if (reader->failed || !progress->tasks || progress->moved == 0)
            return -EBADMSG;
        tasks_ref(progress->tasks);
        tree->progress_count++;
        if (i > 0 && tree_progress_compare(progress - 1, progress) >= 0)
            return -EBADMSG;
        if (tasks_meet(*known, progress->tasks))
            return -EBADMSG;
        r = tasks_change(known, TASKS_UNION, progress->tasks);
        if (r < 0)
            return r;
    }
    return reader->failed ? -EBADMSG : 0;
}

/* Read stops in order, at most TREE_STOPS_MAX; nothing may follow them. */
static int read_stops(struct tree *tree, struct reader *reader)
{
    uint32_t count = (uint32_t)read_number(reader, TREE_STOPS_MAX), i;

    if (make_room(&tree->stops, count, sizeof(*tree->stops)) < 0)
        return -ENOMEM;
    for (i = 0; i < count && !reader->failed; i++) {
        struct tree_stop *stop = &tree->stops[i];

        stop->task = (uint32_t)read_number(reader, TASKS_MAX - 1);
        stop->us = (uint32_t)read_number(reader, UINT32_MAX);
        tree->stop_count++;
        if (i > 0 && tree_stop_compare(stop - 1, stop) >= 0)
            return -EBADMSG;
    }
    return reader->failed || reader->left > 0 ? -EBADMSG : 0;
}

/* Check that each task in an end has progress, and that each string, frame and
 * node is needed. */
static int check_tree(struct tree *tree,
                      const struct sets *sets,
                      struct tasks *known)
{
    uint32_t strings = tree->string_count, frames = tree->frame_count;
    uint32_t nodes = tree->node_count, i;
    int r;

    for (i = 0; i < sets->count; i++)
        if (!tasks_within(sets->list[i], known))
            return -EBADMSG;
    r = tree_tidy(tree);
    if (r < 0)
        return r;
    return strings == tree->string_count && frames == tree->frame_count &&
                   nodes == tree->node_count
               ? 0
               : -EBADMSG;
}

int tree_unpack(struct tree **out, const struct cop_packet *packet)
{
    struct reader reader = {0};
    struct sets sets = {NULL, 0}, tids = {NULL, 0};
    struct tasks *known = NULL;
    struct tree *tree = NULL;
    uint32_t len;
    int r;

    r = cop_packet_unpack(packet, TREE_FORMAT, &reader.at, &len);
    if (r < 0)
        return r;
    reader.left = len;
    reader.size = SETS_MAX + SETS_PER_BYTE * (uint64_t)len;
    r = tree_new(&tree, &(struct tree_size){0});
    if (r == 0)
        r = tasks_new(&known, NULL, 0);
    if (r < 0)
        goto out;
    tree->stop_ns = read_number(&reader, UINT64_MAX);
    r = read_strings(tree, &reader);
    if (r == 0)
        r = read_frames(tree, &reader);
    if (r == 0)
        r = read_nodes(tree, &reader);
    if (r == 0)
        r = read_sets(&sets, &reader);
    if (r == 0)
        r = read_sets(&tids, &reader);
    if (r == 0)
        r = read_ends(tree, &reader, &sets, &tids);
    if (r == 0)
        r = read_progress(tree, &reader, &sets, &known);
    if (r == 0)
        r = read_stops(tree, &reader);
    if (r == 0)
        r = check_tree(tree, &sets, known);
    if (r < 0)
        goto out;
    *out = tree;
    tree = NULL;
out:
    sets_fini(&sets);
    sets_fini(&tids);
    tasks_free(known);
    tree_free(tree);
    return r;
}
