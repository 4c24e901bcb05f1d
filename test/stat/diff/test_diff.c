/* test_diff.c - looks that are read from files, and differences between two. */
#include <errno.h>

#include "stat/diff/comparison.h"
#include "stat/diff/diff.h"
#include "stat/diff/look.h"
#include "stat/show/columns.h"
#include "stat/show/report.h"
#include "stat/tree/frame.h"
#include "stat/write/output.h"
#include "test/check.h"
#include "test/stat/random.h"
#include "test/stat/trees.h"

/* The parts of a valid look. */
#define HEAD                                                                   \
    "{\"format\":\"coppice-stat\",\"version\":1,\"tasks\":3,"                  \
    "\"host_count\":1,\"samples\":1,\"stopped_ns\":5,\"full\":false,"
#define SETS   "\"sets\":[\"\",\"0\",\"1-2\",\"0-2\",\"0-4:2\"],"
#define FRAMES "\"frames\":[{\"function\":\"main\"},{\"function\":\"f\"}],"
#define NODES                                                                  \
    "\"nodes\":[{\"frame\":0,\"depth\":0,\"set\":3,\"ends\":["                 \
    "{\"set\":1,\"samples\":1,\"threads\":1}]},"                               \
    "{\"frame\":1,\"depth\":1,\"set\":2,\"ends\":["                            \
    "{\"set\":2,\"samples\":1,\"threads\":1}]}],"
#define TAIL                                                                   \
    "\"classes\":[],\"not_walked\":[],\"missing\":0,"                          \
    "\"hosts\":[{\"name\":\"n\",\"set\":3,\"pids\":[7,8,9]}]}"

/* Read `len` bytes of text as a look. */
static int read_bytes(struct look **look,
                      const char *text,
                      size_t len,
                      struct cop_error *error)
{
    FILE *file = fmemopen((void *)text, len, "r");
    int r;

    CU_ASSERT_FATAL(file != NULL);
    error->text[0] = '\0';
    r = look_read(look, file, "look", error);
    fclose(file);
    return r;
}

static int read_look(struct look **look, const char *text)
{
    struct cop_error error;

    return read_bytes(look, text, strlen(text), &error);
}

/* Check that `text` is refused, and that the message contains `reason`. */
static void check_refused(const char *text, const char *reason)
{
    struct look *look = NULL;
    struct cop_error error;

    CHECK_IS(read_bytes(&look, text, strlen(text), &error), -EINVAL);
    CU_ASSERT_PTR_NULL(look);
    if (!strstr(error.text, reason))
        printf("\n\"%s\" has no \"%s\"\n", error.text, reason);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, reason));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "look"));
}

/* The parts together are a valid look. With an error in any part the look is
 * refused, and the message names the place. */
TEST(what_contradicts_itself_is_refused)
{
    struct look *look;

    CHECK_OK(read_look(&look, HEAD SETS FRAMES NODES TAIL));
    CU_ASSERT_EQUAL(look->tasks, 3);
    CU_ASSERT_EQUAL(look->targets.pids[2], 9);
    CU_ASSERT_EQUAL(look->tree->node_count, 2);
    look_free(look);
    check_refused("", "not JSON");
    check_refused("[1]", "format");
    check_refused("{\"format\":\"coppice-stat\"}", "version");
    check_refused("{\"format\":\"coppice-stat\",\"version\":7}", "version 7");
    check_refused("{\"format\":\"coppice-stat\",\n\"version\":\n1,}", "look:3");
    check_refused("{\"format\":\"coppice-stat\",\"version\":"
                  "99999999999999999999}",
                  "too big");
    check_refused(HEAD "\"sets\":[\"3-1\"]}", "sets[0]");
    check_refused(HEAD "\"sets\":[\"0-3,2\"]}", "sets[0]");
    check_refused(HEAD "\"sets\":[\"0-3,\"]}", "sets[0]");
    check_refused(HEAD "\"sets\":[\"\",\"0-3:2\"]}", "sets[1]");
    check_refused(HEAD "\"sets\":[\"16777216\"]}", "sets[0]");
    check_refused(HEAD "\"sets\":[3]}", "sets[0]");
    check_refused(HEAD SETS "\"frames\":[{\"function\":\"\xff\"}]}", "0xff");
    check_refused(HEAD SETS "\"frames\":[{\"function\":\"a\\u0000b\"}]}",
                  "not JSON");
    check_refused(HEAD SETS "\"frames\":[{}]}", "frames[0].function");
    check_refused(HEAD SETS "\"frames\":[],\"nodes\":[{\"frame\":0,"
                            "\"depth\":0}]}",
                  "no frames");
    check_refused(HEAD SETS FRAMES "\"nodes\":[{\"frame\":0,\"depth\":1,"
                                   "\"set\":3}]}",
                  "nodes[0].depth");
    check_refused(HEAD SETS FRAMES "\"nodes\":[{\"frame\":2,\"depth\":0,"
                                   "\"set\":3}]}",
                  "nodes[0].frame");
    check_refused(HEAD SETS FRAMES "\"nodes\":[{\"frame\":0,\"depth\":0,"
                                   "\"set\":9}]}",
                  "nodes[0].set");
    check_refused(HEAD SETS FRAMES
                  "\"nodes\":[{\"frame\":0,\"depth\":0,\"set\":3,\"ends\":["
                  "{\"set\":3,\"samples\":1,\"threads\":1},"
                  "{\"set\":1,\"samples\":1,\"threads\":1}]}]}",
                  "nodes[0].ends[1].set");
}

/* A file that keeps the format but contradicts itself is refused. */
TEST(what_does_not_add_up_is_refused)
{
    /* The set of a node is more, or less, than its ends add up to. */
    check_refused(HEAD SETS FRAMES
                  "\"nodes\":[{\"frame\":0,\"depth\":0,\"set\":3,\"ends\":["
                  "{\"set\":1,\"samples\":1,\"threads\":1}]}]}",
                  "nodes[0].set");
    check_refused(HEAD SETS FRAMES
                  "\"nodes\":[{\"frame\":0,\"depth\":0,\"set\":1,\"ends\":["
                  "{\"set\":3,\"samples\":1,\"threads\":1}]}]}",
                  "nodes[0].set");
    check_refused(HEAD SETS FRAMES
                  "\"nodes\":[{\"frame\":0,\"depth\":0,\"set\":1,\"ends\":["
                  "{\"set\":1,\"samples\":1,\"threads\":1}]}]}",
                  "tasks: 3");
    check_refused(HEAD SETS FRAMES NODES "\"missing\":2,\"hosts\":[]}",
                  "missing");
    check_refused(HEAD SETS FRAMES NODES
                  "\"missing\":0,\"hosts\":[{\"name\":\"n\",\"set\":3,"
                  "\"pids\":[7,8]}]}",
                  "hosts[0].pids");
    check_refused(HEAD SETS FRAMES NODES
                  "\"missing\":0,\"hosts\":[{\"name\":\"n\",\"set\":3,"
                  "\"pids\":[7,8,0]}]}",
                  "hosts[0].pids[2]");
    check_refused(HEAD SETS FRAMES NODES
                  "\"missing\":0,\"hosts\":[{\"name\":\"n\",\"set\":1,"
                  "\"pids\":[7]}]}",
                  "task 1 is on none");
    check_refused(HEAD SETS FRAMES NODES
                  "\"missing\":0,\"hosts\":[{\"name\":\"n\",\"set\":3,"
                  "\"pids\":[7,8,9]},{\"name\":\"m\",\"set\":1,"
                  "\"pids\":[7]}]}",
                  "hosts[1].set: task 0");
    /* "progress" must have each task once, and no impossible numbers. */
    check_refused(HEAD SETS FRAMES NODES "\"progress\":[]," TAIL, "progress");
    check_refused(HEAD SETS FRAMES NODES
                  "\"progress\":[{\"set\":1,\"moved\":1,\"seen\":1},"
                  "{\"set\":3,\"moved\":2,\"seen\":2}]," TAIL,
                  "progress[1].set");
    check_refused(HEAD SETS FRAMES NODES
                  "\"progress\":[{\"set\":3,\"moved\":2,\"seen\":1}]," TAIL,
                  "progress[0].moved");
    check_refused(HEAD SETS FRAMES NODES "\"moved\":[7]," TAIL, "moved[0]");
    check_refused(HEAD SETS FRAMES NODES
                  "\"moved\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]," TAIL,
                  "moved: more than");
    check_refused(HEAD SETS FRAMES NODES
                  "\"classes\":[{\"never_left\":2}],\"missing\":0,"
                  "\"hosts\":[]}",
                  "classes[0].never_left");
    check_refused(HEAD SETS FRAMES NODES
                  "\"without_rank\":[{\"name\":\"tee\",\"host\":\"-x\","
                  "\"pid\":1,\"helper\":false}]," TAIL,
                  "without_rank[0].host");
}

/* Deeply nested values are refused, and files that end too early. */
TEST(cut_and_nested_files_are_refused)
{
    static const char whole[] = HEAD SETS FRAMES NODES TAIL;
    static char nested[200000];
    struct look *look = NULL;
    struct cop_error error;

    for (size_t len = 1; len < sizeof(whole) - 1; len++)
        CHECK_IS(read_bytes(&look, whole, len, &error), -EINVAL);
    memset(nested, '[', sizeof(nested));
    CHECK_IS(read_bytes(&look, nested, sizeof(nested), &error), -EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "depth"));
}

/* A made-up job in `*tree`: task t ends in function (t * step) % functions. */
static struct tree *job(uint32_t tasks, uint32_t step, uint32_t functions)
{
    char name[16];
    struct frame frames[] = {{"main", "m.c", 1, "", 0, false},
                             {name, "m.c", 2, "", 0, false}};
    struct traces *traces;

    CHECK_OK(traces_new(&traces));
    for (uint32_t task = 0; task < tasks; task++) {
        snprintf(name, sizeof(name), "f%u", task * step % functions);
        CHECK_OK(traces_add(traces, task, frames, 2));
    }
    return tree_of(traces);
}

/* `tree` as JSON; the caller frees the text. */
static char *written(const struct tree *tree, const struct targets *targets)
{
    struct report_source source = {
        .targets = targets, .hosts = 1, .samples = 1, .taken_s = 1000};
    struct report *report;
    char *text = NULL;
    size_t len;
    FILE *file;

    CHECK_OK(report_new(&report, tree, &source));
    file = open_memstream(&text, &len);
    CU_ASSERT_FATAL(file != NULL);
    CHECK_OK(json_write(file, report));
    fclose(file);
    report_free(report);
    return text;
}

/* A look keeps its tree and its text when it is written and read again. */
TEST(looks_round_trip)
{
    struct targets targets = {0};
    struct tree *tree = job(40, 7, 9);
    struct look *look;
    char *text, *again;
    uint32_t host;

    for (uint32_t i = 0; i < 40; i++) {
        CHECK_OK(
            targets_host(&targets, i % 3 ? "node1" : "node2", &host, NULL));
        CHECK_OK(targets_add(&targets, host, (pid_t)(100 + i), NULL));
    }
    targets.ranked = true;
    tree->stop_ns = 1;
    text = written(tree, &targets);
    CHECK_OK(read_look(&look, text));
    CU_ASSERT(tree_equal(look->tree, tree));
    CU_ASSERT_EQUAL(look->taken_s, 1000);
    CU_ASSERT(look->targets.ranked);
    again = written(look->tree, &look->targets);
    CU_ASSERT_STRING_EQUAL(text, again);
    free(text);
    free(again);
    look_free(look);
    tree_free(tree);
    targets_fini(&targets);
}

/* A look at a made-up job, written and read. */
static struct look *made_up(uint32_t tasks, uint32_t step, uint32_t functions)
{
    struct tree *tree = job(tasks, step, functions);
    char *text = written(tree, NULL);
    struct look *look;

    CHECK_OK(read_look(&look, text));
    tree_free(tree);
    free(text);
    return look;
}

/* Give a look processes: task t is pid first + t * step on one host. */
static void give_pids(struct look *look, int32_t first, int32_t step)
{
    uint32_t host;

    targets_fini(&look->targets);
    look->targets = (struct targets){0};
    CHECK_OK(targets_host(&look->targets, "n", &host, NULL));
    for (uint32_t task = 0; task < look->tasks; task++)
        CHECK_OK(targets_add(&look->targets, host,
                             (pid_t)(first + (int32_t)task * step), NULL));
}

/* A comparison task by task finds the same moved and unchanged tasks. */
TEST(moves_are_those_of_each_task)
{
    uint64_t seed = 17;

    for (unsigned round = 0; round < 40; round++) {
        uint32_t tasks = 1 + random_below(&seed, 60);
        uint32_t functions = 1 + random_below(&seed, 9);
        uint32_t step_a = random_below(&seed, 9);
        uint32_t step_b = random_below(&seed, 9);
        struct look *a = made_up(tasks, step_a, functions);
        struct look *b = made_up(tasks, step_b, functions);
        uint32_t same = 0, in_moves = 0, task;
        struct cop_error error;
        struct diff *diff;

        CHECK_OK(diff_new(&diff, a, b, &error));
        for (task = 0; task < tasks; task++)
            same += task * step_a % functions == task * step_b % functions;
        CU_ASSERT_EQUAL(tasks_count(diff->unchanged), same);
        CU_ASSERT_EQUAL(tasks_count(diff->moved), tasks - same);
        for (size_t i = 0; i < diff->move_count; i++) {
            CU_ASSERT(diff->moves[i].from != diff->moves[i].to);
            in_moves += tasks_count(diff->moves[i].tasks);
        }
        CU_ASSERT_EQUAL(in_moves, tasks - same);
        diff_free(diff);
        look_free(a);
        look_free(b);
    }
}

/* Looks of an older version have files without folders: the same file. */
TEST(files_without_folders_are_those_with)
{
    static const char *const texts[] = {
        HEAD SETS "\"frames\":[{\"function\":\"main\",\"file\":\"t.py\"},"
                  "{\"function\":\"f\",\"file\":\"t.py\"}]," NODES TAIL,
        HEAD SETS "\"frames\":[{\"function\":\"main\",\"file\":\"/x/t.py\"},"
                  "{\"function\":\"f\",\"file\":\"/x/t.py\"}]," NODES TAIL,
        HEAD SETS "\"frames\":[{\"function\":\"main\",\"file\":\"/x/t.py\"},"
                  "{\"function\":\"f\",\"file\":\"/y/t.py\"}]," NODES TAIL};
    static const uint32_t same[3][3] = {{3, 3, 3}, {3, 3, 1}, {3, 1, 3}};

    for (int i = 0; i < 9; i++) {
        struct look *a, *b;
        struct cop_error error;
        struct diff *diff;

        CHECK_OK(read_look(&a, texts[i / 3]));
        CHECK_OK(read_look(&b, texts[i % 3]));
        CHECK_OK(diff_new(&diff, a, b, &error));
        CU_ASSERT_EQUAL(tasks_count(diff->unchanged), same[i / 3][i % 3]);
        diff_free(diff);
        look_free(a);
        look_free(b);
    }
}

/* Without ranks, a task is identified by its process; with ranks, by its rank.
 */
TEST(tasks_are_processes_or_ranks)
{
    struct look *a = made_up(10, 1, 10);
    struct look *b = made_up(10, 1, 10);
    struct cop_error error;
    struct diff *diff;
    char text[64];

    give_pids(a, 100, 1);
    give_pids(b, 109, -1);
    CHECK_OK(diff_new(&diff, a, b, &error));
    /* Task t of A is task 9-t of B, at another place. */
    CU_ASSERT_EQUAL(tasks_count(diff->moved), 10);
    CU_ASSERT_EQUAL(diff->numbers[DIFF_B][3], 6);
    CU_ASSERT_EQUAL(diff_pid(diff, 3), 103);
    diff_free(diff);
    a->targets.ranked = true;
    b->targets.ranked = true;
    CHECK_OK(diff_new(&diff, a, b, &error));
    CU_ASSERT_EQUAL(tasks_count(diff->unchanged), 10);
    diff_free(diff);
    /* Half of the processes are other ones. */
    b->targets.ranked = false;
    give_pids(b, 105, 1);
    CHECK_OK(diff_new(&diff, a, b, &error));
    CU_ASSERT_EQUAL(diff->count, 15);
    CU_ASSERT_STRING_EQUAL(tasks_text(diff->vanished, text, 64), "0-4");
    CU_ASSERT_STRING_EQUAL(tasks_text(diff->appeared, text, 64), "10-14");
    CU_ASSERT_STRING_EQUAL(tasks_text(diff->moved, text, 64), "5-9");
    diff_free(diff);
    give_pids(b, 200, 1);
    CHECK_IS(diff_new(&diff, a, b, &error), -EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "different runs"));
    b->targets.pids[3] = 201;
    CHECK_IS(diff_new(&diff, a, b, &error), -EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "twice"));
    look_free(a);
    look_free(b);
}

/* A task that could not be looked at is unknown: not moved, not unchanged. */
TEST(what_was_not_seen_is_not_known)
{
    struct frame bad[] = {FRAME_NOT_WALKED("gone")};
    struct frame good[] = {{"f0", "m.c", 2, "", 0, false}};
    struct look *a = made_up(3, 0, 1);
    struct cop_error error;
    struct traces *traces;
    struct look *b;
    struct diff *diff;
    char text[64];

    CHECK_OK(traces_new(&traces));
    CHECK_OK(traces_add(traces, 0, good, 1));
    CHECK_OK(traces_add(traces, 1, bad, 1));
    b = calloc(1, sizeof(*b));
    CU_ASSERT_FATAL(b != NULL);
    b->tree = tree_of(traces);
    b->tasks = 3;
    CHECK_OK(tree_tasks(&b->everyone, b->tree));
    CHECK_OK(tasks_new(&b->missing, &(struct tasks_range){2, 2}, 1));
    CHECK_OK(diff_new(&diff, a, b, &error));
    CU_ASSERT_STRING_EQUAL(tasks_text(diff->unknown, text, 64), "1-2");
    CU_ASSERT_STRING_EQUAL(tasks_text(diff->moved, text, 64), "0");
    CU_ASSERT_EQUAL_FATAL(diff->gap_count, 2);
    CU_ASSERT_STRING_EQUAL(tasks_text(diff->gaps[1].tasks, text, 64), "1");
    CU_ASSERT_STRING_EQUAL(diff->gaps[1].reason, "gone");
    CU_ASSERT_EQUAL(diff->move_count, 1);
    diff_free(diff);
    look_free(a);
    look_free(b);
}

/* The member "not_walked" of its frame marks a task that could not be walked,
 * in older files the name of its function. Such a task has only one frame. */
TEST(not_walked_is_read)
{
    static const char *const frames[] = {
        "{\"function\":\"[not walked: no [such] process]\"}",
        ("{\"function\":\"[not walked: no [such] process]\","
         "\"not_walked\":true}"),
        "{\"function\":\"no [such] process\",\"not_walked\":true}",
    };
    char text[1024];

    for (size_t i = 0; i < 3; i++) {
        struct look *look;

        snprintf(text, sizeof(text),
                 HEAD SETS
                 "\"frames\":[%s],\"nodes\":[{\"frame\":0,\"depth\":0,"
                 "\"set\":3,\"ends\":[{\"set\":3,\"samples\":1,"
                 "\"threads\":1}]}]," TAIL,
                 frames[i]);
        CHECK_OK(read_look(&look, text));
        CU_ASSERT(tree_is_not_walked(look->tree, 0));
        CU_ASSERT_STRING_EQUAL(tree_function(look->tree, 0),
                               "no [such] process");
        look_free(look);
        snprintf(text, sizeof(text),
                 HEAD SETS "\"frames\":[%s,{\"function\":\"f\"}],"
                           "\"nodes\":[{\"frame\":0,\"depth\":0,\"set\":3},"
                           "{\"frame\":1,\"depth\":1,\"set\":3,\"ends\":["
                           "{\"set\":3,\"samples\":1,\"threads\":1}]}]," TAIL,
                 frames[i]);
        check_refused(text, "nodes[1].frame");
    }
}

/* `diff` as text of `width` columns; the caller frees it. */
static char *drawn(const struct diff *diff, unsigned width, bool colour)
{
    static const char *const names[] = {
        "/a/long/\033]0;path/of/a/file/before.json", "after\033[2J.json"};
    struct render_options options = {.width = width, .colour = colour};
    char *text = NULL;
    size_t len;
    FILE *file;

    file = open_memstream(&text, &len);
    CU_ASSERT_FATAL(file != NULL);
    CHECK_OK(diff_picture_write(file, diff, names, &options));
    fclose(file);
    return text;
}

/* No line is wider than the terminal. Each mark is there without colours. A
 * thousand moves do not take a thousand lines. */
TEST(lines_fit_at_every_width)
{
    static const unsigned widths[] = {40, 60, 80, 200};
    struct look *a = made_up(2000, 1, 1000);
    struct look *b = made_up(2000, 3, 999);
    unsigned lines;
    struct cop_error error;
    struct diff *diff;
    char *text, *line;

    CHECK_OK(diff_new(&diff, a, b, &error));
    CU_ASSERT(diff->move_count > 900);
    for (unsigned i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        text = drawn(diff, widths[i], true);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "\033[38;5;"));
        free(text);
        text = drawn(diff, widths[i], false);
        CU_ASSERT_PTR_NULL(strchr(text, '\033'));
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n= main"));
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n~ "));
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n- "));
        CU_ASSERT_PTR_NOT_NULL(strstr(text, " more moves: --json"));
        lines = 0;
        for (line = text; *line; line += strlen(line) + 1) {
            line[strcspn(line, "\n")] = '\0';
            CU_ASSERT(columns_of(line) <= widths[i]);
            CU_ASSERT(line[strlen(line) - 1] != ' ');
            lines++;
        }
        CU_ASSERT(lines < 200);
        free(text);
    }
    diff_free(diff);
    look_free(a);
    look_free(b);
}
