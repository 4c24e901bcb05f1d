#!/usr/bin/env python3
"""Model of recovery (PROTOCOL 9 to 11): what goes up, what goes down, what is stable. recovery.md has what it found.

KEYs: packets, crashes, inputs, resets, losses (members given up while they live), window, opening (the stream is being opened),
merge (consecutive UPDs of a queue are one).

One stream. What is common to the models stands in schedules.py. Waves and their numbers are in settle.py.

    up    HELLO(knows)          first on a new link: have I been told of the stream?
          UPD(set, ack)         the members below me, and: every one of them has every packet up to ack
          FEED(from)            send me every packet after from; restarts a feed
          DATA(items)           filter output (difference), or the whole state on a new link (compensation)
    down  OPEN                  the stream's definition
          PKT(seq, stable)      a packet, and the newest stable number
          EXPEL(set)            these members were given up: leave

Sets of ranks, items and sequence numbers are integers used as bit sets.
"""
from schedules import (BaseNode, BaseWorld, Model, Violation, bits, ROOT, COMM, LEAF, CHILD, PARENT, UP, DOWN, UP_CLOSED,
                       DOWN_CLOSED)

RULES = {
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
    'nofence':   'a member that was given up comes back and is served as if nothing had been',
    'latepath':  'packets of a link already given up are still taken (link down overtakes data)',
    'nocomp':    'no compensation',
    'snapcomp':  'the compensation is packed when the link breaks, not when the adopter has answered',
    'noopen':    'an adopter does not send the definition of a stream that the adoptee lacks',
    'dropheld':  'data for a stream whose definition is still on its way is dropped instead of held',
    'byrank':    'records are kept by rank, not by link: the end of an old link removes the child that came back',
}


# What random schedules seldom need: a small tree; None: tens of thousands of runs.
WHERE = {'nojump': None, 'dropheld': ((0, 0, 1, 2), dict(crashes=1, inputs=1, opening=1))}

ROUTE, ACK, CURSOR, COUNT, KNOWS, WARNED = range(6)         # a child's record

class Node(BaseNode):
    __slots__ = ('alive', 'kind', 'parent', 'stable', 'store', 'base', 'told', 'knows', 'state', 'held', 'last',
                 'member', 'expelled', 'fenced', 'kids', 'snap', 'inc', 'hi')

class World(BaseWorld):
    CONSTANT = BaseWorld.CONSTANT + ('most_stored', 'adopter')

    def __init__(self, shape, packets=0, crashes=0, inputs=0, resets=0, losses=0, window=4, opening=0, merge=0,
                 broken=frozenset()):
        self.mut, self.window, self.merge = broken, window, merge
        self.packets, self.crashes, self.inputs, self.resets, self.losses = packets, crashes, inputs, resets, losses
        self.seq, self.lost, self.nextitem, self.most_stored, self.members, self.opening = 0, 0, 0, 0, 0, opening
        self.given = ()                         # items that each node has put in
        self.adopter = None                     # of the newest adoption
        self.build(shape, 0, self.new_node)
        for i, x in enumerate(self.nodes[1:], 1):
            cover = self.below_first[i]
            count = bin(cover).count('1')
            x.base, x.told = (None, None) if opening else (0, (cover, 0, count))
            self.nodes[self.links[x.parent][PARENT]].kids[x.parent] = \
                [0, 0, -1, 0, False, False] if opening else [cover, 0, 0, count, True, False]
        if opening:
            for lid, r in self.nodes[0].kids.items():
                r[KNOWS] = True
                self.send(lid, DOWN, ('OPEN',))

    def new_node(self, i, kind, at_launch):
        x = Node()
        x.kind, x.stable, x.store, x.base, x.told, x.knows = kind, 0, 0, None, None, kind == ROOT or not self.opening
        x.state, x.held, x.last, x.expelled, x.fenced, x.snap, x.hi = 0, 0, 0, False, 0, 0, 0
        x.member = kind == LEAF and x.knows
        self.members |= 1 << i if kind == LEAF else 0
        self.given += (0,)
        return x

    # ---- links

    def send(self, lid, way, msg):
        link = self.links.get(lid)
        if link is None or link[UP_CLOSED if way == UP else DOWN_CLOSED] is not False:
            return
        q = link[way]
        if self.merge and q and msg[0] == 'UPD' and q[-1][0] == 'UPD':
            q = q[:-1]
        link[way] = q + (msg,)

    def parent_gone(self, c):
        x = self.nodes[c]
        x.parent, x.base, x.told, x.snap = None, None, None, x.state

    # ---- the events that may happen now

    def uncovered(self):
        cover = 0
        for r in self.nodes[0].kids.values():
            cover |= r[ROUTE]
        return self.members & ~self.lost & ~cover

    def others(self, faults=True):
        out = self.link_faults() if faults else []
        if faults and 'latepath' in self.mut:
            out += [('early', lid) for lid, l in self.links.items()
                    if l[DOWN_CLOSED] and l[DOWN] and self.nodes[l[CHILD]].parent == lid]
        for i, x in enumerate(self.nodes):
            if not x.alive or i == 0:
                continue
            if faults and self.crashes:
                out.append(('crash', i))
            if x.parent is None:
                out.extend([('adopt', i, a) for a in self.adopters(i)])
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

    def child_gone(self, p, lid):
        x = self.nodes[p]
        x.kids.pop(lid, None)
        if 'byrank' in self.mut:
            for l in [l for l in x.kids if l // 32 == lid // 32]:
                del x.kids[l]
        self.tell(p)

    def do_early(self, lid):
        self.parent_gone(self.links[lid][CHILD])

    def die(self, i):
        x = self.nodes[i]
        x.store, x.state = 0, 0
        super().die(i)

    def do_in(self, i):
        self.inputs -= 1
        item = 1 << self.nextitem
        self.nextitem += 1
        self.given = self.given[:i] + (self.given[i] | item,) + self.given[i + 1:]
        self.absorb(i, item)

    def do_send(self):
        self.seq += 1
        r = self.nodes[0]
        r.store |= 1 << self.seq
        self.measure(r)
        self.push(r)
        self.tell(0)

    def do_lose(self, i):
        self.losses -= self.nodes[i].alive
        self.give_up(i)

    def give_up(self, i):
        self.lost |= 1 << i
        self.nodes[0].fenced |= 1 << i
        self.tell(0)

    def do_adopt(self, o, a):
        x = self.nodes[o]
        lid = self.new_link(o, a)
        self.adopter = a
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
        if k > self.most_stored:
            self.most_stored = k
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
            elif p != 0 and r[ROUTE] & x.fenced and 'nofence' not in self.mut:
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
        elif seq <= x.last:
            raise Violation(f'duplicate: {c} gets {seq} again, it has {x.last}')
        elif stable > x.last and self.lost >> c & 1 and 'nofence' not in self.mut:
            x.member, x.expelled = False, True       # overtaken: it was given up, and now it knows
            self.tell(c)
        else:
            raise Violation(f'gap: {c} gets {seq} (stable {stable}) after {x.last}')

    # ---- what must hold when nothing can happen any more

    def rest(self):
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

    def show(self):
        for i, x in enumerate(self.nodes):
            if x.alive:
                print(f'    {i}: stable {x.stable} store {bits(x.store)} told {x.told} last {x.last} state {bits(x.state)}')

def pick(w, rng, config, d, o):
    """The next event: deliveries rather than others, and often the crash of a node that has just adopted one."""
    if d and (not o or rng.random() < 0.75):
        return rng.choice(d)
    if w.adopter and w.crashes and w.nodes[w.adopter].alive and rng.random() < 0.5:
        return ('crash', w.adopter)
    w.adopter = None
    return rng.choice(o)

def config(rng):
    return dict(packets=rng.randint(0, 8), crashes=rng.randint(1, 4), inputs=rng.randint(0, 6), resets=rng.choice((0, 0, 1, 2)),
                losses=rng.choice((0, 0, 0, 1, 2)), window=rng.randint(1, 6), opening=rng.random() < 0.3)

if __name__ == '__main__':
    Model(World, config, pick, RULES, WHERE).main(__doc__)
