#!/usr/bin/env python3
"""Model of Coppice's recovery (PROTOCOL 9 to 11): what goes up, what goes down, what is stable.

usage: recovery.py random  RUNS [SEED0] [-j N] [-m FLAGS]    random schedules on trees of 6 to 12 nodes
       recovery.py exhaust SHAPE PACKETS CRASHES [INPUTS [RESETS [LOSSES]]] [-l LIMIT] [-m FLAGS] [-w WINDOW]
       recovery.py shrink  [-m FLAGS] [-n TRIES] [-v]        a small tree, the shortest violation found
       recovery.py waves   RUNS [SEED0] [-m FLAGS]           the same for wait_for_all waves (see class Waves)
       recovery.py table   [RUNS]                            each mutation in turn must be found (but SILENT)
SHAPE is the parent of ranks 1, 2, 3 ... such as 0,0,1,1,2; a node without children is a back-end and a member.
FLAGS, comma separated, each take one rule away (see MUTATIONS and WAVE_MUTATIONS).  Exit status 1: a violation was found.

One stream.  A process crashes at any time; each link is FIFO, one queue each way; after a crash or a reset what is in
flight may be cut at any point and then the reader sees the link go down.  An orphan is adopted by any live internal
node whose path to the root is whole (the probe); that one step is atomic, all that it entails travels as messages.

    up    HELLO(knows)          first on a new link: have I been told of the stream?
          UPD(set, ack)         the members below me, and: every one of them has every packet up to ack
          FEED(from)            send me every packet after from; restarts a feed
          DATA(items)           filter output (difference), or the whole state on a new link (compensation)
    down  OPEN                  the stream's definition
          PKT(seq, stable)      a packet, and the newest stable number
          EXPEL(set)            these members were given up: leave

Sets of ranks, items and sequence numbers are integers used as bit sets.
"""
import sys, random, time

MUTATIONS = {
    'nocover':   'stable = min over the children known now, though members may be between two branches',
    'count':     'acknowledgements carry a number of members, not which; stable when the numbers add up',
    'lateack':   'a branch announces new members first and its (lower) acknowledgement in a later message',
    'posack':    'on adoption the position (what the orphan has seen) is taken as its acknowledgement',
    'childack':  'a node drops what its own children have acknowledged (no stability)',
    'hopack':    'as childack, and a node acknowledges what it has itself',
    'hipos':     'position = highest number seen, even if there is a hole below it',
    'nofeed':    'the adopter asks its own parent for nothing: it sends what it has and then what comes',
    'nohold':    'new packets go to the adoptee at once, before what it missed has come',
    'nodedup':   'a node passes on what it receives without looking at the number',
    'nojump':    'a child position below the stable number is not lifted to it',
    'nolost':    'the front-end never gives up a member that no branch covers',
    'faillost':  '(expels live members) a member whose parent lost its link is given up at once (FAILED), not after a grace time',
    'nofence':   'a member that was given up comes back and is served as if nothing had been',
    'norefence': '(no violation known) nodes do not remember who was given up; only the front-end says EXPEL, when the set it sees changes',
    'latepath':  'packets of a link already given up are still taken (link down overtakes data)',
    'nowindow':  '(costs memory only) the front-end sends however much is unstable',
    'nocomp':    'no compensation',
    'snapcomp':  'the compensation is packed when the link breaks, not when the adopter has answered',
    'noopen':    'an adopter does not send the definition of a stream that the adoptee lacks',
    'dropheld':  'data for a stream whose definition is still on its way is dropped instead of held',
    'byrank':    'records are kept by rank, not by link: the end of an old link removes the child that came back',
    'leafdedup': '(no mutation: back-ends take only the next number and ignore every other)',
}

# what `table` leaves out: no oracle objects, no violation is known, or it takes tens of thousands of runs
SILENT = ('faillost', 'nowindow', 'norefence', 'leafdedup', 'posack', 'nojump')

ROOT, COMM, LEAF = 0, 1, 2
NAMES = {'u': 'up', 'd': 'down'}

class Violation(Exception):
    pass

class Node:
    __slots__ = ('alive', 'kind', 'parent', 'stable', 'store', 'base', 'told', 'knows', 'state', 'held', 'last',
                 'member', 'expelled', 'fenced', 'kids', 'snap', 'inc', 'hi')

    def clone(self):
        n = Node.__new__(Node)
        for s in Node.__slots__:
            setattr(n, s, getattr(self, s))
        n.kids = {l: r[:] for l, r in self.kids.items()}
        return n

    def key(self):
        return (self.alive, self.parent, self.stable, self.store, self.base, self.told, self.knows, self.state,
                self.held, self.last, self.member, self.expelled, self.fenced, self.snap, self.hi,
                tuple((l, tuple(r)) for l, r in sorted(self.kids.items())))

# a kid record: what a parent knows of the child behind a link
ROUTE, ACK, CURSOR, COUNT, KNOWS, WARNED = range(6)
# a link
CHILD, PARENT, UP, DOWN, UCLOSED, DCLOSED = range(6)

def bits(x):
    i, out = 0, []
    while x:
        if x & 1:
            out.append(i)
        x >>= 1
        i += 1
    return out

class World:
    """The state of everything; step() is one event."""

    def __init__(self, shape, packets, crashes, inputs=0, resets=0, losses=0, window=4, opening=False, mut=frozenset(),
                 coalesce=False, leafcrashes=None):
        n = len(shape) + 1
        par = (None,) + tuple(shape)
        self.mut, self.window, self.coalesce = mut, (10 ** 6 if 'nowindow' in mut else window), coalesce
        self.packets, self.crashes, self.inputs, self.resets, self.losses = packets, crashes, inputs, resets, losses
        self.leafcrashes = crashes if leafcrashes is None else leafcrashes
        self.seq, self.lost, self.nextitem, self.maxstore = 0, 0, 0, 0
        self.given = [0] * n                      # items that each back-end has put in
        self.links, self.nodes = {}, []
        self.members = sum(1 << i for i in range(n) if i not in par)
        for i in range(n):
            x = Node()
            x.alive, x.parent, x.stable, x.store, x.base, x.told = True, None, 0, 0, None, None
            x.kind = ROOT if i == 0 else COMM if i in par else LEAF
            x.knows = x.kind == ROOT or not opening
            x.state, x.held, x.last, x.expelled, x.fenced, x.kids, x.snap, x.inc, x.hi = 0, 0, 0, False, 0, {}, 0, 0, 0
            x.member = x.kind == LEAF and x.knows
            self.nodes.append(x)
        below = [1 << i if self.members >> i & 1 else 0 for i in range(n)]
        for i in range(n - 1, 0, -1):
            below[par[i]] |= below[i]
        for c in range(1, n):
            lid, x = c * 32, self.nodes[c]
            self.links[lid] = [c, par[c], (), (), False, False]
            x.parent = lid
            x.base, x.told = (None, None) if opening else (0, (below[c], 0, bin(below[c]).count('1')))
            self.nodes[par[c]].kids[lid] = [0, 0, -1, 0, False, False] if opening else [below[c], 0, 0, x.told[2], True, False]
        if opening:
            for lid, r in self.nodes[0].kids.items():
                r[KNOWS] = True
                self.send(lid, DOWN, ('OPEN',))

    def clone(self):
        w = World.__new__(World)
        w.__dict__.update(self.__dict__)
        w.nodes = [x.clone() for x in self.nodes]
        w.links = {l: r[:] for l, r in self.links.items()}
        w.given = self.given[:]
        return w

    def key(self):
        return hash((tuple(x.key() for x in self.nodes), tuple((l, tuple(r)) for l, r in sorted(self.links.items())),
                     self.seq, self.lost, self.crashes, self.leafcrashes, self.resets, self.losses, tuple(self.given)))

    # ---- links

    def send(self, lid, way, msg):
        link = self.links.get(lid)
        if link is None or link[way + 2] is not False:
            return
        q = link[way]
        if self.coalesce and q and msg[0] == 'UPD' and q[-1][0] == 'UPD':
            q = q[:-1]
        link[way] = q + (msg,)

    def close(self, lid, dead=None):
        """nothing more enters the link; what is in flight may still come, except to one who is dead"""
        link = self.links[lid]
        for way in (UP, DOWN):
            if link[way + 2] is False:
                link[way + 2] = True
        for way, reader in ((UP, PARENT), (DOWN, CHILD)):
            if not self.nodes[link[reader]].alive:
                link[way], link[way + 2] = (), None
        if not self.nodes[link[CHILD]].alive and not self.nodes[link[PARENT]].alive:
            del self.links[lid]

    def drop(self, lid, way):
        """the reader of this direction has seen the end of it"""
        link = self.links[lid]
        link[way], link[way + 2] = (), None         # None: read to the end
        other = DOWN if way == UP else UP
        if link[other + 2] is None:
            del self.links[lid]

    # ---- the events that may happen now

    def acceptors(self, o):
        out = []
        for a, x in enumerate(self.nodes):
            if not x.alive or x.kind == LEAF or a == o:
                continue
            y, ok = a, True
            while y != 0:
                lid = self.nodes[y].parent
                link = self.links.get(lid) if lid is not None else None
                if y == o or link is None or link[UCLOSED] is not False or link[DCLOSED] is not False or not self.nodes[link[PARENT]].alive:
                    ok = False
                    break
                y = link[PARENT]
            if ok:
                out.append(a)
        return out

    def uncovered(self):
        cover = 0
        for r in self.nodes[0].kids.values():
            cover |= r[ROUTE]
        return self.members & ~self.lost & ~cover

    def deliveries(self):
        out = []
        for lid, l in self.links.items():
            if l[2] or l[4]:
                out.append(('u', lid))
            if l[3] or l[5]:
                out.append(('d', lid))
        return out

    def others(self, faults=True):
        out = []
        for lid, l in self.links.items():
            if l[4] and l[2]:
                out.append(('cut', lid, UP))
            if l[5] and l[3]:
                out.append(('cut', lid, DOWN))
                if 'latepath' in self.mut and self.nodes[l[CHILD]].parent == lid:
                    out.append(('early', lid))
            if faults and self.resets and l[4] is False and l[5] is False:
                out.append(('reset', lid))
        for i, x in enumerate(self.nodes):
            if not x.alive or i == 0:
                continue
            if faults and self.crashes and x.kind == COMM:
                out.append(('crash', i))
            if faults and self.leafcrashes and self.crashes and x.kind == LEAF:
                out.append(('crash', i))
            if x.parent is None:
                out.extend(('adopt', i, a) for a in self.acceptors(i))
            if self.inputs and x.kind == LEAF and x.knows and not x.expelled:
                out.append(('in', i))
        if self.seq < self.packets and self.seq - self.nodes[0].stable < self.window:
            out.append(('send',))
        if 'nolost' not in self.mut:
            for m in bits(self.uncovered()):
                if not self.nodes[m].alive or (faults and self.losses and self.nodes[m].parent is None):
                    out.append(('lose', m))
        return out

    # ---- one event

    def step(self, e):
        kind = e[0]
        if kind == 'u' or kind == 'd':
            way = UP if kind == 'u' else DOWN
            link = self.links[e[1]]
            if link[way]:
                msg, link[way] = link[way][0], link[way][1:]
                if way == UP:
                    self.from_child(link[PARENT], e[1], msg)
                else:
                    self.from_parent(link[CHILD], e[1], msg)
            else:
                self.down(e[1], way)
        elif kind == 'cut':
            self.links[e[1]][e[2]] = ()
        elif kind == 'early':
            c = self.nodes[self.links[e[1]][CHILD]]
            if c.parent == e[1]:
                c.parent, c.base, c.told, c.snap = None, None, None, c.state
        elif kind == 'crash':
            self.crashes -= 1
            x = self.nodes[e[1]]
            if x.kind == LEAF:
                self.leafcrashes -= 1
            x.alive, x.kids, x.store, x.state, x.parent = False, {}, 0, 0, None
            for lid in [l for l, r in self.links.items() if e[1] in (r[CHILD], r[PARENT])]:
                self.close(lid)
        elif kind == 'reset':
            self.resets -= 1
            self.close(e[1])
        elif kind == 'adopt':
            self.adopt(e[1], e[2])
        elif kind == 'in':
            self.inputs -= 1
            item = 1 << self.nextitem
            self.nextitem += 1
            self.given[e[1]] |= item
            self.absorb(e[1], item)
        elif kind == 'send':
            self.seq += 1
            r = self.nodes[0]
            r.store |= 1 << self.seq
            self.measure(r)
            self.push(r)
            self.tell(0)
        elif kind == 'lose':
            if self.nodes[e[1]].alive:
                self.losses -= 1
            self.lost |= 1 << e[1]
            self.nodes[0].fenced |= 1 << e[1]
            self.tell(0)

    def down(self, lid, way):
        link = self.links[lid]
        i = link[PARENT] if way == UP else link[CHILD]
        x = self.nodes[i]
        self.drop(lid, way)
        if way == UP:
            r = x.kids.pop(lid, None)
            if 'byrank' in self.mut:
                for l in [l for l in x.kids if l // 32 == lid // 32]:
                    del x.kids[l]
            if 'faillost' in self.mut and r and self.nodes[link[CHILD]].kind == LEAF:
                self.lost |= 1 << link[CHILD]
                self.nodes[0].fenced |= 1 << link[CHILD]
                self.tell(0)
            self.tell(i)
        elif x.parent == lid:
            x.parent, x.base, x.told, x.snap = None, None, None, x.state

    def adopt(self, o, a):
        x = self.nodes[o]
        x.inc += 1
        lid = o * 32 + x.inc
        self.links[lid] = [o, a, (), (), False, False]
        x.parent = lid
        self.nodes[a].kids[lid] = [0, 0, -1, 0, None, False]
        self.send(lid, UP, ('HELLO', x.knows))
        self.tell(o)
        comp = x.snap if 'snapcomp' in self.mut else x.state
        if comp and 'nocomp' not in self.mut:
            self.send(lid, UP, ('DATA', comp))

    # ---- upwards: the filter

    def absorb(self, i, items):
        x = self.nodes[i]
        new = items & ~x.state
        x.state |= items
        if new and x.parent is not None:
            self.send(x.parent, UP, ('DATA', new))

    # ---- downwards: what a node tells its parent, what it sends its children

    def tell(self, i):
        """after any change: announce members and acknowledgement, ask for what is missing; the root: count stability"""
        x = self.nodes[i]
        mut = self.mut
        cover, ack, count, low = 0, None, 0, None
        if x.kind == LEAF:
            if x.member:
                cover, ack, count, low = 1 << i, x.last, 1, x.last
        else:
            for r in x.kids.values():
                if r[ROUTE]:
                    cover |= r[ROUTE]
                    count += r[COUNT]
                    if ack is None or r[ACK] < ack:
                        ack = r[ACK]
                    if r[CURSOR] >= 0 and (low is None or r[CURSOR] < low):
                        low = r[CURSOR]
        if x.kind == ROOT:
            self.count_stable(x, cover, ack, count)
            return
        if ('childack' in mut or 'hopack' in mut) and x.kind == COMM and ack is not None:
            x.store &= ~((1 << ack + 1) - 1)
        if x.parent is None:
            return
        if 'hopack' in mut and cover:
            ack = max(ack, x.hi)
        said = (cover, ack if cover else 0, count)
        if said != x.told:
            out = said
            if x.told is None and 'posack' in mut and x.kind == COMM and cover:
                out = (cover, max(x.hi, said[1]), count)
            if 'lateack' in mut and x.kind == COMM and x.told and cover & ~x.told[0]:
                self.send(x.parent, UP, ('UPD', cover, x.told[1] if x.told[0] else 99, count))
            self.send(x.parent, UP, ('UPD',) + out)
            x.told = said
        if not cover:
            x.base, x.store = None, 0
        elif low is not None:
            if x.kind == LEAF:
                frm = x.last
            else:
                frm = max(low, x.stable)
                if 'hipos' in mut:
                    frm = max(frm, x.hi)
                else:
                    while x.store >> frm + 1 & 1:
                        frm += 1
            if x.base is None or frm < x.base:
                if not ('nofeed' in mut and x.base is not None):
                    self.send(x.parent, UP, ('FEED', frm, x.kind))
                x.base = frm

    def count_stable(self, x, cover, ack, count):
        mut = self.mut
        live = self.members & ~self.lost
        if not live:
            new = self.seq
        elif 'nocover' in mut:
            new = ack if ack is not None else x.stable
        elif 'count' in mut:
            new = ack if count >= bin(live).count('1') else x.stable
        else:
            new = ack if not live & ~cover else x.stable
        new = min(new, self.seq)
        if new > x.stable:
            x.stable = new
            x.store &= ~((1 << new + 1) - 1)
            if not mut:
                for m in bits(live):
                    if self.nodes[m].alive and self.nodes[m].last < new:
                        raise Violation(f'stable too early: {new} while member {m} has {self.nodes[m].last}')
        if 'nofence' not in mut:
            for lid, r in x.kids.items():
                if r[ROUTE] & self.lost and not r[WARNED]:
                    self.send(lid, DOWN, ('EXPEL', r[ROUTE] & self.lost))
                    r[WARNED] = True
        self.push(x)

    def measure(self, x):
        k = bin(x.store).count('1')
        if k > self.maxstore:
            self.maxstore = k
            if k > self.window and not self.mut:
                raise Violation(f'retention: {k} packets kept, window {self.window}')

    def push(self, x):
        """to each child the next packets after its cursor, as far as they are here"""
        for lid, r in x.kids.items():
            if r[CURSOR] < 0 or not r[ROUTE]:
                continue
            c = r[CURSOR]
            if c < x.stable and 'nojump' not in self.mut:
                c = x.stable
            while x.store >> c + 1 & 1:
                c += 1
                self.send(lid, DOWN, ('PKT', c, x.stable))
            r[CURSOR] = c

    def from_child(self, p, lid, msg):
        x = self.nodes[p]
        r = x.kids.get(lid)
        if r is None:
            return
        kind = msg[0]
        if kind == 'HELLO':
            r[KNOWS] = msg[1]
            if not msg[1] and x.knows and 'noopen' not in self.mut:
                r[KNOWS] = True
                self.send(lid, DOWN, ('OPEN',))
        elif kind == 'UPD':
            r[ROUTE], r[ACK], r[COUNT], r[WARNED] = msg[1], msg[2], msg[3], False
            if not r[ROUTE]:
                r[CURSOR] = -1
            elif p != 0 and r[ROUTE] & x.fenced and 'nofence' not in self.mut and 'norefence' not in self.mut:
                self.send(lid, DOWN, ('EXPEL', r[ROUTE] & x.fenced))
            self.tell(p)
        elif kind == 'FEED':
            frm = msg[1]
            if 'nofeed' in self.mut and msg[2] == COMM:
                frm = max(frm, x.hi if p else self.seq)
            r[CURSOR] = frm
            self.push(x)
            self.tell(p)
        elif kind == 'DATA':
            if x.knows:
                self.absorb(p, msg[1])
            elif 'dropheld' not in self.mut:
                x.held |= msg[1]

    def from_parent(self, c, lid, msg):
        x = self.nodes[c]
        if x.parent != lid and 'latepath' not in self.mut:
            return
        kind = msg[0]
        if kind == 'OPEN':
            if x.knows:
                return
            x.knows = True
            for l, r in x.kids.items():
                if r[KNOWS] is False:
                    r[KNOWS] = True
                    self.send(l, DOWN, ('OPEN',))
            if x.kind == LEAF:
                x.member = True
                self.tell(c)
            elif x.held:
                held, x.held = x.held, 0
                self.absorb(c, held)
        elif kind == 'PKT':
            seq, stable = msg[1], msg[2]
            if not x.knows:
                raise Violation(f'packet {seq} at {c}, which does not know the stream')
            if x.kind == LEAF:
                self.deliver(c, x, seq, stable)
                return
            if stable > x.stable:
                x.stable = stable
                x.store &= ~((1 << stable + 1) - 1)
            if seq > x.hi:
                x.hi = seq
            if 'nodedup' in self.mut and x.store >> seq & 1:
                for l, r in x.kids.items():
                    if r[CURSOR] >= seq and r[ROUTE]:
                        self.send(l, DOWN, ('PKT', seq, x.stable))
            if 'nohold' in self.mut:
                for l, r in x.kids.items():
                    if 0 <= r[CURSOR] < seq - 1 and r[ROUTE]:
                        self.send(l, DOWN, ('PKT', seq, x.stable))
            if seq > x.stable:
                x.store |= 1 << seq
                self.measure(x)
            self.push(x)
            self.tell(c)
        elif kind == 'EXPEL':
            if 'norefence' not in self.mut:
                x.fenced |= msg[1]
            if x.kind == LEAF:
                if x.member and msg[1] >> c & 1:
                    x.member, x.expelled = False, True
                    self.tell(c)
            else:
                for l, r in x.kids.items():
                    if r[ROUTE] & msg[1]:
                        self.send(l, DOWN, ('EXPEL', r[ROUTE] & msg[1]))

    def deliver(self, c, x, seq, stable):
        if not x.member:
            return
        if seq == x.last + 1:
            x.last = seq
            self.tell(c)
        elif 'leafdedup' in self.mut and seq <= x.last:
            pass
        elif seq <= x.last:
            raise Violation(f'duplicate: {c} gets {seq} again, it has {x.last}')
        elif stable > x.last and self.lost >> c & 1 and 'nofence' not in self.mut:
            x.member, x.expelled = False, True       # overtaken: it was given up, and now it knows
            self.tell(c)
        elif 'leafdedup' in self.mut and stable <= x.last:
            pass                                     # a number out of turn: ignore
        else:
            raise Violation(f'gap: {c} gets {seq} (stable {stable}) after {x.last}')

    # ---- what must hold when nothing can happen any more

    def check_end(self):
        want = 0
        for i, x in enumerate(self.nodes):
            if not x.alive:
                continue
            if i and x.parent is None:
                raise Violation(f'{i} has no parent at the end')
            if x.kind != LEAF:
                continue
            if self.lost >> i & 1:
                if not x.expelled and 'nofence' not in self.mut:
                    raise Violation(f'{i} was given up, lives, and was never told')
                continue
            if x.expelled:
                raise Violation(f'{i} was told to leave though never given up')
            want |= self.given[i]
            if x.last != self.seq:
                raise Violation(f'down: member {i} has {x.last} of {self.seq}')
        if self.seq < self.packets:
            raise Violation(f'sender stalled at {self.seq} of {self.packets}, stable {self.nodes[0].stable}')
        if self.nodes[0].stable != self.seq:
            raise Violation(f'stability stalled at {self.nodes[0].stable} of {self.seq}')
        if want & ~self.nodes[0].state:
            raise Violation(f'up: items {bits(want & ~self.nodes[0].state)} missing at the front-end')
        if self.nodes[0].state & ~sum(self.given):
            raise Violation('up: items at the front-end that nobody gave')

    def drain(self, trace=None):
        """finish in a fixed order, without new faults"""
        while True:
            ev = self.deliveries() or [e for e in self.others(False) if e[0] not in ('cut', 'early')]
            if not ev:
                break
            if trace is not None:
                trace.append(ev[0])
            self.step(ev[0])
        self.check_end()

    def describe(self, e):
        """in words, before the step is taken"""
        if e[0] in 'ud':
            l = self.links[e[1]]
            way = UP if e[0] == 'u' else DOWN
            a, b = (l[CHILD], l[PARENT]) if way == UP else (l[PARENT], l[CHILD])
            if not l[way]:
                return f'{b} sees its link to {a} go down'
            m = l[way][0]
            if m[0] == 'UPD':
                m = f'UPD(members {bits(m[1])}, ack {m[2]})'
            elif m[0] in ('DATA', 'EXPEL'):
                m = f'{m[0]}({bits(m[1])})'
            elif m[0] == 'PKT':
                m = f'PKT({m[1]}, stable {m[2]})'
            elif m[0] == 'FEED':
                m = f'FEED(from {m[1]})'
            else:
                m = m[0]
            return f'{b} gets {m} from {a}'
        if e[0] == 'cut':
            l = self.links[e[1]]
            return f'all in flight from {l[CHILD if e[2] == UP else PARENT]} to {l[PARENT if e[2] == UP else CHILD]} is lost'
        if e[0] in ('reset', 'early'):
            l = self.links[e[1]]
            return f'the link of {l[CHILD]} and its parent {l[PARENT]} breaks' if e[0] == 'reset' else \
                   f'{l[CHILD]} gives up its link to {l[PARENT]} before it has read it to the end'
        return {'crash': 'crash of {}', 'adopt': '{} is adopted by {}', 'send': 'the front-end sends', 'in': 'input at {}',
                'lose': 'the front-end gives {} up'}[e[0]].format(*e[1:])

# ---- random schedules

def random_shape(rng, lo=6, hi=12):
    n = rng.randint(lo, hi)
    comms = rng.randint(2, max(2, n // 2))
    shape = [0] + [rng.randint(0, i - 1) for i in range(2, comms + 1)]
    need = [c for c in range(1, comms + 1) if c not in shape]           # every commnode has a child
    while len(shape) < n - 1 or need:
        c = need.pop() if need else rng.randint(0, comms)
        shape.append(c)
    return tuple(shape)

def random_world(rng, mut, small=False):
    if small:
        shape = rng.choice([(0, 0, 1, 1, 2), (0, 0, 1, 2), (0, 1, 2), (0, 0, 0, 1, 2, 3), (0, 1, 0, 2, 3), (0, 1, 1, 2)])
        return World(shape, rng.randint(0, 4), rng.choice([1, 2]), rng.randint(0, 2), rng.choice([0, 0, 1]),
                     rng.choice([0, 0, 1]), rng.choice([2, 4]), rng.random() < 0.2, mut)
    shape = random_shape(rng)
    return World(shape, rng.randint(1, 12), rng.randint(1, 4), rng.randint(0, 6), rng.choice([0, 0, 1, 2]),
                 rng.choice([0, 0, 0, 1, 2]), rng.randint(1, 6), rng.random() < 0.3, mut)

def random_run(seed, mut=frozenset(), small=False):
    """returns (violation text or None, start world, schedule, steps)"""
    rng = random.Random(seed)
    w = random_world(rng, mut, small)
    start = w.clone() if small else None
    pd = rng.choice((0.35, 0.6, 0.8, 0.9, 0.95))
    quiet = rng.choice((1.0, 1.0, 0.3))               # how gladly faults happen
    burst = None                                      # sometimes: crash the adopter at once, or one and the same link first
    trace, steps = [], 0
    try:
        while True:
            dv = w.deliveries()
            if dv and rng.random() < pd:
                e = rng.choice(dv)
            else:
                ot = w.others()
                if burst is not None and w.crashes and w.nodes[burst].alive and burst and rng.random() < 0.5:
                    e = ('crash', burst)
                elif ot:
                    e = rng.choice(ot)
                    if e[0] in ('crash', 'reset', 'lose') and rng.random() > quiet and dv:
                        e = rng.choice(dv)
                elif dv:
                    e = rng.choice(dv)
                else:
                    break
                burst = e[2] if e[0] == 'adopt' else None
            trace.append(e)
            w.step(e)
            steps += 1
            if steps > 5000:
                raise Violation('does not come to rest')
        w.check_end()
    except Violation as v:
        return str(v), start, trace, steps, w.maxstore
    return None, start, trace, steps, w.maxstore

def replay(start, trace):
    """take what is possible of a schedule, then come to rest; returns (violation or None, the events taken)"""
    w, taken = start.clone(), []
    try:
        for e in trace:
            if e[0] in 'ud':
                if e not in w.deliveries():
                    continue
            elif e not in w.others():
                continue
            taken.append(e)
            w.step(e)
        w.drain(taken)
    except Violation as v:
        return str(v), taken
    return None, taken

def shrink(start, trace, kind):
    best = list(trace)
    again = True
    while again:
        again = False
        for k in (16, 8, 4, 2, 1):
            i = 0
            while i < len(best):
                cand = best[:i] + best[i + k:]
                v, taken = replay(start, cand)
                if v and v.split(':')[0].split(' at ')[0] == kind:
                    best, again = cand, True
                else:
                    i += k
    return best

def find_shortest(mut, tries, seed0=0, verbose=False, want=None):
    best, t0 = None, time.time()
    found = 0
    for s in range(seed0, seed0 + tries):
        v, start, trace, _, _ = random_run(s, mut, True)
        if not v or (want and want not in v):
            continue
        found += 1
        kind = v.split(':')[0].split(' at ')[0]
        if best and len(trace) > 4 * len(best[2]) + 40:
            continue
        small = shrink(start, trace, kind)
        v2, taken = replay(start, small)
        if v2 and (best is None or len(taken) < len(best[2])):
            best = (v2, start, taken, s)
        if found >= 40 or time.time() - t0 > 40:
            break
    return best, found

def show(best, out=sys.stdout):
    v, start, taken, s = best
    w = start.clone()
    shape = [w.links[c * 32][PARENT] for c in range(1, len(w.nodes))]
    print(f'  tree {",".join(map(str, shape))}, window {w.window}, seed {s}: {v}', file=out)
    for k, e in enumerate(taken):
        print(f'   {k + 1:3d} {w.describe(e)}', file=out)
        try:
            w.step(e)
        except Violation as x:
            print(f'       -> {x}', file=out)
            return
    print(f'       -> {v} (at rest)', file=out)

# ---- every schedule of a tiny tree

def exhaust(w0, limit, report=None):
    seen, stack, trans, ends = {w0.key()}, [(w0, None)], 0, 0
    while stack:
        w, path = stack.pop()
        ev = w.deliveries() + w.others()
        if not ev:
            ends += 1
            try:
                w.check_end()
            except Violation as v:
                return len(seen), trans, ends, str(v), path
            continue
        for e in ev:
            x = w.clone()
            trans += 1
            try:
                x.step(e)
            except Violation as v:
                return len(seen), trans, ends, str(v), (path, e)
            k = x.key()
            if k in seen:
                continue
            seen.add(k)
            if len(seen) >= limit:
                return len(seen), trans, ends, 'limit', None
            stack.append((x, (path, e)))
    return len(seen), trans, ends, None, None

# ---- wait_for_all waves on the way up: a model of its own, upwards only

WAVE_MUTATIONS = {
    'asis':      'as written: waves are the heads of the queues; an adopted child joins from the next; COMPENSATION bypasses',
    'compplain': 'what the adopter makes of a compensation goes up as a plain packet and takes part in a wave there',
    'noempty':   'an empty difference is not sent',
    'nomember':  'a child without members below it is still waited for',
    'discard':   '(no mutation for idempotent filters) what a lost child has queued is thrown away',
}

class Waves:
    """Upward messages MEM(has members), W(wave, items), C(level, items).  A node's level is the last wave it has passed on.

    Wave n goes when each child with members has a level of n or more; a child's level rises with its packets and is set
    by its compensation, whose items go through at once.  A packet for a wave that is gone goes through at once too.
    """

    def __init__(self, shape, rounds, crashes, resets, mut):
        n = len(shape) + 1
        self.n, self.mut, self.rounds, self.crashes, self.resets = n, mut, rounds, crashes, resets
        par = (None,) + tuple(shape)
        self.leaf = [i not in par for i in range(n)]
        self.alive, self.parent = [True] * n, [None] * n
        self.state, self.level, self.kids, self.inc, self.mem = [0] * n, [0] * n, [{} for _ in range(n)], [0] * n, [None] * n
        self.given, self.item, self.links = [0] * n, 0, {}
        for c in range(1, n):
            self.links[c * 32] = [c, par[c], [], False]
            self.parent[c], self.mem[c] = c * 32, True
            self.kids[par[c]][c * 32] = [0, [], True, True]          # level, queue of (wave, items), members, joined

    def send(self, i, msg):
        l = self.links.get(self.parent[i]) if self.parent[i] is not None else None
        if l and not l[3]:
            l[2].append(msg)

    def absorb(self, i, items):
        new = items & ~self.state[i]
        self.state[i] |= items
        return new

    def bypass(self, i, items):
        new = self.absorb(i, items)
        if new:
            self.send(i, ('W', None, new) if 'compplain' in self.mut else ('C', None, new))

    def out(self, i, new):
        self.level[i] += 1
        if new or 'noempty' not in self.mut:
            self.send(i, ('W', self.level[i], new))

    def release(self, i):
        kids = self.kids[i]
        while True:
            part = [r for r in kids.values() if (r[2] or 'nomember' in self.mut) and r[3]]
            if 'asis' in self.mut:
                if not part or not all(r[1] for r in part):
                    break
                got = 0
                for r in part:
                    got |= r[1].pop(0)[1]
                for r in kids.values():
                    r[3] = True
            else:
                k = self.level[i] + 1
                if not part or any(r[0] < k for r in part):
                    break
                got = 0
                for r in kids.values():
                    while r[1] and r[1][0][0] <= k:
                        got |= r[1].pop(0)[1]
            self.out(i, self.absorb(i, got))

    def has(self, i):
        m = self.leaf[i] or any(r[2] for r in self.kids[i].values())
        if self.parent[i] is not None and m != self.mem[i]:
            self.mem[i] = m
            self.send(i, ('MEM', m))

    def events(self):
        out = []
        for lid, l in self.links.items():
            if l[2] or l[3]:
                out.append(('u', lid))
        for lid, l in self.links.items():
            if l[3] and l[2]:
                out.append(('cut', lid))
            if not l[3] and self.resets:
                out.append(('reset', lid))
        for i in range(1, self.n):
            if not self.alive[i]:
                continue
            if self.crashes:
                out.append(('crash', i))
            if self.parent[i] is not None and (self.parent[i] not in self.links or self.links[self.parent[i]][3]):
                out.append(('orphan', i))
            if self.parent[i] is None:
                for a in range(self.n):
                    y = a
                    while self.alive[y] and y != i and y != 0 and not self.leaf[a]:
                        l = self.links.get(self.parent[y])
                        if not l or l[3]:
                            break
                        y = l[1]
                    if y == 0:
                        out.append(('adopt', i, a))
            if self.leaf[i] and bin(self.given[i]).count('1') < self.rounds:
                out.append(('in', i))
        return out

    def step(self, e):
        k = e[0]
        if k == 'cut':
            self.links[e[1]][2] = []
        elif k == 'reset':
            self.resets -= 1
            self.links[e[1]][3] = True
        elif k == 'crash':
            self.crashes -= 1
            i = e[1]
            self.alive[i], self.parent[i], self.kids[i], self.state[i] = False, None, {}, 0
            for lid, l in list(self.links.items()):
                if l[1] == i:
                    del self.links[lid]
                elif l[0] == i:
                    l[3] = True
        elif k == 'orphan':
            self.parent[e[1]] = None
        elif k == 'adopt':
            i, a = e[1], e[2]
            self.inc[i] += 1
            lid = i * 32 + self.inc[i]
            self.links[lid], self.parent[i] = [i, a, [], False], lid
            busy = any(r[1] for r in self.kids[a].values())
            self.kids[a][lid] = [0, [], False, not busy or 'asis' not in self.mut]
            self.mem[i] = False
            self.send(i, ('C', self.level[i], self.state[i]))
            self.has(i)
        elif k == 'in':
            i, it = e[1], 1 << self.item
            self.item += 1
            self.given[i] |= it
            self.out(i, self.absorb(i, it))
        elif k == 'u':
            l = self.links[e[1]]
            p = l[1]
            r = self.kids[p].get(e[1])
            if not l[2]:
                del self.links[e[1]]
                if r:
                    del self.kids[p][e[1]]
                    if 'discard' not in self.mut and r[1]:
                        self.bypass(p, sum_bits(x[1] for x in r[1]))
            else:
                m = l[2].pop(0)
                if m[0] == 'MEM':
                    r[2] = m[1]
                elif m[0] == 'C':
                    if m[1] is not None:
                        r[0] = max(r[0], m[1])
                    self.bypass(p, m[2])
                else:
                    if 'asis' not in self.mut and m[1] is None:
                        self.bypass(p, m[2])
                    elif 'asis' not in self.mut and m[1] <= self.level[p]:
                        r[0] = m[1]
                        self.bypass(p, m[2])
                    else:
                        r[0] = m[1]
                        r[1].append((m[1], m[2]))
            self.has(p)
            self.release(p)

    def check(self):
        want = sum_bits(self.given[i] for i in range(self.n) if self.alive[i])
        if want & ~self.state[0]:
            raise Violation(f'up: items {bits(want & ~self.state[0])} missing at the front-end')
        for i in range(self.n):
            if self.leaf[i] and self.alive[i] and 'asis' not in self.mut and self.level[0] < self.rounds:
                raise Violation(f'waves stalled at {self.level[0]} of {self.rounds}')

def sum_bits(xs):
    out = 0
    for x in xs:
        out |= x
    return out

def waves_run(seed, mut, small=False):
    rng = random.Random(seed)
    if small:
        w = Waves(rng.choice([(0, 0, 1, 2), (0, 0, 1, 1, 2), (0, 1, 2, 2)]), rng.choice((1, 2)), 1, 0, mut)
    else:
        w = Waves(random_shape(rng), rng.randint(1, 5), rng.randint(0, 4), rng.choice((0, 0, 1, 2)), mut)
    p, n, trace = rng.choice((0.3, 0.6, 0.9)), 0, []
    shape = [w.links[c * 32][1] for c in range(1, w.n)]
    try:
        while True:
            ev = w.events()
            if not ev:
                break
            u = [e for e in ev if e[0] == 'u']
            e = rng.choice(u) if u and rng.random() < p else rng.choice(ev)
            if e[0] == 'u':
                l = w.links[e[1]]
                trace.append(f'{l[1]} gets {l[2][0] if l[2] else "link down"} from {l[0]}')
            else:
                trace.append(' '.join(map(str, e)))
            w.step(e)
            n += 1
        w.check()
    except Violation as v:
        return str(v), n, trace, shape
    return None, n, trace, shape

def waves_main(runs, seed, mut):
    t0, steps, bad = time.time(), 0, 0
    for s in range(seed, seed + runs):
        v, n, _, _ = waves_run(s, mut)
        steps += n
        if v:
            bad += 1
            if bad <= 3:
                print(f'  seed {s}: {v}')
    print(f'waves {",".join(sorted(mut)) or "(all rules)"}: {runs} runs, {steps} steps, {time.time() - t0:.0f} s, violations: {bad}')
    if bad:
        best = None
        for s in range(20000):
            v, n, tr, sh = waves_run(s, mut, True)
            if v and (best is None or n < len(best[1])):
                best = (v, tr, sh)
        if best:
            print(f'  tree {",".join(map(str, best[2]))}: {best[0]}')
            for k, t in enumerate(best[1]):
                print(f'   {k + 1:3d} {t}')
    return bad

def work(args):
    lo, hi, mut, small = args
    out, steps, store = [], 0, 0
    for s in range(lo, hi):
        v, _, _, n, m = random_run(s, mut, small)
        steps += n
        store = max(store, m)
        if v:
            out.append((s, v))
            if len(out) > 20:
                break
    return out, steps, store

def main():
    argv = sys.argv[1:]
    opt = {}
    for f in ('-m', '-j', '-l', '-n', '-w'):
        if f in argv:
            i = argv.index(f)
            opt[f] = argv[i + 1]
            del argv[i:i + 2]
    mut = frozenset(x for x in opt.get('-m', '').split(',') if x)
    for m in mut:
        if m not in MUTATIONS and m not in WAVE_MUTATIONS:
            sys.exit(f'unknown flag {m}; known: {", ".join(MUTATIONS)}')
    if not argv:
        sys.exit(__doc__)
    if argv[0] == 'random':
        runs, seed = int(argv[1]), int(argv[2]) if len(argv) > 2 else 0
        jobs = int(opt.get('-j', 1))
        t0 = time.time()
        chunk = max(1, min(1000, runs // jobs))
        parts = [(a, min(a + chunk, seed + runs), mut, False) for a in range(seed, seed + runs, chunk)]
        if jobs > 1:
            from multiprocessing import Pool
            with Pool(jobs) as pool:
                res = pool.map(work, parts, chunksize=1)
        else:
            res = [work(p) for p in parts]
        bad = [b for r in res for b in r[0]]
        print(f'{runs} runs, {sum(r[1] for r in res)} steps, {time.time() - t0:.0f} s, most packets kept by a node: '
              f'{max(r[2] for r in res)}; violations: {len(bad)}')
        for s, v in bad[:10]:
            print(f'  seed {s}: {v}')
        sys.exit(1 if bad else 0)
    if argv[0] == 'exhaust':
        shape = tuple(int(x) for x in argv[1].split(','))
        nums = [int(x) for x in argv[2:]] + [0] * 5
        w = World(shape, nums[0], nums[1], nums[2], nums[3], nums[4], int(opt.get('-w', 4)), False, mut, True)
        t0 = time.time()
        states, trans, ends, bad, path = exhaust(w, int(float(opt.get('-l', 3e6))))
        print(f'{argv[1:]}: {states} states, {trans} steps, {ends} ends, {time.time() - t0:.0f} s: {bad or "no violation"}')
        if path:
            ev = []
            while path:
                ev.append(path[1])
                path = path[0]
            show((bad, w, ev[::-1], '-'))
        sys.exit(1 if bad and bad != 'limit' else 0)
    if argv[0] == 'shrink':
        best, found = find_shortest(mut, int(opt.get('-n', 20000)))
        if not best:
            print('no violation')
            sys.exit(0)
        show(best)
        sys.exit(1)
    if argv[0] == 'waves':
        sys.exit(1 if waves_main(int(argv[1]), int(argv[2]) if len(argv) > 2 else 0, mut) else 0)
    if argv[0] == 'table':
        runs, missed = int(argv[1]) if len(argv) > 1 else 3000, 0
        for m in MUTATIONS:
            if m in SILENT:
                continue
            v = None
            for n in range(runs):
                v = random_run(n, frozenset([m]))[0]
                if v:
                    break
            missed += not v
            print(f'{m:10s} {"run " + str(n + 1) if v else "NOT FOUND"}  {v or ""}', flush=True)
        sys.exit(1 if missed else 0)

if __name__ == '__main__':
    main()
