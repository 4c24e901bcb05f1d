/* check.h - the invariants of a node between two steps.
 *
 * The simulator, the searches, the fuzz targets and the nodes of ./check call this
 * after each step. The products do not. */
#pragma once

#include "protocol/node.h"

/* Bytes of `text`. */
#define NODE_CHECK_TEXT 200

/* Whether the state of `node` is consistent. If not, `text` names the stream,
 * the fields and their values. Nothing is checked of a node that has ended, or
 * that has run out of memory. */
bool node_check(const struct node *node, char text[NODE_CHECK_TEXT]);
