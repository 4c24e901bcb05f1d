"""first.py - the README's first tool in Python, front-end and back-end."""

import sys

import coppice


def back_end() -> None:
    with coppice.join() as network:
        for stream, _question in network:  # until the network has ended
            stream.send(coppice.TAG_FIRST, "%d", network.rank)


def front_end() -> None:
    program = [sys.executable, __file__, "back-end"]
    with coppice.launch(shape="2x2", backend=program) as network:
        stream = network.open(up_filter="max")
        asked = stream.size  # one that dies is no member any more
        stream.send(coppice.TAG_FIRST, "%s", "what is your rank?")
        answer = stream.receive(timeout=5)
        (highest,) = answer
        if answer.contributors < asked:
            print("some back-ends are not in the answer", file=sys.stderr)
        print(f"{answer.contributors} back-ends answered; "
              f"the highest rank is {highest}")


if __name__ == "__main__":
    back_end() if sys.argv[1:] else front_end()
