/* filter.h - how to write a filter.
 *
 * A filter is a shared object NAME.so in a directory of the filter path. It
 * exports one `struct cop_filter` by COP_FILTER_EXPORT and links against
 * libcoppice only. There are two ways to write one:
 *
 *   wave filter  `filter(state, call)` is given a wave and emits packets, as
 *                in MRNet.
 *   join filter  `join`, `difference`, `pack`: the algebra of the
 *                dissertation's chapter 3. Coppice does the rest: what goes
 *                up is the difference of the new state and the old (equation
 *                3.8), compensation is the packed state.
 *
 * A filter may have both `filter` and `join`. Then `filter` is used, and `join`
 * and `pack` with COP_GUARANTEE_TOTAL only.
 *
 * Filters run in every node of the tree: front-end, commnodes, back-ends. All
 * calls for one node come one after another, never two at once, but not
 * always from the same thread. */
#ifndef COPPICE_FILTER_H
#define COPPICE_FILTER_H

#include <coppice/packet.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The ABI of this header. A filter built for another one is not loaded. */
#define COP_FILTER_ABI 1

/* The laws that a filter obeys. */
enum cop_law {
    COP_ASSOCIATIVE = 1 << 0, /* the grouping of inputs does not matter */
    COP_COMMUTATIVE = 1 << 1, /* the order of inputs does not matter */
    COP_IDEMPOTENT = 1 << 2,  /* a repeated input counts once */
    COP_INVERTIBLE = 1 << 3,  /* `difference` removes inputs */
    COP_STATELESS = 1 << 4,   /* a wave's output depends on that wave alone */
    COP_IDENTITY = 1 << 5,    /* a wave of one packet gives that packet: such
                                 calls of stateless filters may be skipped */
    COP_ONE_TO_ONE = 1 << 6,  /* downstream: one packet out for one in */
};

/* One call of a filter: its input and output, for the functions below. */
struct cop_filter_call;

/* The exported filter. Optional members may be left out. */
struct cop_filter {
    uint32_t abi;        /* COP_FILTER_ABI */
    uint32_t size;       /* sizeof(struct cop_filter) */
    const char *name;    /* the name of the file without .so */
    const char *summary; /* one line for people; optional */
    uint32_t laws;       /* a sum of enum cop_law */

    /* Make this node's state for one stream, from the parameters in `call`
     * (which has no packets). Optional for a wave filter without state;
     * required for a join filter, where the new state is the empty one. It is
     * called in every node while the stream is opened, and with all new
     * parameters. If it fails, the opening does, or the new parameters are not
     * used: refuse parameters here, not at the first packet. States are also
     * made for a wave, a child, or only to be freed.
     * Returns 0, or a negative errno after cop_filter_fail() with the reason. */
    int (*init)(void **state, struct cop_filter_call *call);

    /* Free that state. Required with `init`. */
    void (*free)(void *state);

    /* Wave filter: take the packets of one wave, and emit the output. `state`
     * is what `init` made, or NULL. Returns 0, or a negative errno after
     * cop_filter_fail() with the reason. */
    int (*filter)(void *state, struct cop_filter_call *call);

    /* Wave filter, optional: pack the state, so that a filter that gets the
     * packet as a wave has taken in everything that this filter has. With
     * COP_IDEMPOTENT it allows COP_GUARANTEE_COMPENSATION. NULL in `out` means
     * "nothing yet". Returns 0 or a negative errno. */
    int (*get_state)(void *state, struct cop_packet **out);

    /* Join filter: join `packet` into `state`. On error `state` must be
     * unchanged. Returns 0, or a negative errno. */
    int (*join)(void *state,
                const struct cop_packet *packet,
                struct cop_filter_call *call);

    /* Join filter: remove from `newer` what `older` contains. */
    int (*difference)(void *newer, const void *older);

    /* Join filter: the packet whose join into an empty state gives `state`;
     * NULL in `out` if the state is empty. Returns 0 or a negative errno. */
    int (*pack)(const void *state, struct cop_packet **out);
};

/* Export `filter`, a `struct cop_filter`: one line at the end of the file. In
 * C++ it must be outside all namespaces. (A constant is local to its file in
 * C++ unless it was declared before.) */
#ifdef __cplusplus
#define COP_FILTER_EXTERN extern "C"
#else
#define COP_FILTER_EXTERN extern
#endif
#define COP_FILTER_EXPORT(filter)                                              \
    COP_FILTER_EXTERN COP_API const struct cop_filter *const coppice_filter;   \
    const struct cop_filter *const coppice_filter = &(filter)

/* ---- what a filter may call --------------------------------------------
 *
 * Example: doc/examples/topk_filter.c
 * See also: cop_packet_new(3), cop_stream_open(3), coppice-filter(7) */

/* How many packets this wave has. */
COP_API size_t cop_filter_packet_count(const struct cop_filter_call *call);

/* Packet `index` of the wave; borrowed for the call. NULL past the last. The
 * packets are in the order of the ranks of cop_filter_inlet(). */
COP_API const struct cop_packet *cop_filter_packet(
    const struct cop_filter_call *call, size_t index);

/* The rank of the child that packet `index` came from. Upwards in a back-end it
 * is this node's; downwards the parent's, or this node's at the front-end. */
COP_API uint32_t cop_filter_inlet(const struct cop_filter_call *call,
                                  size_t index);

/* Send `packet` on in the direction of this call. `packet` is taken: to pass
 * an input on, emit cop_packet_ref() of it. A packet with tag 0 gets the tag of
 * the first packet of the wave. Returns 0 or -ENOMEM. */
COP_API int cop_filter_emit(struct cop_filter_call *call,
                            struct cop_packet *packet);

/* Send `packet` against the direction of this call: to all children that have
 * members, or to the parent. It belongs to no wave, and is lost if a link is
 * (PROTOCOL 5.6). `packet` is taken. Returns 0 or -ENOMEM. */
COP_API int cop_filter_emit_against(struct cop_filter_call *call,
                                    struct cop_packet *packet);

/* Give the reason why this call fails; it becomes the text of an event at the
 * front-end. Returns -EPROTO, which the filter must return. */
COP_API int cop_filter_fail(struct cop_filter_call *call,
                            const char *format,
                            ...) __attribute__((format(printf, 2, 3)));

/* The stream's parameters as last set by the tool; NULL if it set none. */
COP_API const struct cop_packet *cop_filter_parameters(
    const struct cop_filter_call *call);

/* Whether the call's direction is up, towards the front-end. */
COP_API bool cop_filter_is_upward(const struct cop_filter_call *call);

/* The number of the wave in this call, as cop_packet_wave(). */
COP_API uint64_t cop_filter_wave(const struct cop_filter_call *call);

/* The number of back-ends with data in this wave. */
COP_API uint32_t cop_filter_contributors(const struct cop_filter_call *call);

/* This node's rank. */
COP_API uint32_t cop_filter_rank(const struct cop_filter_call *call);

/* How many links this node is away from the front-end. */
COP_API uint32_t cop_filter_depth(const struct cop_filter_call *call);

/* How many living children this node has. */
COP_API uint32_t cop_filter_child_count(const struct cop_filter_call *call);

/* Whether this node is the front-end. In `init` with COP_GUARANTEE_TOTAL:
 * whether this state will be packed for the application. */
COP_API bool cop_filter_is_root(const struct cop_filter_call *call);

/* Whether this node is a back-end. */
COP_API bool cop_filter_is_leaf(const struct cop_filter_call *call);

#ifdef __cplusplus
}
#endif

#endif
