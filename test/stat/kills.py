"""kills.py BUILD KILLS [SEED] - nobody stays stopped or traced, whatever of
coppice-stat is killed, and when.

Watches processes that work and processes that wait, and kills coppice-stat, one
of its daemons or one of its commnodes: half of the times at a random moment, and
half of them while a process is held. Each time, when all that coppice-stat had
started has ended, no thread of the watched processes is stopped or traced, and
those that work go on."""
import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import time

PATIENCE_S = 120
PR_SET_CHILD_SUBREAPER = 36
NOT_PERMITTED = 77  # "skipped", for make check

WORKER = """
import threading, time
def work(depth):
    while depth == 0:
        time.sleep(0.001)
    work(depth - 1)
for _ in range(3):
    threading.Thread(target=work, args=(100,)).start()
print("ready", flush=True)
work(50)
"""


def read(path):
    """The text of a file of /proc; "" if its process is gone."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def numbers(key, pid):
    """Of each thread of a process, what its status has behind the key."""
    try:
        tids = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found = [re.search(rf"^{key}:\s*(\S+)", read(f"/proc/{pid}/task/{tid}/status"), re.M)
             for tid in tids]
    return [match.group(1) for match in found if match]


def holders(pids):
    """Who traces one of the processes."""
    return [int(tracer) for pid in pids for tracer in numbers("TracerPid", pid)
            if tracer != "0"]


def await_true(condition):
    """Whether the condition comes to hold."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def kin(top, program):
    """The processes below `top` that run a program."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        match = re.match(r"\d+ \((.*)\) \S (\d+)", read(f"/proc/{pid}/stat"), re.S)
        if match:
            parents[int(pid)] = (int(match.group(2)), match.group(1))
    found = []
    for pid, (parent, name) in parents.items():
        if name not in (program[:15], ("lt-" + program)[:15]):
            continue
        while parent != top and parent in parents:
            parent = parents[parent][0]
        if parent == top:
            found.append(pid)
    return found


class Kills:
    """The processes that are watched, and what was killed so far."""

    def __init__(self, build, seed):
        self.random = random.Random(seed)
        self.tool = f"{build}/stat/coppice-stat"
        self.environment = dict(os.environ, COPPICE_STATD=f"{build}/run/coppice-statd")
        self.crowd = subprocess.Popen(  # as deep as takes a while to unwind
            [f"{build}/test/stat/walk/crowd", "4", "3", "2000"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.waiting = [int(pid) for pid in self.crowd.stdout.readline().split()]
        self.workers = [subprocess.Popen([sys.executable, "-c", WORKER],
                                         stdout=subprocess.PIPE, text=True)
                        for _ in range(4)]
        for worker in self.workers:
            assert worker.stdout.readline() == "ready\n"
        self.watched = self.waiting + [worker.pid for worker in self.workers]
        self.counts = {}
        self.looks = []

    def look(self, *options):
        """Start coppice-stat on all of them."""
        self.looks.append(subprocess.Popen(
            [self.tool, "--shape", "2x2", "--timeout", "60", *options,
             *map(str, self.watched)], env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        return self.looks[-1]

    def victim(self, tool, program, is_held):
        """Wait for what is to be killed; None if coppice-stat has ended before."""
        while tool.poll() is None:
            holding = holders(self.watched)
            if is_held and not holding:
                continue
            if program == "coppice-stat":
                return tool.pid
            if program == "coppice-statd" and is_held:
                return self.random.choice(holding)
            found = kin(tool.pid, program)
            if found:
                return self.random.choice(found)
        return None

    def kill(self, program, is_held):
        """Kill one, then the others of its tree; all are fine then."""
        tool = self.look("--samples", "10000", "--interval", "1")
        if not is_held:
            time.sleep(self.random.uniform(0, 1))
        victim = self.victim(tool, program, is_held)
        assert victim, f"coppice-stat has ended: {tool.communicate()[0]}"
        key = f"{program}{', a process held' if is_held else ''}"
        try:
            os.kill(victim, signal.SIGKILL)
            self.counts[key] = self.counts.get(key, 0) + 1
        except ProcessLookupError:
            pass  # a daemon that has ended meanwhile: the next one counts
        if program != "coppice-stat":
            time.sleep(self.random.uniform(0, 0.2))
            tool.kill()
        tool.wait()
        tool.stdout.close()
        assert await_true(self.is_quiet), f"{key}: something of coppice-stat is left"
        self.check(key)

    def is_quiet(self):
        """Whether only the watched processes are left below this one."""
        known = {self.crowd.pid} | {worker.pid for worker in self.workers}
        left = False
        children = read(f"/proc/self/task/{os.getpid()}/children")
        for pid in map(int, children.split()):
            if pid not in known:
                left = os.waitpid(pid, os.WNOHANG)[0] == 0 or left
        return not left

    def check(self, key):
        """No process is stopped or traced, and those that ran go on."""
        for pid in self.watched:
            assert numbers("TracerPid", pid), f"{key}: process {pid} has ended"
            assert await_true(lambda: set(numbers("TracerPid", pid)) == {"0"}), \
                f"{key}: process {pid} is traced: {read(f'/proc/{pid}/status')}"
            assert await_true(lambda: not set("tTZX") & set(numbers("State", pid))), \
                f"{key}: process {pid} is stopped: {read(f'/proc/{pid}/status')}"
        for worker in self.workers:
            before = numbers("voluntary_ctxt_switches", worker.pid)
            assert await_true(lambda: all(
                int(now) > int(then) + 1 for then, now in
                zip(before, numbers("voluntary_ctxt_switches", worker.pid)))), \
                f"{key}: a thread of process {worker.pid} does not go on"

    def end(self):
        """The watched processes end as they should, and nothing is left of what
        was started, also if this is ended meanwhile."""
        for process in self.looks + self.workers:
            process.kill()
            process.wait()
        self.crowd.stdin.close()
        assert self.crowd.wait() == 0


def main():
    """Kill as often as is wanted."""
    kills = int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    print(f"kills.py: {kills} kills, seed {seed}", flush=True)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    case = Kills(sys.argv[1], seed)
    try:
        said = case.look().communicate()[0]
        if "not permitted" in said:
            print("skipped: this user may not trace processes here")
            return NOT_PERMITTED
        assert await_true(case.is_quiet), "something of the first look is left"
        programs = ["coppice-stat", "coppice-statd", "coppice-commnode"]
        while sum(case.counts.values()) < kills:
            done = sum(case.counts.values())
            case.kill(programs[done % 3], done // 3 % 2 == 0)
        for key, count in sorted(case.counts.items()):
            print(f"{count:5} kills of {key}")
    finally:
        case.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
