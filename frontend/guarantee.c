/* guarantee.c - choose the kind of stream that keeps a guarantee. */
#include "frontend/guarantee.h"

#include <errno.h>
#include <string.h>

#include "filters/loader.h"

/* The ways to keep everything exact, the cheapest first. */
static const struct way {
    enum cop_guarantee guarantee;
    enum stream_guarantee kind;
    const char *name;
} ways[] = {
    {COP_GUARANTEE_COMPENSATION, STREAM_PLAIN, "COP_GUARANTEE_COMPENSATION"},
    {COP_GUARANTEE_TOTAL, STREAM_TOTAL, "COP_GUARANTEE_TOTAL"},
    {COP_GUARANTEE_WAVES, STREAM_WAVES, "COP_GUARANTEE_WAVES"},
};
#define WAYS (sizeof(ways) / sizeof(*ways))

/* Whether the options other than filters allow `way`. */
static int check_options(const struct way *way,
                         const struct stream_definition *definition,
                         struct cop_error *error)
{
    if (way->kind == STREAM_WAVES && definition->sync != COP_WAIT_FOR_ALL)
        return cop_error_set(error, -EOPNOTSUPP,
                             "sync must be COP_WAIT_FOR_ALL");
    if (way->kind == STREAM_TOTAL &&
        (definition->up_filter_frontend[0] || definition->up_filter_backend[0]))
        return cop_error_set(error, -EOPNOTSUPP,
                             "up_filter must be that of all nodes; leave "
                             "up_filter_frontend and up_filter_backend NULL");
    return 0;
}

/* Whether the filters of nodes with `role` allow `definition`. */
static int check_filters(const struct stream_definition *definition,
                         enum node_role role,
                         const char *directories,
                         struct cop_error *error)
{
    struct loader *loader = NULL;
    int r;

    r = loader_new(&loader, definition, role, directories, error);
    loader_free(loader);
    return r;
}

/* Whether the front-end's own filter may be that of a stream of whole waves in a
 * network that survives it (PROTOCOL 23.8). */
static int check_survival(const struct stream_definition *definition,
                          const char *directories,
                          struct cop_error *error)
{
    struct stream_definition commnode = *definition;
    int r;

    if (definition->up_filter_frontend[0])
        commnode.up_filter = definition->up_filter_frontend;
    r = check_filters(&commnode, NODE_COMMNODE, directories, error);
    if (r == -EOPNOTSUPP)
        cop_error_set(error, r,
                      "filter \"%s\" does not declare COP_STATELESS: what the "
                      "front-end's filter keeps would be lost with the "
                      "front-end, and this network survives it (survive_ms)",
                      commnode.up_filter);
    return r;
}

/* Set the kind of `definition` to that of `way`. Returns 0, -EOPNOTSUPP with
 * the reason if it does not fit, -ELIBBAD or -ENOMEM. */
static int take_way(const struct way *way,
                    struct stream_definition *definition,
                    bool survives,
                    const char *directories,
                    struct cop_error *error)
{
    static const enum node_role roles[] = {NODE_FRONTEND, NODE_COMMNODE,
                                           NODE_BACKEND};
    struct cop_error why = {""};
    int r;

    definition->kind = way->kind;
    definition->compensates = way->guarantee == COP_GUARANTEE_COMPENSATION;
    r = check_options(way, definition, error);
    for (size_t i = 0; r == 0 && i < sizeof(roles) / sizeof(*roles); i++) {
        r = check_filters(definition, roles[i], directories, &why);
        if (r == -EOPNOTSUPP || r == -ENOMEM)
            cop_error_set(error, r, "%s", why.text);
        else if (r < 0)
            r = cop_error_set(error, -ELIBBAD,
                              "the front-end cannot load the stream's filters: "
                              "%s",
                              why.text);
    }
    if (r == 0 && survives && way->kind == STREAM_WAVES)
        r = check_survival(definition, directories, error);
    return r;
}

/* `keep` and `redo_limit` limit what back-ends keep for sending again. */
static int check_bounds(const struct stream_definition *definition,
                        enum cop_guarantee guarantee,
                        struct cop_error *error)
{
    if (guarantee == COP_GUARANTEE_EXACT || guarantee == COP_GUARANTEE_WAVES)
        return 0;
    if (definition->keep == 0 && definition->redo_limit == 0)
        return 0;
    return cop_error_set(error, -EINVAL,
                         "%s is given, but guarantee is neither "
                         "COP_GUARANTEE_EXACT nor COP_GUARANTEE_WAVES",
                         definition->keep ? "keep" : "redo_limit");
}

/* Take the first way that fits. */
static int choose_any(struct stream_definition *definition,
                      bool survives,
                      const char *directories,
                      struct cop_error *error)
{
    struct cop_error why[WAYS];
    int r;

    for (size_t i = 0; i < WAYS; i++) {
        r = take_way(&ways[i], definition, survives, directories, &why[i]);
        if (r == 0)
            return 0;
        if (r != -EOPNOTSUPP)
            return cop_error_set(error, r, "%s", why[i].text);
    }
    return cop_error_set(error, -EINVAL,
                         "COP_GUARANTEE_EXACT cannot be kept: no compensation: "
                         "%s; no total: %s; no whole waves: %s",
                         why[0].text, why[1].text, why[2].text);
}

int guarantee_choose(struct stream_definition *definition,
                     enum cop_guarantee guarantee,
                     bool survives,
                     const char *directories,
                     struct cop_error *error)
{
    struct cop_error why;
    int r;

    r = check_bounds(definition, guarantee, error);
    if (r < 0 || guarantee == COP_GUARANTEE_NONE)
        return r;
    if (guarantee == COP_GUARANTEE_EXACT)
        return choose_any(definition, survives, directories, error);
    for (size_t i = 0; i < WAYS; i++) {
        if (ways[i].guarantee != guarantee)
            continue;
        r = take_way(&ways[i], definition, survives, directories, &why);
        if (r == -EOPNOTSUPP)
            r = cop_error_set(error, -EINVAL, "%s cannot be kept: %s",
                              ways[i].name, why.text);
        else if (r < 0)
            cop_error_set(error, r, "%s", why.text);
        return r;
    }
    return cop_error_set(error, -EINVAL,
                         "guarantee is %d; it is one of enum cop_guarantee",
                         (int)guarantee);
}
