/* request.h - messages between coppice-stat and its daemons. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coppice/coppice.h>

#include "stat/job/targets.h"

enum stat_tag {
    /* on the first stream */
    STAT_TAG_REQUEST = COP_TAG_FIRST, /* down: take samples */
    STAT_TAG_STOP,                    /* down: stop sampling */
    STAT_TAG_TREE,                    /* up: the tree of one sample */
    /* on the second stream */
    STAT_TAG_NAMES, /* down: name these addresses */
    STAT_TAG_NAMED, /* up: their names */
    STAT_TAG_FIND,  /* down: find processes */
    STAT_TAG_FOUND, /* up: the processes found */
};

/* Most samples of one request. */
#define REQUEST_SAMPLES_MAX 10000

/* In place of a number of samples: sample until STAT_TAG_STOP, and keep of each
 * task only its present place. */
#define REQUEST_FOLLOW UINT32_MAX

/* Longest time between two samples. */
#define REQUEST_INTERVAL_MAX_MS 3600000

/* Bytes of the place where pids are valid, with its end. */
#define REQUEST_BOOT_SIZE 64

/* Longest time that a process may be stopped. */
#define REQUEST_MAX_STOP_MS 60000

/* What to collect besides stacks. */
enum request_flags {
    REQUEST_NAMES = 1,  /* names of threads */
    REQUEST_STATES = 2, /* scheduler states of threads */
    REQUEST_NATIVE = 4, /* frames of Python's interpreter */
    REQUEST_FLAGS = 7,  /* all of these */
};

/* A request to sample, the same for all daemons: process i has pid pids[i], is
 * task i, and belongs to the daemon of rank daemons[i]. If pids[i] is negative,
 * it is the pid of a helper, part of the task of the process before it. The
 * processes of a daemon are neighbours, so that on the way up its sets of tasks
 * are ranges; coppice-stat then gives the tasks their numbers. */
struct request {
    const char *boot; /* where the pids are valid: see request_boot(); "": at
                             each daemon's own place */
    uint32_t samples; /* at least 1, or REQUEST_FOLLOW */
    uint32_t interval_ms; /* from one sample to the next */
    uint32_t sample_ms;   /* after so long the sample begins no further task */
    uint32_t stop_ms;     /* how long to wait for a thread to stop */
    uint32_t max_stop_ms; /* how long a process may be stopped */
    uint32_t flags;       /* of enum request_flags */
    uint32_t task_count;
    const uint32_t *daemons;
    const int32_t *pids;
};

/* Pack `request`. Returns 0, -EMSGSIZE or -ENOMEM. */
int request_pack(struct cop_packet **out, const struct request *request);

/* Read `packet`; the pointers in `request` then point into the packet. Returns
 * 0, -EINVAL if it is no request, -EBADMSG if its values are not sensible, or
 * -ENOMEM. */
int request_unpack(struct request *request, const struct cop_packet *packet);

/* A request to find processes: entry i asks the daemon of rank daemons[i] for
 * the processes named names[i] of user users[i] ("": any), or for those of the
 * Slurm job or step jobs[i] if that is not "". */
struct find {
    uint32_t count;
    const uint32_t *daemons;
    const char **names;
    const char **users;
    const char **jobs;
};

/* One daemon's answer to entry `index` of a `struct find`: processes, and facts
 * about each. */
struct found {
    uint32_t index;
    const char *boot; /* where the pids are valid: see request_boot() */
    uint32_t count;
    const int32_t *pids;
    const char **names;
    const uint64_t *facts; /* several for each process: see found_facts() */
};

/* Pack or read these messages, as above. */
int find_pack(struct cop_packet **out, const struct find *find);
int find_unpack(struct find *find, const struct cop_packet *packet);
int found_unpack(struct found *found, const struct cop_packet *packet);

/* Pack the processes of `targets` as the answer to entry `index`. Returns 0,
 * -EMSGSIZE or -ENOMEM. */
int found_pack(struct cop_packet **out,
               uint32_t index,
               const struct targets *targets);

/* The facts about process `i` of an answer. */
struct targets_facts found_facts(const struct found *found, uint32_t i);

/* A request for the names of addresses. Module m is for the daemon of rank
 * daemons[m], which has seen it; address a is offsets[a] in module
 * modules[a]. */
struct question {
    uint32_t number; /* identifies the question, to ignore late answers */
    uint32_t module_count;
    const uint32_t *daemons;
    const char **names; /* names of the modules, as in frames */
    uint32_t address_count;
    const uint32_t *modules;
    const uint64_t *offsets;
};

/* One daemon's answer. Address addresses[i] of the question has the next
 * counts[i] frames, outermost first. */
struct answer {
    uint32_t number; /* of the question */
    uint32_t count;
    const uint32_t *addresses;
    const uint32_t *counts;
    uint32_t frame_count;
    const char **functions;
    const char **files;
    const uint32_t *lines;
    const uint32_t *roles; /* each of enum role */
    uint32_t reason_count;
    const char *
        *reasons; /* sentences: why modules have no names, or no lines */
};

/* Pack or read these messages, as above. */
int question_pack(struct cop_packet **out, const struct question *question);
int question_unpack(struct question *question, const struct cop_packet *packet);
int answer_pack(struct cop_packet **out, const struct answer *answer);
int answer_unpack(struct answer *answer, const struct cop_packet *packet);

/* Write where this process's pids are valid: the boot id of the kernel, and the
 * namespace; "" if there is none. Two names of one host have the same place. */
void request_boot(char text[REQUEST_BOOT_SIZE]);
