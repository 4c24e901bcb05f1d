/* perturbation.c - kill commnodes while back-ends send, and measure the effect
 * at the front-end. The macro-benchmark of the dissertation's chapter 8. */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench/census.h"
#include "bench/duel.h"
#include "bench/family.h"
#include "bench/machine.h"
#include "bench/pulse.h"

/* The longest interval that is measured before and after a kill. */
#define WINDOW_S 10

/* The first packet must arrive within this time. */
#define FIRST_MS 60000

#define RATE_MAX 100000

/* The longest trial whether the machine carries CARRIED of the rate. If not,
 * SHARE of what it carried is sent, and measuring begins after SETTLE_S, when
 * the queues are empty. */
#define TRIAL_S  5
#define CARRIED  0.95
#define SHARE    0.7
#define SETTLE_S 5

struct choice {
    struct shape shape;
    const char *rates; /* with commas between */
    unsigned every_s;
    unsigned kills;
    const char *output; /* how the names of the files begin */
};

/* One run. Times are in seconds since the first packet. */
struct run {
    const struct choice *choice;
    uint32_t asked; /* packets per second of each back-end */
    uint32_t rate;  /* the same, as far as this machine carries it */
    double carried; /* waves per second when they were asked for */
    struct census *census;
    pid_t *commnodes; /* those that live */
    size_t commnode_count;
    double start_s;
    struct sample arrivals; /* of waves */
    struct sample kills;
    struct sample adopted; /* when the last orphan of each kill was adopted,
                              from the kill; NAN if no adoption was reported */
};

static double run_age_s(const struct run *run)
{
    return duel_now_s() - run->start_s;
}

/* ---- the run ------------------------------------------------------------- */

static int find_commnodes(struct run *run)
{
    struct family family;
    int r = family_read(&family, getpid());

    if (r == 0) {
        run->commnodes = calloc(family.count + 1, sizeof(*run->commnodes));
        r = run->commnodes ? 0 : -ENOMEM;
    }
    for (size_t i = 0; r == 0 && i < family.count; i++)
        if (family.list[i].child_count > 0)
            run->commnodes[run->commnode_count++] = family.list[i].pid;
    if (r == 0 && run->commnode_count < run->choice->kills) {
        warnx("there are %zu commnodes to kill", run->commnode_count);
        r = -EINVAL;
    }
    family_fini(&family);
    return r;
}

static int kill_one(struct run *run)
{
    size_t i = (size_t)rand() % run->commnode_count;
    pid_t pid = run->commnodes[i];
    int r;

    run->commnodes[i] = run->commnodes[--run->commnode_count];
    r = sample_add(&run->kills, run_age_s(run));
    if (r == 0)
        r = sample_add(&run->adopted, (double)NAN);
    if (r == 0 && kill(pid, SIGKILL) < 0)
        r = -errno;
    return r;
}

/* Take the queued events: adoptions after the last kill. */
static void take_events(struct run *run)
{
    struct cop_event event = COP_EVENT_INIT;
    size_t kills = run->kills.count;

    while (cop_network_event(run->census->network, &event, 0) == 0)
        if (event.type == COP_EVENT_NODE_ADOPTED && kills > 0)
            run->adopted.values[kills - 1] =
                run_age_s(run) - run->kills.values[kills - 1];
}

/* Waves that have come; compensations are none. */
static uint32_t wave_count(const struct run *run)
{
    return run->census->right + run->census->wrong;
}

/* Take what comes until `until_s`. */
static int take_until(struct run *run, double until_s)
{
    double left_s = until_s - run_age_s(run);
    bool right;
    int r = 0;

    while (r == 0 && left_s > 0) {
        uint32_t before = wave_count(run);

        r = census_take(run->census, (int)ceil(left_s * 1e3), &right);
        if (r == 0 && wave_count(run) > before)
            r = sample_add(&run->arrivals, run_age_s(run));
        else if (r == -EAGAIN)
            r = 0;
        take_events(run);
        left_s = until_s - run_age_s(run);
    }
    return r;
}

/* Find whether this machine carries the requested rate. If not, reduce the
 * rate: otherwise waves come in bursts, and the machine causes every dip. */
static int find_rate(struct run *run)
{
    double trial_s = fmin(TRIAL_S, run->choice->every_s);
    double carried;
    int r;

    run->rate = run->asked;
    run->start_s = duel_now_s();
    r = take_until(run, trial_s);
    carried = (double)run->arrivals.count / trial_s;
    run->carried = fmin(carried, run->asked);
    if (r < 0 || carried >= CARRIED * run->asked)
        return r;
    run->rate = carried * SHARE < 1 ? 1 : (uint32_t)(carried * SHARE);
    r = census_pace(run->census, run->rate);
    return r < 0 ? r : take_until(run, trial_s + SETTLE_S);
}

static int carry_out(struct run *run)
{
    const struct choice *choice = run->choice;
    bool right;
    int r;

    r = census_start(&run->census, MODE_RECOVERABLE, choice->shape.text, NULL,
                     NULL, run->asked);
    if (r < 0)
        return r;
    r = find_commnodes(run);
    if (r == 0)
        r = census_take(run->census, FIRST_MS, &right);
    if (r == 0)
        r = find_rate(run);
    sample_clear(&run->arrivals);
    run->start_s = duel_now_s();
    for (unsigned i = 1; r == 0 && i <= choice->kills; i++) {
        r = take_until(run, i * choice->every_s);
        if (r == 0)
            r = kill_one(run);
    }
    if (r == 0)
        r = take_until(run, (choice->kills + 1) * choice->every_s);
    return r < 0 ? r : census_check(run->census);
}

/* ---- results ------------------------------------------------------------- */

static int write_rows(const struct run *run)
{
    char path[PATH_MAX];
    FILE *file;
    int r;

    snprintf(path, sizeof(path), "%s-%u.csv", run->choice->output, run->asked);
    file = fopen(path, "we");
    if (!file) {
        warn("%s", path);
        return -EIO;
    }
    fprintf(file, "seconds,waves_per_s,what\n");
    for (size_t i = PULSE_SPAN; i < run->arrivals.count; i++)
        fprintf(file, "%.6f,%.3f,wave\n", run->arrivals.values[i],
                pulse_rate(&run->arrivals, i));
    for (size_t i = 0; i < run->kills.count; i++)
        fprintf(file, "%.6f,,kill\n", run->kills.values[i]);
    r = ferror(file) ? -EIO : 0;
    if (fclose(file) != 0)
        r = -errno;
    if (r < 0)
        warnx("%s: %s", path, strerror(-r));
    return r;
}

/* The effect of a kill, and the same measures for an equal time before it. */
struct verdict {
    double usual;
    struct pulse_dip after;
    struct pulse_dip before;
};

static struct verdict judge_kill(const struct run *run, size_t i)
{
    const struct sample *arrivals = &run->arrivals;
    double kill_s = run->kills.values[i];
    double window_s = fmin(WINDOW_S, run->choice->every_s);
    struct verdict verdict;

    verdict.usual = pulse_usual(arrivals, kill_s - window_s, kill_s);
    verdict.after =
        pulse_look(arrivals, kill_s, kill_s + window_s, verdict.usual);
    verdict.before =
        pulse_look(arrivals, kill_s - window_s, kill_s, verdict.usual);
    return verdict;
}

static void print_line(const struct run *run, size_t i)
{
    struct verdict verdict = judge_kill(run, i);
    const struct pulse_dip *dips[] = {&verdict.after, &verdict.before};

    printf("%6.1f %8.2f %9.0f", run->kills.values[i], verdict.usual,
           1e3 * run->adopted.values[i]);
    for (size_t k = 0; k < 2; k++)
        printf("  | %8.2f %4.0f %% %7.2f %7.0f %7.0f", dips[k]->lowest,
               100 * dips[k]->depth, dips[k]->length_s, 1e3 * dips[k]->gap_s,
               dips[k]->slowest);
    printf("\n");
}

static void print_run(const struct run *run, bool first)
{
    const struct choice *choice = run->choice;
    const struct census *census = run->census;

    if (first)
        machine_print();
    printf(
        "%sperturbation, %s: %u packets/s asked of each of %u back-ends, "
        "%.1f carried (%.0f in all),\n%u sent for what follows; the union is "
        "whole: %zu different integers, %llu sent\n",
        first ? "" : "\n", choice->shape.text, run->asked, census->member_count,
        run->carried, run->carried * census->member_count, run->rate,
        integers_count(census->seen), (unsigned long long)census->sent);
    printf("%6s %8s %9s  | %-39s  | %s\n", "", "usual", "adopted",
           "after the kill: dip", "before it, when nobody was killed");
    printf("%6s %8s %9s", "kill s", "waves/s", "after ms");
    for (int k = 0; k < 2; k++)
        printf("  | %8s %6s %7s %7s %7s", "lowest", "depth", "long s", "gap ms",
               "in 1 s");
    printf("\n");
    for (size_t i = 0; i < run->kills.count; i++)
        print_line(run, i);
    printf("published (32x32, 10 packets/s, 1,024 nodes): no visible dip\n");
}

static int run_rate(const struct choice *choice, uint32_t rate, bool first)
{
    struct run run = {.choice = choice, .asked = rate};
    int r = carry_out(&run);

    if (r == 0)
        r = write_rows(&run);
    if (r == 0)
        print_run(&run, first);
    fflush(stdout);
    census_end(run.census);
    free(run.commnodes);
    sample_fini(&run.arrivals);
    sample_fini(&run.kills);
    sample_fini(&run.adopted);
    return r;
}

/* ---- the command line ---------------------------------------------------- */

static void print_help(void)
{
    printf(
        "usage: perturbation [options]\n\n"
        "Back-ends send random integers, the front-end collects the union of\n"
        "them, commnodes are killed: how far the rate of waves at the\n"
        "front-end dips. At the end the union is compared with all that was\n"
        "sent. The rates over time go into FILES-RATE.csv.\n\n"
        "  --shape SHAPE   the tree (32x32)\n"
        "  --rate LIST     packets per second of each back-end, one run for\n"
        "                  each of the list (10,1000)\n"
        "  --every S       seconds from one kill to the next (30)\n"
        "  --kills N       how many (4)\n"
        "  --output FILES  how the files' names begin (perturbation)\n"
        "  --help          this text\n");
}

/* Read the next rate of the list; *list becomes NULL after the last one. */
static int next_rate(const char **list, uint32_t *rate)
{
    char word[16];
    size_t len = strcspn(*list, ",");

    if (len >= sizeof(word))
        len = sizeof(word) - 1;
    memcpy(word, *list, len);
    word[len] = '\0';
    *list = (*list)[len] == ',' ? *list + len + 1 : NULL;
    return options_number("--rate", word, 1, RATE_MAX, rate);
}

static int check_rates(const char *list)
{
    uint32_t rate;
    int r = 0;

    while (r == 0 && list)
        r = next_rate(&list, &rate);
    return r;
}

static int read_shape(struct choice *choice, const char *text)
{
    const char *why;
    int r = shape_read(&choice->shape, text, &why);

    if (r < 0)
        warnx("--shape %s: %s", text, why);
    return r;
}

static int read_option(struct choice *choice, int key)
{
    switch (key) {
    case 's':
        return read_shape(choice, optarg);
    case 'r':
        choice->rates = optarg;
        return check_rates(optarg);
    case 'e':
        return options_number("--every", optarg, 1, 3600, &choice->every_s);
    case 'k':
        return options_number("--kills", optarg, 0, 10000, &choice->kills);
    case 'o':
        choice->output = optarg;
        return 0;
    case 'h':
        print_help();
        return 1;
    }
    warnx("perturbation --help names the options");
    return -EINVAL;
}

static int read_choice(struct choice *choice, int argc, char **argv)
{
    static const struct option known[] = {
        {"shape", required_argument, NULL, 's'},
        {"rate", required_argument, NULL, 'r'},
        {"every", required_argument, NULL, 'e'},
        {"kills", required_argument, NULL, 'k'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int key;
    int r = read_shape(choice, "32x32");

    while (r == 0 && (key = getopt_long(argc, argv, "", known, NULL)) != -1)
        r = read_option(choice, key);
    if (r == 0 && optind < argc) {
        warnx("%s: not an option", argv[optind]);
        r = -EINVAL;
    }
    return r;
}

int main(int argc, char **argv)
{
    struct choice choice = {
        .rates = "10,1000",
        .every_s = 30,
        .kills = 4,
        .output = "perturbation",
    };
    uint32_t rate;
    bool first = true;
    int r = read_choice(&choice, argc, argv);

    if (r != 0)
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        err(EXIT_FAILURE, "prctl");
    while (r == 0 && choice.rates) {
        r = next_rate(&choice.rates, &rate);
        if (r == 0)
            r = run_rate(&choice, rate, first);
        first = false;
    }
    if (r < 0)
        warnx("perturbation: %s", strerror(-r));
    return r < 0 || duel_written() < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
