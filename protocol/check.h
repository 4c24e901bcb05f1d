/* check.h - what must hold of a node between any two steps.
 *
 * For the simulator, the searches and the fuzz targets, which ask after each
 * step; no product does. */
#pragma once

#include "protocol/node.h"

/* Long enough for any answer. */
#define NODE_CHECK_TEXT 200

/* Whether the state of `node` is consistent. If not, `text` names the stream,
 * the fields and their values. Nothing is checked of a node that has ended, or
 * that has run out of memory. */
bool node_check(const struct node *node, char text[NODE_CHECK_TEXT]);
