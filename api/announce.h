/* announce.h - the events that the machine's news become. */
#pragma once

#include "api/network.h"

/* Queue the event of `news` for the application, if there is one. The text is a
 * sentence that begins with the node. */
void announce(struct cop_network *network, const struct action *news);
