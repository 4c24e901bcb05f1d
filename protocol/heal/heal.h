/* heal.h - records, orphans, adoption, fan-outs; for the machine's own files. */
#ifndef PROTOCOL_HEAL_HEAL_H
#define PROTOCOL_HEAL_HEAL_H

#include "protocol/heal/recovery.h"
#include "protocol/heal/suspect.h"
#include "topology/adopter.h"
#include "topology/table.h"
#include "wire/limits.h"

struct peer;

/* A probe on its way: where the answer goes (8.3). */
struct probe {
    uint32_t orphan;
    uint32_t incarnation;
    uint32_t link;
    bool last_resort; /* it asked us: the height does not matter */
    bool asked;       /* we are the candidate */
};

/* An internal node that looks for a parent, or has died of it (6.1a). */
struct doubt {
    uint32_t rank;
    uint32_t incarnation;
    uint64_t since_ms;
};

/* A back-end whose end is certain, as we have told that upwards (11.1). */
struct certain_end {
    uint32_t rank;
    struct frame frame;
    uint64_t until_ms; /* the front-end knows it, one way or another */
};

/* What ADOPTED says (8.2, 8.4), and what ADOPT may add. */
enum adoption_answer {
    ADOPTION_OK = 1,
    ADOPTION_ORPHAN,
    ADOPTION_CLOSING,
    ADOPTION_FULL,
    ADOPTION_STALE,
    ADOPTION_TOO_HIGH,
    ADOPTION_LAST_RESORT,
    ADOPTION_EXPELLED, /* the front-end has given it up */
};

/* What PROBED says (8.3). */
enum probe_answer {
    PROBE_FAIL,
    PROBE_OK,
    PROBE_EXPEL, /* the front-end has given the orphan up (6.8) */
};

enum orphan_phase {
    ORPHAN_NOT,
    ORPHAN_PAUSE,
    ORPHAN_DIAL,
    ORPHAN_ASK
};

/* A parent that a back-end has lost (6.1d). */
struct accusation {
    uint32_t rank;
    uint32_t incarnation;
    uint64_t until_ms; /* the front-end knows it, one way or another */
};

/* What an orphan knows of its search for a parent (7, 8). */
struct orphan {
    enum orphan_phase phase;
    uint64_t since_ms;
    uint64_t deadline_ms; /* of the attempt, or of the pause */
    uint32_t pause_ms;
    uint32_t ordinal; /* among the children of the parent that was lost */
    uint32_t lost;    /* that parent */
    uint32_t target;
    bool front_end_lost; /* the link to the front-end ended, not in silence */
    bool last_resort;
    bool answered; /* somebody in this round: not all hosts have refused */
    uint32_t refused_rounds;   /* running, in which all have */
    struct adopter_orphan who; /* as of the last survey */
    struct adopter_survey *survey;
    uint32_t turn;
    struct accusation accusations[LIMIT_ACCUSATIONS]; /* the oldest first */
    uint32_t accusation_count;
};

/* A fan-out to be passed on with the next heartbeat (6.6). */
struct fan_out_change {
    uint32_t rank;
    uint32_t link; /* that it came over */
};

/* What a node knows of who has failed, and of its own search for a parent. */
struct healing {
    struct table *table;
    uint32_t height_limit; /* the tree's height at launch */
    struct fan_out_change *fan_outs;
    size_t fan_out_count;
    uint32_t algorithm; /* of topology/adopter.h */
    struct orphan orphan;
    struct recovery recovery;
    struct suspicion suspicion; /* front-end */
    struct probe *probes;
    size_t probe_count;
    struct doubt *doubts;     /* doubt_count, the oldest first */
    struct certain_end *ends; /* end_count, the oldest first */
    size_t end_count;
};

/* ---- orphan.c: the child's side of an adoption (7, 8) ---- */

/* The parent is lost: look for another. `lives`: it has said that it only could
 * not hear us (6.1a). `silent`: by silence, which is no death of the front-end
 * (11.3). */
void orphan_begin(struct node *node,
                  uint32_t lost,
                  uint32_t incarnation,
                  bool lives,
                  bool silent);

/* A candidate's link is up, could not be had, or has ended. */
void orphan_link_up(struct node *node, struct peer *peer);
void orphan_unreachable(struct node *node, uint32_t rank, bool refused);
void orphan_link_down(struct node *node, struct peer *peer);

/* ADOPTED came. `frame` is borrowed. Returns 0 or an error as in intake.c. */
int orphan_adopted(struct node *node,
                   struct peer *peer,
                   const struct frame *frame);

/* What is due by now; and when something is. */
void orphan_tick(struct node *node);
uint64_t orphan_deadline_ms(const struct node *node);

/* Free what the search holds. */
void orphan_fini(struct node *node);

/* ---- adoption.c: the candidate's side, and probes (8) ---- */

/* ADOPT, PROBE and PROBED came. `frame` is borrowed. */
int adoption_ask(struct node *node, struct peer *peer, struct frame *frame);
int adoption_probe(struct node *node,
                   struct peer *peer,
                   const struct frame *frame);
int adoption_probed(struct node *node, const struct frame *frame);

/* The network ends: an orphan that asks us is told. */
void adoption_refuse(struct node *node, struct peer *peer);

/* We have no parent any more: every probe that waits here fails. */
void adoption_orphaned(struct node *node);

/* Probes that came over this link need no answer now. */
void adoption_forget(struct node *node, const struct peer *peer);

/* ---- record.c: what became of whom (6) ---- */

/* Make the table of the roster: the launch is complete. */
void record_begin(struct node *node);

/* We know something of `rank` by ourselves: apply and pass on. */
void record_tell(struct node *node,
                 uint32_t rank,
                 uint32_t incarnation,
                 uint32_t parent,
                 const char *text);

/* Pass on that the end of all of `ranks` is certain. */
void record_gone_all(struct node *node,
                     const struct ranks *ranks,
                     const char *text);

/* The link to `peer` is gone, and it had no table: it ends, if it has not, and
 * so do all below it. Pass that on. */
void record_gone_below(struct node *node,
                       const struct peer *peer,
                       const char *text);

/* After the launch: the end of `rank` is certain: it said goodbye, or was
 * waited for. */
void record_gone(struct node *node, uint32_t rank, const char *text);

/* Child `rank` has given our link up, as it did not hear us. It lives, and will
 * be adopted, or it ends: where neither is heard of, it has failed (6.1a). */
void record_doubt(struct node *node, uint32_t rank, uint32_t incarnation);

/* See to those that nothing was heard of; when that is due. */
void record_tick(struct node *node);
uint64_t record_deadline_ms(const struct node *node);

/* The way up has changed: tell anew who has ended for certain (11.1). */
void record_repeat(struct node *node);

/* How long an orphan may take to be adopted, and that to be known (11.1). */
uint64_t record_patience_ms(const struct node *node);

/* A new link: send all that has changed since launch (6.4); a back-end only
 * says which parents it has lost (6.1d). */
void record_exchange(struct node *node, struct peer *peer);

/* RECORD came. `frame` is borrowed. */
int record_take(struct node *node, struct peer *peer, struct frame *frame);

/* Whether `rank` may have this incarnation, by what is known of it (2.6). */
bool record_is_near(const struct node *node,
                    uint32_t rank,
                    uint32_t incarnation);

/* A back-end has lost its parent, and will say so to the next one (6.1d). */
void record_accuse(struct node *node, uint32_t rank, uint32_t incarnation);

/* ---- fan_out.c: how many back-ends each node has (6.6) ---- */

/* See how many back-ends we have now, and note it if that has changed. */
void fan_out_count(struct node *node);

/* What goes to everybody once per heartbeat. */
void fan_out_beat(struct node *node);

/* A new link: send all that was said since launch. */
void fan_out_exchange(struct node *node, struct peer *peer);

/* FAN_OUT came. `frame` is borrowed. */
int fan_out_take(struct node *node,
                 const struct peer *peer,
                 const struct frame *frame);

#endif
