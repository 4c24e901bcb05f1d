"""frames.py CASE FILE - stand where a test wants it, after having written to
FILE, as JSON, the stack of each thread: function, file and line, outermost
first. frames.py --compare FILE: whether the answer of coppice-stat --json on
standard input has just these stacks; others' frames, such as the C library's,
do not count."""
import asyncio
import json
import multiprocessing
import os
import select
import sys
import threading
import time

IMPORTLIB = "<frozen importlib."
stacks = []

def stack_of(frame):
    stack = []
    while frame:
        code = frame.f_code
        if not code.co_filename.startswith(IMPORTLIB):
            stack.insert(0, [code.co_qualname, code.co_filename,
                             frame.f_lineno])
        frame = frame.f_back
    return stack


def tell(frame, threads=1):
    """Add this stack; the last of all writes the file."""
    stacks.append(stack_of(frame))
    if len(stacks) == threads:
        with open(sys.argv[2] + ".new", "w", encoding="utf-8") as file:
            json.dump(stacks, file)
        os.rename(sys.argv[2] + ".new", sys.argv[2])


class Worker:
    def __init__(self, depth=0, in_init=False):
        self.depth = depth
        if in_init:
            tell(sys._getframe()); time.sleep(1000)

    def run(self, depth):
        if depth > 0:
            self.run(depth - 1)
        else:
            sorted([1], key=self.key)

    def key(self, item):
        (lambda: (tell(sys._getframe()), time.sleep(1000)))()


def numbers():
    yield 1
    tell(sys._getframe()); time.sleep(1000)
    yield 2


def größe_日本():
    tell(sys._getframe()); time.sleep(1000)


def thread(lock):
    tell(sys._getframe(), 3); lock.acquire()


def threads():
    lock = threading.Lock()
    lock.acquire()
    for _ in range(2):
        threading.Thread(target=thread, args=(lock,), daemon=True).start()
    tell(sys._getframe(), 3); time.sleep(1000)


def child():
    tell(sys._getframe()); time.sleep(1000)


def module():
    # A module of that name stands in its own code.
    sys.path.insert(0, os.path.dirname(sys.argv[2]))
    with open(os.path.join(sys.path[0], "standing.py"), "w",
              encoding="utf-8") as file:
        file.write("import sys, time, __main__ as main\n"
                   "main.tell(sys._getframe()); time.sleep(1000)\n")
    import standing


def full_pipe():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while os.write(writer, bytes(1 << 16)):
            pass
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    tell(sys._getframe()); os.write(writer, bytes(1 << 16))


async def coroutine():
    await asyncio.sleep(0)
    tell(sys._getframe()); time.sleep(1000)


def lines():
    # Lines far apart, and back.
    value = [0
             for _ in range(3)]








































    assert (value and
            (tell(sys._getframe()), time.sleep(1000))
            )


CASES = {
    "calls": lambda: Worker().run(3),
    "deep": lambda: Worker().run(100),
    "init": lambda: Worker(in_init=True),
    "generator": lambda: sum(numbers()),
    "names": lambda: größe_日本(),
    "threads": threads,
    "fork": lambda: multiprocessing.get_context("fork").Process(
        target=child, daemon=True).start() or time.sleep(1000),
    "coroutine": lambda: asyncio.run(coroutine()),
    "lines": lines,
    "module": module,
    "read": lambda: (tell(sys._getframe()), os.read(os.pipe()[0], 1)),
    "write": full_pipe,
    "select": lambda: (tell(sys._getframe()), select.select([], [], [])),
    "exec": lambda: exec("tell(sys._getframe()); time.sleep(1000)"),
}


def compare(path):
    with open(path, encoding="utf-8") as file:
        truth = json.load(file)
    # All turns of a recursion count as one frame.
    truth = sorted([place for i, place in enumerate(stack)
                    if i == 0 or place != stack[i - 1]] for stack in truth)
    answer = json.load(sys.stdin)
    files = {frame[1] for stack in truth for frame in stack}
    shown = []
    path = []
    for node in answer["nodes"]:
        frame = answer["frames"][node["frame"]]
        if frame.get("file", "").startswith(IMPORTLIB):
            print("shown:", frame)
            return 1
        del path[node["depth"]:]
        path.append([frame["function"], frame.get("file"), frame.get("line")])
        for end in node.get("ends", []):
            stack = [place for place in path if place[1] in files]
            shown += [stack] * end["threads"]
    if sorted(shown) != truth:
        print("true:", *truth, "shown:", *sorted(shown), sep="\n    ")
        return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        sys.exit(compare(sys.argv[2]))
    CASES[sys.argv[1]]()
