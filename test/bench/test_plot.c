/* test_plot.c - the picture of a curve. */
#include "bench/plot.h"

#include <stdlib.h>
#include <string.h>

#include "test/check.h"

/* The picture of `count` values in ten seconds, all `usual` but for the one
 * at `odd`. The caller frees it. */
static char *draw(int count, double usual, int odd, double value)
{
    struct sample at_s = {.values = NULL};
    struct sample values = {.values = NULL};
    struct sample marks = {.values = NULL};
    struct plot plot = {"a title", "waves/s", &at_s, &values, &marks, 10};
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream(&text, &len);

    CU_ASSERT_FATAL(file != NULL);
    for (int i = 0; i < count; i++) {
        CHECK_OK(sample_add(&at_s, 10.0 * i / count));
        CHECK_OK(sample_add(&values, i == odd ? value : usual));
    }
    CHECK_OK(sample_add(&marks, 10.0 * odd / count));
    CHECK_OK(plot_write(file, &plot));
    fclose(file);
    sample_fini(&at_s);
    sample_fini(&values);
    sample_fini(&marks);
    return text;
}

static size_t occurrences(const char *text, const char *word)
{
    size_t count = 0;

    while ((text = strstr(text, word))) {
        text += strlen(word);
        count++;
    }
    return count;
}

TEST(a_curve_and_its_marks_are_drawn)
{
    char *text = draw(10, 5, 4, 5);

    CU_ASSERT_EQUAL(strncmp(text, "<svg ", 5), 0);
    CU_ASSERT_STRING_EQUAL(text + strlen(text) - 7, "</svg>\n");
    CU_ASSERT_EQUAL(occurrences(text, "class=\"kill\""), 1);
    CU_ASSERT_EQUAL(occurrences(text, "<polyline"), 2);
    CU_ASSERT(strstr(text, "a title (waves/s)") != NULL);
    free(text);
}

/* One low value among so many that they share columns: its point, at the
 * bottom of the frame, is in the picture. */
TEST(no_dip_is_hidden)
{
    char *text = draw(100000, 5, 50000, 0);

    CU_ASSERT_EQUAL(occurrences(text, ",310.0 "), 1);
    CU_ASSERT(strlen(text) < 40000);
    free(text);
}

TEST(nothing_to_draw_is_drawn_too)
{
    char *text = draw(1, 0, 0, 0);

    CU_ASSERT_EQUAL(occurrences(text, "nan"), 0);
    free(text);
}

int main(void)
{
    return check_run("plot");
}
