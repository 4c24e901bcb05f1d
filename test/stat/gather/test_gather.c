/* test_gather.c - looks at a job while daemons freeze or are lost, in a made-up
 * network with its own clock. */

#include "stat/gather/gather.h"
#include "stat/tree/frame.h"
#include "test/check.h"
#include "test/stat/gather/world.h"

#define DAEMONS 8
#define TASKS   16

/* A look, and its results. */
struct look {
    struct gather_options options;
    uint32_t tasks;
    const char *hosts;  /* to search for processes; or NULL */
    bool dealt;         /* the tasks are dealt round two hosts */
    unsigned idles_max; /* the viewer then ends; 0: after the first look */
    unsigned looks;     /* of the viewer */
    unsigned idles;
    unsigned ends;
    char late_seen[512]; /* the last text on missing tasks for the viewer */
    struct tree *tree;   /* the answer */
    struct cop_error late, error;
    uint64_t took_ms;
};

/* All lines that the look said and showed. */
static char said[1 << 16];

static void say(const char *line)
{
    size_t len = strlen(said);

    snprintf(said + len, sizeof(said) - len, "%s\n", line);
}

/* Many processes with one rank are tasks without ranks. */
TEST(processes_with_one_rank_are_no_ranks)
{
    struct targets targets = {0};
    struct targets_facts facts = {
        .rank = {.source = RANK_PMI, .number = 7, .size = 8}, .sought = true};
    const pid_t count = 100000;

    said[0] = '\0';
    for (pid_t pid = 1; pid <= count; pid++)
        CHECK_OK(targets_add(&targets, 0, pid, &facts));
    CHECK_OK(targets_settle(&targets, say));
    CU_ASSERT_EQUAL(targets.count, (uint32_t)count);
    CU_ASSERT_FALSE(targets.ranked);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(said, "several processes have the same rank (pid 2)"));
    targets_fini(&targets);
}

static int take_look(void *arg, const struct tree *tree, const char *late)
{
    struct look *look = arg;

    CU_ASSERT(tree->end_count > 0);
    snprintf(look->late_seen, sizeof(look->late_seen), "%s", late);
    look->looks++;
    return 0;
}

static int take_idle(void *arg)
{
    struct look *look = arg;

    look->idles++;
    return look->idles_max ? look->idles == look->idles_max : look->looks > 0;
}

static void take_end(void *arg)
{
    struct look *look = arg;

    look->ends++;
}

/* A look of one sample at all tasks. */
static struct look look_new(uint32_t timeout_s)
{
    return (struct look){.tasks = TASKS,
                         .options = {.daemons = {.shape = "2x2x2"},
                                     .samples = 1,
                                     .interval_ms = 100,
                                     .timeout_ms = timeout_s * 1000,
                                     .max_stop_ms = 100,
                                     .show = say,
                                     .say = say}};
}

/* Take the look. Returns as gather_tree(). */
static int look_run(struct look *look)
{
    struct targets targets = {0};
    uint64_t begin_ms = world.now_ms;
    uint32_t host;
    int r;

    said[0] = '\0';
    if (look->hosts) {
        look->options.daemons.shape = NULL;
        CHECK_OK(targets_want(&targets, "solver", "", "", look->hosts, NULL));
    } else {
        CHECK_OK(targets_host(&targets, "", &host, NULL));
        for (uint32_t i = 0; i < look->tasks; i++) {
            if (look->dealt)
                CHECK_OK(
                    targets_host(&targets, i % 2 ? "h2" : "h1", &host, NULL));
            CHECK_OK(targets_add(&targets, host, (pid_t)i + 1, NULL));
        }
    }
    r = gather_tree(&look->tree, &targets, &look->options, &look->late,
                    &look->error);
    look->took_ms = world.now_ms - begin_ms;
    targets_fini(&targets);
    return r;
}

/* Follow the job until the viewer has been idle `idles_max` times. */
static void look_follow(struct look *look, unsigned idles_max)
{
    struct gather_viewer viewer = {take_look, take_idle, take_end, look};

    look->options.viewer = &viewer;
    look->idles_max = idles_max;
    CHECK_OK(look_run(look));
    CU_ASSERT_EQUAL(look->ends, 1);
    CU_ASSERT(world.longest_ms <= GATHER_IDLE_MS);
}

static void look_end(struct look *look)
{
    tree_free(look->tree);
    look->tree = NULL;
    world_end();
}

/* Check that the text contains the words; if not, print the end of the text. */
static void has(const char *text, const char *words)
{
    size_t len = strlen(text);

    if (!strstr(text, words))
        printf("\nno \"%s\" in ... %s\n", words,
               text + (len > 1000 ? len - 1000 : 0));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, words));
}

/* Check that the tasks in functions whose names begin with `name` are `set`. */
static void stand(const struct look *look, const char *name, const char *set)
{
    const struct tree *tree = look->tree;
    struct tasks *there = NULL;
    char text[128];

    CHECK_OK(tasks_new(&there, NULL, 0));
    for (uint32_t i = 0; i < tree->end_count; i++) {
        const struct tree_node *node = &tree->nodes[tree->ends[i].node];
        const char *here = tree->strings[tree->frames[node->frame].function];

        if (strncmp(here, name, strlen(name)) == 0)
            CHECK_OK(tasks_change(&there, TASKS_UNION, tree->ends[i].tasks));
    }
    CU_ASSERT_STRING_EQUAL(tasks_text(there, text, sizeof(text)), set);
    tasks_free(there);
}

static void three_places(const struct look *look)
{
    stand(look, "place_0", "0,3-15");
    stand(look, "place_1", "1");
    stand(look, "place_2", "2");
}

/* The tasks of daemon `rank`, as text. */
static const char *tasks_of(uint32_t rank)
{
    static char text[32];

    snprintf(text, sizeof(text), "%u-%u", 2 * rank - 2, 2 * rank - 1);
    return text;
}

#define TWO_MISSING "the answer is not whole: 2 of 16 tasks"
#define LOST        "the daemon on localhost was lost: nobody has reached it"

/* The time-out determines after which silence a node is lost. */
TEST(silence_is_a_tenth_of_the_timeout_within_limits)
{
    const uint32_t expected[][2] = {{1, 250},   {2, 250},   {3, 300},
                                    {20, 2000}, {30, 3000}, {3600, 3000}};

    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct look look = look_new(expected[i][0]);
        uint32_t silence_ms = expected[i][1];

        world_begin(DAEMONS);
        CHECK_OK(look_run(&look));
        CU_ASSERT_EQUAL(daemons_silence_ms(look.options.timeout_ms),
                        silence_ms);
        CU_ASSERT_EQUAL(world.times.failure_timeout_ms, silence_ms);
        CU_ASSERT(6 * world.times.heartbeat_ms <= silence_ms);
        CU_ASSERT_EQUAL(world.times.orphan_timeout_ms, 3 * silence_ms);
        CU_ASSERT_EQUAL(world.times.launch_timeout_ms, look.options.timeout_ms);
        CU_ASSERT_STRING_EQUAL(look.late.text, "");
        CU_ASSERT_EQUAL(look.took_ms, 0);
        three_places(&look);
        look_end(&look);
    }
}

/* If any daemon freezes between samples, all samples of the others arrive. The
 * look ends when the daemon is lost. The other daemons give the names. */
TEST(a_frozen_daemon_does_not_end_the_samples)
{
    uint32_t rank;

    for (rank = 1; rank <= DAEMONS; rank++)
        for (uint32_t sample = 1; sample < 40; sample += 6) {
            struct look look = look_new(60);
            char line[256];

            world_begin(DAEMONS);
            world.frozen = rank;
            world.frozen_ms = world.now_ms + sample * 200 - 100;
            look.options.samples = 40;
            look.options.interval_ms = 200;
            CHECK_OK(look_run(&look));
            CU_ASSERT_EQUAL(look.took_ms, sample * 200 - 100 + 18000);
            snprintf(line, sizeof(line),
                     "last seen in sample %u of 40: tasks %s: " LOST, sample,
                     tasks_of(rank));
            has(said, line);
            has(said, "sample 40 of 40");
            has(look.late.text, TWO_MISSING);
            three_places(&look);
            look_end(&look);
        }
}

/* A process may be stopped for the time of --max-stop: the wait for a sample is
 * longer than that, but limited. */
TEST(a_sample_may_take_as_long_as_max_stop)
{
    const uint32_t max_stop_ms[] = {100, 30000};

    for (size_t i = 0; i < 2; i++) {
        struct look look = look_new(60);

        world_begin(DAEMONS);
        world.frozen = DAEMONS;
        world.frozen_ms = world.now_ms + 150;
        world.held_ms = 25000;
        world.lost_ms = 1000000;
        world.is_busy = true;
        look.options.samples = 40;
        look.options.max_stop_ms = max_stop_ms[i];
        CHECK_OK(look_run(&look));
        CU_ASSERT_EQUAL(strstr(said, "sample 40 of 40") != NULL, i == 1);
        CU_ASSERT_EQUAL(look.took_ms > 25000, i == 1);
        look_end(&look);
    }
}

/* A daemon that has sent samples, and still answers, but sends no more samples,
 * is not reported as another version. */
TEST(a_daemon_that_is_late_is_not_called_another_version)
{
    struct look look = look_new(60);
    char line[256];

    world_begin(DAEMONS);
    world.frozen = DAEMONS;
    world.frozen_ms = world.now_ms + 150;
    world.lost_ms = 1000000;
    world.is_busy = true;
    look.options.samples = 40;
    CHECK_OK(look_run(&look));
    snprintf(line, sizeof(line),
             "last seen in sample 2 of 40: tasks %s: the daemon on localhost "
             "lives, but has sent no later sample",
             tasks_of(DAEMONS));
    has(said, line);
    CU_ASSERT_PTR_NULL(strstr(said, "same version"));
    look_end(&look);
}

/* A watch counts time: a sample may take longer than the interval. */
TEST(a_watch_counts_time_and_not_samples)
{
    struct look look = look_new(60);

    world_begin(DAEMONS);
    world.slow_ms = 2000;
    look.options.watch_ms = 5000;
    CHECK_OK(look_run(&look));
    CU_ASSERT_EQUAL(look.took_ms, 6000);
    has(said, "nothing has moved for 6.0 s");
    look_end(&look);
}

/* A watch ends when the other tasks have not moved for the given time, not at
 * the time-out, whether the frozen daemon is lost before that or after. */
TEST(a_watch_goes_on_without_a_frozen_daemon)
{
    const uint64_t moves_ms[] = {0, 15000, 30000};

    for (size_t i = 0; i < 3; i++) {
        uint64_t still_ms = moves_ms[i] + 10000;
        struct look look = look_new(60);

        world_begin(DAEMONS);
        world.frozen = DAEMONS;
        world.frozen_ms = world.now_ms + 50;
        world.moves_ms = world.now_ms + moves_ms[i];
        look.options.watch_ms = 10000;
        CHECK_OK(look_run(&look));
        CU_ASSERT_EQUAL(look.took_ms, still_ms > 18050 ? still_ms : 18050);
        has(said, "nothing has moved for 10.0 s");
        has(said, "last seen in sample 1 of ");
        has(look.late.text, TWO_MISSING);
        CU_ASSERT_EQUAL(world.stops, 1);
        three_places(&look);
        look_end(&look);
    }
}

/* A watch of a task that always moves ends at the time-out. */
TEST(a_watch_ends_at_its_timeout)
{
    struct look look = look_new(60);

    world_begin(DAEMONS);
    world.moves_ms = UINT64_MAX;
    look.options.watch_ms = 10000;
    CHECK_OK(look_run(&look));
    CU_ASSERT_EQUAL(look.took_ms, 60000);
    CU_ASSERT_EQUAL(world.stops, 1);
    CU_ASSERT_STRING_EQUAL(look.late.text, "");
    look_end(&look);
}

/* If a daemon freezes before its first answer, after joining or at the request,
 * only that daemon is missing, with any time-out. (A time-out of 1 s is too
 * short to open the stream without the daemon.) */
TEST(a_daemon_frozen_before_its_answer_is_missing_alone)
{
    const uint32_t timeouts_s[] = {1, 2, 8, 20, 32, 60, 120, 240};
    const uint64_t times_ms[] = {1, WORLD_ASKED};

    for (size_t i = 0; i < sizeof(timeouts_s) / sizeof(timeouts_s[0]); i++)
        for (size_t k = i > 0 ? 0 : 1; k < 2; k++) {
            struct look look = look_new(timeouts_s[i]);

            world_begin(DAEMONS);
            world.now_ms = 1;
            world.frozen = 3;
            world.frozen_ms = times_ms[k];
            CHECK_OK(look_run(&look));
            CU_ASSERT_EQUAL(look.took_ms,
                            6 * daemons_silence_ms(look.options.timeout_ms));
            has(look.late.text, TWO_MISSING);
            stand(&look, LOST, "4-5");
            stand(&look, "place_0", "0,3,6-15");
            look_end(&look);
        }
}

/* The same if the daemon is not lost before the time-out: the look ends at the
 * time-out and gives it as the reason. */
TEST(a_daemon_that_does_not_answer_in_time_is_missing)
{
    struct look look = look_new(30);

    world_begin(DAEMONS);
    world.frozen = 3;
    world.frozen_ms = WORLD_ASKED;
    world.held_ms = 6000;
    world.lost_ms = 60000;
    CHECK_OK(look_run(&look));
    CU_ASSERT_EQUAL(look.took_ms, 30000);
    has(look.late.text, TWO_MISSING);
    stand(&look, "no answer from the daemon on localhost in 30 s", "4-5");
    stand(&look, "place_0", "0,3,6-15");
    look_end(&look);
}

/* When the only daemon is lost, the look waits neither for the next sample nor
 * for the time-out. */
TEST(the_loss_of_the_only_daemon_ends_the_samples)
{
    const uint32_t watch_ms[] = {0, 3600000};

    for (size_t i = 0; i < 2; i++) {
        struct look look = look_new(3600);

        world_begin(1);
        world.frozen = 1;
        world.frozen_ms = world.now_ms + 500;
        world.lost_ms = 1; /* it was killed */
        look.tasks = 4;
        look.options.samples = 100;
        look.options.watch_ms = watch_ms[i];
        look.options.interval_ms = 3600000;
        CHECK_OK(look_run(&look));
        CU_ASSERT_EQUAL(look.took_ms, 501);
        has(said, "the daemon on localhost was lost: its 4 processes are not "
                  "looked at any more");
        has(look.late.text, "the answer is not whole: 4 of 4 tasks");
        stand(&look, "ring+0x1", "1"); /* no daemon is left to give names */
        look_end(&look);
    }
}

/* Each sample restarts the time-out. */
TEST(many_samples_may_take_longer_than_the_timeout)
{
    struct look look = look_new(2);

    world_begin(DAEMONS);
    look.options.samples = 100;
    CHECK_OK(look_run(&look));
    CU_ASSERT_EQUAL(look.took_ms, 9900);
    has(said, "sample 100 of 100");
    CU_ASSERT_STRING_EQUAL(look.late.text, "");
    look_end(&look);
}

/* Addresses whose names do not arrive in time stay without names. */
TEST(names_are_waited_for_until_the_timeout)
{
    struct look look = look_new(30);

    world_begin(DAEMONS);
    world.is_mute = true;
    CHECK_OK(look_run(&look));
    CU_ASSERT_EQUAL(look.took_ms, 30000);
    CU_ASSERT_EQUAL(world.questions, 1);
    has(look.late.text, "some addresses stay without names: no answer in time");
    stand(&look, "ring+0x1", "1");
    look_end(&look);
}

/* Tasks that are dealt round their hosts keep their numbers. */
TEST(tasks_dealt_round_keep_their_numbers)
{
    struct look look = look_new(30);

    world_begin(2);
    look.dealt = true;
    look.options.daemons.shape = NULL;
    CHECK_OK(look_run(&look));
    CU_ASSERT_STRING_EQUAL(look.late.text, "");
    stand(&look, "place_1", "1");
    stand(&look, "place_2", "2");
    stand(&look, "place_0", "0,3-15");
    look_end(&look);
}

/* Late names delay the next picture by two seconds at most. */
TEST(a_picture_waits_two_seconds_for_names)
{
    struct look look = look_new(30);

    world_begin(DAEMONS);
    world.is_mute = true;
    look_follow(&look, 0);
    CU_ASSERT_EQUAL(look.looks, 1);
    CU_ASSERT_EQUAL(look.took_ms, 2000 + 2000); /* also the last picture */
    look_end(&look);
}

/* If a daemon is lost before it lists its processes, the look names its host,
 * does not wait for it, and looks at the processes of the other hosts. */
TEST(a_host_that_does_not_find_its_processes_is_named)
{
    struct look look = look_new(30);

    world_begin(3);
    world.frozen = 2;
    world.frozen_ms = WORLD_ASKED;
    look.hosts = "h[1-3]";
    CHECK_OK(look_run(&look));
    CU_ASSERT(look.took_ms < 30000); /* not the whole time-out */
    has(said, "h2: its processes are not known: its daemon was lost: ");
    CU_ASSERT(look.late.text[0] != '\0');
    stand(&look, "place_", "0-1");
    look_end(&look);
}

/* Samples that arrive without a pause do not keep the viewer from reading keys:
 * the viewer is idle after each sample. */
TEST(each_packet_lets_keys_be_heard)
{
    struct look look = look_new(30);

    world_begin(1);
    world.hurried = true;
    look_follow(&look, 3);
    CU_ASSERT_EQUAL(look.idles, 3);
    CU_ASSERT_EQUAL(world.received, 3);
    CU_ASSERT_EQUAL(world.stops, 1);
    CU_ASSERT_STRING_EQUAL(look.late.text, "");
    look_end(&look);
}

/* Nor do such samples delay the picture, which is drawn once a second. */
TEST(something_is_shown)
{
    struct look look = look_new(30);

    world_begin(1);
    world.hurried = true;
    look_follow(&look, 0);
    CU_ASSERT_EQUAL(look.looks, 1);
    CU_ASSERT_EQUAL(world.received, 1000);
    CU_ASSERT_EQUAL(world.stops, 1);
    look_end(&look);
}

/* Samples that arrive together make one picture. Without a sample there is no
 * picture, but the viewer is idle. */
TEST(each_pause_shows_what_came)
{
    struct look look = look_new(30);

    world_begin(2);
    world.frozen = 2;
    world.frozen_ms = world.now_ms + 50;
    world.held_ms = 1000; /* samples 2 to 11 are late, and arrive together */
    world.lost_ms = 1000000;
    /* One pause of 50 ms, and one idle, for each sample and half a sample. */
    look_follow(&look, 21 + 11);
    CU_ASSERT_EQUAL(world.received, 11);
    CU_ASSERT_EQUAL(look.looks, 2);
    CU_ASSERT_EQUAL(look.idles, 32);
    CU_ASSERT_EQUAL(world.stops, 1);
    look_end(&look);
}

/* The end of the network ends the look, which reports the end. */
TEST(the_end_is_told)
{
    struct look look = look_new(30);

    world_begin(1);
    world.ends_ms = world.now_ms + 70;
    look_follow(&look, 100);
    CU_ASSERT_EQUAL(look.looks, 1);
    CU_ASSERT_EQUAL(world.stops, 0);
    has(look.late.text, "following has ended: ");
    look_end(&look);
}

/* The loss of the last daemon ends the look at once, and is shown. */
TEST(the_loss_of_all_is_told)
{
    struct look look = look_new(30);

    world_begin(1);
    world.frozen = 1;
    world.frozen_ms = world.now_ms + 120;
    world.lost_ms = 1;
    look_follow(&look, 100);
    CU_ASSERT_EQUAL(world.received, 2);
    CU_ASSERT_EQUAL(look.looks, 3);
    CU_ASSERT_EQUAL(look.took_ms, 121);
    has(said, "no daemon is left");
    has(said, "its 16 processes are not looked at any more: nobody has");
    has(look.late_seen, "the answer is not whole: 16 of 16 tasks");
    look_end(&look);
}

/* A frozen daemon is missing from the picture as soon as the samples of the
 * others arrive; it is lost much later. */
TEST(a_frozen_daemon_is_missing_from_the_picture)
{
    struct look look = look_new(30);

    world_begin(DAEMONS);
    world.frozen = 2;
    world.frozen_ms = world.now_ms + 50;
    look_follow(&look, 200);
    CU_ASSERT(look.took_ms < 60000);
    has(look.late_seen, TWO_MISSING);
    has(said, "node 2 (h2) may be lost: ");
    has(said, "tasks 2-3: the daemon on localhost is silent");
    look_end(&look);
}

/* If no sample arrives, the look reports that once: after the time in which a
 * sample would arrive even with a frozen daemon. */
TEST(a_long_silence_is_told_once)
{
    struct look look = look_new(20);
    const char *line;

    world_begin(1);
    world.frozen = 1;
    world.frozen_ms = world.now_ms + 50;
    look.tasks = 4;
    look_follow(&look, 300);
    line = strstr(said, "no sample for 7 s");
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT_PTR_NULL(strstr(line + 1, "no sample for"));
    look_end(&look);
}

int main(void)
{
    setenv("COPPICE_STATD", "/bin/true", 1);
    return check_run("gather");
}
