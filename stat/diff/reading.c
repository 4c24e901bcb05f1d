/* reading.c - see reading.h. */
#include "stat/diff/reading.h"

#include <errno.h>
#include <inttypes.h>

int reading_number(struct reading *reading,
                   uint64_t *out,
                   const json_t *object,
                   const char *where,
                   const char *member,
                   uint64_t max)
{
    const json_t *value = json_object_get(object, member);
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;

    if (number < 0 || (uint64_t)number > max)
        return cop_error_set(reading->error, -EINVAL,
                             "%s: %s%s: no number from 0 to %" PRIu64,
                             reading->name, where, member, max);
    *out = (uint64_t)number;
    return 0;
}

int reading_optional(struct reading *reading,
                     uint64_t *out,
                     const json_t *object,
                     const char *where,
                     const char *member,
                     uint64_t max)
{
    return json_object_get(object, member)
               ? reading_number(reading, out, object, where, member, max)
               : 0;
}

int reading_set(struct reading *reading,
                struct tasks **out,
                const json_t *object,
                const char *where,
                const char *member)
{
    uint64_t number;
    int r;

    if (reading->set_count == 0)
        return cop_error_set(reading->error, -EINVAL, "%s: sets: there is none",
                             reading->name);
    r = reading_number(reading, &number, object, where, member,
                       reading->set_count - 1);
    if (r == 0)
        *out = reading->sets[number];
    return r;
}

/* The parser has refused strings with a NUL. */
int reading_text(struct reading *reading,
                 const char **out,
                 const json_t *object,
                 const char *where,
                 const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));

    if (!text)
        return cop_error_set(reading->error, -EINVAL, "%s: %s%s: no string",
                             reading->name, where, member);
    *out = text;
    return 0;
}

int reading_optional_text(struct reading *reading,
                          const char **out,
                          const json_t *object,
                          const char *where,
                          const char *member)
{
    *out = "";
    return json_object_get(object, member)
               ? reading_text(reading, out, object, where, member)
               : 0;
}

int reading_array(struct reading *reading,
                  const json_t **out,
                  const json_t *object,
                  const char *where,
                  const char *member)
{
    const json_t *array = json_object_get(object, member);

    if (!json_is_array(array))
        return cop_error_set(reading->error, -EINVAL, "%s: %s%s: no array",
                             reading->name, where, member);
    *out = array;
    return 0;
}
