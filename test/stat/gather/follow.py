#!/usr/bin/env python3
"""follow.py STAT PLACES SHORT - coppice-stat --follow, on a terminal and without.

The job is real (places.c), the terminal a pseudo-terminal, and nodes of the
tree are killed by their pid. SHORT is a library that makes memory short.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

# A loaded machine is slow; nothing here is expected to be fast.
PATIENCE_S = 120
ENTER = "\033[?1049h"
LEAVE = "\033[?1049l"
started = []  # programs without a terminal, which would end them when it goes


def launch(command, **options):
    """Start a program that does not outlive this one."""
    started.append(subprocess.Popen(command, **options))
    return started[-1]


class Job:
    """Processes that stand where they are sent."""

    def __init__(self, places, count):
        self.process = subprocess.Popen(
            [places, str(count)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.pids = self.process.stdout.readline().split()

    def go(self, task, place):
        self.process.stdin.write(f"{task} {place}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def check_runs(self):
        for pid in self.pids:
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                status = file.read()
            assert re.search(r"^State:\s+[RS]", status, re.M), status
            assert re.search(r"^TracerPid:\s+0$", status, re.M), status

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(PATIENCE_S) == 0


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, rows, columns, command, run=os.execv):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            # The parent closes this after setting the terminal's size.
            os.read(0, 1)
            os.environ["TERM"] = "xterm"
            os.environ.pop("NO_COLOR", None)
            run(command[0], command)
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.master)
        self.text = ""
        os.write(self.master, b"\n")

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, timeout_s):
        """Read what is there. Returns False at the end."""
        if not select.select([self.master], [], [], timeout_s)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.text += data.decode("utf-8", "replace")
        return bool(data)

    def wait(self, *patterns):
        """Wait for a whole frame, from now on, with all patterns."""
        start = len(self.text)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            for frame in self.text[start:].split("\033[H")[1:]:
                if "\033[J" in frame and all(
                        re.search(pattern, frame) for pattern in patterns):
                    return frame
            assert self.read(0.5), f"it ended: {self.text[-2000:]}"
        raise AssertionError(f"no {patterns} in {self.text[-3000:]}")

    def close(self, keys):
        """Press keys. Returns the exit status, and what came behind."""
        start = len(self.text)
        os.write(self.master, keys)
        return self.finish(start)

    def finish(self, start):
        end = time.monotonic() + PATIENCE_S
        while self.read(1):
            assert time.monotonic() < end, f"no end: {self.text[-2000:]}"
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return status, self.text[start:]

    def is_restored(self):
        """Whether it is as it was before the program."""
        return termios.tcgetattr(self.master)[:6] == self.before[:6]


def lines_of(frame):
    """The lines of a frame, without what is no text."""
    return [re.sub(r"\033\[[?0-9;]*[A-Za-z]", "", line).rstrip("\r")
            for line in frame.split("\n")]


def below(pid, name):
    """Processes under pid, called name, as the kernel cuts it."""
    found = []
    listed = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True,
                            text=True, check=False).stdout.split()
    for child in listed:
        try:
            with open(f"/proc/{child}/comm", encoding="utf-8") as file:
                comm = file.read().strip()
        except OSError:
            continue
        if comm in (name[:15], ("lt-" + name)[:15]):
            found.append(int(child))
        found += below(child, name)
    return found


def sent(places, count):
    """A job of which all but task 1 are in solve()."""
    job = Job(places, count)
    for task in range(count):
        if task != 1:
            job.go(task, "solve")
    return job


def check_terminal(stat, places):
    """What moves is seen, sizes change, nodes die, q ends it."""
    job = sent(places, 16)
    terminal = Terminal(30, 100, [stat, "--follow", "--interval", "100",
                                  "--shape", "2x2", *job.pids])
    terminal.wait(r"16 tasks on 1 host, 2 classes, sample \d+, stopped",
                  r"class 1: 1 task: 1 .*unchanged for \d+ samples, \d",
                  r"\033\[38;5;", "q ends it")
    assert terminal.text.count(ENTER) == 1
    job.go(1, "store")
    terminal.wait(r"store \(places", r"class 1: 1 task: 1 ")
    for _ in range(3):
        job.go(4, "load")
        terminal.wait(r"load \(places", "class 2: 1 task: 4 ")
        job.go(4, "solve")
        terminal.wait(r"2 classes")

    # Another size: each line fits, and the number of lines too.
    terminal.resize(12, 50)
    frame = terminal.wait(r"^16 tasks on 1 host, 2 classes, sample[^\n]*\n *")
    for _ in range(20):
        frame = terminal.wait("16 tasks")
        if max(map(len, lines_of(frame))) <= 50:
            break
    assert max(map(len, lines_of(frame))) <= 50, frame
    assert len(lines_of(frame)) <= 12, frame
    terminal.resize(40, 120)

    # A commnode dies: no task is lost.
    os.kill(below(terminal.pid, "coppice-commnode")[0], signal.SIGKILL)
    terminal.wait("node [12] .*was lost", "was adopted(?s:.*)was adopted")
    job.go(2, "store")
    # Until both orphans are adopted, the picture may lack their tasks.
    terminal.wait("class 1: 2 tasks: 1-2", r"(?s)\A(?!.*not whole)")
    # A daemon dies: its tasks stay at their last places.
    os.kill(below(terminal.pid, "coppice-statd")[0], signal.SIGKILL)
    terminal.wait("the answer is not whole: 4 of 16 tasks")
    status, rest = terminal.close(b"q")
    assert status == 2, (status, rest)
    assert LEAVE in rest and ENTER not in rest, rest
    shown = rest.split(LEAVE)[1]
    assert "16 tasks on 1 host, 2 classes" in shown, shown
    assert "coppice-stat: node" in shown, shown
    assert terminal.is_restored()
    os.close(terminal.master)
    job.check_runs()
    job.end()


def check_keys(stat, places):
    """Ctrl-C and signals end it, and leave terminal and job alone; the status
    is that of the last picture."""
    job = sent(places, 4)
    for how in (b"\x03", b"Q", signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        terminal = Terminal(30, 100, [stat, "--follow", *job.pids])
        terminal.wait("2 classes, sample")
        start = len(terminal.text)
        if isinstance(how, bytes):
            status, rest = terminal.close(how)
        else:
            os.kill(terminal.pid, how)
            status, rest = terminal.finish(start)
        assert status == 1, (how, status, rest)
        assert LEAVE in rest, (how, rest)
        assert terminal.is_restored()
        os.close(terminal.master)
        job.check_runs()
    job.go(1, "solve")
    terminal = Terminal(30, 100, [stat, "--follow", *job.pids])
    terminal.wait("1 class, sample")
    # The names of a known place are not asked for again.
    job.go(1, "store")
    terminal.wait("2 classes, sample")
    job.go(1, "solve")
    terminal.wait("1 class, sample")
    status, rest = terminal.close(b"q")
    assert status == 0, (status, rest)
    os.close(terminal.master)
    job.check_runs()
    job.end()


def check_end(stat, places):
    """Tasks that end are told of; with the last one it ends by itself."""
    job = sent(places, 3)
    terminal = Terminal(30, 100, [stat, "--follow", "--interval", "100",
                                  *job.pids])
    terminal.wait("class 2: 2 tasks: 0,2")
    job.go(0, "end")
    terminal.wait(r"\[exited\]", "class 3: 1 task: 2")
    job.go(1, "end")
    job.go(2, "end")
    status, rest = terminal.finish(len(terminal.text))
    assert status == 0, (status, rest)
    assert "no task is left that could move" in rest.split(LEAVE)[1], rest
    assert terminal.is_restored()
    os.close(terminal.master)
    job.end()


def check_zombies(stat, _places):
    """Tasks that have ended, but for which nobody waits, cannot move either."""
    for ends, expected in ((["KILL", "KILL", "KILL"], 0),
                           (["KILL", "TERM", "KILL"], 1)):
        job = [launch(["sleep", "600"]) for _ in ends]
        terminal = Terminal(30, 100, [stat, "--follow", "--interval", "100",
                                      *(str(task.pid) for task in job)])
        terminal.wait("3 tasks on 1 host, 1 class, sample")
        job[0].kill()
        terminal.wait(r"\[zombie: killed by SIGKILL\]", "2 classes, sample")
        for task, end in zip(job[1:], ends[1:]):
            task.send_signal(getattr(signal, "SIG" + end))
        status, rest = terminal.finish(len(terminal.text))
        assert status == expected, (ends, status, rest)
        assert "no task is left that could move" in rest.split(LEAVE)[1], rest
        assert terminal.is_restored()
        os.close(terminal.master)
        for task, end in zip(job, ends):
            assert task.wait() == -getattr(signal, "SIG" + end)


def run_in_session(program, command):
    """Run it as a shell does that ignores what the background may not, and give
    its place to it by SIGUSR2, or take it, by SIGUSR1."""
    for number in (signal.SIGTTIN, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    # Before the fork: the test may see the child before fork() returns here.
    signal.signal(signal.SIGUSR1, lambda *_: os.tcsetpgrp(0, os.getpid()))
    signal.signal(signal.SIGUSR2, lambda *_: os.tcsetpgrp(0, child))
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        os.execv(program, command)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(status if status >= 0 else 127)


def check_background(stat, places):
    """Who has lost the keys meanwhile gives the terminal back all the same."""
    job = sent(places, 4)
    terminal = Terminal(30, 100, [stat, "--follow", "--interval", "100",
                                  *job.pids], run_in_session)
    terminal.wait("2 classes, sample")
    assert not terminal.is_restored()
    os.kill(terminal.pid, signal.SIGUSR1)
    while os.tcgetpgrp(terminal.master) != terminal.pid:
        time.sleep(0.01)
    # A key that the tool may not read; it checks for keys at each sample.
    os.write(terminal.master, b"x")
    for _ in range(3):
        terminal.wait("2 classes, sample")
    os.kill(terminal.pid, signal.SIGUSR2)
    while os.tcgetpgrp(terminal.master) == terminal.pid:
        time.sleep(0.01)
    start = len(terminal.text)
    os.kill(os.tcgetpgrp(terminal.master), signal.SIGTERM)
    status, rest = terminal.finish(start)
    assert status == 1, (status, rest)
    assert LEAVE in rest, rest
    assert terminal.is_restored()
    os.close(terminal.master)
    job.check_runs()
    job.end()


def check_error(stat, places):
    """An error in the middle leaves the terminal, too, and says what it is."""
    job = sent(places, 4)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "short")

        def run(program, command):
            options = os.environ.get("ASAN_OPTIONS", "")
            os.environ["ASAN_OPTIONS"] = options + ":verify_asan_link_order=0"
            os.environ["LD_PRELOAD"] = sys.argv[3]
            os.environ["TEST_SHORT"] = path
            os.execv(program, command)

        terminal = Terminal(30, 100, [stat, "--follow", "--interval", "100",
                                      *job.pids], run)
        terminal.wait("2 classes, sample")
        assert not terminal.is_restored()
        start = len(terminal.text)
        with open(path, "w", encoding="utf-8"):
            status, rest = terminal.finish(start)
    assert status == 3, (status, rest)
    assert "Cannot allocate memory" in rest.split(LEAVE)[1], rest
    assert terminal.is_restored()
    os.close(terminal.master)
    job.check_runs()
    job.end()


def check_frozen(stat, places):
    """A daemon is frozen: the others go on, and it is told of. If it is frozen
    while it holds a process, its guard ends it."""
    job = sent(places, 16)
    terminal = Terminal(40, 110, [stat, "--follow", "--interval", "100",
                                  "--shape", "2x2", "--timeout", "10",
                                  *job.pids])
    terminal.wait("2 classes, sample")
    victim = below(terminal.pid, "coppice-statd")[0]
    os.kill(victim, signal.SIGSTOP)
    terminal.wait("the answer is not whole: 4 of 16 tasks")
    # At most one of these two belongs to the frozen daemon.
    job.go(2, "store")
    job.go(7, "store")
    terminal.wait(r"store \(places")
    status, rest = terminal.close(b"q")
    assert status == 2, (status, rest)
    assert re.search(r"last seen in sample \d+ of \d+: tasks \d+-\d+: the "
                     "daemon on localhost (is silent|was lost: .*signal 9)",
                     rest), rest
    assert "the answer is not whole: 4 of 16 tasks" in rest, rest
    os.close(terminal.master)
    job.check_runs()
    job.end()


def check_lost(stat, places):
    """No daemon is left: it says so, and ends with what was seen."""
    job = sent(places, 4)
    lost = ("the daemon on localhost was lost: its 4 processes are not looked "
            "at any more")
    terminal = Terminal(40, 110, [stat, "--follow", *job.pids])
    terminal.wait("2 classes, sample")
    start = len(terminal.text)
    os.kill(below(terminal.pid, "coppice-statd")[0], signal.SIGKILL)
    status, rest = terminal.finish(start)
    assert status == 2, (status, rest)
    shown = rest.split(LEAVE)[1]
    for text in (lost, "no daemon is left", "solve (places",
                 "the answer is not whole: 4 of 4 tasks"):
        assert text in shown, (text, rest)
    assert terminal.is_restored()
    os.close(terminal.master)
    # The tool waits neither for the next sample nor for the time-out.
    for how in (["--samples", "100"], ["--watch", "3600"]):
        tool = launch([stat, *how, "--interval", "3600000",
                       "--timeout", "3600", *job.pids],
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = tool.stderr.readline()
        assert "sample 1" in said, said
        os.kill(below(tool.pid, "coppice-statd")[0], signal.SIGKILL)
        out, said = tool.communicate(timeout=PATIENCE_S)
        assert tool.returncode == 2, (how, tool.returncode, said)
        assert lost in said, (how, said)
        assert "the answer is not whole: 4 of 4 tasks" in said, (how, said)
        assert "2 classes" in out, (how, out)
    job.check_runs()
    job.end()


def check_silent(stat, places):
    """The only daemon is frozen: it is said that no sample comes."""
    job = sent(places, 4)
    terminal = Terminal(40, 110, [stat, "--follow", "--interval", "100",
                                  "--timeout", "5", *job.pids])
    terminal.wait("2 classes, sample")
    os.kill(below(terminal.pid, "coppice-statd")[0], signal.SIGSTOP)
    terminal.wait(r"no sample for \d+ s")
    _, rest = terminal.close(b"q")
    assert "no sample for" in rest.split(LEAVE)[1], rest
    os.close(terminal.master)
    job.check_runs()
    job.end()


def check_one_lost(stat, places):
    """One daemon of two dies: it is told of before the next sample is due."""
    job = sent(places, 4)
    terminal = Terminal(40, 110, [stat, "--follow", "--interval", "3600000",
                                  "--shape", "flat:2", *job.pids])
    terminal.wait("2 classes, sample 1")
    os.kill(below(terminal.pid, "coppice-statd")[0], signal.SIGKILL)
    terminal.wait("the answer is not whole: 2 of 4 tasks",
                  "its 2 processes are not looked at any more",
                  r"solve \(places")
    status, rest = terminal.close(b"q")
    assert status == 2, (status, rest)
    os.close(terminal.master)
    job.check_runs()
    job.end()


def check_tutorial(stat, places):
    """The picture of the tutorial."""
    job = sent(places, 16)
    terminal = Terminal(30, 120, [stat, "--follow", "--interval", "200",
                                  *job.pids])
    job.go(1, "store")
    for _ in range(3):
        job.go(4, "load")
        terminal.wait("3 classes", "load")
        job.go(4, "solve")
        terminal.wait("2 classes")
    job.go(4, "load")
    frame = terminal.wait("3 classes", "class 1: 1 task: 1 .*unchanged for",
                          r"class 2: 1 task: 4 .*, moved in \d+ of the last")
    print("\n".join(lines_of(frame)))
    assert terminal.close(b"q")[0] == 1
    os.close(terminal.master)
    job.end()


def check_pipe(stat, places):
    """Without a terminal pictures are appended: when tasks are elsewhere, else
    ever more rarely, and at the end."""
    job = sent(places, 16)
    # The last character may be incomplete.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="ignore") as out:
        tool = launch([stat, "--follow", "--interval", "20",
                       "--json", "/dev/null", *job.pids],
                      stdout=out, stderr=subprocess.DEVNULL,
                      env=os.environ | {"COLUMNS": "1000"})

        def written(pattern, count=1):
            """The parts behind each "---", when that many at the end have it."""
            end = time.monotonic() + PATIENCE_S
            while time.monotonic() < end:
                out.seek(0)
                parts = re.split(r"^--- [-0-9]+ [:0-9]+, sample ", out.read(),
                                 flags=re.M)
                if all(re.search(pattern, part) for part in parts[-count:]):
                    return parts
                time.sleep(0.05)
            raise AssertionError(f"no {pattern}: {parts[-count:]}")

        written(r"load \(places")
        job.go(1, "store")
        written(r"store \(places")
        job.go(1, "solve")
        parts = written("1 class, (?s:.*)16 tasks (?s:.*) samples, ", 4)
        one = [int(re.match(r"\d+", part)[0]) for part in parts[1:]
               if "1 class" in part]
        # A late sample delays the next picture.
        gaps = [b - a for a, b in zip(one, one[1:])]
        assert all(g >= least for g, least in zip(gaps, (2, 4, 8))), parts
        assert len(gaps) >= 3, parts
        assert parts[0] == "" and "\033" not in "".join(parts), parts
        tool.send_signal(signal.SIGINT)
        assert tool.wait(PATIENCE_S) == 0
        written(r": the end\n16 tasks on 1 host, 1 class, \d+ samples, ")
    job.check_runs()
    job.end()


signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
for check in (check_terminal, check_keys, check_end, check_zombies, check_pipe,
              check_background, check_error, check_frozen, check_lost,
              check_silent, check_one_lost, check_tutorial):
    print(check.__doc__.split("\n")[0])
    try:
        check(*sys.argv[1:3])
    finally:
        for program in started:
            program.kill()
