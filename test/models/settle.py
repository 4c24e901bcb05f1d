#!/usr/bin/env python3
"""Model of settling, epochs and waves under a small credit (PROTOCOL 3.4, 4, 10.1, 10.6, 12.3).

KEYs: markers, data, sends (of each back-end), crashes, resets, ticks, joins, window, lossy (1: not recoverable), timed (1).

One wait_for_all stream whose filter is a set union.  Where it is timed, waves are not aligned: a node releases what has
come at any time (its time-out may be over, and a call of another stream's filter may keep it from it), as an event.
Downwards every node keeps all packets (recovery.md has retention and replay), so a cursor is enough here.

    up    W(wave, items, sources, late)   a packet of a wave; takes credit
          C(level, items)                 compensation: on a new link with the sender's level, else passed on
          R(level)                        RESUME: the sender counts from level + 1
          K(set, settled, lossy)          a claim
    down  a number; log[number] says: D data (takes credit), M marker, E the entry of a late joiner, L a member that is
          given up; or EXPEL: a claim named a member that had been

A wave is (epoch, n).  A level is the last wave that is answered; (e, 0) answers all epochs before e.
Sets of ranks and of items are integers used as bit sets; item 8 * r + i is the i-th that back-end r has sent.
"""
from schedules import (BaseNode, BaseWorld, Model, Violation, bits, LEAF, CHILD, PARENT, UP, DOWN, UP_CLOSED, DOWN_CLOSED,
                       USED, OWED, USED_LATE)

RULES = {
    'overtake':    '10.1: a claim that overtakes queued data carries the present settled number, not the last sent',
    'firstclaim':  '10.1: the first claim on a new link carries the present settled number, not 0',
    'nofall':      '10.1: settled does not fall when members join that have settled less',
    'settleearly': '10.6: a node settles when its children have, though its own output of earlier epochs waits',
    'queueearly':  '10.6: a node settles though late packets or a lost child\'s packets of earlier epochs wait in it',
    'nocover':     '10.6: sync looks at the claims that are there, not whether they cover every member',
    'noanswer':    '10.6: a settled claim does not answer the waves of earlier epochs',
    'noepoch':     '4.1: n goes on after a marker instead of starting again',
    'noempty':     '9.2: an empty difference is not sent',
    'nomember':    '4.5: a branch without members takes part in waves',
    'nolevel':     '4.5: a compensation does not say where its sender stands: it counts for the next wave',
    'nofirst':     '4.5: a branch that gains its first member goes on where it was',
    'noskip':      '4.5: a node that skips waves does not say so',
    'latein':      '4.5: a late packet is put into the wave at hand',
    'lateplain':   '4.5: what is made of a late packet goes up as a plain packet of the wave at hand',
    'slowcredit':  '3.4: a node returns credit for a packet only when it has sent it to every child',
    'onelane':     '3.4: late packets share the window and the queue of those that are on time',
    'frontwait':   '10.6: while it waits in sync the front-end filters only as far as its application takes packets',
    'latestuck':   '3.4: credit for a late packet is not returned before the wave at hand is released',
    'nolossy':     '10.6: a node that lost its parent on a stream that is not recoverable does not say so',
    'lossyonce':   '10.6: LOSSY is a flag said once, in the next settled claim, not a number that is repeated',
    'mixed':       '4.6: a timed set has all that has come, of any epoch, and a number above the last set\'s',
    'markearly':   '12.3: the marker follows a late joiner\'s entry at once, not when its claim has come',
}

# The seed that needs a rule which few others need.
WHERE = {'noempty': 5283, 'noskip': 3321}

SET, SETTLED, LEVEL, COUNTS, QUEUE, CURSOR, LOST = range(7)             # a child's record

EXPEL = -1                                                              # in the place of a number

class Node(BaseNode):
    __slots__ = ('alive', 'kind', 'parent', 'kids', 'state', 'level', 'outq', 'said', 'fence', 'rest', 'pos',
                 'got', 'count', 'member', 'lossy', 'inc', 'top', 'lost')

class World(BaseWorld):
    def __init__(self, shape, markers=1, data=0, sends=1, crashes=0, resets=0, ticks=0, joins=0, window=2, lossy=0,
                 timed=0, broken=frozenset()):
        self.mut, self.window, self.recover, self.timed = broken, window, not lossy, timed
        self.markers, self.data, self.sends, self.crashes, self.resets = markers, data, sends, crashes, resets
        self.ticks, self.joins, self.gone, self.entering, self.members = ticks, joins, 0, 0, 0
        self.log, self.sent_markers, self.synced, self.clean = (None,), 0, 0, 0
        self.given, self.wave_of, self.before = {}, {}, {}      # per back-end; per item; (back-end, marker) -> items
        self.released = {}                                      # wave -> sources, at the front-end, in time
        self.build(shape, joins, self.new_node)
        for x in self.nodes:
            if x.parent is not None:
                link = self.links[x.parent]
                x.said = (self.below_first[link[CHILD]], 0, 0)
                self.nodes[link[PARENT]].kids[x.parent] = [x.said[0], 0, (0, 0), True, (), 0, 0]

    def new_node(self, i, kind, at_launch):
        x = Node()
        x.kind, x.state, x.level, x.outq, x.said, x.fence, x.rest = kind, 0, (0, 0), (), None, 0, ()
        x.pos, x.got, x.count, x.member, x.lossy, x.top, x.lost = 0, (), 0, at_launch and kind == LEAF, 0, 0, 0
        if kind == LEAF:
            self.given[i] = 0
            self.members |= 1 << i if at_launch else 0
        return x

    # ---- upwards: output, under credit, in order

    def blocked(self, i, late=False):
        """Output waits for credit: no filter call, and a back-end's application stands in its send."""
        x = self.nodes[i]
        if i == 0:
            return 'frontwait' in self.mut and self.synced < self.sent_markers and len(self.released) >= self.window
        return x.parent is not None and any(m[0] == 'W' and self.lane(m) == late for m in x.outq)

    def lane(self, m):
        return m[4] and 'onelane' not in self.mut

    def put(self, i, msg):
        x = self.nodes[i]
        if i == 0:
            return
        if msg[0] == 'W':
            x.top = max(x.top, msg[1][0])
        if x.parent is None and self.recover:
            return                                              # the state covers it (9.3)
        x.outq += (msg,)
        self.flush(i)

    def flush(self, i):
        """Two lanes: late packets do not wait for those on time; a settled claim waits for what it speaks of."""
        x = self.nodes[i]
        if not self.open(x.parent):
            return
        link, stay = self.links[x.parent], []
        for m in x.outq:
            lane = m[0] == 'W' and self.lane(m)
            if m[0] == 'S':
                wait = any(y[0] == 'W' and (y[1][0] < m[1] or 'onelane' in self.mut) for y in stay)
            else:
                wait = any(y[0] != 'S' and (y[0] == 'W' and self.lane(y)) == lane for y in stay)
            used = USED_LATE if lane else USED
            if wait or m[0] == 'W' and link[used] >= self.window:
                stay.append(m)
            elif m[0] == 'S':
                x.outq = tuple(stay)
                self.say(i, m[1])
            else:
                link[used] += m[0] == 'W'
                self.up(x.parent, m)
        x.outq = tuple(stay)

    def say(self, i, k):
        """A settled claim whose turn has come: what is true now, at most what waited (10.1)."""
        x = self.nodes[i]
        cover, now = self.below(i)
        self.claim(i, cover, min(k, now), True)

    def claim(self, i, cover, settled, rise=False):
        x = self.nodes[i]
        lossy = x.lossy
        if 'lossyonce' in self.mut and rise:
            x.lossy = 0
        elif 'lossyonce' in self.mut:
            lossy = 0
        said = (cover, settled, lossy)
        if said != x.said or not x.said:
            x.said = said
            self.up(x.parent, ('K',) + said)

    def below(self, i):
        """The members below i, and what all of them have settled."""
        x = self.nodes[i]
        if x.kind == LEAF:
            return (1 << i, x.level[0]) if x.member else (0, 0)
        cover, k = 0, None
        for r in x.kids.values():
            if r[SET]:
                cover |= r[SET]
                k = r[SETTLED] if k is None or r[SETTLED] < k else k
        return cover, k or 0

    def tell(self, i):
        """After any change: claims that overtake (sets, falls), and the settled claim that does not."""
        x = self.nodes[i]
        if i == 0 or not x.alive or x.parent is None:
            return
        cover, k = self.below(i)
        last = x.said[1] if x.said else 0
        if cover != x.said[0] or k < last or x.lossy > x.said[2] and 'lossyonce' not in self.mut:
            if cover and not x.said[0] and 'nofirst' not in self.mut:
                self.put(i, ('R', x.level))                     # before the claim that brings the first member
            fall = k if 'overtake' in self.mut else last if 'nofall' in self.mut else min(last, k)
            self.claim(i, cover, fall)
        if k < x.fence:
            x.fence = k
            x.outq = tuple(m for m in x.outq if m[0] != 'S' or m[1] <= k)
        if cover and k > x.fence and self.through(i, k):
            x.fence = k
            if 'settleearly' in self.mut:
                self.say(i, k)
            else:
                self.put(i, ('S', k))

    def through(self, i, k):
        """Has i put out all that it has of the epochs before k?"""
        x = self.nodes[i]
        if x.kind == LEAF or 'settleearly' in self.mut:
            return True
        if x.level < (k, 0) and not self.timed:
            return False
        if 'queueearly' in self.mut:
            return True
        return not any(m[0][0] < k for q in self.queues(x) for m in q)

    # ---- waves

    def queues(self, x):
        return [r[QUEUE] for r in x.kids.values()] + [x.rest]

    def absorb(self, i, items):
        x = self.nodes[i]
        new = items & ~x.state
        x.state |= items
        return new

    def take(self, i, want):
        """Remove from the queues what want() likes, giving the credit back; returns what was removed."""
        x, out = self.nodes[i], []
        for lid, r in x.kids.items():
            hit = [m for m in r[QUEUE] if want(m)]
            if hit:
                r[QUEUE] = tuple(m for m in r[QUEUE] if not want(m))
                if lid in self.links:
                    for m in hit:
                        self.links[lid][USED_LATE if m[4] else USED] -= 1
                out += hit
        out += [m for m in x.rest if want(m)]
        x.rest = tuple(m for m in x.rest if not want(m))
        return out

    def emit(self, i, wave, got, late):
        items, src = 0, 0
        for m in got:
            items |= m[1]
            src |= m[2]
        new = self.absorb(i, items)
        if i == 0:
            self.deliver(wave, src, late)
        if late and 'lateplain' in self.mut:
            late, wave = False, max(self.nodes[i].level, wave)
        if new or 'noempty' not in self.mut:
            self.put(i, ('W', wave, new, src, late))

    def deliver(self, wave, src, late):
        if self.timed:
            return
        for b in bits(src):
            if not late and self.wave_of[b] != wave:
                raise Violation(f'wrong wave: item {b} of {self.wave_of[b]} in wave {wave}')
        if not late:
            if wave in self.released:
                raise Violation(f'wave {wave} twice')
            self.released[wave] = src

    def process(self, i):
        """Filter what can be filtered, until output waits for credit."""
        x = self.nodes[i]
        if x.kind == LEAF or not x.alive:
            return
        while not self.timed:
            part = [r for r in x.kids.values() if (r[SET] or 'nomember' in self.mut) and r[COUNTS]]
            low = min((r[LEVEL] for r in part), default=None)
            late = [m for q in self.queues(x) for m in q if m[3] or m[0] <= x.level]
            ready = [m[0] for q in self.queues(x) for m in q if not m[3] and m[0] > x.level]
            ready = min((v for v in ready if low is None or v <= low), default=None)
            held = 'latestuck' in self.mut and ready is None or 'latein' in self.mut
            if late and not held and not self.blocked(i, 'onelane' not in self.mut):
                m = late[0]
                self.take(i, lambda y: y is m)
                self.emit(i, m[0], [m], True)
            elif self.blocked(i):
                break
            elif ready is not None:
                if 'latein' in self.mut:
                    got = self.take(i, lambda y: y[0] <= ready)
                else:
                    got = self.take(i, lambda y: not y[3] and y[0] == ready)
                x.level = ready
                self.emit(i, ready, got, False)
            elif low is not None and low > x.level:
                x.level = low
                if 'noskip' not in self.mut:
                    self.put(i, ('R', low))
            else:
                break
        for lid in x.kids:
            if lid in self.links and self.nodes[self.links[lid][CHILD]].parent == lid:
                self.wake.add(self.links[lid][CHILD])
        self.tell(i)

    def waits(self, x):
        return [m for q in self.queues(x) for m in q]

    def do_fire(self, i):
        """Timed: one late packet, or what waits of the oldest epoch (4.6)."""
        x = self.nodes[i]
        late = [m for m in self.waits(x) if m[3]]
        if late and not self.blocked(i, True):
            m = late[0]
            self.take(i, lambda y: y is m)
            self.emit(i, m[0], [m], True)
        elif 'mixed' in self.mut:
            low = min(m[0] for m in self.waits(x) if not m[3])
            wave = low if low > x.level else (x.level[0], x.level[1] + 1)
            got = self.take(i, lambda y: not y[3])
            x.level = wave
            self.emit(i, wave, got, False)
        else:
            low = min(m[0] for m in self.waits(x) if not m[3])
            got = self.take(i, lambda y: not y[3] and y[0][0] == low[0])
            late = low[0] < x.level[0]
            if not late:
                low = low if low > x.level else (x.level[0], x.level[1] + 1)
                x.level = low
            self.emit(i, low, got, late)
        self.run(i)

    def may_fire(self, i):
        x = self.nodes[i]
        if x.kind == LEAF or not x.alive:
            return False
        return any(not self.blocked(i, m[3]) for m in self.waits(x))

    def run(self, i):
        """i has changed: let it and all whose credit came back go on."""
        self.wake = {i}
        while self.wake:
            j = max(self.wake)
            self.wake.discard(j)
            if not self.nodes[j].alive:
                continue
            before = self.nodes[j].key()
            self.flush(j)
            self.process(j)
            self.tell(j)
            self.push(j)
            if self.nodes[j].key() != before:
                self.wake.add(j)
        self.root()

    def root(self):
        x = self.nodes[0]
        cover, k = self.below(0)
        live = self.members & ~self.gone
        if self.entering & cover:
            self.entering &= ~cover
            self.do_mark(True)
        if live & ~cover and 'nocover' not in self.mut:
            return
        if not live:
            k = self.sent_markers
        if k <= self.synced or not self.through(0, k) and live:
            return
        lossy = max([r[LOST] for r in x.kids.values()] + [0])
        for j in range(self.synced + 1, k + 1):
            for m in bits(live):
                lack = self.before.get((m, j), 0) & ~self.before.get((m, j - 1), 0) & ~x.state
                if (m, j) not in self.before:
                    raise Violation(f'sync {j} returned though member {m} has not settled')
                if lack and not (lossy >= j):
                    raise Violation(f'sync {j} returned 0 without items {bits(lack)} of member {m}')
        self.synced = k

    # ---- downwards

    def push(self, i):
        x = self.nodes[i]
        if x.kind == LEAF:
            return
        for lid, r in x.kids.items():
            if not self.open(lid):
                continue
            link = self.links[lid]
            while 0 <= r[CURSOR] < x.pos:
                free = self.log[r[CURSOR] + 1][0] != 'D'
                if not free and link[OWED] >= self.window:
                    break
                r[CURSOR] += 1
                link[OWED] += not free
                link[DOWN] += (r[CURSOR],)
        if 'slowcredit' in self.mut and i:
            self.pay(i)

    def pay(self, i):
        """slowcredit: credit for what every child has been sent."""
        x = self.nodes[i]
        if self.open(x.parent):
            low = min([r[CURSOR] for l, r in x.kids.items() if self.open(l) and r[CURSOR] >= 0] + [x.pos])
            back = [s for s in x.got if s <= low]
            x.got = x.got[len(back):]
            self.links[x.parent][OWED] -= len(back)
            if back:
                self.wake.add(self.links[x.parent][PARENT])

    def from_parent(self, c, lid, seq):
        x = self.nodes[c]
        if x.parent != lid:
            return
        if seq == EXPEL:
            if x.kind != LEAF and self.below(c)[0]:
                self.put(c, ('R', x.level))                     # the parent may have known of nobody here (11.2)
            self.run(c)
            return
        if seq != x.pos + 1:
            raise Violation(f'{c} gets {seq} after {x.pos}')
        x.pos = seq
        paid = self.log[seq][0] == 'D'
        if self.log[seq][0] == 'L':
            self.forget(c, self.log[seq][1])
        if x.kind == LEAF or 'slowcredit' in self.mut and paid:
            x.got += (seq,)
        elif paid:
            self.links[lid][OWED] -= 1
        self.run(c)
        self.run(self.links[lid][PARENT])

    def forget(self, i, m):
        """LOST: member m is nobody's any more (11.1, 11.2)."""
        x = self.nodes[i]
        x.lost |= 1 << m
        for r in x.kids.values():
            had, r[SET] = r[SET], r[SET] & ~x.lost
            if had and not r[SET] and 'nofirst' not in self.mut:
                r[COUNTS] = False                               # until it says where it goes on

    def app_take(self, i):
        """The application calls receive: it takes the next packet, settling every marker on the way (10.6)."""
        x = self.nodes[i]
        seq, x.got = x.got[0], x.got[1:]
        kind = self.log[seq]
        if kind[0] == 'D' and self.open(x.parent):
            self.links[x.parent][OWED] -= 1
        if kind[0] == 'M' and x.member:
            self.before[i, kind[1]] = self.given[i]
            x.level = (kind[1], 0)
            if 'noepoch' not in self.mut:
                x.count = 0
        elif kind[0] == 'E' and kind[1] == i:
            x.member = True
            x.level = (kind[2], 0)
            for j in range(1, kind[2] + 1):
                self.before[i, j] = 0                           # it has sent nothing before
        self.run(i)
        if x.parent in self.links:
            self.run(self.links[x.parent][PARENT])

    # ---- the events that may happen now

    def others(self, faults=True):
        out = self.link_faults() if faults else []
        for i, x in enumerate(self.nodes):
            if x.kind == LEAF and not x.alive and x.inc == 0 and self.joins and not self.members >> i & 1:
                out.extend([('join', i, a) for a in self.adopters(i)])
            if x.kind == LEAF and self.members & ~self.gone & 1 << i and not x.alive:   # its end is certain, or it is
                                                                                    # covered by nobody (11.1)
                out.append(('lose', i))
            if self.timed and self.may_fire(i):
                out.append(('fire', i))
            if not x.alive or i == 0:
                continue
            if faults and self.crashes:
                out.append(('crash', i))
            if x.parent is None:
                out.extend([('adopt', i, a) for a in self.adopters(i)])
            if x.kind == LEAF and not self.blocked(i):
                if x.got:
                    out.append(('take', i))
                if x.member and bin(self.given[i]).count('1') < self.sends:
                    out.append(('in', i))
            if faults and self.ticks and x.parent is not None and x.said and x.said[0]:
                out.append(('tick', i))
        if self.data:
            out.append(('data',))
        if self.markers:
            out.append(('mark',))
        return out

    # ---- one event

    def child_gone(self, p, lid):
        x = self.nodes[p]
        r = x.kids.pop(lid, None)
        if r:
            x.rest += r[QUEUE]                                  # what it had delivered keeps its place (4.4)
            x.lossy = max(x.lossy, r[LOST])
            self.clean = None

    def from_child(self, p, lid, msg):
        x = self.nodes[p]
        r = x.kids.get(lid)
        if r is None:
            return
        if msg[0] == 'K':
            lost = msg[1] & x.lost
            if not msg[1] & ~lost and 'nofirst' not in self.mut:
                r[COUNTS] = False                               # until it says where it goes on
            r[SET], r[SETTLED], r[LOST] = msg[1] & ~lost, msg[2], msg[3]
            if lost and self.open(lid):
                self.links[lid][DOWN] += (EXPEL,)
            x.lossy = max(x.lossy, msg[3])
            if 'noanswer' not in self.mut:
                r[LEVEL] = max(r[LEVEL], (r[SETTLED], 0))
        elif msg[0] == 'R':
            r[LEVEL], r[COUNTS] = max(r[LEVEL], msg[1]), True
        elif msg[0] == 'C':
            new = self.absorb(p, msg[2])
            if msg[1] is not None:
                r[COUNTS] = True
                r[LEVEL] = max(r[LEVEL], x.level if 'nolevel' in self.mut else msg[1])
            if new and p and x.parent is not None:
                self.up(x.parent, ('C', None, new))           # ahead of queued data (9.2)
        else:
            late = msg[4] or not r[COUNTS] and not self.timed
            r[QUEUE] += ((msg[1], msg[2], msg[3], late, self.lane(msg)),)
            if not late:
                r[LEVEL] = max(r[LEVEL], msg[1])

    def parent_gone(self, c):
        x = self.nodes[c]
        x.parent, x.said, x.fence = None, None, 0
        if x.kind != LEAF:
            x.got = ()
        if self.recover:
            x.outq = ()
        else:
            x.outq = tuple(m for m in x.outq if m[0] != 'S')
            if 'nolossy' not in self.mut:
                x.lossy = max(x.lossy, max(x.level[0], x.top) + 1)
        self.run(c)

    def do_reset(self, lid):
        self.clean = None
        super().do_reset(lid)

    def die(self, i):
        self.clean = None
        x = self.nodes[i]
        x.outq, x.rest, x.got = (), (), ()
        super().die(i)

    def do_lose(self, i):
        self.gone |= 1 << i
        self.log += (('L', i),)
        self.nodes[0].pos += 1
        self.forget(0, i)
        self.run(0)

    def attach(self, i, a):
        x = self.nodes[i]
        lid = self.new_link(i, a)
        self.nodes[a].kids[lid] = [0, 0, (0, 0), False, (), x.pos, 0]
        return lid

    def do_adopt(self, i, a):
        x = self.nodes[i]
        lid = self.attach(i, a)
        self.clean = None
        if x.kind == LEAF:                                      # what it has not taken it still has
            self.links[lid][OWED] = 0
        cover, k = self.below(i)
        first = k if 'firstclaim' in self.mut else 0
        x.said = (cover, first, 0 if 'lossyonce' in self.mut else x.lossy)
        self.up(lid, ('K',) + x.said)
        x.fence = k if 'firstclaim' in self.mut else 0
        unsent = [m[1] for m in x.outq if m[0] == 'W' and not m[4]]
        if self.recover:
            self.up(lid, ('C', x.level, x.state))
        else:
            w = unsent[0] if unsent else None
            self.up(lid, ('R', (w[0], w[1] - 1) if w else x.level))
        self.run(i)
        self.run(a)

    def do_join(self, i, a):
        """A late joiner: its link stands; its entry is a packet, and a marker follows (12.3)."""
        self.joins -= 1
        self.clean = None
        x = self.nodes[i]
        x.alive, x.pos = True, len(self.log) - 1
        lid = self.attach(i, a)
        x.said = (0, 0, 0)
        self.members |= 1 << i
        self.log += (('E', i, self.sent_markers),)
        self.nodes[0].pos += 1
        self.entering |= 1 << i
        if 'markearly' in self.mut:
            self.entering = 0
            self.do_mark(True)
        self.up(lid, ('K',) + x.said)
        self.run(0)
        self.run(a)

    def do_in(self, i):
        x = self.nodes[i]
        b = 8 * i + bin(self.given[i]).count('1')
        self.given[i] |= 1 << b
        x.state |= 1 << b
        x.count += 1
        x.level = (x.level[0], x.count)
        self.wave_of[b] = x.level
        self.put(i, ('W', x.level, 1 << b, 1 << b, False))
        self.run(i)

    def do_take(self, i):
        self.app_take(i)

    def do_tick(self, i):
        """A claim about `received` alone: it overtakes queued data."""
        self.ticks -= 1
        x = self.nodes[i]
        cover, k = self.below(i)
        self.up(x.parent, ('K', cover, k if 'overtake' in self.mut else x.said[1], x.said[2]))

    def do_data(self):
        self.data -= 1
        self.log += (('D',),)
        self.nodes[0].pos += 1
        self.run(0)

    def do_mark(self, extra=False):
        self.markers -= not extra
        self.sent_markers += 1
        self.log += (('M', self.sent_markers),)
        self.nodes[0].pos += 1
        calm = not any(l[UP_CLOSED] is not False or l[DOWN_CLOSED] is not False for l in self.links.values()) and \
            all(x.parent is not None for x in self.nodes[1:] if x.alive) and \
            not any(m[0] in 'CRK' for l in self.links.values() for m in l[UP]) and \
            (extra or not self.members & ~self.gone & ~self.below(0)[0])
        if self.clean is None and calm:
            self.clean = self.sent_markers                      # from this epoch on waves must be complete
        self.run(0)

    # ---- what must hold when nothing can happen any more

    def rest(self):
        live = self.members & ~self.gone
        if self.synced < self.sent_markers:
            raise Violation(f'sync stuck at {self.synced} of {self.sent_markers}')
        have, counts = self.nodes[0].state, []
        for i, x in enumerate(self.nodes):
            if not x.alive:
                continue
            if i and x.parent is None:
                raise Violation(f'{i} has no parent at the end')
            if x.kind != LEAF:
                if any(m[0][0] < self.sent_markers for q in self.queues(x) for m in q):
                    raise Violation(f'{i} still holds a packet of an earlier epoch')
                continue
            if not live >> i & 1:
                continue
            if (x.pos != len(self.log) - 1 or x.got) and not self.blocked(i):   # its application may stand in a send
                raise Violation(f'down: member {i} has {x.pos} of {len(self.log) - 1}')
            counts.append(x.level)
            for b in bits(self.given[i]):
                if self.recover and not have >> b & 1 and self.wave_of[b][0] < self.sent_markers:
                    raise Violation(f'up: item {b} of wave {self.wave_of[b]} missing at the front-end')
        if self.timed:
            return
        if counts and self.nodes[0].level < min(counts):
            raise Violation(f'waves stuck at {self.nodes[0].level}, every member has sent {min(counts)}')
        self.check_pairs(live, min(counts, default=(0, 0)))

    def check_pairs(self, live, low):
        """In every epoch that began in a whole tree and saw no fault: the n-th with the n-th, and all of them."""
        if self.clean is None:
            return
        want = {}
        for i in bits(live):
            nth = {}
            for b in bits(self.given[i]):
                epoch = self.wave_of[b][0]
                nth[epoch] = nth.get(epoch, 0) + 1
                want[epoch, nth[epoch]] = want.get((epoch, nth[epoch]), 0) | 1 << b
        for wave, src in want.items():
            if self.clean <= wave[0] and (wave[0] < self.sent_markers or wave <= low):
                if self.released.get(wave, 0) & src != src:
                    raise Violation(f'pairs: wave {wave} went with {bits(self.released.get(wave, 0))}, not {bits(src)}')

    def show(self):
        for i, x in enumerate(self.nodes):
            if x.alive:
                print(f'    {i}: level {x.level} said {x.said} out {x.outq} rest {x.rest} at {x.pos}')

def pick(w, rng, config, d, o):
    """The next event: deliveries rather than others, faults seldom in some runs."""
    if d and (not o or rng.random() < 0.7):
        return rng.choice(d)
    if config['sends'] > 2 and rng.random() < 0.8:
        o = [e for e in o if e[0] not in ('crash', 'reset', 'tick')] or o
    return rng.choice(o)

def config(rng):
    pick = rng.choice
    return dict(markers=pick((1, 1, 2, 3)), data=pick((0, 0, 2, 4)), sends=pick((1, 2, 4, 6)), crashes=pick((0, 0, 1, 1, 2)),
                resets=pick((0, 0, 1, 2)), ticks=pick((0, 0, 2)), joins=pick((0, 0, 1)), window=pick((1, 2, 2)),
                lossy=pick((0, 0, 1)), timed=pick((0, 0, 0, 0, 1)))

if __name__ == '__main__':
    Model(World, config, pick, RULES, WHERE).main(__doc__)
