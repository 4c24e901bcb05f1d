/* traffic.h - the streams of one world: what is sent, and what should come.
 *
 * Promises: every living member gets every packet once, in order, and is told
 * once that a stream is closed; what it sent before it settled a sync's marker
 * is in when the sync returns, as model.h has it; no node holds more than its
 * credit. */
#pragma once

#include "sim/sim.h"
#include "sim/swarm/ledger.h"
#include "sim/swarm/model.h"
#include "sim/swarm/schedule.h"
#include "sim/swarm/whole.h"

/* Streams of one schedule, packets downwards on each, answers to each. */
#define TRAFFIC_STREAMS 6
#define TRAFFIC_PACKETS 64
#define TRAFFIC_ANSWERS 16

struct traffic_stream {
    uint32_t number; /* as the schedule names it */
    uint32_t id;
    bool opened;
    bool synced;
    bool refused; /* the last sync was: it had no member */
    bool checked; /* what had come when the sync returned is as it should be */
    size_t left;  /* packets that had come by then and are not taken yet */
    bool closed;  /* told so, or never opened */
    bool closing;
    bool grow;
    bool uneven; /* members answer with unequal numbers of packets */
    bool big;
    bool large;         /* what its filter makes may be larger than a window */
    bool poison[2];     /* calls of commnodes crash: upwards, downwards */
    bool has_crashed;   /* one has */
    bool failed;        /* the front-end was told so, ... */
    uint64_t failed_ms; /* ... then */
    struct ranks members; /* at its opening */
    struct model model;
    struct ledger ledger; /* of a cumulative stream */
    bool exact;    /* it is an exact stream: of `whole`, not of `model` */
    uint64_t keep; /* bytes that a back-end keeps on it */
    uint64_t least_window; /* of a link, in bytes */
    struct whole whole;    /* what was sent and taken on it */
    uint32_t *serials;     /* by rank: packets packed */
    uint32_t *wave_epochs; /* by rank: the epoch of the last packet sent ... */
    uint32_t *wave_counts; /* ... and how many were sent in it */
    uint32_t redos;
    uint32_t epoch;
    uint32_t sent_down;
    uint32_t epoch_of[TRAFFIC_PACKETS + 1];
    uint32_t begun[MODEL_EPOCHS]; /* the machine's epoch, by sync: markers for
                                     joiners begin epochs, too */
    uint32_t given_up; /* the machine's epoch that the last sync which returned
                          1 has begun: nothing of one before may come any more
                        */
    /* what members send without being asked */
    uint32_t every_ms;
    uint32_t times; /* still to come */
    const struct ranks *chatterers;
    /* by rank */
    uint32_t *first;    /* number of the first packet taken */
    uint32_t *last;     /* and of the last */
    uint32_t *answered; /* packets sent in this epoch */
    uint32_t *answered_epoch;
    uint32_t *told_closed;
};

/* The links of a node, and those that it has ever had. */
struct traffic_links {
    uint32_t now;
    uint32_t ever;
};

/* Caller's storage; all zero but for `rank_count` to begin. */
struct traffic {
    uint32_t budget;     /* of a stream's windows; 0: a real one's */
    uint32_t rank_count; /* ranks are lower than this */
    bool exact;          /* nobody dies, nobody joins */
    bool is_rated;       /* links are slow */
    bool may_open_late;  /* links are slow or deaf, or the front-end stops, for
                            so long that an opening may time out */
    bool calm;           /* nobody dies */
    const struct ranks *torn; /* back-ends that lost a node above them */
    const struct ranks *hung; /* nodes with a filter call that hangs */
    bool only_poison;         /* no node or link fails of anything else */
    struct ranks crashed;     /* commnodes whose filter call has crashed */
    uint32_t turn;            /* of the stream whose total is asked for */
    uint32_t count;
    struct traffic_stream streams[TRAFFIC_STREAMS];
    /* by the number in the schedule: what it is to be opened with */
    bool down[TRAFFIC_STREAMS + 1];
    bool large[TRAFFIC_STREAMS + 1];
    bool is_exact[TRAFFIC_STREAMS + 1];
    uint32_t keeps[TRAFFIC_STREAMS + 1];
    uint32_t causes; /* of redos: what changed the tree, members or epochs */
    struct traffic_links *links; /* by index of the node */
    uint32_t links_count;
};

/* The stream with that id; NULL: there is none. */
struct traffic_stream *traffic_stream(struct traffic *traffic, uint32_t id);

/* The stream that a step names, if it can be used. */
struct traffic_stream *traffic_named(struct traffic *traffic,
                                     const struct schedule_step *step);

/* Whether a stream is cumulative. */
bool traffic_is_total(const struct traffic_stream *stream);

/* Take a step about a stream: note what it is to be opened with, open it, send
 * on it, poison it, set its parameters or close it; false: it cannot be now. */
bool traffic_take(struct traffic *traffic,
                  struct sim *sim,
                  const struct schedule_step *step);

/* Members that the step chooses send on that stream, every so many
 * milliseconds and so many times, what nothing asked for; false: there is no
 * such stream. traffic_hush() ends it on all streams. */
bool traffic_chatter(struct traffic *traffic,
                     struct sim *sim,
                     const struct schedule_step *step);
void traffic_hush(struct traffic *traffic);

/* From now on no call of a poisoned stream's filter crashes its commnode. */
void traffic_cure(struct traffic *traffic);

/* Whether `call`, which begins at node `index`, crashes it. For struct
 * sim_config. */
bool traffic_is_poison(struct traffic *traffic,
                       struct sim *sim,
                       uint32_t index,
                       const struct node_call *call);

/* Fail the world if a crash has not ended its stream (PROTOCOL 11.5). */
void traffic_check_poison(const struct traffic *traffic, struct sim *sim);

/* Ask for a sync of every open stream. What has come when a sync returns is
 * held against the model as soon as the application has taken it. */
void traffic_sync(struct traffic *traffic, struct sim *sim);
bool traffic_is_synced(const struct traffic *traffic, const struct sim *sim);
bool traffic_is_checked(const struct traffic *traffic, const struct sim *sim);

/* Whether all that is open has been said to be. */
bool traffic_is_open(const struct traffic *traffic);

/* Whether every live member has been told of every close. */
bool traffic_is_told(const struct traffic *traffic, const struct sim *sim);

/* A stream that waits for a sync that is lossy, or whose sync may be. */
bool traffic_is_lossy(const struct traffic *traffic);

/* What a back-end answers; for struct sim_app. */
void traffic_answer(struct traffic *traffic,
                    struct sim *sim,
                    uint32_t index,
                    uint32_t id,
                    const struct frame *frame);

/* What the world tells a watcher, handed on. */
void traffic_sent(struct traffic *traffic,
                  struct sim *sim,
                  uint32_t index,
                  uint32_t id,
                  const struct frame *frame);
void traffic_taken(struct traffic *traffic,
                   struct sim *sim,
                   uint32_t index,
                   uint32_t id,
                   const struct frame *frame);
void traffic_told(struct traffic *traffic,
                  struct sim *sim,
                  uint32_t index,
                  const struct action *tell);

/* Fail the world if a node holds more than its credit (PROTOCOL 3.4, 3.5), or
 * vouches for a total that is not the truth (17.5). */
void traffic_look(struct traffic *traffic, struct sim *sim);

/* Whether any stream is. */
bool traffic_has_totals(const struct traffic *traffic);

/* Free the storage. */
void traffic_fini(struct traffic *traffic);
