/* fuzz_look.c - files that may be output of coppice-stat --json, read again. An
 * accepted file is consistent, and does not differ from itself. */
#include "stat/diff/diff.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct look *look = NULL;
    struct diff *diff = NULL;
    struct cop_error error;
    FILE *file;

    if (len == 0)
        return 0;
    file = fmemopen((void *)data, len, "r");
    if (!file)
        return 0;
    if (look_read(&look, file, "f", &error) == 0 &&
        diff_new(&diff, look, look, &error) == 0 &&
        (tasks_count(diff->moved) || tasks_count(diff->appeared) ||
         tasks_count(diff->vanished)))
        abort();
    diff_free(diff);
    look_free(look);
    fclose(file);
    return 0;
}
