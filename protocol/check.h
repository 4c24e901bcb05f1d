/* check.h - what must hold of a node between any two steps.
 *
 * For the simulator, the searches and the fuzz targets, which ask after each
 * step; no product does. */
#ifndef PROTOCOL_CHECK_H
#define PROTOCOL_CHECK_H

#include "protocol/node.h"

/* Long enough for any answer. */
#define NODE_CHECK_TEXT 200

/* Whether all holds. If not, `text` names the stream, what does not hold, and
 * the numbers. A node that has ended, or for which memory has run out, holds
 * anything. */
bool node_check(const struct node *node, char text[NODE_CHECK_TEXT]);

#endif
