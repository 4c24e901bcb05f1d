"""Streams: channels between the front-end and its back-ends."""

from errno import EAGAIN, EINVAL
from types import TracebackType
from typing import (TYPE_CHECKING, Any, AsyncIterator, Callable, Iterable,
                    Iterator, NamedTuple, Optional, Tuple, Type)

from . import _names as names
from ._c import ffi, in_executor, lib, milliseconds, text
from ._errors import Ended, check
from ._handle import Handle, interruptible, wait
from ._packet import Packet
from ._readable import readable

if TYPE_CHECKING:
    from ._network import Network


# A sync asks all members, so it is repeated less often than other waits.
SYNC_SLICE = 1.0


class Total(NamedTuple):
    """What Stream.state() returns: `exact` is False if it may lack members."""

    packet: Optional[Packet]
    exact: bool


class Stream:
    """A channel: made by Network.open(), or received at a back-end.

    It is open until it or its network is closed, as in C: the network keeps it.
    """

    def __init__(self, network: "Network", pointer: Any, number: int) -> None:
        self._network = network
        self._handle = Handle(pointer, lib.cop_stream_close, network._handle)
        self.id = number
        self.send_timeout: Optional[float] = None
        self._patience_ms = lib.COP_FOREVER  # what C has for `send_timeout`

    def close(self) -> None:
        """Close it, at the front-end everywhere: cop_stream_close(3)."""
        self._network._streams.pop(self.id, None)
        try:
            with self._network._handle:
                self._handle.close()
        except Ended:
            self._handle.closed = True  # it was freed with the network

    # ---- packets ----

    def send(self, tag: int, form: str = "", *values: Any) -> None:
        """Send values as cop_stream_send(3) does."""
        self.send_packet(Packet(tag, form, *values))

    def send_packet(self, packet: Packet) -> None:
        self._send(packet, self.send_timeout)

    def _send(self, packet: Packet, timeout: Optional[float]) -> None:
        code = self._queue(lib.cop_stream_send_packet, packet, timeout)
        if code == -EINVAL:
            raise ValueError(f"the tag {packet.tag} is reserved: TAG_FIRST, "
                             f"{names.TAG_FIRST}, is the first")
        check(code, "no credit within the send time-out" if code == -EAGAIN else "")

    def send_to(self, ranks: Iterable[int], packet: Packet) -> None:
        """Send to some members only: cop_stream_send_to(3)."""
        wanted = ffi.new("uint32_t[]", list(ranks))

        def send(pointer: Any, sent: Any) -> int:
            return int(lib.cop_stream_send_to(pointer, wanted, len(wanted), sent))

        check(self._queue(send, packet, self.send_timeout))

    def _queue(self, call: Callable[[Any, Any], int], packet: Packet,
               timeout: Optional[float]) -> int:
        def queue(pointer: Any, time_ms: int) -> int:
            if self._patience_ms != time_ms:
                self._patience_ms = time_ms
                lib.cop_stream_set_send_timeout(pointer, time_ms)
            return int(call(pointer, packet._pointer))

        return wait(self._handle, queue, timeout)

    def set_parameters(self, form: str, *values: Any) -> None:
        """Give the filters new parameters: cop_stream_set_parameters(3)."""
        self.set_parameters_packet(Packet(0, form, *values))

    def set_parameters_packet(self, packet: Packet) -> None:
        check(self._queue(lib.cop_stream_set_parameters_packet, packet,
                          self.send_timeout))

    def receive(self, timeout: Optional[float] = None) -> Packet:
        """The next packet: cop_stream_receive(3)."""
        box = ffi.new("struct cop_packet **")
        check(wait(self._handle, lambda pointer, time_ms:
                   int(lib.cop_stream_receive(pointer, box, time_ms)), timeout))
        return Packet._take(box[0])

    def __iter__(self) -> Iterator[Packet]:
        """All packets, until the stream was closed or the network has ended."""
        try:
            while True:
                yield self.receive()
        except Ended:
            return

    def flush(self) -> None:
        with self._handle as pointer:
            check(lib.cop_stream_flush(pointer))

    def settle(self) -> None:
        """Declare every packet received so far as processed."""
        with self._handle as pointer:
            check(lib.cop_stream_settle(pointer))

    def sync(self, timeout: Optional[float] = None) -> bool:
        """Wait until all answers are here: cop_stream_sync(3).

        Returns whether it is known that nothing was lost.
        """
        error = ffi.new("struct cop_error *")

        def sync(pointer: Any, time_ms: int) -> int:
            return int(lib.cop_stream_sync(pointer, time_ms, error))

        code = interruptible(lambda: wait(self._handle, sync, timeout, SYNC_SLICE))
        return check(code, text(error.text)) == 0

    def state(self, timeout: Optional[float] = None) -> Total:
        """The state of the front-end's filter: cop_stream_state(3)."""
        time_ms, box = milliseconds(timeout), ffi.new("struct cop_packet **")

        def state() -> int:
            with self._handle as pointer:
                return int(lib.cop_stream_state(pointer, box, time_ms))

        code = check(interruptible(state))
        return Total(Packet._take(box[0]) if box[0] else None, code == 0)

    # ---- asyncio ----

    async def asend(self, tag: int, form: str = "", *values: Any) -> None:
        """As send(), while the event loop goes on."""
        packet = Packet(tag, form, *values)
        try:
            self._send(packet, 0)
        except TimeoutError:
            timeout = self.send_timeout
            await in_executor(lambda: self._send(packet, timeout))

    async def areceive(self, timeout: Optional[float] = None) -> Packet:
        """As receive(), while the event loop goes on."""
        return await readable(self._handle, self.fileno, lambda: self.receive(0),
                              timeout)

    async def __aiter__(self) -> AsyncIterator[Packet]:
        try:
            while True:
                yield await self.areceive()
        except Ended:
            return

    async def async_(self, timeout: Optional[float] = None) -> bool:
        """As sync(), in a thread."""
        return await in_executor(lambda: self.sync(timeout))

    async def astate(self, timeout: Optional[float] = None) -> Total:
        """As state(), in a thread."""
        return await in_executor(lambda: self.state(timeout))

    def fileno(self) -> int:
        """For select() and its like, of this stream alone: cop_stream_fd(3).

        From then on network.receive() leaves the packets of this stream.
        """
        with self._handle as pointer:
            return int(check(lib.cop_stream_fd(pointer)))

    # ---- what the stream is ----

    @property
    def size(self) -> int:
        """How many members it has now."""
        with self._handle as pointer:
            return int(lib.cop_stream_size(pointer))

    def _reason(self, call: Callable[[Any, Any], Any]) -> Tuple[Any, str]:
        with self._handle as pointer:
            reason = ffi.new("char const **")
            return call(pointer, reason), text(reason[0])

    @property
    def guarantee(self) -> names.Guarantee:
        return names.Guarantee(self._reason(lib.cop_stream_guarantee)[0])

    @property
    def guarantee_reason(self) -> str:
        """Why the guarantee is NONE; "" if it is not."""
        return self._reason(lib.cop_stream_guarantee)[1]

    @property
    def replayable(self) -> bool:
        return bool(self._reason(lib.cop_stream_replayable)[0])

    @property
    def replayable_reason(self) -> str:
        """Why it is not replayable; "" if it is."""
        return self._reason(lib.cop_stream_replayable)[1]

    def unfinal(self) -> Tuple[int, int]:
        """The packets and bytes that the front-end has not accepted yet."""
        packets, size = ffi.new("size_t *"), ffi.new("size_t *")
        with self._handle as pointer:
            check(lib.cop_stream_unfinal(pointer, packets, size))
        return packets[0], size[0]

    def __repr__(self) -> str:
        return f"<coppice.Stream {self.id}>"

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]],
                 value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    async def __aenter__(self) -> "Stream":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        self.close()
