/* request.h - what coppice-stat asks its daemons. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coppice/coppice.h>

#include "stat/job/targets.h"

enum stat_tag {
    /* on the first stream */
    STAT_TAG_REQUEST = COP_TAG_FIRST, /* down: take samples */
    STAT_TAG_STOP,                    /* down: take no more samples */
    STAT_TAG_TREE,                    /* up: what a sample brought */
    /* on the second stream */
    STAT_TAG_NAMES, /* down: what are these addresses called? */
    STAT_TAG_NAMED, /* up */
    STAT_TAG_FIND,  /* down: which processes are these? */
    STAT_TAG_FOUND, /* up */
};

/* Most samples of one request. */
#define REQUEST_SAMPLES_MAX 10000

/* In place of a number: until told to stop, and of each task only where it is
 * now. */
#define REQUEST_FOLLOW UINT32_MAX

/* Longest time between two of them. */
#define REQUEST_INTERVAL_MAX_MS 3600000

/* Bytes of a boot's name, with its end. */
#define REQUEST_BOOT_SIZE 64

/* Longest time that a process may be stopped for. */
#define REQUEST_MAX_STOP_MS 60000

/* What else to look at. */
enum request_flags {
    REQUEST_NAMES = 1,  /* of threads */
    REQUEST_STATES = 2, /* of the scheduler */
    REQUEST_NATIVE = 4, /* frames of Python's interpreter */
    REQUEST_FLAGS = 7,  /* all there are */
};

/* The same for all daemons: process i has pid pids[i], is task tasks[i], and is
 * for the daemon whose rank is daemons[i]. */
struct request {
    const char *boot;     /* of the kernel on which the pids are; "": each
                             daemon's own */
    uint32_t samples;     /* at least 1, or REQUEST_FOLLOW */
    uint32_t interval_ms; /* from one sample to the next */
    uint32_t sample_ms;   /* after so long no other task is begun with */
    uint32_t stop_ms;     /* how long to wait for a thread to stop */
    uint32_t max_stop_ms; /* how long a process may be stopped */
    uint32_t flags;       /* of enum request_flags */
    uint32_t task_count;
    const uint32_t *daemons;
    const uint32_t *tasks; /* NULL: process i is task i */
    const int32_t *pids;
};

/* Pack `request`. Returns 0, -EMSGSIZE or -ENOMEM. */
int request_pack(struct cop_packet **out, const struct request *request);

/* Read `packet`; what `request` then points to is the packet's.
 * Returns 0, -EINVAL if it is no request, -EBADMSG if its values are not
 * sensible, or -ENOMEM. */
int request_unpack(struct request *request, const struct cop_packet *packet);

/* The task that process `index` is. */
uint32_t request_task(const struct request *request, uint32_t index);

/* Which processes has the program names[i] of user users[i], either "" for any,
 * or the Slurm job or step jobs[i] if that is not "", at the daemon whose rank is
 * daemons[i]? */
struct find {
    uint32_t count;
    const uint32_t *daemons;
    const char **names;
    const char **users;
    const char **jobs;
};

/* One daemon's answer to number `index` of it: processes, and what is known of
 * them. */
struct found {
    uint32_t index;
    uint32_t count;
    const int32_t *pids;
    const char **names;
    const uint64_t *facts; /* so many of each: see found_facts() */
};

/* Pack them and read them, as above. */
int find_pack(struct cop_packet **out, const struct find *find);
int find_unpack(struct find *find, const struct cop_packet *packet);
int found_unpack(struct found *found, const struct cop_packet *packet);

/* Pack the processes of `targets` as the answer to number `index`.
 * Returns 0, -EMSGSIZE or -ENOMEM. */
int found_pack(struct cop_packet **out,
               uint32_t index,
               const struct targets *targets);

/* What is known of process `i` of an answer. */
struct targets_facts found_facts(const struct found *found, uint32_t i);

/* What are these addresses called? Each module is for one daemon, which has
 * seen it: module m for the one whose rank is daemons[m]; address a is
 * offsets[a] in module modules[a]. */
struct question {
    uint32_t number; /* so that a late answer is not taken for another's */
    uint32_t module_count;
    const uint32_t *daemons;
    const char **names; /* of the modules, as in frames */
    uint32_t address_count;
    const uint32_t *modules;
    const uint64_t *offsets;
};

/* One daemon's answer: address addresses[i] of the question has the next
 * counts[i] of all frames, outermost first. */
struct answer {
    uint32_t number; /* of the question */
    uint32_t count;
    const uint32_t *addresses;
    const uint32_t *counts;
    uint32_t frame_count;
    const char **functions;
    const char **files;
    const uint32_t *lines;
};

/* Pack them and read them, as above. */
int question_pack(struct cop_packet **out, const struct question *question);
int question_unpack(struct question *question, const struct cop_packet *packet);
int answer_pack(struct cop_packet **out, const struct answer *answer);
int answer_unpack(struct answer *answer, const struct cop_packet *packet);

/* Write the name of this boot of this host's kernel; "" if there is none. */
void request_boot(char text[REQUEST_BOOT_SIZE]);
