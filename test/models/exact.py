#!/usr/bin/env python3
"""Model of streams of whole waves (chapter 16): each wave has each expected member exactly once. exact.md has what it found.

KEYs: sends (of each back-end), marks, data, crashes, resets, joins, leaves, giveups, errors (filter calls that fail), closes,
poison (a packet that crashes each commnode that filters it), limit (redo_limit), window (credit), keep (packets), room
(waves that the front-end's application leaves), slow (filter calls take time), beats (FINAL goes with heartbeats), calm (at most
back-ends fail: then no redo may begin), parts (a commnode's filter makes two packets of a wave).

    up    W(number, data, check, end, ask, first)  number = (generation, epoch, n); data and check count each member, and so
                                            does `first`, the first part of the data; None: P has it
          P(number, first)                  the first packet of a wave of two; W is its LAST
          R(number)                         RESUME: counts from the wave behind that number
          K(set)                            a claim
          N(n)                              FEED: the feed begins behind n
    down  c i / d i                         entry i of stream 0 / of the stream
          F f                               FINAL: waves up to f are final
          S i                               SNAPSHOT: the sum of stream 0 up to i
          X                                 EXPEL
    stream 0   ('L', m) LOST   ('G', g, f) REDO   ('E', m, epoch, n) ENTER   ('C', n) CLOSE behind packet n
    stream     ('D',) data     ('M', epoch, names) a marker, with the late joiners that count from it on
"""
from schedules import (BaseNode, BaseWorld, Model, Violation, bits, COMM, LEAF, CHILD, PARENT, UP, DOWN, UP_CLOSED,
                       DOWN_CLOSED, USED, OWED)

RULES = {
    'count':       '16.3: the front-end compares numbers of members, not which',
    'short':       '16.4: a wave that all have answered is accepted though it is short',
    'holdmember':  '16.4: a member that was given up stays expected in waves that were sent before',
    'skipempty':   '16.4: an epoch of whose members none is left is waited for',
    'forget':      '16.5: a back-end forgets what has left it, not what is final',
    'noredo':      '16.5: nothing is sent again',
    'nofinal':     '16.5: FINAL is not said first on a new link',
    'noask':       '16.5: no packet bears ASK (FINAL goes with heartbeats alone)',
    'askcross':    '16.5: ASK is on the packet with which half of keep is kept, not half of it sent since the last ASK',
    'eager':       '16.7: a redo begins although a member is covered by nobody',
    'inband':      '16.7: REDO travels on the stream itself, behind data',
    'nogen':       '16.8: what is sent again bears the old generation',
    'mixgen':      '16.8: packets of an older generation are taken as of the present one',
    'dropnewer':   '16.8: packets of a newer generation than the node\'s own are dropped',
    'keepcredit':  '16.8: what is dropped gives no credit back',
    'callgen':     '16.8: what a filter call makes bears the generation in which the call ended, not began',
    'stampearly':  '16.8: what a back-end\'s filter makes bears the generation in which the call began',
    'expelwaits':  '16.9: RESUME after EXPEL waits behind data for credit',
    'partsleft':   '16.9: an orphan sends the rest of a wave whose first packet its lost link had',
    'resumepart':  '16.9: RESUME is before a wave whose first packet has been sent, and the rest follows',
    'noend':       '16.10: a back-end does not say where its epoch ends',
    'endfinal':    '16.10: END is dropped when waves up to its number are final, not when its epoch is',
    'settlefirst': '16.10: a back-end settles a marker while a filter call of the epoch before is out',
    'markany':     '16.11: a late joiner counts from the next marker, whatever that names',
    'joinnow':     '16.11: a late joiner is expected at once',
    'syncearly':   '16.11: a sync does not wait for a joiner that no marker has named yet',
    'syncnamed':   '16.11: a sync that waited for a joiner ends at the marker before the one that names it',
    'byearly':     '16.12: a back-end says goodbye when all is sent, though not all is final',
    'closekeeps':  '16.12: a back-end that has read CLOSE goes on keeping',
    'nolimit':     '16.13: a packet that crashes filters is sent again without limit',
    'syncblocks':  '16.10: a sync does not lift the bound of what the application leaves',
}

# Rules that random schedules seldom need: a small tree.
WHERE = {
    'skipempty': ((0,), dict(joins=1, crashes=1, sends=1)),
    'expelwaits': ((0, 0, 1), dict(crashes=1, resets=1, sends=2, beats=0)),
    'nolimit': ((0, 1, 2, 3), dict(poison=1, limit=1, sends=1, beats=0)),
    'resumepart': ((0, 0, 1), dict(crashes=1, resets=1, sends=1, parts=1, beats=0)),
    'syncearly': ((0,), dict(joins=1, marks=1, data=1, sends=0)),
    'syncnamed': ((0,), dict(joins=1, marks=1, data=1, sends=0)),
    'dropnewer': ((0, 0, 2), dict(resets=2, sends=1, beats=0, keep=1)),
}

SET, LEVEL, COUNTS, QUEUE, CONTROL_AT, DATA_AT, FINAL, PART = range(8)          # a child's record
NEVER = 1 << 20

def ones(ranks):
    """A set as a count of one for each member."""
    return sum(16 ** i for i in bits(ranks))

def size(counts):
    return sum(int(c, 16) for c in '%x' % counts)

def after(number):
    return (number[0], number[1], number[2] + 1)

def pays(message):
    """It needs credit."""
    return message[0] == 'P' or message[0] == 'W' and not message[4]

def is_old(packet, least):
    """Below `least`, and not the END of its epoch, which speaks of every later wave."""
    return packet[0] < least and not (packet[3] and packet[0][:2] == least[:2])

class Node(BaseNode):
    __slots__ = ('alive', 'kind', 'parent', 'kids', 'inc', 'gen', 'level', 'outq', 'call', 'said', 'control_at', 'data_at',
                 'final', 'rest', 'lost', 'closing', 'epoch', 'count', 'kept', 'since_ask', 'calls', 'taken', 'pending',
                 'leaving', 'entered', 'member')

class World(BaseWorld):
    def __init__(self, shape, sends=1, marks=0, data=0, crashes=0, resets=0, joins=0, leaves=0, giveups=0, errors=0, closes=0,
                 poison=0, limit=NEVER, window=1, keep=2, room=0, slow=0, beats=1, calm=0, parts=0, broken=frozenset()):
        self.broken, self.window, self.keep, self.sends = broken, window, keep, sends
        self.marks, self.data, self.crashes, self.resets, self.joins = marks, data, crashes, resets, joins
        self.leaves, self.giveups, self.errors, self.closes, self.limit = leaves, giveups, errors, closes, limit
        self.room, self.slow, self.beats, self.calm, self.parts = room, slow, beats, calm, parts
        self.control, self.stream = (None,), (None,)
        self.final, self.marked, self.syncing, self.entering = (0, 0), 0, 0, 0
        self.awaited, self.promised, self.asked = 0, 0, 0   # of the sync: joiners that no marker has named, all members, the
                                                            # last data before it
        self.waiting = 0                    # accepted waves that the application has not taken
        self.first = {}                     # member -> the first epoch in which it is expected
        self.gone = (0,)                    # members that are given up, now last; before it earlier sets that a wave may still show
        self.changes, self.changes_then, self.news_then, self.redos, self.redos_here = 0, -1, False, 0, 0
        self.sent = {}                      # truth: (member, epoch) -> packets put out
        self.ended = {}                     # truth: member -> it has ended all epochs before this one
        self.failed = frozenset()           # truth: (member, epoch, n) on which a filter failed
        self.left, self.killed = 0, 0
        self.build(shape, joins, self.new_node)
        self.poison = (min(self.first), 0, 1) if poison else None
        for i, x in enumerate(self.nodes):
            if x.parent is not None:
                x.said = self.below_first[i]
                self.nodes[self.links[x.parent][PARENT]].kids[x.parent] = [x.said, (0, 0, 0), True, (), 0, 0, (0, 0), None]

    def new_node(self, i, kind, at_launch):
        x = Node()
        x.kind, x.gen, x.level, x.outq, x.call, x.said, x.control_at, x.data_at = kind, 0, (0, 0, 0), (), None, None, 0, 0
        x.final, x.rest, x.lost, x.closing, x.epoch, x.count, x.kept, x.since_ask = (0, 0), (), 0, False, 0, 0, (), 0
        x.calls, x.taken, x.pending, x.leaving, x.entered, x.member = (), 0, False, False, at_launch, at_launch and kind == LEAF
        if x.member:
            self.first[i], self.ended[i] = 0, 0
        return x

    # ---- upwards

    def is_blocked(self, i):
        x = self.nodes[i]
        return i and x.parent is not None and any([pays(m) for m in x.outq])

    def put(self, i, message):
        if i:
            self.nodes[i].outq += (message,)
            self.flush(i)

    def flush(self, i):
        x = self.nodes[i]
        if not self.open(x.parent):
            return
        link = self.links[x.parent]
        while x.outq:
            m = x.outq[0]
            if pays(m) and link[USED] >= self.window:
                break
            x.outq = x.outq[1:]
            link[USED] += pays(m)
            self.up(x.parent, m)
            if x.kind == LEAF and 'forget' in self.broken and m[0] == 'W':
                x.kept = tuple([k for k in x.kept if k[:2] != m[1][1:]])

    def below(self, i):
        x = self.nodes[i]
        if x.kind == LEAF:
            return 1 << i if x.member else 0
        cover = 0
        for r in x.kids.values():
            cover |= r[SET]
        return cover

    def claim(self, i):
        x = self.nodes[i]
        if i == 0 or not x.alive or x.parent is None:
            return
        cover = self.below(i)
        if cover != x.said:
            if cover and not x.said:
                self.up(x.parent, ('R', self.stand(i)))
            x.said = cover
            self.up(x.parent, ('K', cover))

    def stand(self, i):
        """What RESUME names: what is before the first packet that has not been sent."""
        x = self.nodes[i]
        if not self.broken & {'resumepart', 'partsleft'}:
            self.drop_rest(i)
        waits = [m[1] for m in x.outq if m[0] in 'PW']
        if x.call and x.call[0][0] == x.gen:
            waits.append(x.call[0])
        if waits:
            g, e, n = waits[0]
            return (g, e, n - 1)
        return x.level

    def drop_rest(self, i):
        """Drop the rest of a wave whose first packet has been sent."""
        x = self.nodes[i]
        waits = [m for m in x.outq if m[0] in 'PW']
        if waits and waits[0][0] == 'W' and waits[0][6] is None:
            x.outq = tuple([m for m in x.outq if m is not waits[0]])

    def give_back(self, lid, n=1):
        if lid in self.links and n:
            self.links[lid][USED] -= n

    def drop_old(self, i, least):
        """Drop from the queues what is below `least`, and give its credit back."""
        x = self.nodes[i]
        for lid, r in x.kids.items():
            old = [m for m in r[QUEUE] if is_old(m, least)]
            if old:
                r[QUEUE] = tuple([m for m in r[QUEUE] if m not in old])
                if 'keepcredit' not in self.broken:
                    self.give_back(lid, sum(not m[3] for m in old))
        x.rest = tuple([m for m in x.rest if not is_old(m, least)])

    def gather(self, i, number, take):
        """Sum the packets of a wave, and the ENDs that speak of it: data, check, whether there is data, ASK, first part."""
        x, data, check, any_data, ask, first = self.nodes[i], 0, 0, False, False, 0
        for lid, queue in [(lid, r[QUEUE]) for lid, r in x.kids.items()] + [(None, x.rest)]:
            mine = [m for m in queue if m[0] == number and not m[3]]
            for m in mine:
                data, check, any_data, ask, first = data + m[1], check + m[2], True, ask or m[4], first + m[5]
            for m in queue:
                if m[3] and m[0][:2] == number[:2] and m[0][2] <= number[2]:
                    check += m[2]
            if take and mine:
                left = tuple([m for m in queue if m not in mine])
                if lid is None:
                    x.rest = left
                else:
                    x.kids[lid][QUEUE] = left
                    self.give_back(lid, len(mine))
        return data, check, any_data, ask, first

    def release(self, i):
        """Release what is complete at node i, until a filter call is out or no credit is left."""
        x = self.nodes[i]
        if x.kind == LEAF or not x.alive:
            return
        if x.closing:
            return self.drop_old(i, (NEVER, 0, 0))
        if i == 0:
            return self.accept_all()
        while x.call is None:
            self.drop_old(i, after(x.level))
            counting = [r for r in x.kids.values() if r[SET] and r[COUNTS]]
            low = min([r[LEVEL] for r in counting], default=None)
            numbers = [m[0] for r in x.kids.values() for m in r[QUEUE]] + [m[0] for m in x.rest]
            ready = min([v for v in numbers if v > x.level and (low is None or v <= low)], default=None)
            if self.is_blocked(i):
                break
            g, e, n = x.level
            over = (g, e + 1, 0)
            if low is not None and low >= over and (ready is None or ready >= over):
                check = self.gather(i, after(x.level), False)[1]
                if check:                                       # the last that had not ended has gone
                    x.level = over
                    self.put(i, ('W', (g, e, n + 1), 0, check, True, False, 0))
                    continue
            if ready is not None:
                data, check, any_data, ask, first = self.gather(i, ready, True)
                over = (ready[0], ready[1] + 1, 0)
                end = not any_data and all([r[LEVEL] >= over for r in counting])
                x.level = over if end else ready
                if not any_data:
                    self.put(i, ('W', ready, 0, check, end, False, 0))
                elif self.crashes_here(i, data, ready):
                    return
                else:
                    x.call = (ready, data, check, ask, first)
                    if not self.slow:
                        self.end_call(i)
            elif low is not None and low > x.level:
                x.level = low
                self.put(i, ('R', low))
            else:
                break

    def crashes_here(self, i, data, number):
        if self.poison is None or not i:
            return False
        m, e, n = self.poison
        if number[1:] != (e, n) or not data >> 4 * m & 15:
            return False
        self.killed += 1
        self.changes += 1
        self.die(i)
        if self.killed > self.limit + 1:
            raise Violation(f'{self.killed} commnodes have died of one packet')
        return True

    def end_call(self, i, fails=False):
        x = self.nodes[i]
        if x.kind == LEAF:
            (what, epoch, gen), x.calls = x.calls[0], x.calls[1:]
            return self.put_out(i, epoch, gen, fails)
        number, data, check, ask, first = x.call
        x.call = None
        if fails:
            self.failed |= {(m,) + number[1:] for m in bits(data) for m in (m // 4,)}
            data = first = 0
        if i == 0:
            self.waiting += 1
        elif number[0] >= x.gen or 'callgen' in self.broken:
            if number[0] < x.gen:
                number = (x.gen,) + number[1:]
            if self.parts:
                self.put(i, ('P', number, first))
                first = None
            self.put(i, ('W', number, data, check, False, ask, first))

    # ---- the front-end

    def expected(self, epoch, gone):
        return sum([1 << m for m, e in self.first.items() if e <= epoch and not gone >> m & 1])

    def fits(self, check, epoch):
        """The set of those given up with which a wave is whole, or None."""
        earlier = self.gone[-1:] if 'holdmember' in self.broken else self.gone
        for gone in earlier:
            want = self.expected(epoch, 0 if 'holdmember' in self.broken else gone)
            if want and (size(check) == len(bits(want)) if 'count' in self.broken else check == ones(want)):
                return gone
        return None

    def accept_all(self):
        x = self.nodes[0]
        while not x.closing:
            number = (x.gen, self.final[0], self.final[1] + 1)
            self.drop_old(0, number)
            with_members = [r for r in x.kids.values() if r[SET]]
            counting = [r for r in with_members if r[COUNTS]]
            answered = bool(counting) and all([r[LEVEL] >= number for r in counting])
            data, check, any_data, ask, first = self.gather(0, number, False)
            gone = self.fits(check, number[1])
            now = self.expected(number[1], self.gone[-1])
            if gone is None and 'short' in self.broken and answered and check:
                gone = self.gone[-1]
            if gone is not None:
                if x.call or self.room and self.waiting >= self.room and \
                        (self.final[0] >= self.syncing or 'syncblocks' in self.broken):
                    break
                self.accept(number, gone)
            elif not now and number[1] < self.marked and 'skipempty' not in self.broken:
                self.make_final((number[1] + 1, 0), False)       # no member is left that counts in this epoch
            else:
                covered = now and not now & ~self.below(0) or 'eager' in self.broken
                counted = len(counting) == len(with_members)
                if answered and covered and counted and 'noredo' not in self.broken:
                    self.redo()
                break

    def accept(self, number, gone):
        g, e, n = number
        data, check, any_data, ask, first = self.gather(0, number, True)
        if first != data:
            raise Violation(f'wave {(e, n)} is accepted without one of its packets')
        for m in self.first:
            self.judge(m, e, n, data >> 4 * m & 15, gone)
        self.gone = self.gone[self.gone.index(gone):]
        self.make_final((e, n) if any_data else (e + 1, 0), ask)
        if any_data:
            self.nodes[0].call = (number, data, check, ask, first)
            if not self.slow:
                self.end_call(0)

    def judge(self, m, e, n, times, gone):
        """Wave (e, n) is accepted with member m in it so many times."""
        has_sent = self.sent.get((m, e), 0) >= n
        if times > 1:
            raise Violation(f'wave {(e, n)}: member {m} is in it {times} times')
        if times and not has_sent:
            raise Violation(f'wave {(e, n)}: member {m} has not sent that')
        if gone >> m & 1 or self.first[m] > e:
            if times:
                raise Violation(f'wave {(e, n)}: member {m} is in it, after a wave without it')
        elif has_sent and not times and (m, e, n) not in self.failed:
            raise Violation(f'wave {(e, n)} is accepted without member {m}')
        elif not has_sent and self.ended[m] <= e and not self.gone[-1] >> m & 1:
            raise Violation(f'wave {(e, n)} is accepted before member {m} has sent or ended')

    def make_final(self, final, ask):
        self.final = self.nodes[0].final = final
        self.redos_here = 0
        if ask:
            self.say_final(0)

    def say_final(self, i):
        x = self.nodes[i]
        for lid, r in x.kids.items():
            if r[FINAL] < x.final and self.open(lid):
                r[FINAL] = x.final
                self.down(lid, ('F', x.final))

    def is_news(self):
        """Something that the front-end has not heard of: an orphan, the end of a link, a claim, a RESUME."""
        return any([x.alive and i and x.parent is None or any([m[0] == 'R' for m in x.outq])
                    for i, x in enumerate(self.nodes)]) or \
            any([l[UP_CLOSED] or l[DOWN_CLOSED] or any([m[0] in 'RK' for m in l[UP]]) for l in self.links.values()])

    def redo(self):
        if self.calm:
            raise Violation('a redo though no commnode and no link has failed')
        if self.changes == self.changes_then and not self.news_then:
            raise Violation(f'redo {self.redos + 1} without a cause since the one before')
        if self.redos >= self.changes:
            raise Violation(f'{self.redos + 1} redos of {self.changes} causes')
        if self.redos_here >= self.limit and 'nolimit' not in self.broken:
            return self.close_stream()
        x = self.nodes[0]
        self.changes_then, self.news_then = self.changes, self.is_news()
        self.redos += 1
        self.redos_here += 1
        entry = ('G', x.gen + 1, self.final)
        if 'inband' in self.broken:
            self.stream += (entry,)
            x.data_at += 1
        else:
            self.control += (entry,)
            x.control_at += 1
        self.enter(0, entry[1], self.final)

    def close_stream(self):
        self.control += (('C', len(self.stream) - 1),)
        self.nodes[0].control_at += 1
        self.nodes[0].closing = True

    # ---- generations

    def forget_final(self, i, final):
        x = self.nodes[i]
        x.kept = tuple([k for k in x.kept if k[:2] > final or
                        k[3] and final < (k[0] + 1, 0) and 'endfinal' not in self.broken])

    def enter(self, i, g, f):
        """Node i enters generation g, which goes on behind wave f."""
        x = self.nodes[i]
        if g <= x.gen:
            return
        x.gen, x.final = g, max(x.final, f)
        if x.kind == LEAF:
            return self.send_again(i, g, f)
        if i:
            x.level = max(x.level, (g,) + f)
        x.outq = tuple([m for m in x.outq if m[1] >= (g, 0, 0)])
        self.drop_old(i, (g, 0, 0))

    def send_again(self, i, g, f):
        x = self.nodes[i]
        self.forget_final(i, f)
        x.outq = tuple([m for m in x.outq if m[0] == 'R'])
        if not x.member:
            x.level = (g,) + max(x.level[1:], f)
            return
        x.level = (g,) + (max(f, (self.first[i], 0)) if self.first[i] < NEVER else f)
        for e, n, data, end, ask in x.kept:
            x.level = (g, e + 1, 0) if end else (g, e, n)
            if end and e == f[0] and n <= f[1]:
                n = f[1] + 1
            number = (0 if 'nogen' in self.broken else g, e, n)
            x.outq += (('W', number, data, 16 ** i, end, ask, data),)
        self.flush(i)

    # ---- a back-end

    def kept_data(self, x):
        return sum([not k[3] for k in x.kept])

    def is_full(self, x):
        return not x.closing and self.kept_data(x) + len(x.calls) >= self.keep

    def begin_send(self, i):
        x = self.nodes[i]
        x.calls += (('s', x.epoch, x.gen),)
        if not self.slow:
            self.end_call(i)

    def put_out(self, i, epoch, gen, fails):
        """The filter call of a send has ended: number its packet."""
        x = self.nodes[i]
        if x.epoch != epoch:
            raise Violation(f'member {i} sent in epoch {epoch}, its packet is of {x.epoch}')
        x.count += 1
        data = 0 if fails else 16 ** i
        self.sent[i, epoch] = x.count
        if fails:
            self.failed |= {(i, epoch, x.count)}
        half = (self.keep + 1) // 2
        x.since_ask += 1
        ask = x.since_ask >= half
        if 'askcross' in self.broken:
            ask = self.kept_data(x) + 1 == half
        if ask:
            x.since_ask = 0
        ask = ask and 'noask' not in self.broken
        x.level = (x.gen, epoch, x.count)
        if not x.closing or 'closekeeps' in self.broken:
            x.kept += ((epoch, x.count, data, False, ask),)
            if self.kept_data(x) > self.keep:
                raise Violation(f'member {i} keeps {self.kept_data(x)} packets')
        g = gen if 'stampearly' in self.broken else x.gen
        self.put(i, ('W', (g, epoch, x.count), data, 16 ** i, False, ask, data))

    def run_leaf(self, i):
        x = self.nodes[i]
        if x.kind != LEAF or not x.alive:
            return
        if x.pending and not self.is_full(x):
            x.pending = False
            self.begin_send(i)
        while not x.pending and (not x.calls or 'settlefirst' in self.broken) and x.taken < x.data_at and \
                (self.stream[x.taken + 1][0] != 'D' or x.leaving):
            x.taken += 1
            entry = self.stream[x.taken]
            if entry[0] == 'D' and self.open(x.parent) and self.links[x.parent][OWED]:
                self.links[x.parent][OWED] -= 1
            if entry[0] == 'M' and x.member:
                self.settle(i, entry[1], entry[2] >> i & 1)
        settled = sum([m[0] == 'M' for m in self.stream[1:x.taken + 1]])
        if x.leaving and x.entered and x.member and not x.pending and not x.calls and x.epoch == settled:
            self.end_epoch(i)

    def settle(self, i, epoch, named):
        x = self.nodes[i]
        if not x.entered:
            if named or 'markany' in self.broken:
                x.entered, x.epoch, x.count = True, epoch, 0
                x.level = max(x.level, (x.gen, epoch, 0))
            else:
                x.level = max(x.level, (x.gen, epoch + 1, 0))
                self.put(i, ('R', x.level))
            return
        if x.epoch < epoch:
            self.end_epoch(i)
        if 'noend' in self.broken:
            self.put(i, ('R', x.level))

    def end_epoch(self, i):
        x = self.nodes[i]
        if 'noend' not in self.broken:
            if not x.closing:
                x.kept += ((x.epoch, x.count + 1, 0, True, False),)
            x.outq += (('W', (x.gen, x.epoch, x.count + 1), 0, 16 ** i, True, False, 0),)
        x.epoch, x.count = x.epoch + 1, 0
        self.ended[i] = x.epoch
        x.level = (x.gen, x.epoch, 0)
        self.flush(i)

    # ---- downwards

    def push(self, i):
        x = self.nodes[i]
        if x.kind == LEAF:
            return
        for lid, r in x.kids.items():
            if not self.open(lid):
                continue
            link = self.links[lid]
            while r[CONTROL_AT] < x.control_at:
                r[CONTROL_AT] += 1
                link[DOWN] += (('c', r[CONTROL_AT]),)
            while 0 <= r[DATA_AT] < x.data_at:
                pays = self.stream[r[DATA_AT] + 1][0] == 'D'
                if pays and link[OWED] >= 1:
                    break
                r[DATA_AT] += 1
                link[OWED] += pays
                link[DOWN] += (('d', r[DATA_AT]),)

    def from_parent(self, c, lid, message):
        x = self.nodes[c]
        if x.parent != lid:
            return
        what = message[0]
        if what == 'F':
            x.final = max(x.final, message[1])
            self.forget_final(c, x.final)
            self.say_final(c)
        elif what == 'X':
            if x.kind == LEAF:
                return self.die(c)
            if self.below(c):
                resume = ('R', self.stand(c))
                self.put(c, resume) if 'expelwaits' in self.broken else self.up(x.parent, resume)
        elif what == 'S':
            self.take_snapshot(c, message[1])
        elif what == 'c':
            if message[1] != x.control_at + 1:
                raise Violation(f'{c} gets control {message[1]} after {x.control_at}')
            x.control_at = message[1]
            self.take_control(c, self.control[x.control_at])
        else:
            if message[1] != x.data_at + 1:
                raise Violation(f'{c} gets {message[1]} after {x.data_at}')
            x.data_at = message[1]
            entry = self.stream[x.data_at]
            if entry[0] == 'G':
                self.enter(c, entry[1], entry[2])
            elif entry[0] == 'D' and x.kind != LEAF:
                self.links[lid][OWED] -= 1
        self.run(c)
        if lid in self.links:
            self.run(self.links[lid][PARENT])

    def take_control(self, c, entry):
        x = self.nodes[c]
        if entry[0] == 'L':
            if entry[1] == c:
                self.die(c)
            else:
                self.forget_member(c, entry[1])
        elif entry[0] == 'G':
            self.enter(c, entry[1], entry[2])
        elif entry[0] == 'C' and x.kind == LEAF:
            if 'closekeeps' not in self.broken:
                x.closing, x.kept = True, ()
        elif entry[0] == 'E' and entry[1] == c:
            x.member, x.data_at, x.taken = True, entry[3], entry[3]
            x.level = (x.gen, entry[2] + 1, 0)
            if 'joinnow' in self.broken:
                x.entered, x.epoch, x.level = True, entry[2], (x.gen, entry[2], 0)
            if x.parent is not None:
                self.up(x.parent, ('N', x.data_at))

    def take_snapshot(self, c, upto):
        """Stream 0 up to `upto` at once. Only a node below which there are no members is sent one."""
        x = self.nodes[c]
        if upto <= x.control_at:
            return
        for entry in self.control[x.control_at + 1:upto + 1]:
            self.take_control(c, entry)
        if not x.alive:
            return
        x.control_at = upto
        self.snapshots(c)

    def snapshots(self, i):
        """Send SNAPSHOT to each child that is behind what is stable here."""
        x = self.nodes[i]
        upto = min(self.stable(), x.control_at)
        for lid, r in x.kids.items():
            if r[CONTROL_AT] < upto and self.open(lid):
                r[CONTROL_AT] = upto
                self.down(lid, ('S', upto))

    def stable(self):
        """The most of stream 0 that any node may take for stable."""
        return min([x.control_at for i, x in enumerate(self.nodes)
                    if x.alive and x.member and not self.gone[-1] >> i & 1], default=len(self.control) - 1)

    def close_here(self, i):
        """CLOSE takes effect at a commnode that has the packets before it (3.1b)."""
        x = self.nodes[i]
        if x.kind == COMM and not x.closing:
            x.closing = any([e is not None and e[0] == 'C' and e[1] <= x.data_at for e in self.control[:x.control_at + 1]])
            if x.closing:
                x.outq, x.call = (), None

    def forget_member(self, i, m):
        x = self.nodes[i]
        x.lost |= 1 << m
        for r in x.kids.values():
            had, r[SET] = r[SET], r[SET] & ~x.lost
            if had and not r[SET]:
                r[COUNTS] = False

    def die(self, i):
        x = self.nodes[i]
        self.close_all(i)
        x.outq, x.rest, x.kept, x.calls, x.call, x.pending = (), (), (), (), None, False

    def from_child(self, p, lid, message):
        x = self.nodes[p]
        r = x.kids.get(lid)
        if r is None:
            return
        if message[0] == 'K':
            lost = message[1] & x.lost
            r[SET] = message[1] & ~lost
            if not r[SET]:
                r[COUNTS] = False
            if lost:
                self.down(lid, ('X',))
        elif message[0] == 'R':
            r[LEVEL], r[COUNTS] = max(r[LEVEL], message[1]), True
        elif message[0] == 'N':
            r[DATA_AT] = message[1]
        else:
            number = message[1]
            if 'mixgen' in self.broken and number[0] < x.gen:
                number = (x.gen,) + number[1:]
            newer = number[0] > x.gen and 'dropnewer' in self.broken
            if number[0] < x.gen or newer or not r[COUNTS] or x.closing:
                if 'keepcredit' not in self.broken:
                    self.give_back(lid, pays(message))
                return
            if message[0] == 'P':                               # its credit goes back on arrival (3.4)
                r[PART] = (number, message[2])
                return self.give_back(lid)
            data, check, end, ask, first = message[2:]
            if first is None:
                first = r[PART][1] if r[PART] and r[PART][0] == number else 0
            r[PART] = None
            r[QUEUE] += ((number, data, check, end, ask, first),)
            r[LEVEL] = max(r[LEVEL], (number[0], number[1] + 1, 0) if end else number)

    # ---- run to where nothing more happens at once

    def run(self, i):
        wake = {i}
        while wake:
            j = max(wake)
            wake.discard(j)
            x = self.nodes[j]
            if not x.alive:
                continue
            before = x.key()
            self.close_here(j)
            self.flush(j)
            self.claim(j)                                       # what it releases goes behind
            self.release(j)
            self.claim(j)
            self.run_leaf(j)
            self.push(j)
            for lid in x.kids:
                if lid in self.links:
                    child = self.nodes[self.links[lid][CHILD]]
                    if child.parent == lid and child.outq:
                        wake.add(self.links[lid][CHILD])
            if x.key() != before:
                wake.add(j)
        named = self.entering & self.below(0)
        if named and not self.nodes[0].closing:
            self.entering &= ~named
            self.mark(named)
            if self.awaited & named:
                self.awaited &= ~named
                if 'syncnamed' not in self.broken:
                    self.mark(0)
                    self.syncing = self.marked
            self.push(0)

    # ---- what may happen now

    def others(self, faults=True):
        out = self.link_faults() if faults else []
        cover, closed = self.below(0), self.nodes[0].closing
        for i, x in enumerate(self.nodes):
            if x.kind == LEAF and not x.alive and x.inc == 0 and self.joins:
                out.extend([('join', i, a) for a in self.adopters(i)])
            if i in self.first and not self.gone[-1] >> i & 1 and \
                    (not x.alive or faults and self.giveups and not cover >> i & 1):
                out.append(('lose', i))
            if not x.alive:
                continue
            if x.call or x.calls:
                out.append(('ran', i))
                if faults and self.errors:
                    out.append(('fails', i))
            if i == 0:
                continue
            if faults and self.crashes and (x.kind == LEAF or not self.calm):
                out.append(('crash', i))
            if x.parent is None:
                out.extend([('adopt', i, a) for a in self.adopters(i)])
            if x.kind == LEAF:
                if not x.member and i not in self.first and not closed and self.is_whole(i):
                    out.append(('enter', i))
                out.extend(self.of_application(i))
        if self.beats and any([r[FINAL] < self.final and self.open(lid) for lid, r in self.nodes[0].kids.items()]):
            out.append(('beat',))
        if self.waiting and self.room and self.final[0] >= self.syncing:
            out.append(('recv',))
        if not closed:
            out.extend([(what,) for what, n in (('data', self.data), ('mark', self.marks), ('close', self.closes)) if n])
        return out

    def of_application(self, i):
        x, out = self.nodes[i], []
        if x.pending:
            return out
        if x.taken < x.data_at and self.stream[x.taken + 1][0] == 'D':
            out.append(('take', i))
        if x.member and x.entered and not x.leaving:
            mine = sum([v for (m, e), v in self.sent.items() if m == i])
            if mine + len(x.calls) < self.sends:
                out.append(('in', i))
            if self.leaves:
                out.append(('leave', i))
        if x.leaving and not x.outq and not x.calls and (not self.kept_data(x) or 'byearly' in self.broken):
            out.append(('bye', i))
        return out

    def loses(self, event):
        """A fault by which something on its way up may be lost."""
        return event[0] == 'reset' and self.links[event[1]][UP] or \
            event[0] == 'crash' and self.nodes[event[1]].kind == COMM and \
            (self.nodes[event[1]].call is not None or any([l[UP] for l in self.links.values() if event[1] in l[:2]]))

    def read_end(self, lid, way):
        self.changes += 1
        super().read_end(lid, way)

    def child_gone(self, p, lid):
        r = self.nodes[p].kids.pop(lid, None)
        if r:
            self.nodes[p].rest += r[QUEUE]

    def parent_gone(self, c):
        x = self.nodes[c]
        if x.kind == LEAF and not x.member:
            return self.die(c)                                  # 11.1a: it has not had its ENTER
        x.parent, x.said = None, None
        x.outq = tuple([m for m in x.outq if m[0] in 'PW'])
        if 'partsleft' not in self.broken:
            self.drop_rest(c)
        self.run(c)

    def do_reset(self, lid):
        self.changes += 1
        super().do_reset(lid)

    def do_crash(self, i):
        self.changes += 1
        super().do_crash(i)

    def do_fails(self, i):
        self.errors -= 1
        self.end_call(i, True)
        self.run(i)

    def do_beat(self):
        self.say_final(0)

    def do_recv(self):
        self.waiting -= 1
        self.run(0)

    def do_close(self):
        self.closes -= 1
        self.close_stream()
        self.run(0)

    def do_lose(self, i):
        if self.nodes[i].alive:
            self.giveups -= 1
        self.changes += 1
        if self.first[i] < NEVER:
            self.gone += (self.gone[-1] | 1 << i,)
        else:
            self.gone = tuple([g | 1 << i for g in self.gone])
        self.entering &= ~(1 << i)
        self.awaited &= ~(1 << i)
        self.control += (('L', i),)
        self.nodes[0].control_at += 1
        self.forget_member(0, i)
        self.run(0)

    def attach(self, i, a):
        x = self.nodes[i]
        lid = self.new_link(i, a)
        self.nodes[a].kids[lid] = [0, (0, 0, 0), False, (), x.control_at, x.data_at if x.kind == COMM or x.member else -1, (0, 0), None]
        if 'nofinal' not in self.broken:
            self.nodes[a].kids[lid][FINAL] = self.nodes[a].final
            self.down(lid, ('F', self.nodes[a].final))
        self.snapshots(a)
        return lid

    def do_adopt(self, i, a):
        x = self.nodes[i]
        lid = self.attach(i, a)
        self.changes += 1
        x.said = self.below(i)
        self.up(lid, ('R', self.stand(i)))
        self.up(lid, ('K', x.said))
        self.run(i)
        self.run(a)

    def do_join(self, i, a):
        self.joins -= 1
        self.changes += 1
        x = self.nodes[i]
        x.alive, x.said = True, 0
        self.attach(i, a)
        self.run(a)

    def do_enter(self, i):
        """The joiner's claim on stream 0 has come: ENTER."""
        self.changes += 1
        self.first[i] = self.final[0] if 'joinnow' in self.broken else NEVER
        self.ended[i] = 0
        self.entering |= 1 << i
        self.control += (('E', i, self.marked, len(self.stream) - 1),)
        self.nodes[0].control_at += 1
        self.run(0)

    def do_in(self, i):
        x = self.nodes[i]
        if self.is_full(x):
            x.pending = True
        else:
            self.begin_send(i)
        self.run(i)

    def do_take(self, i):
        x = self.nodes[i]
        x.taken += 1
        if self.open(x.parent) and self.links[x.parent][OWED]:
            self.links[x.parent][OWED] -= 1
        self.run(i)
        if x.parent in self.links:
            self.run(self.links[x.parent][PARENT])

    def do_leave(self, i):
        self.leaves -= 1
        self.nodes[i].leaving = True
        self.run(i)

    def do_bye(self, i):
        self.left |= 0 if self.nodes[i].closing or self.nodes[0].closing else 1 << i
        self.changes += 1
        self.die(i)

    def do_data(self):
        self.data -= 1
        self.stream += (('D',),)
        self.nodes[0].data_at += 1
        self.run(0)

    def mark(self, names):
        self.changes += 1
        self.marked += 1
        for m in bits(names):
            if self.first[m] == NEVER:
                self.first[m] = self.ended[m] = self.marked
        self.stream += (('M', self.marked, names),)
        self.nodes[0].data_at += 1

    def do_mark(self):
        self.marks -= 1
        self.asked = max(i for i, e in enumerate(self.stream) if e is None or e[0] == 'D')
        self.mark(0)
        self.syncing = self.marked
        self.promised = sum([1 << m for m in self.first])
        self.awaited = 0 if 'syncearly' in self.broken else self.entering
        self.run(0)

    # ---- what must hold

    def check(self):
        """A back-end that said goodbye has all that it sent in accepted waves."""
        for m in bits(self.left):
            for (k, e), n in self.sent.items():
                if k == m and n and not (e, n) <= self.final:
                    raise Violation(f'member {m} left, and wave {(e, n)} of it is not final (final {self.final})')
        if self.final[0] >= self.syncing and not self.awaited:      # the sync has returned
            for m in bits(self.promised & ~self.gone[-1]):
                if self.nodes[m].alive and self.nodes[m].taken < self.asked:
                    raise Violation(f'the sync of epoch {self.syncing} has returned, and {m} has not taken {self.asked}')

    def rest(self):
        """Nothing is under way and no fault is to come."""
        members = [i for i, x in enumerate(self.nodes) if x.alive and x.kind == LEAF and not self.gone[-1] >> i & 1]
        for i in members:
            x = self.nodes[i]
            if x.member and not self.below(0) >> i & 1:
                raise Violation(f'member {i} is covered by nobody')
            if x.control_at < len(self.control) - 1:
                raise Violation(f'member {i} lacks control: {x.control_at} of {len(self.control) - 1}')
        e, n = self.final[0], self.final[1] + 1
        closed = self.nodes[0].closing
        want = bits(self.expected(e, self.gone[-1]))
        answered = all([self.sent.get((m, e), 0) >= n or self.ended[m] > e for m in want])
        if not want and e < self.marked and not closed:
            raise Violation(f'stuck: epoch {e}, of whose members none is left, is waited for')
        if want and answered and not closed:
            raise Violation(f'stuck: wave {(e, n)} is never accepted, {want} have sent or ended')
        for i in members:
            x = self.nodes[i]
            done = sum([not k[3] and k[:2] <= self.final for k in x.kept])
            if x.pending and (closed or done >= (1 if self.beats else (self.keep + 1) // 2)):
                raise Violation(f'member {i} is blocked for ever')
            if not x.pending and x.member and x.data_at < len(self.stream) - 1:
                raise Violation(f'member {i} is not fed: {x.data_at} of {len(self.stream) - 1}')
            if self.beats and any([k[:2] <= self.final and not k[3] for k in x.kept]) or closed and x.kept:
                raise Violation(f'member {i} keeps what is final')
            if x.leaving and not x.pending and not self.kept_data(x):
                raise Violation(f'member {i} cannot leave')

    def show(self):
        for i, x in enumerate(self.nodes):
            if x.alive:
                print(f'    {i}: generation {x.gen} level {x.level} out {x.outq} call {x.call or x.calls} kept {x.kept}')
                for lid, r in x.kids.items():
                    print(f'        from {lid // 32}: {bits(r[SET])} {r[LEVEL]} counts {r[COUNTS]} {r[QUEUE]}')
        print(f'    final {self.final} stream 0 {self.control[1:]} stream {self.stream[1:]} first {self.first} '
              f'given up {[bits(g) for g in self.gone]}')
        print('    under way', {l: k[2:6] for l, k in self.links.items() if k[UP] or k[DOWN] or k[UP_CLOSED] or k[DOWN_CLOSED]})

def pick(w, rng, config, d, o):
    """The next event: work rather than faults, commnodes rather than back-ends; None: draw again."""
    if o and rng.random() < 0.5:
        o = [e for e in o if e[0] not in ('reset', 'cut', 'lose', 'leave', 'bye', 'close', 'fails') and
             (e[0] != 'crash' or w.nodes[e[1]].kind == COMM)] or o
    if config['sends'] > 3 and rng.random() < 0.8:                # faults late and apart
        o = [e for e in o if e[0] not in ('crash', 'reset') and (e[0] != 'lose' or not w.nodes[e[1]].alive)]
        if not d and not o:
            return None
    elif config['sends'] > 3:
        o = [e for e in o if w.loses(e)] or o
        d = d if not any([w.loses(e) for e in o]) else []
    return rng.choice(d) if d and (not o or rng.random() < 0.75) else rng.choice(o)

def config(rng):
    if rng.random() < 0.4:                                      # much to send, and routers that fail in the midst of it
        c = dict(sends=rng.randint(4, 7), marks=rng.choice((0, 1)), data=rng.choice((0, 1)), crashes=rng.randint(1, 3),
                 resets=rng.randint(1, 4), joins=rng.choice((0, 0, 1)), leaves=0, giveups=rng.choice((0, 0, 1)),
                 keep=rng.randint(1, 4))
    elif rng.random() < 0.3:                                    # back-ends come and go
        c = dict(sends=rng.randint(2, 3), marks=rng.choice((0, 0, 1)), data=0, crashes=rng.randint(2, 4),
                 resets=rng.choice((0, 0, 1)), joins=rng.choice((0, 0, 1)), leaves=rng.choice((0, 0, 1)),
                 giveups=rng.choice((0, 0, 1)), keep=rng.randint(2, 3))
    else:
        c = dict(sends=rng.randint(1, 5), marks=rng.choice((0, 0, 1, 2)), data=rng.choice((0, 0, 1, 2)),
                 crashes=rng.choice((0, 1, 1, 2, 3)), resets=rng.choice((0, 0, 1, 2, 3)), joins=rng.choice((0, 0, 0, 1)),
                 leaves=rng.choice((0, 0, 1)), giveups=rng.choice((0, 0, 0, 1)), keep=rng.randint(1, 3))
    c.update(window=rng.randint(1, 2), slow=rng.choice((0, 1)), beats=rng.choice((0, 1)), room=rng.choice((0, 0, 0, 1)),
             errors=rng.choice((0, 0, 0, 1)), parts=rng.choice((0, 0, 1)), closes=rng.choice((0, 0, 0, 0, 0, 0, 0, 1)))
    if rng.random() < 0.03:
        c.update(poison=1, limit=rng.randint(1, 2), crashes=0)
    elif rng.random() < 0.1:
        c.update(calm=1, crashes=min(1, c['crashes']), resets=0, giveups=0)
        if c['crashes']:
            c.update(marks=0, joins=0, leaves=0)
    return c

if __name__ == '__main__':
    Model(World, config, pick, RULES, WHERE).main(__doc__)
