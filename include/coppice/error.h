/* error.h - the base of all public headers: visibility, and errors in words.
 *
 * Functions return 0 or a count, or a negative errno. If a number is not
 * enough, they also fill a `struct cop_error` that the caller passed. */
#ifndef COPPICE_ERROR_H
#define COPPICE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#define COP_API __attribute__((visibility("default")))

/* The base of each `COP_..._INIT`: `size` is set, the rest is zero. In C++,
 * which has no designated initialisers before C++20, it is a value. */
#ifdef __cplusplus
extern "C++" {
template <typename type> inline type cop_init()
{
    type value = type();

    value.size = sizeof(value);
    return value;
}
}
#define COP_INIT(type) cop_init<struct type>()
#else
#define COP_INIT(type)                                                         \
    {                                                                          \
        .size = sizeof(struct type)                                            \
    }
#endif

/* A sentence for a person: what went wrong, where, and what to do. */
struct cop_error {
    char text[512];
};

/* ---- return an error with a sentence -----------------------------------
 *
 * See also: coppice(7), cop_filter_fail(3) */

/* Write a sentence into `error` and return `code`, so that a failure is one
 * line: `return cop_error_set(error, -EINVAL, "%s: no leaf", path);`
 *
 * error    may be NULL: then only the code is returned
 * code     a negative errno
 * format   as for printf; a text that is too long is cut
 *
 * Returns `code`. */
COP_API int cop_error_set(struct cop_error *error,
                          int code,
                          const char *format,
                          ...) __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif

#endif
