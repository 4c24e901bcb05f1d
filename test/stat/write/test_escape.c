/* test_escape.c - hostile names are escaped in each output language. */
#include <stdlib.h>
#include <string.h>

#include "stat/show/characters.h"
#include "stat/show/columns.h"
#include "stat/write/escape.h"
#include "test/check.h"

#define FFFD CHARACTER_REPLACEMENT

/* A name with all special characters: quotes, an entity, an escape sequence in
 * seven bits and in eight, as UTF-8 and as a byte, a change of the text's
 * direction, the end of a frame and of a line, a character that XML forbids,
 * overlong UTF-8, and truncated UTF-8. */
static const char hostile[] = "a\"\\&lt;<b>"
                              "\033[1m\xc2\x9b"
                              "2J\x9b"
                              "3J\xe2\x80\xae\n\xef\xbf\xbe\xc0\x80"
                              "\xc3\xa9\xe2\x82";

/* The hostile name as `write` writes it; the caller frees the text. */
static char *written(void (*write)(FILE *file, const char *text))
{
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream(&text, &len);

    CU_ASSERT_FATAL(file != NULL);
    write(file, hostile);
    CU_ASSERT_EQUAL(fclose(file), 0);
    return text;
}

static void xml(FILE *file, const char *text)
{
    escape_xml(file, text, 0);
}

TEST(languages_hold_names)
{
    static const struct {
        void (*write)(FILE *file, const char *text);
        const char *expected;
    } languages[] = {
        {escape_json, "a\\\"\\\\\\u0026lt;\\u003cb\\u003e\\u001b[1m\xc2\x9b"
                      "2J" FFFD "3J\xe2\x80\xae\\u000a\xef\xbf\xbe" FFFD FFFD
                      "\xc3\xa9" FFFD FFFD},
        {xml,
         "a&#34;\\&#38;lt;&#60;b&#62;" FFFD "[1m\xc2\x9b"
         "2J" FFFD "3J\xe2\x80\xae" FFFD FFFD FFFD FFFD "\xc3\xa9" FFFD FFFD},
        {escape_dot, "a\\\"\\\\&amp;lt;<b> [1m 2J" FFFD
                     "3J  \xef\xbf\xbe" FFFD FFFD "\xc3\xa9" FFFD FFFD},
        {escape_folded, "a\"\\&lt:<b> [1m 2J" FFFD "3J  \xef\xbf\xbe" FFFD FFFD
                        "\xc3\xa9" FFFD FFFD},
    };

    for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++) {
        char *text = written(languages[i].write);

        CU_ASSERT_STRING_EQUAL(text, languages[i].expected);
        free(text);
    }
}

TEST(terminals_are_not_spoken_to)
{
    char text[sizeof(hostile)];

    memcpy(text, hostile, sizeof(hostile));
    columns_clean(text);
    CU_ASSERT_STRING_EQUAL(text,
                           "a\"\\&lt;<b>?[1m?2J?3J??\xef\xbf\xbe??\xc3\xa9??");
}
