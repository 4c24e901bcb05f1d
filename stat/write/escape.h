/* escape.h - escapes foreign text, such as function names, for languages. */
#pragma once

#include <stdio.h>

#include "stat/tree/tree.h"

/* Write `text` to `file` as the inside of a JSON string. Invalid UTF-8 becomes
 * U+FFFD. "<", ">" and "&" are escaped too, so that the string can be in a
 * script of HTML. */
void escape_json(FILE *file, const char *text);

/* Write `text` as text or an attribute of XML: at most `columns` characters (0:
 * all), the last of them an ellipsis if there are more. Characters that XML
 * does not allow, and invalid UTF-8, become U+FFFD. */
void escape_xml(FILE *file, const char *text, unsigned columns);

/* Write `text` inside quotes of Graphviz, which also interprets entities.
 * Control characters become spaces, and invalid UTF-8 becomes U+FFFD. */
void escape_dot(FILE *file, const char *text);

/* Write `text` as one frame of folded stacks, without characters that would end
 * the frame or the line. */
void escape_folded(FILE *file, const char *text);

/* Write the function of frame number `frame` by `escape`; if a task could not
 * be walked, "[not walked: REASON]". */
void escape_function(FILE *file,
                     const struct tree *tree,
                     uint32_t frame,
                     void (*escape)(FILE *file, const char *text));

/* The same, shortened for a picture. Returns 0 or -ENOMEM. */
int escape_short(FILE *file,
                 const struct tree *tree,
                 uint32_t frame,
                 void (*escape)(FILE *file, const char *text));

/* Write the complete text of a set, as tasks_text() does. Returns 0 or
 * -ENOMEM. */
int escape_tasks(FILE *file, const struct tasks *tasks);
