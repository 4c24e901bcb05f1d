/* echo.h - the tags that tell the filter `echo` what to do. */
#pragma once

enum echo_tag {
    ECHO_SHOW = 1, /* emit all facts of the call */
    ECHO_FAIL,     /* emit, then fail with a text */
    ECHO_ERROR,    /* fail without a text */
    ECHO_POSITIVE, /* return 5, a mistake such as EIO for -EIO */
    ECHO_AGAINST,  /* emit in both directions */
    ECHO_NOTHING,  /* emit nothing */
    ECHO_REFUSE,   /* as a parameter: refuse to make a state */
};
