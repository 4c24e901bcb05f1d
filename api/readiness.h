/* readiness.h - a descriptor for poll() that is readable exactly while a
 * condition of ours holds: an eventfd, made when it is asked for. */
#pragma once

#include <stdbool.h>

/* Caller's storage, READINESS_INIT at first. */
struct readiness {
    int fd; /* -1: nobody has asked for it */
    bool is_set;
};

#define READINESS_INIT                                                         \
    (struct readiness)                                                         \
    {                                                                          \
        .fd = -1                                                               \
    }

/* The descriptor, made if there is none, and not readable at first; or a
 * negative errno of the system. */
int readiness_open(struct readiness *readiness);

/* Make the descriptor readable, or not. Nothing if nobody has asked for it, and
 * no system call if it is so already. */
void readiness_set(struct readiness *readiness, bool is_set);

/* Close the descriptor, if there is one. */
void readiness_close(struct readiness *readiness);
