/* escape.h - text of others, such as names of functions, inside a language. */
#pragma once

#include <stdio.h>

#include "stat/tree/tree.h"

/* Write `text` to `file` as the inside of a string of JSON. What is no UTF-8
 * becomes U+FFFD. "<", ">" and "&" are escaped too, so that the string can
 * stand in a script of HTML. */
void escape_json(FILE *file, const char *text);

/* Write `text` as text or an attribute of XML; at most `columns` characters,
 * the last of them an ellipsis if more there were (0: all). Characters that XML
 * does not have, and what is no UTF-8, become U+FFFD. */
void escape_xml(FILE *file, const char *text, unsigned columns);

/* Write `text` inside quotes of Graphviz, which knows entities, too. Control
 * characters become spaces, and what is no UTF-8 U+FFFD. */
void escape_dot(FILE *file, const char *text);

/* Write `text` as one frame of folded stacks: nothing in it ends the frame or
 * the line. */
void escape_folded(FILE *file, const char *text);

/* Write the function of frame number `frame`, each character by `escape`; where
 * a task could not be walked, "[not walked: REASON]". */
void escape_function(FILE *file,
                     const struct tree *tree,
                     uint32_t frame,
                     void (*escape)(FILE *file, const char *text));

/* The same, made short for a picture. Returns 0 or -ENOMEM. */
int escape_short(FILE *file,
                 const struct tree *tree,
                 uint32_t frame,
                 void (*escape)(FILE *file, const char *text));

/* Write all of a set, as tasks_text() does, without a limit.
 * Returns 0 or -ENOMEM. */
int escape_tasks(FILE *file, const struct tasks *tasks);
