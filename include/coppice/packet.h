/* packet.h - one typed message: tag, format, values.
 *
 * A packet is immutable and reference-counted. Formats are MRNet's: items
 * separated by spaces, each one of
 *
 *     %c  %uc  char             %hd %uhd  16-bit int     %d %ud  32-bit int
 *     %ld %uld 64-bit int       %f float  %lf double     %s string
 *     %aX  array of any of these: pointer and uint32_t count
 *     %AX  array of any of these: pointer and uint64_t count
 *
 * where X is an item without its percent sign, such as "%alf" or "%Auld".
 * An empty format is a packet without values. In C an array of strings ("%as")
 * is packed from a `const char **`, of which each element is a string, and
 * unpacked into a `const char *const *`. */
#ifndef COPPICE_PACKET_H
#define COPPICE_PACKET_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coppice/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most bytes of one packed packet: 1 GiB. */
#define COP_PACKET_MAX (UINT32_C(1) << 30)

/* The lowest tag for applications; lower tags are reserved for Coppice. */
#define COP_TAG_FIRST 100

/* Most values in one packet. */
#define COP_VALUES_MAX 32

struct cop_packet; /* opaque, immutable, reference-counted */

/* The type of a value. An array has the type of its elements. */
enum cop_type {
    COP_CHAR,
    COP_UCHAR,
    COP_INT16,
    COP_UINT16,
    COP_INT32,
    COP_UINT32,
    COP_INT64,
    COP_UINT64,
    COP_FLOAT,
    COP_DOUBLE,
    COP_STRING,
};

/* The form of an item in a format. */
enum cop_shape {
    COP_SCALAR,  /* %X */
    COP_ARRAY,   /* %aX, 32-bit count */
    COP_ARRAY64, /* %AX, 64-bit count */
};

/* One value, for code that does not know the format beforehand.
 *
 * `data` points at `count` elements of `type` (1 for a scalar); strings are
 * `const char *` elements. In a value read from a packet, `data` is borrowed
 * from the packet. */
struct cop_value {
    enum cop_type type;
    enum cop_shape shape;
    uint64_t count;
    const void *data;
};

/* ---- typed messages ----------------------------------------------------
 *
 * Example: doc/examples/topk_be.c
 * See also: cop_stream_send(3), coppice(7), coppice-filter(7) */

/* Pack values into a new packet.
 *
 * out      the packet, with one reference; free it with cop_packet_free()
 * tag      the application's own number for this kind of packet
 * format   the types of the values. Scalars are passed by value, strings as
 *          `const char *`, arrays as pointer and count. The values are copied.
 *
 * Returns 0, or:
 *   -EINVAL    `format` is malformed, or a string is NULL
 *   -EMSGSIZE  more than COP_PACKET_MAX bytes or COP_VALUES_MAX values
 *   -ENOMEM    out of memory */
COP_API int cop_packet_new(struct cop_packet **out,
                           int32_t tag,
                           const char *format,
                           ...);

/* As cop_packet_new(), with the values in `args`. */
COP_API int cop_packet_new_va(struct cop_packet **out,
                              int32_t tag,
                              const char *format,
                              va_list args);

/* As cop_packet_new(), with `count` values whose types are known only at run
 * time, for filters. The values are copied. Same results. */
COP_API int cop_packet_new_values(struct cop_packet **out,
                                  int32_t tag,
                                  const struct cop_value *values,
                                  size_t count);

/* Take one more reference to `packet`. Returns `packet`. */
COP_API struct cop_packet *cop_packet_ref(const struct cop_packet *packet);

/* Release a reference; the last one frees the packet. NULL is fine. */
COP_API void cop_packet_free(struct cop_packet *packet);

/* Read all values: a pointer for each scalar and string; for each array a
 * pointer to a pointer and a pointer to its count (uint32_t for %a, uint64_t
 * for %A), such as `const int32_t **` for "%ad", and `const char *const **`,
 * the address of a `const char *const *`, for "%as". Strings and arrays are
 * borrowed: valid until the packet is freed.
 *
 * Returns 0, or:
 *   -EINVAL    `format` is not the packet's format; nothing was written
 *   -EBADMSG   the packet came from the network and is damaged
 *   -ENOMEM    out of memory */
COP_API int cop_packet_unpack(const struct cop_packet *packet,
                              const char *format,
                              ...);

/* Read value number `index` (from 0) as a view into the packet.
 * Returns 0, -ENOENT past the last value, -EBADMSG or -ENOMEM as above. */
COP_API int cop_packet_value(const struct cop_packet *packet,
                             size_t index,
                             struct cop_value *value);

/* How many values the packet has, or -EBADMSG or -ENOMEM as above. */
COP_API int cop_packet_value_count(const struct cop_packet *packet);

/* The packet's format in its usual spelling, such as "%d %alf"; borrowed,
 * valid until the packet is freed. NULL if the packet is damaged. */
COP_API const char *cop_packet_format(const struct cop_packet *packet);

/* The application's number for this kind of packet. */
COP_API int32_t cop_packet_tag(const struct cop_packet *packet);

/* The rank of the node that made this packet; UINT32_MAX until it is sent. */
COP_API uint32_t cop_packet_origin(const struct cop_packet *packet);

/* The number of back-ends with data in this packet; 0 for a compensation, and
 * for a wave of which every packet was lost. Those below a filter call that has
 * failed (COP_EVENT_FILTER_ERROR) do not count. */
COP_API uint32_t cop_packet_contributors(const struct cop_packet *packet);

/* The number of the packet's wave, counted from 1 in each epoch; 0 if it is in
 * no wave. Downwards: the packet's number. */
COP_API uint64_t cop_packet_wave(const struct cop_packet *packet);

/* The epoch of that wave: how many syncs its senders had settled. */
COP_API uint32_t cop_packet_epoch(const struct cop_packet *packet);

/* Whether this packet arrived after its wave was released (PROTOCOL 4.5). Under
 * COP_WAIT_FOR_ALL only `stragglers` and COP_GUARANTEE_COMPENSATION bring such
 * packets. */
COP_API bool cop_packet_is_late(const struct cop_packet *packet);

/* Whether this packet is the result of a compensation (PROTOCOL 9.2). */
COP_API bool cop_packet_is_compensation(const struct cop_packet *packet);

/* Bytes of the packed values. */
COP_API size_t cop_packet_size(const struct cop_packet *packet);

#ifdef __cplusplus
}
#endif

#endif
