/* destinations.h - the back-ends that a packet is for, behind its values in
 * one payload:
 *
 *     | the packet | first, last | first, last | ... | number of pairs |
 *
 * of 32 bits each, in network byte order. */
#pragma once

#include "wire/payload.h"
#include "wire/ranks.h"

/* A payload of the values of `packet`, which may be NULL, for the back-ends
 * `to`. Returns 0, -EMSGSIZE or -ENOMEM. */
int destinations_add(struct payload **out,
                     const struct payload *packet,
                     const struct ranks *to);

/* Whether a payload that came from the network has destinations: ascending runs
 * below LIMIT_NODES, at least one. The other functions need that. */
bool destinations_are_there(const struct payload *payload);

/* Whether a rank of `set` is among the destinations. */
bool destinations_meet(const struct payload *payload, const struct ranks *set);

/* The packet alone: NULL if it has no values. Returns 0 or -ENOMEM. */
int destinations_cut(struct payload **out, const struct payload *payload);

/* `packet` with the destinations of `from`. Returns 0, -EMSGSIZE or -ENOMEM. */
int destinations_move(struct payload **out,
                      const struct payload *packet,
                      const struct payload *from);
