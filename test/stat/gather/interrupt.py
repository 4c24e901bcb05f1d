#!/usr/bin/env python3
"""interrupt.py STAT PLACES HOW - Ctrl-C on a terminal while coppice-stat runs.

The whole foreground group of the terminal gets the signal, as with a shell. HOW
is "follow", into a pipe, "watch", "samples", or "twice": a daemon is frozen, and
Ctrl-C is pressed again.
"""
import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

# A loaded machine is slow; nothing here is expected to be fast.
PATIENCE_S = 120
FILE = 'trap : INT; "$@" >"$OUT"; echo "status $?" >&2'
SCRIPTS = {
    "follow": '{ trap : INT; "$@"; echo "status $?" >&2; } | cat >"$OUT"',
    "watch": FILE,
    "samples": FILE,
    "twice": FILE,
}
ARGUMENTS = {
    "follow": ["--follow", "--interval", "50", "--shape", "2x2"],
    "watch": ["--watch", "1000", "--timeout", "2000", "--interval", "50",
              "--shape", "2x2"],
    "samples": ["--samples", "10000", "--timeout", "2000", "--interval", "50",
                "--shape", "2x2"],
    "twice": ["--samples", "10000", "--timeout", "2000", "--interval", "50",
              "--shape", "2x2"],
}


def wait_for(what, read):
    """Read until the text has what is wanted."""
    end = time.monotonic() + PATIENCE_S
    text = ""
    while time.monotonic() < end:
        text = read(text)
        if re.search(what, text, re.M):
            return text
    raise AssertionError(f"no {what}: {text}")


def freeze(pid):
    """Freeze the first daemon below a process. Returns its pid."""
    found = [pid]
    for parent in found:
        with open(f"/proc/{parent}/comm", encoding="utf-8") as file:
            if "coppice-statd" in file.read():
                os.kill(parent, signal.SIGSTOP)
                return parent
        found += map(int, subprocess.run(
            ["pgrep", "-P", str(parent)], capture_output=True, text=True,
            check=False).stdout.split())
    raise AssertionError("no daemon")


def main(stat, places, how):
    job = subprocess.Popen([places, "8"], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)
    pids = job.stdout.readline().split()
    job.stdin.write("1 solve\n")
    job.stdin.flush()
    job.stdout.readline()
    with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as out:
        pid, master = pty.fork()
        if pid == 0:
            os.environ["OUT"] = out.name
            os.execv("/bin/sh", ["sh", "-c", SCRIPTS[how], "sh", stat,
                                 *ARGUMENTS[how], *pids])

        def read_terminal(text):
            if select.select([master], [], [], 1)[0]:
                text += os.read(master, 65536).decode("utf-8", "replace")
            return text

        def read_file(_):
            time.sleep(0.05)
            with open(out.name, encoding="utf-8") as file:
                return file.read()

        if how == "follow":
            wait_for("^class 2: 7 tasks", read_file)
        else:
            wait_for("coppice-stat: sample 2(: | of )", read_terminal)
        if how == "twice":
            frozen = freeze(pid)
        os.write(master, b"\x03")
        if how == "twice":
            wait_for("Ctrl-C again ends it at once", read_terminal)
            os.write(master, b"\x03")
        text = wait_for(r"status \d+\s", read_terminal)
        picture = read_file("")
        if how == "twice":
            with contextlib.suppress(ProcessLookupError):
                os.kill(frozen, signal.SIGKILL)
            assert re.search(r"status 130\s", text) and not picture, text
        else:
            assert re.search(r"status 1\s", text), (text, picture)
            assert "lost" not in text and "not whole" not in text, text
            assert re.search("^class 2: 7 tasks", picture, re.M), picture
        if how == "samples":
            assert "10000 samples" not in picture, picture
        os.waitpid(pid, 0)
        os.close(master)
    job.stdin.close()
    assert job.wait(PATIENCE_S) == 0


main(*sys.argv[1:])
