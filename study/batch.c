/* batch.c - threads that each take the next run until none is left. */
#include "study/batch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH    40
#define BAR_AFTER_S  1.0
#define BAR_EVERY_NS 200000000

struct work {
    struct study_batch *batch;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t next; /* the next run */
    uint64_t done;
    uint32_t working; /* threads */
    int result;
};

static uint64_t run_count(const struct study_batch *batch)
{
    return (uint64_t)batch->algorithm_count * batch->seed_count;
}

static int run_one(const struct study_batch *batch, uint64_t number)
{
    struct study_options options = batch->options;

    options.algorithm = batch->algorithms[number / batch->seed_count];
    options.seed = batch->first_seed + number % batch->seed_count;
    return study_run(batch->tree, &options,
                     batch->steps + number * batch->options.failures);
}

static void *work_thread(void *arg)
{
    struct work *work = arg;

    pthread_mutex_lock(&work->lock);
    while (work->result == 0 && work->next < run_count(work->batch)) {
        uint64_t number = work->next++;
        int r;

        pthread_mutex_unlock(&work->lock);
        r = run_one(work->batch, number);
        pthread_mutex_lock(&work->lock);
        work->done++;
        if (r < 0)
            work->result = r;
    }
    work->working--;
    pthread_cond_signal(&work->changed);
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

static double seconds_between(struct timespec from, struct timespec to)
{
    return (double)(to.tv_sec - from.tv_sec) +
           (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

/* Draw the bar: `done` of `all`, 1 or more, after `seconds`. */
static void draw_bar(uint64_t done, uint64_t all, double seconds)
{
    int full = (int)(done * BAR_WIDTH / all);

    fprintf(stderr, "\r[");
    for (int i = 0; i < BAR_WIDTH; i++)
        fputc(i < full ? '#' : '.', stderr);
    fprintf(stderr, "] %3d %%  %.0f s", (int)(done * 100 / all), seconds);
    fflush(stderr);
}

/* Wait until no thread works. The caller holds the lock. */
static void wait_for_threads(struct work *work)
{
    bool shows = work->batch->progress && isatty(STDERR_FILENO);
    struct timespec begin;
    struct timespec now;
    bool shown = false;

    clock_gettime(CLOCK_REALTIME, &begin);
    while (work->working > 0) {
        double seconds;

        clock_gettime(CLOCK_REALTIME, &now);
        seconds = seconds_between(begin, now);
        if (shows && seconds >= BAR_AFTER_S) {
            draw_bar(work->done, run_count(work->batch), seconds);
            shown = true;
        }
        now.tv_nsec += BAR_EVERY_NS;
        now.tv_sec += now.tv_nsec / 1000000000;
        now.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&work->changed, &work->lock, &now);
    }
    if (shown)
        fprintf(stderr, "\r%*s\r", BAR_WIDTH + 30, "");
}

static int work_all(struct work *work, pthread_t *threads, uint32_t jobs)
{
    uint32_t started = 0;
    int r = 0;

    pthread_mutex_lock(&work->lock);
    for (; r == 0 && started < jobs; started++) {
        r = -pthread_create(&threads[started], NULL, work_thread, work);
        if (r < 0)
            break;
        work->working++;
    }
    if (r < 0)
        work->result = r;
    wait_for_threads(work);
    pthread_mutex_unlock(&work->lock);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return work->result;
}

int study_batch_run(struct study_batch *batch)
{
    uint64_t runs = run_count(batch);
    uint32_t jobs = batch->jobs < runs ? batch->jobs : (uint32_t)runs;
    struct work work = {.batch = batch};
    pthread_t *threads = calloc(jobs + 1, sizeof *threads);
    int r = -ENOMEM;

    batch->steps =
        calloc(runs * batch->options.failures + 1, sizeof *batch->steps);
    if (threads && batch->steps) {
        pthread_mutex_init(&work.lock, NULL);
        pthread_cond_init(&work.changed, NULL);
        r = work_all(&work, threads, jobs);
        pthread_cond_destroy(&work.changed);
        pthread_mutex_destroy(&work.lock);
    }
    free(threads);
    if (r < 0)
        study_batch_fini(batch);
    return r;
}

void study_batch_fini(struct study_batch *batch)
{
    free(batch->steps);
    batch->steps = NULL;
}

const struct study_step *study_batch_step(const struct study_batch *batch,
                                          uint32_t algorithm,
                                          uint32_t seed,
                                          uint32_t failure)
{
    uint64_t run = (uint64_t)algorithm * batch->seed_count + seed;

    return &batch->steps[run * batch->options.failures + failure];
}
