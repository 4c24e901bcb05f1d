"""The network, as its front-end or a back-end sees it."""

import sys
import threading
import time
from errno import EIO, ELIBBAD, ENOENT
from types import TracebackType
from typing import (Any, AsyncIterator, Dict, Iterable, Iterator, List, Optional,
                    NamedTuple, Tuple, Type)

from . import _names as names
from ._c import ffi, in_executor, lib, milliseconds, text
from ._errors import Ended, FilterError, check
from ._handle import Handle, interruptible, wait
from ._packet import Packet, chars
from ._readable import readable
from ._stream import Stream

# How long close() waits for the nodes, as cop_network_free() does.
PATIENCE = 10.0

# When a back-end that an exception has ended leaves, if it still runs.
SURVIVAL = 2.0


class View(NamedTuple):
    """struct cop_view; `ranks` is empty at a back-end."""

    number: int
    stable: int
    ranks: List[int]


def leave_or_die(pointer: Any) -> None:
    """Leave, but not in a process that an exception ends: its status says so."""
    if not (sys.is_finalizing() and hasattr(sys, "last_type")):
        lib.cop_network_free(pointer)


def leave_later(handle: Handle) -> None:
    """Leave if the process outlives the exception."""
    time.sleep(SURVIVAL)
    handle.close()


def to_chars(value: Any) -> bytes:
    """A string or a path."""
    return chars(value.__fspath__() if hasattr(value, "__fspath__") else value)


def fill(struct: Any, options: Dict[str, Any], keep: List[Any]) -> None:
    """Set the fields of a struct; `keep` owns what it points at."""
    struct.size = ffi.sizeof(ffi.typeof(struct).item)
    for path, value in options.items():
        if value is None:
            continue
        *outer, name = path.split(".")
        target = getattr(struct, outer[0]) if outer else struct
        kind = dict(ffi.typeof(target).fields if outer
                    else ffi.typeof(target).item.fields)[name].type
        if name.endswith("_ms"):
            value = milliseconds(value)
        elif kind.kind == "enum" and isinstance(value, str):
            value = named(kind, value)
        elif isinstance(value, Packet):
            keep.append(value)
            value = value._pointer
        elif kind.kind == "pointer" and kind.item.kind == "pointer":
            value = words(name, value, keep)
        elif kind.kind == "pointer":
            value = ffi.new("char[]", to_chars(value))
            keep.append(value)
        setattr(target, name, value)


def words(name: str, value: Any, keep: List[Any]) -> Any:
    """A list of strings that ends in NULL."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}: a list of words is wanted, not one string")
    strings = [ffi.new("char[]", to_chars(word)) for word in value]
    keep += strings
    keep.append(ffi.new("char *[]", strings + [ffi.NULL]))
    return keep[-1]


def named(kind: Any, value: str) -> int:
    """The value of an enum that is named by the end of its name."""
    for number, name in kind.elements.items():
        if name.endswith("_" + value.upper()):
            return int(number)
    raise ValueError(f"{value!r} is none of " + ", ".join(kind.relements))


class Events:
    """The events of a network, until it has ended, for `for` or `async for`."""

    def __init__(self, network: "Network") -> None:
        self._network = network

    def __iter__(self) -> Iterator[names.Event]:
        try:
            while True:
                yield self._network.event()
        except Ended:
            return

    async def __aiter__(self) -> AsyncIterator[names.Event]:
        try:
            while True:
                yield await self._network.aevent()
        except Ended:
            return


class Network(names.Opener):
    """One tree, as seen from this node: made by launch() or join()."""

    def __init__(self, pointer: Any) -> None:
        front_end = lib.cop_network_rank(pointer) == 0
        self._handle = Handle(pointer, lib.cop_network_free if front_end
                              else leave_or_die)
        self._streams: Dict[int, Stream] = {}

    @classmethod
    def _launch(cls, options: Dict[str, Any]) -> "Network":
        return cls._begin(lib.cop_network_launch, "struct cop_launch *", options)

    @classmethod
    def _join(cls, options: Dict[str, Any]) -> "Network":
        return cls._begin(lib.cop_network_join, "struct cop_join *", options)

    @classmethod
    def _begin(cls, call: Any, kind: str, options: Dict[str, Any]) -> "Network":
        struct, box = ffi.new(kind), ffi.new("struct cop_network **")
        error, keep = ffi.new("struct cop_error *"), []  # type: Any, List[Any]
        fill(struct, options, keep)

        def begin() -> "Network":
            code = call(box, struct, error)
            if code < 0:
                raise OSError(-code, text(error.text))
            return cls(box[0])

        return interruptible(begin)

    # ---- what the network is ----

    @property
    def rank(self) -> int:
        with self._handle as pointer:
            return int(lib.cop_network_rank(pointer))

    @property
    def backends(self) -> List[int]:
        """The ranks of the back-ends that there are now."""
        with self._handle as pointer:
            everyone = lib.cop_network_everyone(pointer)
            count = lib.cop_communicator_size(everyone)
            ranks = [lib.cop_communicator_rank(everyone, i) for i in range(count)]
        return [rank for rank in ranks if rank != names.RANK_NONE]

    def node(self, rank: int) -> names.StatusNode:
        """What this node knows of a node: cop_network_node(3)."""
        with self._handle as pointer:
            node = ffi.new("struct cop_status_node *")
            node.size = ffi.sizeof("struct cop_status_node")
            check(lib.cop_network_node(pointer, rank, node))
            return names.statusnode(node)

    def view(self) -> View:
        """Which nodes are in, as this node knows: cop_network_view(3)."""
        view = ffi.new("struct cop_view *")
        view.size = ffi.sizeof("struct cop_view")
        with self._handle as pointer:
            check(lib.cop_network_view(pointer, view))
        ranks = ffi.gc(view.ranks, lib.free)
        return View(view.number, view.stable,
                    list(ffi.unpack(ranks, view.rank_count)) if ranks else [])

    def move(self, rank: int, parent: int) -> None:
        """Have a node move below another one: cop_network_move(3)."""
        with self._handle as pointer:
            check(lib.cop_network_move(pointer, rank, parent))

    def drain(self, host: str) -> int:
        """Have the commnodes of a host end: cop_network_drain(3). Returns how many
        there are."""
        with self._handle as pointer:
            return check(lib.cop_network_drain(pointer, host.encode()))

    def missing(self) -> List[names.Absentee]:
        """The nodes that a launch with missing="skip" left out."""
        found: List[names.Absentee] = []
        with self._handle as pointer:
            node = ffi.new("struct cop_absentee *")
            node.size = ffi.sizeof("struct cop_absentee")
            while True:
                code = lib.cop_network_missing(pointer, len(found), node)
                if code == -ENOENT:
                    return found
                check(code)
                found.append(names.absentee(node))

    def write_session(self, path: names.Path) -> None:
        error = ffi.new("struct cop_error *")
        with self._handle as pointer:
            code = lib.cop_network_write_session(pointer, to_chars(path), error)
        check(code, text(error.text))

    def fileno(self) -> int:
        """For select() and its like: cop_network_fd(3)."""
        with self._handle as pointer:
            return int(check(lib.cop_network_fd(pointer)))

    # ---- streams ----

    def _open(self, ranks: Optional[Iterable[int]], options: Dict[str, Any]) -> Stream:
        struct, box = ffi.new("struct cop_stream_options *"), ffi.new("struct cop_stream **")
        error, keep = ffi.new("struct cop_error *"), []  # type: Any, List[Any]
        fill(struct, options, keep)
        wanted = None if ranks is None else ffi.new("uint32_t[]", list(ranks))

        def begin() -> Stream:
            with self._handle as pointer:
                some = ffi.new("struct cop_communicator **")
                everyone = lib.cop_network_everyone(pointer)
                if wanted is not None:
                    check(lib.cop_communicator_new(some, pointer, wanted, len(wanted)),
                          "a rank is no back-end")
                code = lib.cop_stream_open(box, pointer, some[0] or everyone, struct,
                                           error)
                lib.cop_communicator_free(some[0])
                if code in (-ELIBBAD, -EIO):
                    raise FilterError(-code, text(error.text))
                check(code, text(error.text))
                return self._known(box[0])

        return interruptible(begin)

    def _known(self, pointer: Any) -> Stream:
        """The one Stream for a pointer; the caller is in the handle."""
        number = lib.cop_stream_id(pointer)
        stream = self._streams.get(number)
        if stream is None:
            stream = self._streams.setdefault(number, Stream(self, pointer, number))
        return stream

    def stream(self, number: int) -> Optional[Stream]:
        """The stream with this number, as in an event, if it is there."""
        with self._handle as pointer:
            found = lib.cop_network_stream(pointer, number)
            return self._known(found) if found else None

    # ---- packets and events ----

    def receive(self, timeout: Optional[float] = None) -> Tuple[Stream, Packet]:
        """The next packet of any stream, and the stream."""
        stream, packet = ffi.new("struct cop_stream **"), ffi.new("struct cop_packet **")
        found: List[Stream] = []

        def receive(pointer: Any, time_ms: int) -> int:
            code = lib.cop_network_receive(pointer, stream, packet, time_ms)
            if code == 0:
                found.append(self._known(stream[0]))
            return int(code)

        check(wait(self._handle, receive, timeout))
        return found[0], Packet._take(packet[0])

    def __iter__(self) -> Iterator[Tuple[Stream, Packet]]:
        """All packets, until the network has ended."""
        try:
            while True:
                yield self.receive()
        except Ended:
            return

    def event(self, timeout: Optional[float] = None) -> names.Event:
        """The oldest event: cop_network_event(3)."""
        event = ffi.new("struct cop_event *")
        event.size = ffi.sizeof("struct cop_event")
        check(wait(self._handle, lambda pointer, time_ms:
                   int(lib.cop_network_event(pointer, event, time_ms)), timeout))
        return names.event(event)

    def events(self) -> Events:
        return Events(self)

    # ---- asyncio ----

    async def areceive(self, timeout: Optional[float] = None) -> Tuple[Stream, Packet]:
        """As receive(), while the event loop goes on."""
        return await readable(self._handle, self.fileno, lambda: self.receive(0),
                              timeout)

    async def __aiter__(self) -> AsyncIterator[Tuple[Stream, Packet]]:
        try:
            while True:
                yield await self.areceive()
        except Ended:
            return

    async def aevent(self, timeout: Optional[float] = None) -> names.Event:
        """As event(), while the event loop goes on."""
        return await readable(self._handle, self.fileno, lambda: self.event(0),
                              timeout)

    async def ashutdown(self, timeout: Optional[float] = PATIENCE) -> None:
        await in_executor(lambda: self.shutdown(timeout))

    async def aclose(self) -> None:
        await in_executor(self._end)
        self.close()

    # ---- the end ----

    def shutdown(self, timeout: Optional[float] = PATIENCE) -> None:
        """End the network; at a back-end, leave it: cop_network_shutdown(3)."""
        time_ms = milliseconds(timeout)

        def end() -> int:
            with self._handle as pointer:
                return int(lib.cop_network_shutdown(pointer, time_ms))

        check(interruptible(end), "some nodes did not end in time, or are not known "
              "to have ended: the event ENDED names them")

    def leave(self, timeout: Optional[float] = None) -> None:
        """Leave when everything was accepted: cop_network_leave(3)."""
        time_ms = milliseconds(timeout)
        error = ffi.new("struct cop_error *")

        def leave() -> int:
            with self._handle as pointer:
                return int(lib.cop_network_leave(pointer, time_ms, error))

        check(interruptible(leave), text(error.text))

    def _end(self) -> None:
        """Shut down, however that ends."""
        try:
            self.shutdown()
        except OSError:
            pass  # closed before, in a forked child, or the nodes were killed

    def close(self) -> None:
        """End the network unless it has ended, and free it and its streams."""
        try:
            if not self._handle.closed:
                self._end()
        finally:
            for stream in list(self._streams.values()):
                stream.close()
            self._handle.close()

    def __enter__(self) -> "Network":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]],
                 value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if not self._dies(value):
            self.close()

    def _dies(self, error: Optional[BaseException]) -> bool:
        """Whether this is a back-end that an exception ends: then it does not
        leave. The process that started it reports the exit status."""
        if (error is None or self._handle.closed or self.rank == 0
                or isinstance(error, SystemExit) and not error.code):
            return False
        self._handle.closed = True
        threading.Thread(target=leave_later, args=(self._handle,), daemon=True).start()
        return True

    async def __aenter__(self) -> "Network":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        if not self._dies(value):
            await self.aclose()
