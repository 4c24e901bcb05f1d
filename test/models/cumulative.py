#!/usr/bin/env python3
"""Model of streams of totals (chapter 17): the front-end's total has each item of each member once. cumulative.md has
what it found.

KEYs: sends (of each back-end, at most 4), marks, crashes, resets, joins, leaves, giveups, window (credit), align (packets wait
for those of other children), slow (filter calls take time, and a TOTAL leaves some time after it was made).

A parent has a slot for each link. The total of a node is the sum of its slots, or what a back-end has sent.

    up    D(x)                      a delta, under credit
          T(total, set, settled, doubted)  TOTAL: ahead of what waits, under no credit; doubted: a member of the set may count twice
          K(settled)                a settled claim, about the set of the last TOTAL
          B(m, x)                   FAREWELL: m leaves, and x is all that it sent
    down  a number; log[number]: ('M', k) a marker, ('L', m) LOST, ('E', m, k) ENTER with the last marker; or EXPEL

Item i of back-end r is 16 ** (4 * r + i), so a total counts each item. How packets wait for those of other children is left
open (17.1: any synchronisation filter): at any time a node takes the first packet of one child, or of all that have one.
"""
from schedules import (BaseNode, BaseWorld, Model, Violation, bits, LEAF, CHILD, PARENT, UP, DOWN, UP_CLOSED, DOWN_CLOSED,
                       USED)

RULES = {
    'noretract':   '17.3: a lost link\'s slot stays in the total',
    'byrank':      '17.3: the slot belongs to the child, not to the link: the end of its old link clears it',
    'readold':     '17.3: what is read from an ended link is added',
    'keepwaiting': '17.3: packets of an ended link that wait for those of others are added',
    'callvoid':    '17.3: a call that was out when its link ended, or was given a total, adds its packets all the same',
    'nostate':     '17.4: on a new link only what is new goes up, not the total',
    'keepqueue':   '17.4: an orphan keeps its unsent deltas though its total covers them',
    'queuetotal':  '17.4: a TOTAL that goes ahead leaves the deltas that wait where they are',
    'totalfirst':  '17.4: a total and the set that it is of are two messages, the total first',
    'setfirst':    '17.4: a total and the set that it is of are two messages, the set first',
    'totalwaits':  '17.4: a TOTAL from a child leaves its packets that wait for those of others',
    'behindtotal': '17.4: a TOTAL that replaces an unsent one leaves the deltas behind that',
    'claimowed':   '17.4: a settled claim goes up between a change of the set and the TOTAL that tells of it',
    'overlap':     '17.5: a total counts although two children of the node have the same member',
    'doubt':       '17.5: TOTAL does not say that two children, of the sender or of a node below, have the same member',
    'lostvouch':   '17.5: a set that names a lost member settles',
    'overtake':    '17.5: a settled claim goes ahead of the deltas that wait',
    'settlefirst': '17.5: a child\'s settled claim counts though packets before it wait for those of others',
    'settlecall':  '17.5: a child\'s settled claim counts though a call with packets before it is out',
    'oldslot':     '17.5: the front-end vouches though a slot has settled less than the last sync that returned',
    'nocover':     '17.5: the front-end vouches though a member is covered by nobody',
    'editset':     '17.6: LOST takes a member out of every set at once, not only where its link is',
    'once':        '17.7: FAREWELL is said once',
    'latefare':    '17.7: FAREWELL of a member that was given up counts',
}

# Rules that random schedules seldom need: a small tree.
WHERE = {
    'overlap': ((0, 1, 0), dict(crashes=1, sends=1, marks=1)),
    'oldslot': ((0, 1), dict(resets=2, crashes=1, sends=1, marks=1)),
}

SET, SETTLED, SLOT, CURSOR, QUEUE, DOUBTED = range(6)                             # a child's record
EXPEL = -1

class Node(BaseNode):
    __slots__ = ('alive', 'kind', 'parent', 'kids', 'inc', 'own', 'outq', 'unsent', 'owed', 'call', 'told', 'fence', 'at', 'lost',
                 'settled', 'given', 'leaving', 'said_bye', 'member')

class World(BaseWorld):
    def __init__(self, shape, sends=1, marks=1, crashes=0, resets=0, joins=0, leaves=0, giveups=0, window=1, align=0, slow=0,
                 broken=frozenset()):
        self.broken, self.window, self.sends, self.align, self.slow = broken, window, sends, align, slow
        self.marks, self.crashes, self.resets, self.joins = marks, crashes, resets, joins
        self.leaves, self.giveups = leaves, giveups
        self.log, self.marked, self.synced, self.entering = (None,), 0, 0, 0
        self.members, self.gone, self.left = 0, 0, 0
        self.base, self.before = {}, {}     # what each that left had sent; truth: (member, k) -> sent before it settled k
        self.build(shape, joins, self.new_node)
        for i, x in enumerate(self.nodes):
            if x.parent is not None:
                x.told = (self.below_first[i], 0)
                self.nodes[self.links[x.parent][PARENT]].kids[x.parent] = [x.told[0], 0, 0, 0, (), False]

    def new_node(self, i, kind, at_launch):
        x = Node()
        x.kind, x.own, x.outq, x.unsent, x.owed, x.call, x.told, x.fence = kind, 0, (), None, False, None, None, 0
        x.at, x.lost, x.settled, x.given, x.leaving, x.said_bye = 0, 0, 0, 0, False, False
        x.member = at_launch and kind == LEAF
        if x.member:
            self.members |= 1 << i
        return x

    # ---- totals

    def total(self, i):
        x = self.nodes[i]
        return x.own + sum([r[SLOT] for r in x.kids.values()])

    def below(self, i):
        """The set of node i, and what all in it have settled."""
        x = self.nodes[i]
        if x.kind == LEAF:
            return (1 << i, x.settled) if x.member else (0, 0)
        cover, settled = 0, None
        for r in x.kids.values():
            if r[SET]:
                s = r[SETTLED]
                if cover & r[SET] and 'overlap' not in self.broken or \
                        r[SET] & x.lost and 'lostvouch' not in self.broken:
                    s = 0
                cover |= r[SET]
                settled = s if settled is None or s < settled else settled
        return cover, settled or 0

    def is_doubted(self, i):
        """Two children of node i have the same member, or one of them is doubted."""
        sets = [r[SET] for r in self.nodes[i].kids.values()]
        twice = any([a & b for k, a in enumerate(sets) for b in sets[:k]])
        return twice and 'overlap' not in self.broken or any([r[DOUBTED] for r in self.nodes[i].kids.values()])

    def delta(self, i, d):
        x = self.nodes[i]
        if i and x.parent is not None and d and not x.owed:
            x.outq += (('D', d),)
            self.flush(i)

    def owe_total(self, i):
        """What is below node i has changed by more than deltas: its parent must be told the total."""
        x = self.nodes[i]
        if i and x.parent is not None:
            x.owed = True
            if x.call is None:
                self.pack(i)

    def pack(self, i):
        """The call that packs the total; what waits is covered by it."""
        x = self.nodes[i]
        x.owed = False
        if not (x.unsent is not None and 'behindtotal' in self.broken or 'queuetotal' in self.broken or
                x.told == (0, 0) and 'keepqueue' in self.broken):
            x.outq = ()
        cover, settled = self.below(i)
        x.fence = settled
        x.call = ('p', self.total(i), cover, settled, self.is_doubted(i) and 'doubt' not in self.broken)
        if not self.slow:
            self.end_call(i)

    def end_call(self, i):
        x = self.nodes[i]
        call, x.call = x.call, None
        if call[0] == 'p':
            if x.parent is not None:
                x.unsent = ('T',) + call[1:]
                x.told = call[2:4]
                if not self.slow:
                    self.send_total(i)
        else:
            d = 0
            for lid, part in call[1]:
                if lid in x.kids:
                    x.kids[lid][SLOT] += part
                    d += part
                elif 'callvoid' in self.broken:
                    x.own += part
                    d += part
            self.delta(i, d)
        if x.owed and x.call is None:
            self.pack(i)

    def send_total(self, i):
        x = self.nodes[i]
        (what, total, cover, settled, doubted), x.unsent = x.unsent, None
        halves = [('T', total, None, 0, False), ('T', None, cover, settled, doubted)]
        if 'totalfirst' in self.broken or 'setfirst' in self.broken:
            for half in halves if 'totalfirst' in self.broken else reversed(halves):
                self.up(x.parent, half)
        else:
            self.up(x.parent, (what, total, cover, settled, doubted))
        self.flush(i)

    # ---- what waits

    def flush(self, i):
        x = self.nodes[i]
        if not self.open(x.parent) or x.unsent is not None:
            return
        link = self.links[x.parent]
        while x.outq:
            m = x.outq[0]
            if m[0] == 'D' and link[USED] >= self.window:
                break
            if m[0] == 'K' and (x.owed or x.call and x.call[0] == 'p') and 'claimowed' not in self.broken:
                break
            x.outq = x.outq[1:]
            if m[0] == 'D':
                link[USED] += 1
                self.up(x.parent, m)
            else:
                self.claim(i, min(m[1], self.below(i)[1]))

    def claim(self, i, settled):
        x = self.nodes[i]
        if settled != x.told[1]:
            x.told = (x.told[0], settled)
            self.up(x.parent, ('K', settled))

    def settle(self, i):
        """Node i has settled so much: say a rise behind what waits, a fall at once."""
        x = self.nodes[i]
        if i == 0 or not x.alive or x.parent is None or x.told is None or x.unsent is not None:
            return
        if (x.owed or x.call and x.call[0] == 'p') and 'claimowed' not in self.broken:
            return                                              # TOTAL will say it
        settled = self.below(i)[1]
        if settled < x.told[1]:
            self.claim(i, settled)
        if settled < x.fence:
            x.fence = settled
            x.outq = tuple([m for m in x.outq if m[0] != 'K' or m[1] <= settled])
        if settled > x.fence:
            x.fence = settled
            x.outq = (('K', settled),) + x.outq if 'overtake' in self.broken else x.outq + (('K', settled),)
            self.flush(i)

    def settle_children(self, i):
        """A settled claim counts when what came before it is added."""
        x = self.nodes[i]
        for lid, r in x.kids.items():
            busy = x.call and x.call[0] == 'j' and any([l == lid for l, d in x.call[1]]) and 'settlecall' not in self.broken
            while r[QUEUE] and r[QUEUE][0][0] == 'K' and not busy:
                r[SETTLED], r[QUEUE] = r[QUEUE][0][1], r[QUEUE][1:]
            if 'settlefirst' in self.broken:
                for m in r[QUEUE]:
                    r[SETTLED] = m[1] if m[0] == 'K' else r[SETTLED]
                r[QUEUE] = tuple([m for m in r[QUEUE] if m[0] == 'D'])

    def ready(self, i):
        """The children whose first packet a filter may be given."""
        x = self.nodes[i]
        if x.call is not None or i and (x.parent is not None or not self.align) and any([m[0] == 'D' for m in x.outq]):
            return []
        return [lid for lid, r in x.kids.items() if r[QUEUE] and r[QUEUE][0][0] == 'D']

    def release(self, i, lids):
        x, parts = self.nodes[i], ()
        for lid in lids:
            r = x.kids[lid]
            parts += ((lid, r[QUEUE][0][1]),)
            r[QUEUE] = r[QUEUE][1:]
            self.give_back(lid, 1)
        x.call = ('j', parts)
        if not self.slow:
            self.end_call(i)

    def give_back(self, lid, n):
        if lid in self.links:
            self.links[lid][USED] -= n

    def drop_waiting(self, i, lid):
        """The slot of this link has gone, or was given a total: what came over it before is void."""
        x = self.nodes[i]
        r = x.kids[lid]
        self.give_back(lid, sum([m[0] == 'D' for m in r[QUEUE]]))
        r[QUEUE] = ()
        if x.call and x.call[0] == 'j' and 'callvoid' not in self.broken:
            x.call = ('j', tuple([p for p in x.call[1] if p[0] != lid]))

    # ---- run to where nothing more happens at once

    def run(self, i):
        todo = [i]
        while todo:
            j = todo.pop()
            x = self.nodes[j]
            if not x.alive:
                continue
            self.flush(j)
            self.settle_children(j)
            while not self.align and self.ready(j):
                self.release(j, self.ready(j)[:1])
                self.settle_children(j)
            self.settle(j)
            self.push(j)
            for lid in x.kids:
                if lid in self.links:
                    c = self.links[lid][CHILD]
                    if self.nodes[c].parent == lid and self.nodes[c].outq and self.links[lid][USED] < self.window:
                        before = self.nodes[c].outq
                        self.flush(c)
                        if self.nodes[c].outq != before:
                            todo.append(c)
        self.front()

    def front(self):
        cover, settled = self.below(0)
        named = self.entering & cover
        if named:
            self.entering &= ~named
            self.mark()
            self.push(0)
        live = self.members & ~self.gone
        if live & ~cover and 'nocover' not in self.broken or cover & self.gone and 'lostvouch' not in self.broken or \
                self.is_doubted(0):
            return
        if not live:
            settled = self.marked
        if settled < self.synced and 'oldslot' not in self.broken:
            return
        why = self.wrong(self.answer(), self.synced)
        if why:
            raise Violation(f'vouched for: {why}')
        if settled > self.synced:
            why = self.wrong(self.answer(), settled)
            if why:
                raise Violation(f'sync {settled} returned: {why}')
            self.synced = settled

    def answer(self):
        cover = self.below(0)[0]
        return self.total(0) + sum([x for m, x in self.base.items() if not cover >> m & 1])

    def wrong(self, total, k):
        """What is wrong with the total at the return of sync k (0: before the first; None: at rest, everything must be there)."""
        if total < 0:
            return 'the total is negative'
        for m in bits(self.members):
            given, left = self.nodes[m].given, self.left >> m & 1
            for b in range(4):
                times = total >> 4 * (4 * m + b) & 15
                if self.gone >> m & 1 and not left:
                    if times:
                        return f'item {b} of member {m}, which is given up, counts {times} times'
                elif times > 1 or times and b >= given:
                    return f'item {b} of member {m} counts {times} times'
                elif not times and (b < given if k is None or left else b < self.before.get((m, k), 0)):
                    return f'item {b} of member {m} is missing'
                elif k and not left and (m, k) not in self.before:
                    return f'member {m} has not settled'
        return None

    # ---- messages

    def push(self, i):
        x = self.nodes[i]
        if x.kind == LEAF:
            return
        for lid, r in x.kids.items():
            if self.open(lid):
                while r[CURSOR] < x.at:
                    r[CURSOR] += 1
                    self.links[lid][DOWN] += (r[CURSOR],)

    def from_parent(self, c, lid, number):
        x = self.nodes[c]
        if x.parent != lid:
            return
        if number == EXPEL:
            return self.die(c) if x.kind == LEAF else None
        if number != x.at + 1:
            raise Violation(f'{c} gets {number} after {x.at}')
        x.at = number
        entry = self.log[number]
        if entry[0] == 'L':
            if entry[1] == c:
                return self.die(c)
            self.forget(c, entry[1])
        elif entry[0] == 'E':
            if entry[1] == c:
                x.member, x.settled = True, entry[2]
                self.owe_total(c)
        elif x.member:
            x.settled = entry[1]
            self.before[c, entry[1]] = x.given
        self.run(c)
        if lid in self.links:
            self.run(self.links[lid][PARENT])

    def forget(self, i, m):
        """LOST: where the member's link is, that link ends; elsewhere its set says so in time."""
        x = self.nodes[i]
        x.lost |= 1 << m
        if 'editset' in self.broken:
            for r in x.kids.values():
                r[SET] &= ~x.lost
        for lid in list(x.kids):
            if lid >> 5 == m:
                if lid in self.links:
                    self.close(lid)
                self.child_gone(i, lid)

    def child_gone(self, i, lid):
        x = self.nodes[i]
        if lid not in x.kids:
            return
        waiting = sum([m[1] for m in x.kids[lid][QUEUE] if m[0] == 'D'])
        self.drop_waiting(i, lid)
        r = x.kids.pop(lid)
        if 'keepwaiting' in self.broken:
            x.own += waiting
        if 'byrank' in self.broken:
            for l in [l for l in x.kids if l >> 5 == lid >> 5]:
                x.kids[l][SLOT] = 0
        if 'noretract' in self.broken:
            x.own += r[SLOT]
        else:
            self.owe_total(i)

    def die(self, i):
        x = self.nodes[i]
        self.close_all(i)
        x.outq, x.unsent, x.owed, x.call = (), None, False, None

    def from_child(self, p, lid, message):
        x = self.nodes[p]
        r = x.kids.get(lid)
        if message[0] == 'B':
            if r is not None and p == 0:
                self.farewell(message[1], message[2])
            elif r is not None and x.parent is not None:
                self.up(x.parent, message)
        elif r is None:
            if 'readold' in self.broken and message[0] == 'D':
                x.own += message[1]
                self.delta(p, message[1])
        elif message[0] == 'T':
            self.take_total(p, lid, r, *message[1:])
        else:
            r[QUEUE] += (message,)

    def take_total(self, p, lid, r, total, cover, settled, doubted):
        x = self.nodes[p]
        if total is not None:
            if 'totalwaits' not in self.broken:
                self.drop_waiting(p, lid)
            r[SLOT] = total
        if cover is not None:
            r[SET], r[SETTLED] = cover & ~x.lost if 'editset' in self.broken else cover, settled
            r[DOUBTED] = doubted
            if cover & x.lost and cover >> (lid >> 5) & 1 and self.open(lid):
                self.links[lid][DOWN] += (EXPEL,)
        self.owe_total(p)

    def farewell(self, m, x):
        if self.gone >> m & 1:
            if 'latefare' in self.broken and not self.left >> m & 1:
                self.base[m] = x
            return
        self.base[m] = x
        self.left |= 1 << m
        self.lose(m)

    def lose(self, m):
        self.gone |= 1 << m
        self.entering &= ~(1 << m)
        self.log += (('L', m),)
        self.nodes[0].at += 1
        self.forget(0, m)
        self.run(0)

    # ---- what may happen now

    def others(self, faults=True):
        out = self.link_faults() if faults else []
        cover = self.below(0)[0]
        for i, x in enumerate(self.nodes):
            if x.kind == LEAF and not x.alive and x.inc == 0 and self.joins:
                out.extend([('join', i, a) for a in self.adopters(i)])
            if self.members >> i & 1 and not self.gone >> i & 1 and \
                    (not x.alive or faults and self.giveups and not cover >> i & 1):
                out.append(('lose', i))
            if not x.alive:
                continue
            if x.call:
                out.append(('ran', i))
            if self.align:
                ready = self.ready(i)
                out.extend([('take', i, (lid,)) for lid in ready])
                if len(ready) > 1:
                    out.append(('take', i, tuple(ready)))
            if i == 0:
                continue
            if x.unsent is not None and self.open(x.parent):
                out.append(('total', i))
            if faults and self.crashes:
                out.append(('crash', i))
            if x.parent is None:
                out.extend([('adopt', i, a) for a in self.adopters(i)])
            if x.kind == LEAF:
                if not x.member and not self.members >> i & 1 and self.is_whole(i):
                    out.append(('enter', i))
                out.extend(self.of_application(i))
        if self.marks:
            out.append(('mark',))
        return out

    def of_application(self, i):
        x, out = self.nodes[i], []
        if not x.member:
            return out
        if x.given < self.sends and not x.leaving and not x.outq and not x.call:
            out.append(('in', i))
        if self.leaves and not x.leaving:
            out.append(('leave', i))
        if x.leaving and self.open(x.parent) and not self.left >> i & 1 and \
                (not x.said_bye or 'once' not in self.broken and
                 not any([m == ('B', i, x.own) for l in self.links.values() for m in l[UP]])):
            out.append(('say', i))
        return out

    def parent_gone(self, c):
        x = self.nodes[c]
        if x.kind == LEAF and not x.member:
            return self.die(c)                                  # 11.1a: it has not had its ENTER
        x.parent, x.told, x.fence, x.unsent, x.owed = None, None, 0, None, False
        if x.call and x.call[0] == 'p':
            x.call = None
        x.outq = tuple([m for m in x.outq if m[0] == 'D']) if 'keepqueue' in self.broken else ()
        self.run(c)

    def do_lose(self, i):
        if self.nodes[i].alive:
            self.giveups -= 1
        self.lose(i)

    def do_total(self, i):
        self.send_total(i)
        self.run(i)

    def do_take(self, i, lids):
        self.release(i, lids)
        self.run(i)
        for lid in lids:
            if lid in self.links:
                self.run(self.links[lid][CHILD])

    def attach(self, i, a):
        x = self.nodes[i]
        lid = self.new_link(i, a)
        self.nodes[a].kids[lid] = [0, 0, 0, x.at, (), False]
        x.told, x.fence = (0, 0), 0
        return lid

    def do_adopt(self, i, a):
        x = self.nodes[i]
        lid = self.attach(i, a)
        if 'nostate' in self.broken:
            x.told = (self.below(i)[0], 0)
            self.up(lid, ('T', None) + x.told + (False,))
        else:
            self.owe_total(i)
        self.run(i)
        self.run(a)

    def do_join(self, i, a):
        self.joins -= 1
        x = self.nodes[i]
        x.alive, x.at = True, 0
        self.attach(i, a)
        self.run(a)

    def do_enter(self, i):
        """The joiner's claim on stream 0 has come: ENTER. The markers sent so far count as settled."""
        self.entering |= 1 << i
        for k in range(1, self.marked + 1):
            self.before[i, k] = 0
        self.log += (('E', i, self.marked),)
        self.nodes[0].at += 1
        self.members |= 1 << i
        self.run(0)

    def do_in(self, i):
        x = self.nodes[i]
        item = 16 ** (4 * i + x.given)
        x.given += 1
        x.own += item
        self.delta(i, item)
        self.run(i)

    def do_leave(self, i):
        self.leaves -= 1
        self.nodes[i].leaving = True

    def do_say(self, i):
        x = self.nodes[i]
        x.said_bye = True
        self.up(x.parent, ('B', i, x.own))

    def mark(self):
        self.marked += 1
        self.log += (('M', self.marked),)
        self.nodes[0].at += 1

    def do_mark(self):
        self.marks -= 1
        self.mark()
        self.run(0)

    # ---- what must hold

    def rest(self):
        why = self.wrong(self.answer(), None)
        if why:
            raise Violation(f'at rest: {why}')
        if self.synced < self.marked:
            raise Violation(f'sync stuck at {self.synced} of {self.marked}')
        for i, x in enumerate(self.nodes):
            if x.alive and x.leaving:
                raise Violation(f'member {i} cannot leave')

    def show(self):
        for i, x in enumerate(self.nodes):
            if x.alive:
                print(f'    {i}: own {x.own:x} out {x.outq} unsent {x.unsent} owed {x.owed} call {x.call} told {x.told}')
                for lid, r in x.kids.items():
                    print(f'        from {lid // 32}: {bits(r[SET])} settled {r[SETTLED]} slot {r[SLOT]:x} {r[QUEUE]}')
        print(f'    log {self.log[1:]} synced {self.synced} given up {bits(self.gone)} left {bits(self.left)}')
        print('    under way', {l: k[2:6] for l, k in self.links.items() if k[UP] or k[DOWN] or k[UP_CLOSED] or k[DOWN_CLOSED]})

def pick(w, rng, config, d, o):
    return rng.choice(d) if d and (not o or rng.random() < 0.6) else rng.choice(o)

def config(rng):
    return dict(sends=rng.randint(1, 3), marks=rng.randint(0, 2), crashes=rng.choice((0, 1, 1, 2)),
                resets=rng.choice((0, 0, 1, 2)), joins=rng.choice((0, 0, 0, 1)), leaves=rng.choice((0, 0, 1, 2)),
                giveups=rng.choice((0, 0, 0, 1)), window=rng.randint(1, 2), align=rng.choice((0, 1)), slow=rng.choice((0, 1)))

if __name__ == '__main__':
    Model(World, config, pick, RULES, WHERE).main(__doc__)
