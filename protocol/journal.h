/* journal.h - the records of a front-end whose network outlives it (PROTOCOL
 * 23.3). Private to the machine; protocol/heal/resume.h reads them. */
#pragma once

#include <stdbool.h>

#include "wire/frame.h"

struct node;

/* Whether this node writes records. One that takes over has those that it reads
 * already. */
bool journal_is_kept(const struct node *node);

/* Record `frame`, which is borrowed, ahead of the next actions; nothing if no
 * records are kept. */
void journal_add(struct node *node, const struct frame *frame);
