/* astray.h - processes that a shutdown cannot end (PROTOCOL 11.4). */
#pragma once

#include "api/network.h"

/* The front-end's node has ended: find the nodes that are not known to end, and
 * whose starter has died. Set `network->astray`, and name them in
 * `network->text`. Nothing at a back-end. */
void astray_name(struct cop_network *network);
