#!/usr/bin/env python3
"""Exhaustive check of the adoption protocol (PROTOCOL 8) on small trees.

Every interleaving of deliveries, faults (a crash; a break of a link between two live nodes) and candidate choices (any
node, however stale the orphan's table) is explored; the parents form no cycle, or the history that broke it is printed.
usage: adoption.py PARENTS FAULTS ATTEMPTS [--no-probe] [--anew]
PARENTS     such as 0,0,1,1: the parents of ranks 1, 2, 3, ...
ATTEMPTS    how often one node may ask in its life
--no-probe  the candidate commits at once, as MRNet's prototype does: a cycle must be found
--anew      attempts are numbered from 1 again after each adoption (rule 6.3 taken away): a cycle must be found
"""
import sys

def run(parents, crashes, attempts, probe=True, anew=False, limit=3_000_000):
    n = len(parents) + 1
    par0 = (None,) + tuple(parents)
    # node: (alive, parent, want(candidate, k) or None, tries, pending tuple of (orphan, k, from))
    nodes = tuple((True, par0[i], None, 0, ()) for i in range(n))
    links = frozenset()  # live links between pairs with both directions' queues: dict (a,b)->tuple msgs from a to b
    q = {}
    for c in range(1, n):
        q[(c, par0[c])] = ()
        q[(par0[c], c)] = ()
    kids = tuple(frozenset(c for c in range(1, n) if par0[c] == i) for i in range(n))
    start = (nodes, kids, tuple(sorted(q.items())), crashes)
    seen, stack, trans = {start}, [(start, None)], 0
    came = {start: None}

    def cyc(nodes):
        for s in range(n):
            if not nodes[s][0]:
                continue
            x, hops = s, 0
            while x is not None and nodes[x][0] and hops <= n:
                x = nodes[x][1]
                hops += 1
            if hops > n:
                return True
        return False

    while stack:
        state, _ = stack.pop()
        for label, nxt in steps(state, n, attempts, probe, anew):
            trans += 1
            if nxt in seen:
                continue
            seen.add(nxt)
            came[nxt] = (state, label)
            if cyc(nxt[0]):
                hist, s = [], nxt
                while came[s]:
                    hist.append(came[s][1]); s = came[s][0]
                return len(seen), trans, list(reversed(hist))
            if len(seen) > limit:
                return len(seen), trans, 'limit'
            stack.append((nxt, None))
    return len(seen), trans, None

DOWN = ('down',)

def steps(state, n, attempts, probe, anew):
    nodes, kids, qs, crashes = state
    q = dict(qs)

    def pack(nodes, kids, q, crashes):
        return (tuple(nodes), tuple(kids), tuple(sorted(q.items())), crashes)

    # a crash: any live node but the root; what it had sent may be cut short anywhere (all or nothing per queue here), then the link is down
    if crashes:
        for x in range(1, n):
            if not nodes[x][0]:
                continue
            for keep in (True, False):
                N, K, Q = list(nodes), list(kids), dict(q)
                N[x] = (False, None, None, 0, ())
                K[x] = frozenset()
                for (a, b) in list(Q):
                    if a == x:
                        Q[(a, b)] = (Q[(a, b)] if keep else ()) + (DOWN,)
                    elif b == x:
                        del Q[(a, b)]
                yield f'crash {x} keep={keep}', pack(N, K, Q, crashes - 1)

    # a link between two live nodes breaks: both ends learn of it, each in its own time
    if crashes:
        for (a, b) in list(q):
            if a < b and (b, a) in q and nodes[a][0] and nodes[b][0]:
                if (q[(a,b)] and q[(a,b)][-1]==DOWN) or (q[(b,a)] and q[(b,a)][-1]==DOWN):
                    continue
                for k1 in (True, False):
                    for k2 in (True, False):
                        if (not k1 and not q[(a,b)]) or (not k2 and not q[(b,a)]):
                            continue
                        Q = dict(q)
                        Q[(a,b)] = (Q[(a,b)] if k1 else ()) + (DOWN,)
                        Q[(b,a)] = (Q[(b,a)] if k2 else ()) + (DOWN,)
                        yield f'break {a}-{b} {k1}{k2}', pack(nodes, kids, Q, crashes - 1)

    # an orphan asks
    for o in range(1, n):
        alive, p, want, tries, pend = nodes[o]
        if alive and p is None and want is None and tries < attempts:
            for c in range(n):
                if c == o or (o, c) in q or (c, o) in q:
                    continue
                N, Q = list(nodes), dict(q)
                k = tries + 1
                N[o] = (True, None, (c, k), k, pend)
                if nodes[c][0]:
                    Q[(o, c)] = (('adopt', o, k),)
                    Q[(c, o)] = Q.get((c, o), ())
                    if (c, o) not in q:
                        Q[(c, o)] = ()
                else:
                    N[o] = (True, None, None, k, pend)
                yield f'{o} asks {c} (try {k})', pack(N, kids, Q, crashes)
            # the orphan may also give up waiting: modelled below as a close
    for o in range(1, n):
        alive, p, want, tries, pend = nodes[o]
        if alive and p is None and want is not None and tries < attempts:
            c, k = want
            N, Q = list(nodes), dict(q)
            N[o] = (True, None, None, tries, pend)
            Q.pop((c, o), None)
            if (o, c) in Q and nodes[c][0]:
                Q[(o, c)] = Q[(o, c)] + (DOWN,)
            yield f'{o} gives up on {c}', pack(N, kids, Q, crashes)

    # a delivery
    for (a, b), msgs in q.items():
        if not msgs or not nodes[b][0]:
            continue
        m, rest = msgs[0], msgs[1:]
        N, K, Q = list(nodes), list(kids), dict(q)
        Q[(a, b)] = rest
        alive, p, want, tries, pend = N[b]

        def send(x, y, msg):
            if (x, y) in Q and not (Q[(x, y)] and Q[(x, y)][-1] == DOWN):
                Q[(x, y)] = Q[(x, y)] + (msg,)

        def answer(pend_list, ok):
            """tell every asker below b that the probe failed (ok False) -- b lost its parent"""
            for (o, k, frm) in pend_list:
                send(b, frm, ('nak', o, k) if frm == o else ('fail', o, k))

        if m == DOWN:
            Q.pop((a, b), None)
            if (b, a) in Q and not (Q[(b, a)] and Q[(b, a)][-1] == DOWN):
                Q.pop((b, a), None)
            if a in K[b]:
                K[b] = K[b] - {a}
            pend2 = tuple(t for t in pend if t[2] != a)
            if p == a:
                answer(pend2, False)
                N[b] = (True, None, None, 0 if anew else tries, ())
            elif want is not None and want[0] == a:
                N[b] = (True, p, None, tries, pend2)
            else:
                N[b] = (True, p, want, tries, pend2)
        elif m[0] == 'adopt':
            _, o, k = m
            if b != 0 and p is None:
                send(b, o, ('nak', o, k))
            elif b == 0 or not probe:
                K[b] = K[b] | {o}
                send(b, o, ('ack', o, k))
            else:
                N[b] = (True, p, want, tries, tuple(sorted(pend + ((o, k, o),))))
                send(b, p, ('probe', o, k))
        elif m[0] == 'probe':
            _, o, k = m
            if b == o or (b != 0 and p is None):
                send(b, a, ('fail', o, k))
            elif b == 0:
                send(b, a, ('ok', o, k))
            else:
                N[b] = (True, p, want, tries, tuple(sorted(pend + ((o, k, a),))))
                send(b, p, ('probe', o, k))
        elif m[0] in ('ok', 'fail'):
            kind, o, k = m
            hit = [t for t in pend if t[0] == o and t[1] == k]
            if hit and a == p:
                t = hit[0]
                N[b] = (True, p, want, tries, tuple(u for u in pend if u != t))
                if t[2] == o:
                    if kind == 'ok' and (o, b) in Q:
                        K[b] = K[b] | {o}
                        send(b, o, ('ack', o, k))
                    else:
                        send(b, o, ('nak', o, k))
                else:
                    send(b, t[2], m)
        elif m[0] == 'ack':
            if want == (a, m[2]) and p is None:
                N[b] = (True, a, None, 0 if anew else tries, pend)
        elif m[0] == 'nak':
            if want == (a, m[2]):
                N[b] = (True, p, None, tries, pend)
                if (b, a) in Q:
                    Q[(b, a)] = Q[(b, a)] + (DOWN,)
                Q.pop((a, b), None)
        yield f'{b} gets {m} from {a}', pack(N, K, Q, crashes)

if __name__ == '__main__':
    args = [a for a in sys.argv[1:] if not a.startswith('--')]
    parents = [int(x) for x in args[0].split(',')]
    states, trans, bad = run(parents, int(args[1]), int(args[2]), '--no-probe' not in sys.argv, '--anew' in sys.argv)
    print(f'{states} states, {trans} steps:', 'no cycle' if bad is None else bad if bad == 'limit' else 'CYCLE')
    if bad not in (None, 'limit'):
        print('\n'.join('  ' + h for h in bad))
    sys.exit(0 if bad is None else 1)
