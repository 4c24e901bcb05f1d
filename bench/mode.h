/* mode.h - the ways in which a stream may handle a failure. */
#pragma once

#include <coppice/coppice.h>
#include <stdint.h>

enum mode {
    MODE_NONE,        /* packets may be lost; filter `sum` */
    MODE_RECOVERABLE, /* orphans send filter states (9); filter
                         `int_union` */
    MODE_CUMULATIVE,  /* a total for each link (17); filter `sum` */
    MODE_EXACT,       /* waves are sent again (16); filter `sum` */
    MODE_COUNT,       /* how many modes there are */
};

/* The name of `mode` in tables. */
const char *mode_name(enum mode mode);

/* Open a stream of this mode for everyone. Returns 0, or a negative errno after
 * a message. */
int mode_open(enum mode mode,
              struct cop_network *network,
              struct cop_stream **out);
