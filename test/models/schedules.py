"""Trees, links and schedules: what the models share.

usage: MODEL random RUNS [SEED0] [-m RULES]         random schedules of trees of 4 to 9 nodes
       MODEL exhaust PARENTS KEY=N ... [-m RULES]   every schedule of a small tree
       MODEL shrink RUNS [SEED0] [-m RULES]         a short schedule of a violation
       MODEL table [RUNS]                           each rule taken away in turn: all must be found
RULES, comma separated, are taken away. PARENTS are those of the ranks 1, 2, 3 ... Exit status 1: a violation.

A link is two FIFO queues. After a crash or a reset the bytes in flight may be cut anywhere, and each end finds the link
down at its own time. (So a router that was stopped and continued is one that has not looked at its links yet.) A node
without a parent is adopted by any node whose path to the front-end is whole. Adoption is one step; everything that it
entails travels. A back-end is a node without children.
"""
import random, sys, time

ROOT, COMM, LEAF = 0, 1, 2
CHILD, PARENT, UP, DOWN, UP_CLOSED, DOWN_CLOSED, USED, OWED, USED_LATE = range(9)
# of a link; _CLOSED: None when it has been read; the last three: packets that took credit

class Violation(Exception):
    pass

def bits(ranks):
    return [i for i in range(ranks.bit_length()) if ranks >> i & 1]

class BaseNode:
    __slots__ = ()

    def clone(self):
        n = self.__class__.__new__(self.__class__)
        for s in self.__slots__:
            setattr(n, s, getattr(self, s))
        n.kids = {l: r[:] for l, r in self.kids.items()}
        return n

    def key(self):
        return tuple([getattr(self, s) for s in self.__slots__ if s != 'kids']) + \
            tuple([(l, tuple(r)) for l, r in sorted(self.kids.items())])

class BaseWorld:
    """The tree. A subclass has: new_node(), counters and logs of plain values, do_EVENT() for each event,
    from_child() and from_parent() for messages, child_gone() and parent_gone() for ends of links that were read."""

    def build(self, shape, spare, new_node):
        """`shape` has the parents of the ranks 1, 2, 3 ...; `spare` back-ends may join later."""
        n = len(shape) + 1
        parents = (None,) + tuple(shape)
        self.nodes, self.links = [], {}
        for i in range(n + spare):
            x = new_node(i, ROOT if i == 0 else COMM if i in parents else LEAF, i < n)
            x.alive, x.parent, x.kids, x.inc = i < n, None, {}, 0
            self.nodes.append(x)
        self.below_first = [1 << i if self.nodes[i].kind == LEAF else 0 for i in range(n)]
        for i in range(n - 1, 0, -1):
            self.below_first[parents[i]] |= self.below_first[i]
        for c in range(1, n):
            self.links[c * 32] = [c, parents[c], (), (), False, False, 0, 0, 0]
            self.nodes[c].parent = c * 32

    def clone(self):
        w = self.__class__.__new__(self.__class__)
        w.__dict__.update({k: dict(v) if type(v) is dict else v for k, v in self.__dict__.items()})
        w.nodes = [x.clone() for x in self.nodes]
        w.links = {l: r[:] for l, r in self.links.items()}
        return w

    CONSTANT = ('nodes', 'links', 'below_first', 'broken', 'wake')

    def key(self):
        rest = tuple([tuple(sorted(v.items())) if type(v) is dict else v
                      for k, v in self.__dict__.items() if k not in self.CONSTANT])
        return hash((tuple([x.key() for x in self.nodes]),
                     tuple([(l, tuple(r)) for l, r in sorted(self.links.items())]), rest))

    def open(self, lid):
        link = self.links.get(lid)
        return link is not None and link[UP_CLOSED] is False and link[DOWN_CLOSED] is False

    def up(self, lid, message):
        if self.open(lid):
            self.links[lid][UP] += (message,)

    def down(self, lid, message):
        if self.open(lid):
            self.links[lid][DOWN] += (message,)

    def close(self, lid):
        link = self.links[lid]
        for way, closed, reader in ((UP, UP_CLOSED, PARENT), (DOWN, DOWN_CLOSED, CHILD)):
            if link[closed] is False:
                link[closed] = True
            if not self.nodes[link[reader]].alive:
                link[way], link[closed] = (), None
        if link[UP_CLOSED] is None and link[DOWN_CLOSED] is None:
            del self.links[lid]

    def close_all(self, i):
        """Node i has ended."""
        x = self.nodes[i]
        x.alive, x.kids, x.parent, x.inc = False, {}, None, x.inc + 1
        for lid in [l for l, r in self.links.items() if i in (r[CHILD], r[PARENT])]:
            self.close(lid)

    def new_link(self, i, parent):
        x = self.nodes[i]
        x.inc += 1
        x.parent = i * 32 + x.inc
        self.links[x.parent] = [i, parent, (), (), False, False, 0, 0, 0]
        return x.parent

    def read_end(self, lid, way):
        """The reader has found the link down."""
        link = self.links[lid]
        closed, other = (UP_CLOSED, DOWN_CLOSED) if way == UP else (DOWN_CLOSED, UP_CLOSED)
        link[way], link[closed] = (), None
        if link[other] is None:
            del self.links[lid]

    def is_whole(self, i, without=None):
        """The path from i to the front-end is whole, and `without` is not on it."""
        while i != 0:
            if i == without or not self.nodes[i].alive or not self.open(self.nodes[i].parent):
                return False
            i = self.links[self.nodes[i].parent][PARENT]
        return True

    def deliveries(self):
        out = []
        for lid, link in self.links.items():
            if link[UP] or link[UP_CLOSED]:
                out.append(('u', lid))
            if link[DOWN] or link[DOWN_CLOSED]:
                out.append(('d', lid))
        return out

    def link_faults(self):
        out = []
        for lid, link in self.links.items():
            if link[UP_CLOSED] and link[UP]:
                out.append(('cut', lid, UP))
            if link[DOWN_CLOSED] and link[DOWN]:
                out.append(('cut', lid, DOWN))
            if self.resets and self.open(lid):
                out.append(('reset', lid))
        return out

    def adopters(self, i):
        return [a for a, y in enumerate(self.nodes)
                if y.alive and y.kind != LEAF and a != i and self.is_whole(a, i)]

    def step(self, event):
        getattr(self, 'do_' + event[0])(*event[1:])
        self.check()

    def check(self):
        """What must hold after each event."""

    def run(self, i):
        """Go on at node i after a message from a child, or the end of its link."""

    def do_u(self, lid):
        link = self.links[lid]
        p = link[PARENT]
        if link[UP]:
            message, link[UP] = link[UP][0], link[UP][1:]
            self.from_child(p, lid, message)
        else:
            self.read_end(lid, UP)
            self.child_gone(p, lid)
        self.run(p)

    def do_d(self, lid):
        link = self.links[lid]
        c = link[CHILD]
        if link[DOWN]:
            message, link[DOWN] = link[DOWN][0], link[DOWN][1:]
            return self.from_parent(c, lid, message)
        self.read_end(lid, DOWN)
        if self.nodes[c].parent == lid:
            self.parent_gone(c)

    def do_cut(self, lid, way):
        self.links[lid][way] = ()

    def do_reset(self, lid):
        self.resets -= 1
        self.close(lid)

    def do_crash(self, i):
        self.crashes -= 1
        self.die(i)

    def die(self, i):
        self.close_all(i)

    def do_ran(self, i):
        """The filter call that is out at node i ends."""
        self.end_call(i)
        self.run(i)

class Model:
    """The command line of a model: `world(shape, broken=..., **config)`, `config(rng)` and the names of its rules."""

    def __init__(self, world, config, pick, rules, where):
        """`where`: rule -> the seed or the small tree that needs it; None: neither is known."""
        self.world, self.config, self.pick, self.rules, self.where = world, config, pick, rules, where

    def draw(self, seed):
        rng = random.Random(seed)
        n = rng.randint(4, 9)
        shape = (0,)
        while not any(shape):
            shape = tuple([rng.randint(0, min(i, 3)) for i in range(n - 1)])
        return rng, shape, self.config(rng)

    def run(self, rng, shape, config, broken, trace, limit=4000):
        w = self.world(shape, broken=broken, **config)
        faults = True
        for k in range(limit):
            if faults and k > 80 and rng.random() < 0.005:
                faults = False
            d, o = w.deliveries(), w.others(faults)
            if not d and not o:
                break
            if not d and faults and rng.random() < 0.1:
                faults = False
                continue
            event = self.pick(w, rng, config, d, o)
            if event is not None:
                trace.append(event)
                w.step(event)
        else:
            raise Violation('no end')
        if not w.others(False):
            w.rest()
        return w

    def random(self, runs, seed, broken, quiet=False):
        start, steps, redos = time.time(), 0, 0
        for s in range(seed, seed + runs):
            trace = []
            rng, shape, config = self.draw(s)
            try:
                redos += getattr(self.run(rng, shape, config, broken, trace), 'redos', 0)
            except Violation as v:
                if not quiet:
                    print(f'seed {s}: {shape} {config}: {len(trace)} events -> {v}')
                return s, str(v)
            steps += len(trace)
        if not quiet:
            print(f'random: {runs} runs, {steps} steps, {redos} redos, violations: 0, {time.time() - start:.0f} s')
        return None, None

    def replay(self, shape, config, broken, trace):
        w = self.world(shape, broken=broken, **config)
        for k, event in enumerate(trace):
            if event not in w.deliveries() and event not in w.others(True):
                return None
            try:
                w.step(event)
            except Violation as v:
                return trace[:k + 1], str(v)
        if not w.deliveries() and not w.others(False):
            try:
                w.rest()
            except Violation as v:
                return trace, str(v)
        return None

    def shrink(self, runs, seed, broken):
        """Print the shortest schedule found of what random() finds in any of these runs."""
        best = None
        for s in range(seed, seed + runs):
            trace = []
            rng, shape, config = self.draw(s)
            try:
                self.run(rng, shape, config, broken, trace)
            except Violation as v:
                found = self.replay(shape, config, broken, trace) or (trace, str(v))
                again = True
                while again:
                    again = False
                    for size in (8, 4, 2, 1):
                        k = 0
                        while k < len(found[0]):
                            r = self.replay(shape, config, broken, found[0][:k] + found[0][k + size:])
                            if r:
                                found, again = r, True
                            else:
                                k += 1
                if best is None or len(found[0]) < len(best[2]):
                    best = (shape, config, found[0], found[1], s)
        if best is None:
            return print('violations: 0')
        print(f'seed {best[4]}: {best[0]} {best[1]}: {len(best[2])} events -> {best[3]}')
        w = self.world(best[0], broken=broken, **best[1])
        for event in best[2]:
            queue = w.links[event[1]][UP if event[0] == 'u' else DOWN] if event[0] in 'ud' else None
            print('   ', event, '' if queue is None else (queue[0] if queue else 'the link has ended'))
            try:
                w.step(event)
            except Violation:
                break
        w.show()
        return best

    def exhaust(self, shape, config, broken, limit):
        """Every schedule. States are told apart by a hash of 64 bits."""
        start = time.time()
        w = self.world(shape, broken=broken, **config)
        seen, stack, rests = {w.key()}, [(w, None)], 0
        while stack:
            w, trace = stack.pop()
            d, o = w.deliveries(), w.others(True)
            way = trace
            try:
                if not d and not w.others(False):
                    rests += 1
                    w.rest()
                for event in d + o:
                    v = w.clone()
                    way = (event, trace)
                    v.step(event)
                    k = v.key()
                    if k not in seen:
                        seen.add(k)
                        stack.append((v, way))
            except Violation as e:
                print(f'{shape} {config}: {len(seen)} states -> {e}')
                events = []
                while way:
                    events.append(way[0])
                    way = way[1]
                for event in reversed(events):
                    print('   ', event)
                return True
            if len(seen) > limit:
                print(f'NOT complete: {shape} {config}: {len(seen)} states, {rests} at rest, violations: 0, '
                      f'{time.time() - start:.0f} s', flush=True)
                return False
        print(f'complete: {shape} {config}: {len(seen)} states, {rests} at rest, violations: 0, '
              f'{time.time() - start:.0f} s', flush=True)
        return False

    def table(self, runs):
        """Each rule taken away in turn."""
        missed = []
        for rule in self.rules:
            where = self.where.get(rule, 0)
            if where is None:
                continue
            if type(where) is tuple:
                found = self.exhaust(*where, frozenset([rule]), 400000)
            else:
                s, why = self.random(runs, where, frozenset([rule]), True)
                found = s is not None
                print(f'{rule:12}', f'run {s - where + 1}: {why}' if found else f'none in {runs} runs', flush=True)
            if not found:
                missed.append(rule)
        print('missed:', ', '.join(missed) if missed else 'none')
        return bool(missed)

    def main(self, usage):
        args = sys.argv[1:]
        broken = frozenset()
        if '-m' in args:
            k = args.index('-m')
            broken = frozenset(args[k + 1].split(','))
            del args[k:k + 2]
        if broken - set(self.rules):
            sys.exit('no such rule: ' + ', '.join(broken - set(self.rules)))
        mode, args = (args[0], args[1:]) if args else ('', [])
        if mode == 'exhaust' and args:
            config = dict(a.split('=') for a in args[1:])
            limit = int(config.pop('states', 400000))
            sys.exit(self.exhaust(tuple([int(p) for p in args[0].split(',')]),
                                  {k: int(v) for k, v in config.items()}, broken, limit))
        runs = int(args[0]) if args else 1000
        seed = int(args[1]) if len(args) > 1 else 0
        if mode == 'random':
            sys.exit(self.random(runs, seed, broken)[0] is not None)
        if mode == 'shrink':
            sys.exit(self.shrink(runs, seed, broken) is not None)
        if mode == 'table':
            sys.exit(self.table(runs))
        sys.exit(f'{usage}\n{__doc__}')
