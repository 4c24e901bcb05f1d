"""Pointers of C, and waiting with them."""

import threading
import time
from errno import EAGAIN, ENOTCONN, ETIMEDOUT
from typing import Any, Callable, List, Optional, Set, TypeVar

from ._c import milliseconds
from ._errors import Ended

T = TypeVar("T")

# C does not return from a wait when a signal arrives, or a handle is closed. So
# a wait is one of many short ones.
SLICE = 0.1


class Handle:
    """A pointer that any number of threads use: `with handle as pointer`.

    It is freed once: when it was closed, and no thread uses it. Appending to a
    list and popping from it are atomic.
    """

    def __init__(self, pointer: Any, free: Callable[[Any], None],
                 within: "Optional[Handle]" = None) -> None:
        self._pointers = [pointer]
        self._free = free
        self._within = within  # the network's, of a stream
        self._users: List[None] = []
        self.closed = False
        self.wakers: Set[Callable[[], None]] = set()

    def __enter__(self) -> Any:
        if self._within:
            self._within.__enter__()
        self._users.append(None)
        try:
            if not self.closed:
                return self._pointers[0]
        except IndexError:
            pass  # freed, by another thread
        self.__exit__()
        raise Ended(ENOTCONN, "it was closed")

    def __exit__(self, *_: object) -> None:
        self._users.pop()
        self._release()
        if self._within:
            self._within.__exit__()

    def _release(self) -> None:
        if self.closed and not self._users:
            try:
                pointer = self._pointers.pop()
            except IndexError:
                return
            self._free(pointer)

    def close(self) -> None:
        self.closed = True
        for wake in list(self.wakers):
            wake()
        self._release()

    def __del__(self) -> None:
        if not self._within:  # a network frees its streams
            self.close()


def wait(handle: Handle, call: Callable[[Any, int], int],
         timeout: Optional[float], longest: float = SLICE) -> int:
    """Repeat `call(pointer, milliseconds)` until it is in time."""
    milliseconds(timeout)  # refuses what is no time-out
    end = None if timeout is None else time.monotonic() + timeout
    left = longest if timeout is None else timeout
    while True:
        with handle as pointer:
            code = call(pointer, milliseconds(min(left, longest)))
        if end is not None:
            left = max(end - time.monotonic(), 0)
        if code not in (-EAGAIN, -ETIMEDOUT) or left == 0:
            return code


def interruptible(call: Callable[[], T]) -> T:
    """Run a call that cannot be cut in slices so that Ctrl-C ends the wait.

    Signals reach the main thread only, so there another thread runs the call.
    If the wait is interrupted, that thread drops the result.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    results: List[T] = []
    errors: List[BaseException] = []
    done = threading.Lock()

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        done.release()

    done.acquire()
    threading.Thread(target=run, daemon=True).start()
    done.acquire()
    if errors:
        raise errors.pop()
    return results.pop()
