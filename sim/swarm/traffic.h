/* traffic.h - the streams of one world: their packets, and checks of these.
 *
 * Promises: every living member gets every packet that is for it once, in order,
 * and is told once that a stream is closed; everything that it sent before it settled a
 * sync's marker has arrived when the sync returns, as model.h defines; no node
 * holds more than its credit. */
#pragma once

#include "sim/sim.h"
#include "sim/swarm/answers.h"
#include "sim/swarm/ledger.h"
#include "sim/swarm/model.h"
#include "sim/swarm/schedule.h"

/* Limits: streams of a schedule, packets down on each, answers to each. */
#define TRAFFIC_STREAMS 6
#define TRAFFIC_PACKETS 64
#define TRAFFIC_ANSWERS 16

/* The kinds of streams: what recovers (PROTOCOL 9.4), a cumulative one (17),
 * an exact one (16), and the rest. */
enum traffic_kind {
    TRAFFIC_PLAIN,
    TRAFFIC_RECOVERABLE,
    TRAFFIC_TOTAL,
    TRAFFIC_WHOLE,
};
#define TRAFFIC_KINDS (TRAFFIC_WHOLE + 1)

struct traffic_stream {
    uint32_t number; /* its number in the schedule */
    uint32_t id;
    bool opened;
    bool synced;
    bool refused; /* the last sync was refused: no member */
    bool checked; /* the packets of the last sync were checked */
    size_t left;  /* packets of that sync not taken yet */
    bool closed;  /* reported closed, or never opened */
    bool closing;
    bool grow;
    bool uneven; /* members answer with unequal numbers of packets */
    bool big;
    bool large;           /* its filter's output may be larger than a window */
    bool refuses;         /* `init` fails in one node ... */
    uint32_t refuser;     /* ... this one ... */
    bool has_refused;     /* ... and has been called there */
    bool poison[2];       /* calls of commnodes crash: upwards, downwards */
    bool has_crashed;     /* a call has crashed */
    bool failed;          /* the front-end was told of the failure ... */
    uint64_t failed_ms;   /* ... at this time */
    struct ranks members; /* at its opening */
    struct ranks senders; /* all that have sent */
    struct model model;
    struct ledger ledger;  /* of a stream of totals */
    bool exact;            /* uses `answers` instead of `model` */
    uint64_t keep;         /* bytes that a back-end keeps on it */
    uint64_t least_window; /* smallest window of a link, in bytes */
    bool waves_only;       /* likewise */
    struct answers answers;
    uint32_t *begins;      /* by rank: 1 + the epoch of its first packet */
    uint32_t *serials;     /* by rank: packets packed */
    uint32_t *wave_epochs; /* by rank: the epoch of the last packet sent ... */
    uint32_t *wave_counts; /* ... and how many were sent in it */
    uint32_t redos;
    uint32_t epoch;
    uint32_t sent_down;
    uint32_t given;        /* the last of these that the machine accepted */
    struct ranks promised; /* the members when the last sync began */
    struct ranks losers;   /* nodes whose packets may be lost */
    bool is_given[TRAFFIC_PACKETS + 1];
    struct ranks to[TRAFFIC_PACKETS + 1]; /* packets for some: whom; for all:
                                             none (PROTOCOL 10.7) */
    uint32_t epoch_of[TRAFFIC_PACKETS + 1];
    uint32_t sent_in[TRAFFIC_PACKETS + 1]; /* the machine's epoch */
    uint32_t begun[MODEL_EPOCHS]; /* the machine's epoch, by sync; markers for
                                     joiners begin epochs, too */
    uint32_t given_up; /* the machine's epoch that began with the last sync that
                          returned 1: no packet of an earlier epoch may arrive
                          any more */
    /* unrequested packets of members */
    uint32_t every_ms;
    uint32_t times; /* packets still to send */
    const struct ranks *chatterers;
    /* by rank */
    uint32_t *first;    /* number of the first packet taken */
    uint32_t *last;     /* number of the last packet taken */
    uint32_t *answered; /* packets sent in this epoch */
    uint32_t *answered_epoch;
    uint32_t *told_closed;
    uint32_t *entered; /* `given` when it joined */
    uint32_t
        *due; /* of a stream of whole waves: `serials` at its last answer */
};

/* The links of a node: now, and all it has ever had. */
struct traffic_links {
    uint32_t now;
    uint32_t ever;
};

/* Caller's storage; all zero at first, except `rank_count`. */
struct traffic {
    uint32_t budget;          /* of a stream's windows; 0: as in a real node */
    uint32_t rank_count;      /* every rank is lower */
    bool exact;               /* no node dies or joins */
    bool is_rated;            /* links are slow */
    bool may_open_late;       /* links are slow or muted, or the front-end is
                            stopped, so long that an opening may time out */
    bool calm;                /* no node dies */
    const struct ranks *torn; /* back-ends that lost a node above them */
    const struct ranks *hung; /* nodes with a filter call that hangs */
    bool only_poison;         /* nodes and links have no other faults */
    struct ranks crashed;     /* commnodes crashed in a filter call */
    struct ranks leavers;     /* back-ends that leave: their sends may fail */
    uint32_t turn;            /* the stream whose total is requested */
    uint32_t count;
    struct traffic_stream streams[TRAFFIC_STREAMS];
    /* by number in the schedule: options of the opening */
    bool down[TRAFFIC_STREAMS + 1];
    bool large[TRAFFIC_STREAMS + 1];
    bool is_exact[TRAFFIC_STREAMS + 1];
    bool is_waves_only[TRAFFIC_STREAMS + 1];
    uint32_t keeps[TRAFFIC_STREAMS + 1];
    bool refuses[TRAFFIC_STREAMS + 1];
    uint32_t refusers[TRAFFIC_STREAMS + 1];
    uint32_t causes; /* changes of tree, members or epochs: causes of redos */
    struct traffic_links *links; /* by node index */
    uint32_t links_count;
};

/* The stream with that id, or NULL. */
struct traffic_stream *traffic_stream(struct traffic *traffic, uint32_t id);

/* The stream that a step names, or NULL if it cannot be used. */
struct traffic_stream *traffic_named(struct traffic *traffic,
                                     const struct schedule_step *step);

/* The kind of a stream. */
enum traffic_kind traffic_kind(const struct traffic_stream *stream);

/* Whether a stream is cumulative. */
bool traffic_is_total(const struct traffic_stream *stream);

/* Take a step about a stream: note what it is to be opened with, open it, send
 * on it, poison it, set its parameters or close it; false: it cannot be now. */
bool traffic_take(struct traffic *traffic,
                  struct sim *sim,
                  const struct schedule_step *step);

/* Have the members that the step chooses send unrequested packets on that
 * stream, with the step's interval and count; false: no such stream.
 * traffic_hush() stops this on all streams. */
bool traffic_chatter(struct traffic *traffic,
                     struct sim *sim,
                     const struct schedule_step *step);
void traffic_hush(struct traffic *traffic);

/* From now on no call of a poisoned stream's filter crashes its commnode. */
void traffic_cure(struct traffic *traffic);

/* Whether `call`, of `init`, fails at node `index`. For struct sim_config. */
bool traffic_is_refused(struct traffic *traffic,
                        struct sim *sim,
                        uint32_t index,
                        const struct node_call *call);

/* Whether `call`, which begins at node `index`, crashes it. For struct
 * sim_config. */
bool traffic_is_poison(struct traffic *traffic,
                       struct sim *sim,
                       uint32_t index,
                       const struct node_call *call);

/* Fail the world if a crash has not ended its stream (PROTOCOL 11.5). */
void traffic_check_poison(const struct traffic *traffic, struct sim *sim);

/* Request a sync of every open stream. When it returns, the packets that have
 * arrived are checked against the model once the application has taken them. */
void traffic_sync(struct traffic *traffic, struct sim *sim);
bool traffic_is_synced(const struct traffic *traffic, const struct sim *sim);
bool traffic_is_checked(const struct traffic *traffic, const struct sim *sim);

/* Whether all open streams have been reported open. */
bool traffic_is_open(const struct traffic *traffic);

/* Whether every live member has been told of every close. */
bool traffic_is_told(const struct traffic *traffic, const struct sim *sim);

/* Whether a stream waits for a sync that is, or may be, lossy. */
bool traffic_is_lossy(const struct traffic *traffic);

/* Answer as a back-end; for struct sim_app. */
void traffic_answer(struct traffic *traffic,
                    struct sim *sim,
                    uint32_t index,
                    uint32_t id,
                    const struct frame *frame);

/* Callbacks of a watcher, passed on. */
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

/* The front-end has crashed, and another one takes over. */
void traffic_taken_over(struct traffic *traffic, const struct sim *sim);

/* Fail the world if a node holds more than its credit (PROTOCOL 3.4, 3.5), or
 * reports a wrong total as exact (17.5). */
void traffic_look(struct traffic *traffic, struct sim *sim);

/* Whether any stream is cumulative. */
bool traffic_has_totals(const struct traffic *traffic);

/* Free the storage. */
void traffic_fini(struct traffic *traffic);
