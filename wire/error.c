/* error.c - errors in words: the one function of coppice/error.h. */
#include <coppice/error.h>

#include <stdarg.h>
#include <stdio.h>

int cop_error_set(struct cop_error *error, int code, const char *format, ...)
{
    va_list args;

    if (error) {
        va_start(args, format);
        vsnprintf(error->text, sizeof(error->text), format, args);
        va_end(args);
    }
    return code;
}
