"""Errors: OSError with errno and a sentence, and subclasses of it."""

import errno
import os
from typing import Dict, NoReturn, Type


class Ended(OSError):
    """The network has ended, or the stream or the network was closed."""


class NoMembers(OSError):
    """The stream has no living member."""


class StreamFailed(OSError):
    """The stream has failed: the event STREAM_FAILED says why."""


class FilterError(OSError):
    """A filter could not be loaded, or its `init` failed."""


# Of calls on a network or a stream that was there.
ERRORS: Dict[int, Type[OSError]] = {
    errno.ENOTCONN: Ended,
    errno.EPIPE: Ended,
    errno.ENODEV: NoMembers,
    errno.EIO: StreamFailed,
    errno.EAGAIN: TimeoutError,
    errno.ETIMEDOUT: TimeoutError,
}

SENTENCES = {
    errno.ENOTCONN: "the network has ended",
    errno.EPIPE: "the stream was closed",
    errno.ENODEV: "the stream has no living member",
    errno.EIO: "the stream has failed: the event STREAM_FAILED says why",
    errno.EAGAIN: "not within the time-out",
    errno.ETIMEDOUT: "not within the time-out",
    errno.EPERM: "not here: the other end's call, or a forked child's",
}


def fail(code: int, sentence: str = "") -> NoReturn:
    """Raise the error for `code`, a negative errno of a call in use."""
    number = -code
    sentence = sentence or SENTENCES.get(number, os.strerror(number))
    raise ERRORS.get(number, OSError)(number, sentence)


def check(code: int, sentence: str = "") -> int:
    """Return `code`, a result of C, unless it is an error."""
    if code < 0:
        fail(code, sentence)
    return code
