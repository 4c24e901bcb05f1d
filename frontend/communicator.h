/* communicator.h - a set of back-ends. */
#pragma once

#include <coppice/coppice.h>

#include "wire/ranks.h"

struct cop_communicator {
    struct cop_network *network;
    bool is_everyone; /* all back-ends; `ranks` is empty */
    struct ranks ranks;
};

/* Copy the live members; the network is entered. Returns 0 or -ENOMEM. */
int communicator_members(const struct cop_communicator *communicator,
                         struct ranks *out);
