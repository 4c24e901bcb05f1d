/* adoption.pml - PROTOCOL 8, for Spin: do the parents of live nodes ever form a
 * cycle? (doc/protocol.md 8.5; run_spin.sh runs it; spin -DNAME=VALUE -a.)
 *
 * N       internal nodes, 2 to 8, the front-end (0) included
 * TREE    their parents at launch, such as {NONE,0,0,1}
 * FAULTS  how many: a crash, a break of a link, a stop
 * TRIES   how often a node asks in its life; with LIVE: in a round
 *
 * There are no channels: an attempt is a record of the nodes that wait for its answer and
 * of where its one probe, or the answer, is. Each event is one d_step.
 *
 * More can happen here than in the engine, never less:
 * - an orphan asks any live node at any moment, as if its table said anything,
 *   and by this gives up what it asked before, whose probe goes on;
 * - each frame arrives at any time, or never: a frame that is lost is one that
 *   has not arrived. All refusals but ORPHAN are frames that do not arrive;
 * - a break is when the child finds out: until then frames still pass;
 * - a stop is the licence to break, at any time from then on and any number of
 *   times, each link of that node; a node that stands still is one to which
 *   nothing happens. (LIVE: until it is continued.)
 * - FAIL is that OK never comes. A node that loses its parent waits no longer;
 *   what it had passed on climbs all the same, and its answer goes down to
 *   whoever still waits for that attempt.
 *
 * LEAN    the same with fewer states. What is given up ends at once: no event
 *         reads it later but for ANEW, STALE and LATE. All faults are stops: a
 *         broken link is one of a stopped node's, and a dead node is a stopped
 *         one to which nothing happens any more. The front-end answers at once.
 * SYMMETRY  nodes have no numbers but by what they are (symmetry.inc): for
 *         safety, and where nobody reads the trail
 *
 * What must break it (8.5 says why):
 * NOPROBE a candidate that has a parent commits at once   (8.3)
 * NOFAIL  an orphan that a probe meets answers OK         (8.3)
 * ANEW    attempts are numbered anew after an adoption    (6.3)
 * STALE   an answer counts for any attempt of its orphan  (8.3)
 * LATE    an acknowledgement counts, whenever it comes    (8.4)
 *
 * LIVE: rounds of asking do not end, and a stopped node continues. In the last
 * place of a round the front-end is asked, and its answer waited for (7.3, 7.4).
 * Then, if each process that can always go on does (pan -f), all are attached
 * for ever in the end. NORESORT, which must break that: any node in that place.
 */
#ifndef N
#define N 4
#endif
#ifndef TREE
#define TREE {NONE,0,1,2}
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef TRIES
#define TRIES 2
#endif

#define NONE 15
#define BIT(node) (1 << (node))

#ifdef SYMMETRY
#define RENUMBER c_code { renumber(); }
#else
#define RENUMBER skip
#endif

/* Attempt s is number s % TRIES of its node. */
#define ATTEMPTS ((N - 1) * TRIES)
#define OWNER(s) ((s) / TRIES + 1)
#define NEXT(o) (((o) - 1) * TRIES + tries[o])
#define LAST(s) (tries[OWNER(s)] == (s) % TRIES + 1)

/* What an attempt is at. */
#define IDLE 0
#define CLIMBS 1 /* ADOPT or PROBE is on its way to at[s] */
#define WHOLE 2  /* OK has come down to at[s] */
#define TAKEN 3  /* the candidate has committed, and acknowledges */

byte up[N] = TREE; /* whom it takes for its parent; NONE: orphan, or dead */
byte tries[N];     /* how often it has asked */
byte dead;         /* nodes, as bits */
byte stopped;
byte faults;

byte phase[ATTEMPTS];
byte asked[ATTEMPTS]; /* the candidate */
byte at[ATTEMPTS];
byte waits[ATTEMPTS]; /* nodes that passed it on and have not lost their parent since */
#ifdef ANEW
byte number[ATTEMPTS]; /* what the attempt is called */
byte count[N];         /* the last one's, since the last adoption */
#endif

byte i, x; /* 0 between events */

#ifdef SYMMETRY
c_code {
\#include "symmetry.inc"
}
#endif

inline drop(s)
{
    phase[s] = IDLE;
    asked[s] = 0;
    at[s] = 0;
    waits[s] = 0
}

/* A node has no parent any more: what waits in it fails (8.3). With the
 * candidate's own wait the attempt is over. */
inline lose(n)
{
    up[n] = NONE;
    for (i : 0 .. ATTEMPTS - 1) {
        if
        :: waits[i] & BIT(n) ->
            waits[i] = waits[i] & ~BIT(n);
            if
            :: asked[i] == n -> drop(i)
            :: else
            fi
        :: else
        fi
    }
    i = 0
}

/* What is of a dead node or comes to it comes to nothing. */
inline crash(n)
{
    lose(n);
    dead = dead | BIT(n);
    stopped = stopped & ~BIT(n);
    for (i : 0 .. ATTEMPTS - 1) {
        if
        :: OWNER(i) == n ||
           (phase[i] != IDLE && phase[i] != TAKEN && at[i] == n) -> drop(i)
        :: else
        fi
    }
    i = 0
}

/* Whoever follows the parents of n comes to an end. */
inline judge(n)
{
    x = n;
    for (i : 0 .. N) {
        if
        :: x != NONE -> x = up[x]
        :: else
        fi
    }
    assert(x == NONE);
    x = 0;
    i = 0
}

#ifdef LIVE
/* A round is over: the next begins with nothing on its way. */
inline begin(o)
{
    if
    :: tries[o] == TRIES ->
        tries[o] = 0;
        for (i : 0 .. TRIES - 1) {
            drop(NEXT(o) + i)
        }
        i = 0
    :: else
    fi
}
#ifdef NORESORT
#define MAY(o, c) true
#else
#define MAY(o, c) \
    ((tries[o] != TRIES - 1 || (c) == 0) && \
     (tries[o] != TRIES || phase[NEXT(o) - 1] == IDLE))
#endif
#else
#define begin(o) skip
#define MAY(o, c) (tries[o] < TRIES)
#endif

#ifdef ANEW
#define NAME(o) count[o]++; number[NEXT(o)] = count[o]
#define RENAME(o) count[o] = 0
#define SAME(s, t) (number[s] == number[t])
#else
#define NAME(o) skip
#define RENAME(o) skip
#define SAME(s, t) true
#endif

#ifdef LATE
#define CURRENT(s) true
#else
#define CURRENT(s) LAST(s)
#endif

#if defined(LEAN) || defined(LIVE)
#define GIVEN_UP true
#else
#define GIVEN_UP false
#endif

/* An acknowledgement that comes too late closes its link (8.4). */
#ifdef LATE
#define refuse_late(o) skip
#else
inline refuse_late(o)
{
    if
    :: tries[o] > 0 && (GIVEN_UP || phase[NEXT(o) - 1] == TAKEN) -> drop(NEXT(o) - 1)
    :: else
    fi
}
#endif

/* OK has come to at[s]. The candidate commits; if the orphan has asked again
 * meanwhile, that is soon undone. */
inline arrive(s)
{
    if
    :: at[s] == asked[s] && CURRENT(s) ->
        phase[s] = TAKEN;
        at[s] = 0;
        waits[s] = 0
#if !defined(ANEW) && !defined(STALE)
    :: at[s] == asked[s] && !CURRENT(s) -> drop(s)
#endif
    :: else
    fi
}

/* The probe has come to the front-end: OK, always. Nothing that happens between
 * depends on whether it has answered. */
#ifdef LEAN
inline answer(s)
{
    phase[s] = WHOLE;
    arrive(s)
}
#else
#define answer(s) skip
#endif

/* Orphan o asks c, and takes no answer any more to what it asked before. */
#define ASKS(o, c) \
    :: d_step { (c) < N && (c) != (o) && !(dead & (BIT(o) | BIT(c))) && \
                up[o] == NONE && MAY(o, c) -> \
        begin(o); \
        refuse_late(o); \
        phase[NEXT(o)] = CLIMBS; \
        asked[NEXT(o)] = c; \
        at[NEXT(o)] = c; \
        if \
        :: (c) == 0 -> answer(NEXT(o)) \
        :: else \
        fi; \
        NAME(o); \
        tries[o]++; \
        printf("%d asks %d\n", o, c); RENUMBER }

#define ME (_pid + 1)

/* The front-end is process N - 1 + ATTEMPTS; it is only ever stopped. */
active [N - 1] proctype node()
{
end:
    do
#ifndef LEAN
    :: d_step { faults < FAULTS && !(dead & BIT(ME)) ->
        crash(ME);
        faults++;
        printf("%d crashes\n", ME); RENUMBER }
    :: d_step { faults < FAULTS && up[ME] != NONE ->
        lose(ME);
        faults++;
        printf("%d loses its link to its parent\n", ME); RENUMBER }
#endif
    :: d_step { faults < FAULTS && !((dead | stopped) & BIT(ME)) ->
        stopped = stopped | BIT(ME);
        faults++;
        printf("%d stops\n", ME); RENUMBER }
    :: d_step { up[ME] != NONE &&
                (((dead | stopped) & BIT(up[ME])) || (stopped & BIT(ME))) ->
        lose(ME);
        printf("%d finds its link to its parent down\n", ME); RENUMBER }
    ASKS(ME, 0)
    ASKS(ME, 1)
    ASKS(ME, 2)
    ASKS(ME, 3)
    ASKS(ME, 4)
    ASKS(ME, 5)
    ASKS(ME, 6)
    ASKS(ME, 7)
    od
}

inline climb(s)
{
    x = at[s];
    if
#ifdef NOPROBE
    :: x == asked[s] && up[x] != NONE ->
        phase[s] = WHOLE;
        arrive(s)
#endif
    :: x == 0 ->
        phase[s] = WHOLE;
        arrive(s)
#ifdef NOFAIL
    :: x != 0 && up[x] == NONE && x != asked[s] -> phase[s] = WHOLE
    :: x != 0 && up[x] == NONE && x == asked[s] -> drop(s)
#else
    :: x != 0 && (up[x] == NONE || x == OWNER(s)) -> drop(s)
#endif
    :: else ->
        waits[s] = waits[s] | BIT(x);
        at[s] = up[x];
        if
        :: dead & BIT(at[s]) -> drop(s)
        :: at[s] == 0 -> answer(s)
        :: else
        fi
    fi;
    x = 0
}

/* OK comes down to v, which waits for it, from its parent. */
#define FALLS(s, v) \
    :: d_step { (v) < N && phase[s] == WHOLE && (waits[s] & BIT(v)) && \
                up[v] == at[s] -> \
        at[s] = v; \
        waits[s] = waits[s] & ~BIT(v); \
        arrive(s); \
        printf("OK for attempt %d of %d comes to %d\n", (s) % TRIES + 1, \
               OWNER(s), v); RENUMBER }

/* The OK for s is taken for one to t, for which the same node waits. */
#if defined(ANEW) || defined(STALE)
#define SERVES(s, t) \
    :: d_step { (t) % TRIES > (s) % TRIES && OWNER(t) == OWNER(s) && \
                (t) < ATTEMPTS && phase[s] == WHOLE && phase[t] == CLIMBS && \
                SAME(s, t) && (waits[t] & BIT(at[s])) -> \
        phase[t] = WHOLE; \
        at[t] = at[s]; \
        waits[t] = waits[t] & ~BIT(at[s]); \
        drop(s); \
        arrive(t); \
        printf("that OK is taken for one to attempt %d\n", (t) % TRIES + 1); RENUMBER }
#else
#define SERVES(s, t)
#endif

#define S (_pid - (N - 1))

active [ATTEMPTS] proctype attempt()
{
end:
    do
    :: d_step { phase[S] == CLIMBS ->
        printf("attempt %d of %d comes to %d\n", S % TRIES + 1, OWNER(S),
               at[S]);
        climb(S);
        RENUMBER }
    FALLS(S, 1)
    FALLS(S, 2)
    FALLS(S, 3)
    FALLS(S, 4)
    FALLS(S, 5)
    FALLS(S, 6)
    FALLS(S, 7)
    SERVES(S, S + 1)
    SERVES(S, S + 2)
    :: d_step { phase[S] == TAKEN && CURRENT(S) && up[OWNER(S)] == NONE ->
        up[OWNER(S)] = asked[S];
        drop(S);
        RENAME(OWNER(S));
        printf("%d has parent %d\n", OWNER(S), up[OWNER(S)]);
        judge(OWNER(S)); RENUMBER }
    od
}

#define CONTINUES(n) \
    :: d_step { (stopped & BIT(n)) -> \
        stopped = stopped & ~BIT(n); \
        printf("%d goes on\n", n); RENUMBER }

active proctype others()
{
end:
    do
    :: d_step { faults < FAULTS && !(stopped & BIT(0)) ->
        stopped = stopped | BIT(0);
        faults++;
        printf("the front-end stops\n"); RENUMBER }
#ifdef LIVE
    CONTINUES(0)
    CONTINUES(1)
    CONTINUES(2)
    CONTINUES(3)
    CONTINUES(4)
#endif
    od
}

#ifdef LIVE
#define HELD(n) ((n) >= N || (dead & BIT(n)) || \
                 (up[(n) % N] != NONE && !(dead & BIT(up[(n) % N]))))
ltl attached { <>[] (HELD(1) && HELD(2) && HELD(3) && HELD(4)) }
#endif
