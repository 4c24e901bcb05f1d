/* limits.h - every limit and default of the protocol, named once.
 *
 * The times are those of PROTOCOL 13. */
#pragma once

#include <stdint.h>

/* Protocol version, checked in the handshake. */
#define LIMIT_PROTOCOL_VERSION 1

/* Most payload bytes of a frame, and of one before the proof (PROTOCOL 2.1). */
#define LIMIT_FRAME          (UINT32_C(1) << 30)
#define LIMIT_FRAME_UNPROVED (UINT32_C(16) << 10)

/* Credit (PROTOCOL 3.4): a node's budget for one stream, and the largest and
 * the smallest window that one child gets. */
#define LIMIT_STREAM_BUDGET (UINT64_C(64) << 20)
#define LIMIT_WINDOW_MAX    (UINT32_C(2) << 20)
#define LIMIT_WINDOW_MIN    (UINT32_C(64) << 10)

/* How far the front-end runs ahead of stability (PROTOCOL 3.5). */
#define LIMIT_UNSTABLE (UINT64_C(4) << 20)

/* A claim of this much more is sent at once (PROTOCOL 10.1a), and most numbers
 * in one SKIP (PROTOCOL 10.7). */
#define CLAIM_BYTES (LIMIT_UNSTABLE / 2)
#define LIMIT_SKIPS (UINT32_C(1) << 17)

/* What a back-end keeps on a stream of whole waves, and the redos of one wave,
 * if the stream's definition does not say (PROTOCOL 16.6, 16.13). */
#define LIMIT_KEEP  (4u << 20)
#define LIMIT_REDOS 8

/* Nodes of one network, children of one node, open streams. */
#define LIMIT_NODES    (UINT32_C(1) << 21)
#define LIMIT_CHILDREN (UINT32_C(1) << 17)
#define LIMIT_STREAMS  (UINT32_C(1) << 16)

/* Commnodes that join in the life of one network (PROTOCOL 19.4). */
#define LIMIT_JOINED (UINT32_C(1) << 16)

/* Bytes of a filter's name, of a host's, of a label, of an address, of an error
 * text. */
#define LIMIT_FILTER_NAME 255
#define LIMIT_HOST_NAME   255
#define LIMIT_LABEL       63
#define LIMIT_ADDRESS     255
#define LIMIT_TEXT        1024

/* Bytes of a packet that reports a text. */
#define LIMIT_REPORT (4 * LIMIT_TEXT)

/* Observers at the front-end at once, nodes in one answer, recoveries that are
 * kept for them, the most time for an answer, and the longest freeze that may
 * be asked for (PROTOCOL 15). */
#define LIMIT_OBSERVERS      16
#define LIMIT_STATUS_ROWS    (UINT32_C(1) << 20)
#define LIMIT_STATUS_REPORTS 4096
#define LIMIT_STATUS_MS      60000
#define LIMIT_FREEZE_MS      3600000

/* Events that wait for the application; the oldest are dropped above it. */
#define LIMIT_EVENTS 4096

/* Of these, the events about one node; above it, the oldest events of that node
 * are dropped. */
#define LIMIT_EVENTS_OF_NODE 64

/* Times in milliseconds (PROTOCOL 13). */
#define LIMIT_HEARTBEAT_MS         500
#define LIMIT_FAILURE_TIMEOUT_MS   3000
#define LIMIT_CONNECT_TIMEOUT_MS   1000
#define LIMIT_PROBE_TIMEOUT_MS     2000
#define LIMIT_MOVE_MS              3000 /* to get all streams ready (18.6) */
#define LIMIT_HANDSHAKE_TIMEOUT_MS 5000
#define LIMIT_ORPHAN_TIMEOUT_MS    60000
#define LIMIT_OPEN_TIMEOUT_MS      10000
#define LIMIT_LAUNCH_TIMEOUT_MS    120000
#define LIMIT_START_TIMEOUT_MS     20000
#define LIMIT_FILTER_TIMEOUT_MS    60000

/* The pause after a round of candidates that all failed (PROTOCOL 7.4). */
#define LIMIT_PAUSE_FIRST_MS 250
#define LIMIT_PAUSE_LAST_MS  4000

/* An orphan whose front-end's host refuses tries again after the first of these,
 * and after it has waited for KNOCK_OFTEN after the second (PROTOCOL 23.2). */
#define LIMIT_KNOCK_FIRST_MS 100
#define LIMIT_KNOCK_LATER_MS 500
#define LIMIT_KNOCK_OFTEN_MS 10000

/* The highest incarnation of a node, and how far a number that only rises may
 * be above the last known one: more attempts than fit into any orphan_timeout
 * (PROTOCOL 2.6). */
#define LIMIT_INCARNATION (UINT32_MAX - 1)
#define LIMIT_AHEAD       (UINT32_C(1) << 20)

/* Lost parents that a back-end names to a new one (PROTOCOL 6.1d). */
#define LIMIT_ACCUSATIONS 16

/* Rounds in which every host refuses: then there is no network (11.3a). */
#define LIMIT_REFUSED_ROUNDS 2
