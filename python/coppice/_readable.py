"""Waiting for descriptors in asyncio."""

import asyncio
from typing import Callable, Dict, Optional, Set, Tuple, TypeVar

from ._c import milliseconds
from ._handle import Handle

T = TypeVar("T")
Waiters = Set["asyncio.Future[None]"]

# How long to leave a descriptor that is readable although there is nothing to
# take: it has something for another call, such as a packet and no event.
PAUSE = 0.02

# An event loop has one callback for a descriptor, which may have many waiters.
waiting: Dict[Tuple[asyncio.AbstractEventLoop, int], Waiters] = {}


def wake(waiters: Waiters) -> None:
    for future in waiters:
        if not future.done():
            future.set_result(None)


async def wait_readable(handle: Handle, fd: int, timeout: Optional[float]) -> None:
    """Wait until `fd` is readable, the handle is closed, or the time is over."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def closed() -> None:  # in any thread
        if not loop.is_closed():
            loop.call_soon_threadsafe(wake, {future})

    handle.wakers.add(closed)
    waiters = waiting.setdefault((loop, fd), set())
    if not waiters:
        loop.add_reader(fd, wake, waiters)
    waiters.add(future)
    try:
        if not handle.closed:
            await asyncio.wait([future], timeout=timeout)
    finally:
        waiters.discard(future)
        if not waiters:
            del waiting[loop, fd]
            loop.remove_reader(fd)
        handle.wakers.discard(closed)


async def readable(handle: Handle, fileno: Callable[[], int],
                   take: Callable[[], T], timeout: Optional[float]) -> T:
    """What `take` returns, as soon as it does not raise TimeoutError."""
    milliseconds(timeout)  # refuses what is no time-out
    clock = asyncio.get_running_loop().time
    end = None if timeout is None else clock() + timeout
    woken = False
    while True:
        with handle:  # the descriptor stays open meanwhile
            fd = fileno()
            try:
                return take()
            except TimeoutError:
                left = None if end is None else end - clock()
                if left is not None and left <= 0:
                    raise
            if woken:
                await asyncio.sleep(PAUSE)
            await wait_readable(handle, fd, left)
        woken = True
