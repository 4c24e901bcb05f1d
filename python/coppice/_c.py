"""The extension, and conversions between C and Python."""

import asyncio
import math
from typing import Any, Callable, Optional, TypeVar

import _coppice  # type: ignore[import]

ffi: Any = _coppice.ffi
lib: Any = _coppice.lib

T = TypeVar("T")

INT_MAX = 2**31 - 1


def text(chars: Any) -> str:
    """The text of a `const char *` or a `char[]`."""
    return "" if chars == ffi.NULL else decode(ffi.string(chars))


def decode(chars: bytes) -> str:
    return chars.decode("utf-8", "surrogateescape")


def seconds(count: int, per_second: int) -> float:
    return count / per_second


def seconds_or_none(count: int, per_second: int) -> Optional[float]:
    """A time of 32 bits, which may be unknown."""
    return None if count == lib.COP_TIME_UNKNOWN else count / per_second


def milliseconds(time: Optional[float]) -> int:
    """A time-out as C takes it: COP_FOREVER for None. Never 0 if it is not 0."""
    if time is None:
        return int(lib.COP_FOREVER)
    if not time >= 0:
        raise ValueError(f"a time-out of {time} s: it must be 0 or more, or None")
    return min(math.ceil(min(time, INT_MAX) * 1000), INT_MAX)


async def in_executor(call: Callable[[], T]) -> T:
    """Run `call` in a thread while the event loop goes on."""
    return await asyncio.get_running_loop().run_in_executor(None, call)
