"""Make the C source of the extension, and coppice/_names.py.

    build_coppice.py OUT CC [FLAG...]

Both are taken from the public headers, as the preprocessor `CC -E` shows them:
no struct, enum or constant of C is written a second time.
"""

import os
import re
import subprocess
import sys
from typing import Any, Dict, Iterator, List, Tuple

import cffi

HEADER = "coppice/status.h"  # it includes the others

# The module's own C: a capsule frees its packet when it is deallocated, after
# all finalizers of a garbage cycle. A destructor of cffi is such a finalizer.
SOURCE = f"""
#include <{HEADER}>
static void release(PyObject *capsule)
{{
    cop_packet_free(PyCapsule_GetPointer(capsule, 0));
}}
static void *packet_release(void)
{{
    return (void *)release;
}}
"""

# Each function whose keyword arguments are the fields of a struct.
FUNCTIONS = """
def launch(*, {cop_launch}) -> "Network":
    \"\"\"Start a network, and be its front-end: cop_network_launch(3).\"\"\"
    from ._network import Network
    return Network._launch({cop_launch=})

def join(*, {cop_join}) -> "Network":
    \"\"\"Join a network as a back-end: cop_network_join(3).\"\"\"
    from ._network import Network
    return Network._join({cop_join=})

class Opener:
    def open(self, ranks: Optional[Iterable[int]] = None, *,
             {cop_stream_options}) -> "Stream":
        \"\"\"Open a stream to `ranks`, or to all back-ends: cop_stream_open(3).\"\"\"
        return self._open(ranks, {cop_stream_options=})

    async def aopen(self, ranks: Optional[Iterable[int]] = None, *,
                    {cop_stream_options}) -> "Stream":
        \"\"\"As open(), in a thread.\"\"\"
        options = {cop_stream_options=}
        return await in_executor(lambda: self._open(ranks, options))

    def _open(self, ranks: Optional[Iterable[int]], options: Options) -> "Stream":
        raise NotImplementedError
"""
OPTIONS = ["cop_launch", "cop_join", "cop_stream_options"]
RESULTS = ["cop_recovery", "cop_event", "cop_status_node", "cop_absentee"]

HEAD = '''"""Made by build_coppice.py from the public headers."""

import os
from enum import IntEnum
from typing import (TYPE_CHECKING, Any, Dict, Iterable, NamedTuple, Optional,
                    Sequence, Union)

from ._c import in_executor, lib, seconds, seconds_or_none, text as to_text
from ._packet import Packet

if TYPE_CHECKING:
    from ._network import Network
    from ._stream import Stream

Path = Union[str, "os.PathLike[str]"]
Options = Dict[str, Any]
'''


def declarations(command: List[str]) -> str:
    """What the public headers declare, as cffi reads it."""
    flags = ["-E", "-dD", "-xc", "-D__attribute__(x)=", "-"]
    out = subprocess.run(command + flags, input=f"#include <{HEADER}>\n",
                         text=True, check=True, stdout=subprocess.PIPE).stdout
    lines, ours = [], False
    for line in out.splitlines():
        marker = re.match(r'# \d+ "(.*)"', line)
        if marker:
            ours = "/coppice/" in marker[1]
        elif ours and line.startswith("#define"):
            # An object-like macro that is a number: the compiler knows its value.
            macro = re.match(r"#define (COP_\w+) [-(\w]*\d", line)
            constant = macro or re.match(r"#define (COP_\w+) UINT\d+_MAX$", line)
            if constant:
                lines.append(f"#define {constant[1]} ...")
        elif ours and not line.startswith("#"):
            lines.append(line)
    return re.sub(r"[^;{}]*\bva_list\b[^;]*;", "\n", "\n".join(lines))


def fields(ffi: Any, struct: str) -> Iterator[Tuple[str, str, Any]]:
    """The name in Python, the path in C and the type of each field."""
    seen = {"size"}
    for name, field in ffi.typeof("struct " + struct).fields:
        short = re.sub(r"^topology_|(_argv|_ms|_us)$", "", name)
        if name == "times":
            for inner, path, kind in fields(ffi, "cop_times"):
                yield inner, f"times.{path}", kind
        elif name != "size":
            yield short + "_time" if short in seen else short, name, field.type
        seen.add(short)


def class_name(kind: Any) -> str:
    """`enum cop_event_type` is EventType, `struct cop_status_node` StatusNode."""
    return "".join(word.title() for word in kind.cname.split("cop_")[1].split("_"))


def enum_class(kind: Any) -> str:
    names = [name for _, name in sorted(kind.elements.items())]
    prefix = os.path.commonprefix(names)
    start = prefix.rindex("_") + 1
    members = "".join(f"    {n[start:]} = lib.{n}\n" for n in names)
    return f"\n\nclass {class_name(kind)}(IntEnum):\n{members}"


HINTS = {
    "char *": "Optional[Path]",
    "char * *": "Optional[Sequence[Path]]",
    "struct cop_packet *": "Optional[Packet]",
}


def parameter(path: str, kind: Any) -> str:
    """The hint and default of an option."""
    if path.endswith("_ms"):
        return "Optional[float] = None"
    if kind.kind == "enum":
        return f"Union[{class_name(kind)}, str, None] = None"
    if kind.cname == "_Bool":
        return "bool = False"
    if kind.kind == "primitive":
        return "int = 0"
    return HINTS[kind.cname] + " = None"


def functions(ffi: Any) -> str:
    """FUNCTIONS, with the fields of the structs."""
    text = FUNCTIONS
    for struct in OPTIONS:
        known = list(fields(ffi, struct))
        hints = ", ".join(f"{n}: {parameter(p, k)}" for n, p, k in known)
        values = ", ".join(f'"{p}": {n}' for n, p, _ in known)
        text = text.replace("{%s}" % struct, hints)
        text = text.replace("{%s=}" % struct, "{%s}" % values)
    return text


def result_class(ffi: Any, struct: str) -> str:
    """A tuple with the fields of a struct, and the function that reads it."""
    kind = ffi.typeof("struct " + struct)
    hints, values = "", ""
    for name, path, field in fields(ffi, struct):
        value = f"c.{path}"
        if path.endswith(("_ms", "_us")):
            optional = field.cname == "uint32_t"
            hint = "Optional[float]" if optional else "float"
            convert = "seconds_or_none" if optional else "seconds"
            value = f"{convert}({value}, {1000 if path.endswith('_ms') else 1000000})"
        elif field.kind == "enum":
            hint = class_name(field)
            value = f"{hint}({value})"
        elif field.kind == "struct":
            hint = class_name(field)
            value = f"{hint.lower()}({value})"
        elif field.kind == "primitive":
            hint = "int"
        else:
            hint, value = "str", f"to_text({value})"
        hints += f"    {name}: {hint}\n"
        values += f"        {value},\n"
    name = class_name(kind)
    return (f'\n\nclass {name}(NamedTuple):\n    """struct {struct}"""\n\n{hints}'
            f"\n\ndef {name.lower()}(c: Any) -> {name}:\n"
            f"    return {name}(\n{values}    )\n")


def names(ffi: Any, cdef: str) -> str:
    """The text of coppice/_names.py."""
    constants = re.findall(r"#define COP_(\w+) ", cdef)
    text = HEAD + "".join(f"{c}: int = lib.COP_{c}\n" for c in constants)
    enums: Dict[str, Any] = {}
    for struct in OPTIONS + RESULTS:
        for _, _, kind in fields(ffi, struct):
            if kind.kind == "enum":
                enums[kind.cname] = kind
    text += "".join(enum_class(kind) for kind in enums.values())
    text += "".join(result_class(ffi, struct) for struct in RESULTS)
    return text + functions(ffi)


def build(out: str, command: List[str]) -> None:
    """Write _coppice.c and coppice/_names.py into the folder `out`."""
    ffi = cffi.FFI()
    cdef = declarations(command)
    ffi.cdef(cdef + "\nvoid *packet_release(void);\nvoid free(void *);\n")
    ffi.set_source("_coppice", SOURCE)
    ffi.emit_c_code(os.path.join(out, "_coppice.c"))
    plain = cffi.FFI()  # macros have no value yet
    plain.cdef(re.sub(r"#define.*", "", cdef))
    os.makedirs(os.path.join(out, "coppice"), exist_ok=True)
    with open(os.path.join(out, "coppice", "_names.py"), "w") as file:
        file.write(names(plain, cdef))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build(sys.argv[1], sys.argv[2:])
