"""Packets: typed values of C, and the same in Python."""

import ctypes
import functools
import numbers
import operator
import re
import struct
from array import array
from typing import Any, Iterable, Iterator, List, Tuple

from ._c import decode, ffi, lib
from ._errors import check

# The items of a format: the type in C and the code of `struct` and memoryview.
ITEMS = {
    "c": (lib.COP_CHAR, "b"),
    "uc": (lib.COP_UCHAR, "B"),
    "hd": (lib.COP_INT16, "h"),
    "uhd": (lib.COP_UINT16, "H"),
    "d": (lib.COP_INT32, "i"),
    "ud": (lib.COP_UINT32, "I"),
    "ld": (lib.COP_INT64, "q"),
    "uld": (lib.COP_UINT64, "Q"),
    "f": (lib.COP_FLOAT, "f"),
    "lf": (lib.COP_DOUBLE, "d"),
    "s": (lib.COP_STRING, "s"),
}
CODES = dict(ITEMS.values())
SHAPES = {"": lib.COP_SCALAR, "a": lib.COP_ARRAY, "A": lib.COP_ARRAY64}
KINDS = {"signed": "bhilq", "unsigned": "BHILQ", "float": "fd"}
KIND_OF = {code: kind for kind, codes in KINDS.items() for code in codes}

# A capsule owns a reference to a packet. It frees it when it is deallocated: as
# long as any finalizer can see a packet or a view of it, the memory is there.
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
RELEASE = int(ffi.cast("uintptr_t", lib.packet_release()))


@functools.lru_cache(maxsize=256)
def parse(form: str) -> Tuple[Tuple[int, int, str], ...]:
    """The type, shape and code of each item of a format."""
    items = []
    for word in form.split():
        match = re.fullmatch(r"%([aA]?)(\w+)", word)
        if not match or match[2] not in ITEMS:
            raise ValueError(f"{word!r} of the format {form!r} is no type of a value")
        kind, code = ITEMS[match[2]]
        items.append((kind, SHAPES[match[1]], code))
    return tuple(items)


def chars(value: Any) -> bytes:
    """A string as C has it."""
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"a string is wanted, not {type(value).__name__}")
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    if b"\0" in value:
        raise ValueError("a string with a null character")
    return value


def real(value: Any) -> float:
    """A number as a float that is equal, or as near as a float can be."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"a number is wanted, not {type(value).__name__}")
    result = float(value)
    if isinstance(value, numbers.Integral) and result != value:
        raise ValueError(f"no float is equal to {value}")
    return result


def pack(code: str, values: Iterable[Any]) -> Any:
    """Numbers as memory that C can read."""
    if KIND_OF[code] == "float":
        floats = array("d", map(real, values))
        if code == "d":
            return floats
        return struct.pack(f"={len(floats)}f", *floats)  # refuses what does not fit
    return array(code, map(operator.index, values))


def elements(code: str, value: Any) -> Any:
    """The elements of an array: a buffer as it is, or a sequence of numbers."""
    if isinstance(value, (list, tuple, range)):
        return pack(code, value)
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"an array is wanted: a sequence or an object with the "
                        f"buffer protocol, not {type(value).__name__}") from None
    form = view.format.lstrip("@=" + ("<" if struct.pack("=h", 1)[0] else ">"))
    if (KIND_OF.get(form) != KIND_OF[code]
            or view.itemsize != struct.calcsize(code)):
        raise TypeError(f"an array of {view.format!r} for one of {code!r}: convert it")
    if not view.c_contiguous:
        raise ValueError("the array is not contiguous: copy it")
    return view


class Packet:
    """One message: a tag, and typed values as in cop_packet_new(3).

    `packet[0]`, `len(packet)` and `a, b = packet` are its values. Arrays are
    read-only views into the packet, which they keep alive.
    """

    __slots__ = ("_pointer", "_capsule", "__weakref__")

    def __init__(self, tag: int, form: str = "", *values: Any) -> None:
        items = parse(form)
        if len(items) != len(values):
            raise TypeError(f"the format {form!r} has {len(items)} values, "
                            f"not {len(values)}")
        keep: List[Any] = []  # until the values are copied
        array_of_values = ffi.new("struct cop_value[]", len(items))
        for item, value, out in zip(items, values, array_of_values):
            out.type, out.shape, code = item
            fill(out, code, value, keep)
        box = ffi.new("struct cop_packet **")
        check(lib.cop_packet_new_values(box, tag, array_of_values, len(items)))
        self._own(box[0])

    @classmethod
    def _take(cls, pointer: Any) -> "Packet":
        packet = cls.__new__(cls)
        packet._own(pointer)
        return packet

    def _own(self, pointer: Any) -> None:
        address = int(ffi.cast("uintptr_t", pointer))
        self._capsule = new_capsule(address, None, RELEASE)
        self._pointer = pointer

    def __len__(self) -> int:
        return check(lib.cop_packet_value_count(self._pointer))

    def __getitem__(self, index: int) -> Any:
        index = operator.index(index)
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"value {index} of a packet with {count} values")
        value = ffi.new("struct cop_value *")
        check(lib.cop_packet_value(self._pointer, index % count, value))
        return self._read(value)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def _read(self, value: Any) -> Any:
        code = CODES[value.type]
        if code == "s":
            strings = ffi.cast("char **", value.data)
            words = tuple(decode(ffi.string(strings[i])) for i in range(value.count))
            return words[0] if value.shape == lib.COP_SCALAR else words
        length = value.count * struct.calcsize(code)
        if value.shape == lib.COP_SCALAR:
            return struct.unpack(code, ffi.buffer(value.data, length))[0]
        if length == 0:
            return memoryview(b"").cast(code)
        memory: Any = (ctypes.c_char * length).from_address(
            int(ffi.cast("uintptr_t", value.data)))
        memory.packet = self._capsule
        view = memoryview(ffi.buffer(ffi.from_buffer(memory), length))
        return view.toreadonly().cast(code)

    @property
    def format(self) -> str:
        """Its types in the usual spelling, such as "%d %alf"."""
        return decode(ffi.string(lib.cop_packet_format(self._pointer)))

    @property
    def tag(self) -> int:
        return int(lib.cop_packet_tag(self._pointer))

    @property
    def origin(self) -> int:
        """The rank of the node that made it."""
        return int(lib.cop_packet_origin(self._pointer))

    @property
    def contributors(self) -> int:
        """How many back-ends have data in it."""
        return int(lib.cop_packet_contributors(self._pointer))

    @property
    def wave(self) -> int:
        return int(lib.cop_packet_wave(self._pointer))

    @property
    def epoch(self) -> int:
        return int(lib.cop_packet_epoch(self._pointer))

    @property
    def is_late(self) -> bool:
        return bool(lib.cop_packet_is_late(self._pointer))

    @property
    def is_compensation(self) -> bool:
        return bool(lib.cop_packet_is_compensation(self._pointer))

    @property
    def size(self) -> int:
        """Bytes of the packed values."""
        return int(lib.cop_packet_size(self._pointer))

    def __repr__(self) -> str:
        return f"<coppice.Packet tag={self.tag} {self.format!r}>"


def fill(out: Any, code: str, value: Any, keep: List[Any]) -> None:
    """Point a value of C at a value, or at what `keep` then has of it."""
    scalar = out.shape == lib.COP_SCALAR
    data: Any
    if code == "s":
        if not scalar and not isinstance(value, (list, tuple)):
            raise TypeError("a list of strings is wanted")
        texts = [value] if scalar else value
        words = [ffi.new("char[]", chars(text)) for text in texts]
        data = ffi.new("char *[]", words)
        out.count = len(words)
        keep += words
    else:
        memory = pack(code, [value]) if scalar else elements(code, value)
        data = ffi.from_buffer(memory)
        out.count = len(data) // struct.calcsize(code)
    keep.append(data)
    out.data = data
