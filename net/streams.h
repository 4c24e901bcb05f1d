/* streams.h - a short list of stream numbers. */
#ifndef NET_STREAMS_H
#define NET_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether `stream` is in the list. */
bool streams_have(const uint32_t *list, size_t count, uint32_t stream);

/* Take it out, if it is there. */
void streams_remove(uint32_t *list, size_t *count, uint32_t stream);

/* Put it in; the list is the caller's to free. Returns 0 or -ENOMEM. */
int streams_add(uint32_t **list, size_t *count, uint32_t stream);

#endif
