/* note.c - see note.h. */
#include "stat/tree/note.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "stat/tree/frame.h"

/* The texts: "#" is a number, "*" is any text. The first that matches counts.
 */
static const struct form {
    const char *text;
    enum note_kind kind;
} forms[] = {
    {"[thread # waits for thread #]", NOTE_THREAD},
    {"[thread # waits for thread #" FRAME_OVER "]", NOTE_THREAD},
    {"[thread # waits for thread #" FRAME_ELSEWHERE "]", NOTE_THREAD},
    {"[thread #" FRAME_GIL "# holds]", NOTE_THREAD},
    {"[tag #]", NOTE_TAG},
    {"[from rank #]", NOTE_FROM},
    {"[to rank #]", NOTE_TO},
    {FRAME_CHILD "process # (*)]", NOTE_CHILD},
    {FRAME_CHILD "one of # processes]", NOTE_CHILD},
    {"[# task is suspended in *]", NOTE_SUSPENDED},
    {"[# tasks are suspended in *]", NOTE_SUSPENDED},
    {"[# more tasks are suspended elsewhere]", NOTE_SUSPENDED},
    {"[some suspended tasks may be missing]", NOTE_SUSPENDED},
    {FRAME_RUNNING, NOTE_RUNNING},
    {FRAME_THREAD "*]", NOTE_THREAD_NAME},
    {FRAME_WORKER, NOTE_THREAD_NAME},
    {FRAME_CUT, NOTE_CUT},
    {FRAME_TRUNCATED "]", NOTE_TRUNCATED},
    {FRAME_TRUNCATED ": *]", NOTE_TRUNCATED},
    {"[no stack]", NOTE_TRUNCATED},
    {FRAME_PYTHON_UNREAD, NOTE_TRUNCATED},
    {FRAME_GIVEN_UP "*]", NOTE_GIVEN_UP},
    {"[*" FRAME_LEFT_OUT "]", NOTE_GIVEN_UP},
    {FRAME_STUCK FRAME_STUCK_SOMEWHERE "]", NOTE_NOWHERE},
    {"[sleeping]", NOTE_NOWHERE},
    {"[uninterruptible]", NOTE_NOWHERE},
    {FRAME_EXITED, NOTE_ENDED},
    {FRAME_ZOMBIE "*]", NOTE_ENDED},
};

bool note_is(const char *function)
{
    return function[0] == '[';
}

/* Read the number at `*text`, and move `*text` behind it. */
static bool read_number(int32_t *out, const char **text)
{
    char *behind;
    long number = strtol(*text, &behind, 10);

    if (!isdigit((unsigned char)**text) || number > INT32_MAX)
        return false;
    *out = (int32_t)number;
    *text = behind;
    return true;
}

/* Read `text` if it has this form. */
static bool read_form(int32_t *numbers, const char *form, const char *text)
{
    for (; *form; form++) {
        if (*form == '#') {
            if (!read_number(numbers++, &text))
                return false;
        } else if (*form == '*') {
            size_t len = strlen(text), rest = strlen(form + 1);

            if (len < rest)
                return false;
            text += len - rest;
        } else if (*form != *text++) {
            return false;
        }
    }
    return !*text;
}

struct note note_read(const char *function)
{
    struct note note = {NOTE_NONE, {0, 0}};

    if (!note_is(function))
        return note;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        note = (struct note){forms[i].kind, {0, 0}};
        if (read_form(note.numbers, forms[i].text, function))
            return note;
    }
    return (struct note){NOTE_OTHER, {0, 0}};
}
