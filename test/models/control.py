#!/usr/bin/env python3
"""Model of stream 0 beside a data stream (PROTOCOL 3.1, 3.1b, 3.2, 12.3): snapshot, parameters, close, late joiners.


Control packets: OPEN, PARAM(v, last), CLOSE(last), ENTER(rank, base).  Data packet n must be delivered to each member
that was one when it was sent, once, in order, under the parameters that held when it was sent.  Links are FIFO; data
leaves a node packet by packet (credit), control at once.  Resets and crashes make orphans, which are adopted anywhere.
A claim is (set, received), here for both streams, told whenever it changes.
"""
from schedules import (BaseNode, BaseWorld, Model, Violation, LEAF, CHILD, PARENT, UP)

RULES = {
    'nosnap':     '3.1: a cursor below stable is lifted to it, as on other streams, with no SNAPSHOT',
    'snaplatest': '3.1: SNAPSHOT has the newest parameters only, not those that packets still unstable need',
    'paramnow':   '3.1b: PARAMETERS are applied when they come, not when their number has been passed',
    'closenow':   '3.1b: CLOSE is applied when it comes',
    'datafirst':  '3.1b: data does not wait for the control packets that were sent before it',
    'enterearly': '12.3: ENTER is sent when JOIN comes, not when the joiner\'s first claim has',
    'enterlate':  '12.3: the front-end counts the joiner only when its claim on the data stream has come',
    'nobase':     '12.3: ENTER does not say with which packet the joiner begins',
}

# The seed that needs a rule which few others need.
WHERE = {'snaplatest': 12672}

class Node(BaseNode):
    def __init__(self, kind, member):
        self.kind = kind
        self.pos0, self.stable0, self.log0, self.snap = 0, 0, {}, self.blank()
        self.pos, self.stable, self.store, self.view = 0, 0, {}, self.blank()
        self.said, self.member, self.seen = None, member, []

    @staticmethod
    def blank():
        return {'open': False, 'params': [(0, 0)], 'close': None, 'members': {}}

def fold(view, c):
    """The state after one more control packet."""
    v = {'open': view['open'], 'params': list(view['params']), 'close': view['close'], 'members': dict(view['members'])}
    if c[0] == 'OPEN':
        v['open'] = True
    elif c[0] == 'PARAM':
        v['params'].append((c[2], c[1]))
    elif c[0] == 'CLOSE':
        v['close'] = c[1]
    elif c[0] == 'ENTER':
        v['members'][c[1]] = c[2]
    return v

def param_of(view, n):
    return [v for last, v in view['params'] if last < n][-1] if n else 0

class World(BaseWorld):
    def __init__(self, shape, joins=0, crashes=0, resets=0, steps=2, window=1, broken=frozenset()):
        self.mut, self.joins, self.crashes, self.resets, self.steps, self.window = broken, joins, crashes, resets, steps, window
        self.members, self.lost, self.covered, self.asked = {}, set(), set(), set()
        self.sent, self.param, self.closed, self.must = 0, 0, False, {}
        self.build(shape, joins, lambda i, kind, at_launch: Node(kind, at_launch and kind == LEAF))
        for i, x in enumerate(self.nodes):
            if x.member:
                self.members[i], self.must[i] = 0, []
            if x.parent is not None:
                self.know(i, x.parent)
        for i in range(len(shape), -1, -1):
            self.changed(i)
        while any([l[UP] for l in self.links.values()]):
            self.do_u(next(k for k, l in self.links.items() if l[UP]))
        self.control(('OPEN',))

    def know(self, i, lid):
        self.nodes[i].said = None
        self.nodes[self.links[lid][PARENT]].kids[lid] = {'set': {}, 'cur0': self.nodes[i].pos0, 'cur': None, 'sure': False}

    # ---- the front-end

    def control(self, c):
        r = self.nodes[0]
        r.pos0 += 1
        r.log0[r.pos0] = c
        r.view = fold(r.view, c)
        self.changed(0)

    def stability(self):
        r, cover = self.nodes[0], {}
        for k in r.kids.values():
            for m, (a, b) in k['set'].items():
                x = cover.get(m)
                cover[m] = (a, b) if x is None else (min(a, x[0]), min(b, x[1]))
        for m in cover:
            if m in self.asked and m not in self.lost:
                self.asked.discard(m)
                self.enter(m)
        self.covered |= set(cover)
        live = [m for m in self.members if m not in self.lost]
        if all(m in cover for m in live):
            new0 = min([cover[m][0] for m in live], default=r.pos0)
            # the claims about sets are the least of each branch
            if new0 > r.stable0:
                self.stabilise(0, new0, r.stable)
        if 'enterlate' in self.mut:
            live = [m for m in live if m in cover and cover[m][1] >= 0]
        if all(m in cover and cover[m][1] >= 0 for m in live):
            new = min([cover[m][1] for m in live], default=r.pos)
            if new > r.stable:
                self.stabilise(0, r.stable0, min(new, r.pos))

    def enter(self, m):
        base = self.sent
        self.members[m] = base
        self.must[m] = []
        self.control(('ENTER', m, 0 if 'nobase' in self.mut else base))

    def stabilise(self, i, s0, s):
        x = self.nodes[i]
        for n in sorted(k for k in x.log0 if k <= s0):
            x.snap = fold(x.snap, x.log0.pop(n))
        x.stable0, x.stable = max(x.stable0, s0), max(x.stable, s)
        for n in [k for k in x.store if k <= x.stable]:
            del x.store[n]

    # ---- up: claims

    def changed(self, i):
        x = self.nodes[i]
        if x.kind == LEAF:
            said = {i: (x.pos0, x.pos if x.member else -1)}
        else:
            said = {}
            for k in x.kids.values():
                said.update(k['set'])
        if i == 0:
            self.stability()
        elif x.parent is not None and said != x.said:
            x.said = said
            self.up(x.parent, (dict(said), x.pos0))
        self.push(i)

    # ---- down

    def push(self, i):
        x = self.nodes[i]
        for lid, k in x.kids.items():
            if self.open(lid) and k['sure'] and 'datafirst' not in self.mut:
                self.push0(x, lid, k)

    def push0(self, x, lid, k):
        if k['cur0'] < x.stable0:
            k['cur0'] = x.stable0
            if 'nosnap' not in self.mut:
                v = fold(x.snap, ('none',))
                if 'snaplatest' in self.mut:
                    v['params'] = [(-1, v['params'][-1][1])]
                else:
                    keep = [p for p in v['params'] if p[0] <= x.stable][-1:]
                    v['params'] = [(-1, keep[0][1])] + [p for p in v['params'] if p[0] > x.stable]
                if v['close'] is not None and v['close'] <= x.stable:
                    v['open'] = False
                self.down(lid, ('SNAP', x.stable0, v, x.stable))
        while k['cur0'] < x.pos0:
            k['cur0'] += 1
            self.down(lid, ('CTL', k['cur0'], x.log0[k['cur0']], x.stable0, x.stable))

    def can_feed(self, lid):
        """May this child be sent its next data packet?"""
        l = self.links[lid]
        p = self.nodes[l[PARENT]]
        k = p.kids.get(lid)
        if not k or not self.open(lid) or not k['sure'] or not p.view['open']:
            return False
        if 'datafirst' not in self.mut and k['cur0'] < p.pos0:
            return False
        if not any(b >= 0 for a, b in k['set'].values()):
            return False                                        # nobody below is a member of this stream yet
        return max(self.nodes[l[CHILD]].pos if k['cur'] is None else k['cur'], p.stable) < p.pos

    def do_feed(self, lid):
        l = self.links[lid]
        p = self.nodes[l[PARENT]]
        k = p.kids[lid]
        c = self.nodes[l[CHILD]]
        cur = max(c.pos if k['cur'] is None else k['cur'], p.stable)
        if cur >= p.pos:
            k['cur'] = cur
            return
        if cur + 1 not in p.store:
            raise Violation(f'retention: {l["p"]} has not packet {cur + 1}')
        k['cur'] = cur + 1
        self.down(lid, ('DATA', cur + 1, p.store[cur + 1], p.stable))

    def do_ctl(self, lid):
        """Only without the rule: control goes some time."""
        l = self.links[lid]
        self.push0(self.nodes[l[PARENT]], lid, self.nodes[l[PARENT]].kids[lid])

    def from_parent(self, i, lid, m):
        x = self.nodes[i]
        if x.parent != lid:
            return
        if m[0] == 'SNAP':
            x.pos0, x.stable0, x.snap, x.log0 = m[1], m[1], m[2], {}
            x.stable = max(x.stable, m[3])
            x.view = fold(m[2], ('none',))
            self.entered(i, x, x.view['members'].get(i))
        elif m[0] == 'CTL':
            if m[1] > x.pos0:
                x.pos0 = m[1]
                x.log0[m[1]] = m[2]
                x.view = fold(x.view, m[2])
                if 'paramnow' in self.mut and m[2][0] == 'PARAM':
                    x.view['params'][-1] = (-1, m[2][1])
                if m[2][0] == 'ENTER' and m[2][1] == i:
                    self.entered(i, x, m[2][2])
            self.stabilise(i, min(m[3], x.pos0), m[4])
        elif m[0] == 'DATA':
            self.data(i, x, m)
        self.changed(i)

    def entered(self, i, x, base):
        if x.kind == LEAF and not x.member and base is not None:
            x.member, x.pos, x.base = True, base, base

    def data(self, i, x, m):
        n = m[1]
        if x.kind == LEAF:
            if not x.member:
                raise Violation(f'member: {i} gets {n} before it is told that it has entered')
            if n <= x.pos:
                raise Violation(f'twice: {i} gets {n}, it has {x.pos}')
            if n != x.pos + 1:
                raise Violation(f'gap: {i} gets {n} after {x.pos}')
        if not x.view['open'] or x.view['close'] is not None and (n > x.view['close'] or 'closenow' in self.mut):
            raise Violation(f'unknown: {i} gets {n} of a stream that is not open there')
        have = param_of({'params': sorted(x.view['params'])}, n)
        if have != m[2]:
            raise Violation(f'parameters: {i} takes {n} under {have}, it was sent under {m[2]}')
        if n > x.pos:
            x.pos = n
            x.store[n] = m[2]
            if x.kind == LEAF:
                x.seen.append(n)
        self.stabilise(i, x.stable0, m[3])

    def parent_gone(self, i):
        self.nodes[i].parent = None

    def from_child(self, p, lid, m):
        said, pos0 = m
        k = self.nodes[p].kids.get(lid)
        if k:
            if not k['sure']:
                k['sure'], k['cur0'] = True, pos0
            k['set'] = said

    def child_gone(self, p, lid):
        self.nodes[p].kids.pop(lid, None)

    def run(self, i):
        if self.nodes[i].alive:
            self.changed(i)

    # ---- joins

    def do_adopt(self, i, a):
        self.know(i, self.new_link(i, a))
        self.changed(i)

    def do_join(self, i, a):
        self.joins -= 1
        self.nodes[i].alive = True
        self.asked.add(i)
        if 'enterearly' in self.mut:
            self.asked.discard(i)
            self.enter(i)
        self.do_adopt(i, a)

    def do_lose(self, i):
        self.lost.add(i)
        self.changed(0)

    def do_app(self, what):
        self.steps -= 1
        if what == 'send':
            self.sent += 1
            r = self.nodes[0]
            r.pos = self.sent
            r.store[r.pos] = self.param
            for m in self.members:
                self.must[m].append(self.sent)
            self.changed(0)
        elif what == 'param':
            self.param += 1
            self.control(('PARAM', self.param, self.sent))
        else:
            self.closed = True
            self.control(('CLOSE', self.sent))

    # ---- what may happen

    def deliveries(self):
        out = super().deliveries()
        for lid, l in self.links.items():
            if self.can_feed(lid):
                out.append(('feed', lid))
            k = self.nodes[l[PARENT]].kids.get(lid)
            if 'datafirst' in self.mut and k and k['sure'] and self.open(lid) and k['cur0'] < self.nodes[l[PARENT]].pos0:
                out.append(('ctl', lid))
        return out

    def others(self, faults=True):
        out = self.link_faults() if faults else []
        cover = set()
        for k in self.nodes[0].kids.values():
            cover |= set(k['set'])
        for i, x in enumerate(self.nodes):
            if i and x.alive and faults and self.crashes:
                out.append(('crash', i))
            if i and x.alive and x.parent is None:
                out += [('adopt', i, a) for a in self.adopters(i)]
            if not x.alive and i in self.members and i not in self.lost and i in self.covered - cover:
                out.append(('lose', i))
            if self.joins and not x.alive and x.inc == 0:
                out += [('join', i, a) for a in self.adopters(i)]
        if self.steps and not self.closed:
            if self.sent - self.nodes[0].stable < self.window:
                out.append(('app', 'send'))
            out += [('app', 'param')] + ([('app', 'close')] if self.steps == 1 else [])
        return out

    def rest(self):
        r = self.nodes[0]
        if r.stable != self.sent or r.stable0 != r.pos0:
            raise Violation(f'stuck: stable {r.stable} of {self.sent}, on stream 0 {r.stable0} of {r.pos0}')
        for m, must in self.must.items():
            x = self.nodes[m]
            if x.alive and m not in self.lost and x.seen != must:
                raise Violation(f'down: member {m} has {x.seen}, not {must}')
        for i, x in enumerate(self.nodes):
            if x.alive and not x.view['open'] and self.sent and not self.closed:
                raise Violation(f'stream: {i} never learnt of it')

    def show(self):
        for i, x in enumerate(self.nodes):
            if x.alive:
                print(f'    {i}: control {x.pos0}, stable {x.stable0}; data {x.pos}, stable {x.stable}; {x.view}')

def pick(w, rng, config, d, o):
    return rng.choice(d) if d and (not o or rng.random() < 0.6) else rng.choice(o)

def config(rng):
    return dict(joins=rng.choice((0, 1, 1, 2)), crashes=rng.choice((0, 0, 1, 2)), resets=rng.choice((0, 0, 1, 2, 5)),
                steps=rng.randint(2, 10), window=rng.randint(1, 4))

if __name__ == '__main__':
    Model(World, config, pick, RULES, WHERE).main(__doc__)
