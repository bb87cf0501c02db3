"""The executions of small C++20 programs under RC11.

O. Lahav, V. Vafeiadis, J. Kang, C.-K. Hur, D. Dreyer: "Repairing Sequential Consistency in C/C++11", PLDI 2017. The
release sequence is C++20's, which is shorter: a write, and the read-modify-writes that follow it.

A relation is a list: bit j of entry i says that i is before j.
"""
import collections
import itertools

# kind: R, W or F. A read-modify-write is an R and the W behind it, whose `rmw` is set.
Event = collections.namedtuple("Event", "thread kind loc order value rmw", defaults=(False,))
INIT = -1  # the thread of the initial values

RELEASES = {("W", "release"), ("W", "seq_cst"), ("F", "release"), ("F", "acq_rel"), ("F", "seq_cst")}
ACQUIRES = {("R", "acquire"), ("R", "seq_cst"), ("F", "acquire"), ("F", "acq_rel"), ("F", "seq_cst")}


def bits(mask):
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def then(first, second):
    """Their composition."""
    result = []
    for row in first:
        reached = 0
        for j in bits(row):
            reached |= second[j]
        result.append(reached)
    return result


def either(*relations):
    result = []
    for rows in zip(*relations):
        reached = 0
        for row in rows:
            reached |= row
        result.append(reached)
    return result


def kept(relation, starts, ends):
    return [row & ends if starts >> i & 1 else 0 for i, row in enumerate(relation)]


def closed(relation):
    """The transitive closure."""
    rows = list(relation)
    for k in range(len(rows)):
        for i in range(len(rows)):
            if rows[i] >> k & 1:
                rows[i] |= rows[k]
    return rows


def acyclic(relation):
    return not any(row >> i & 1 for i, row in enumerate(closed(relation)))


def reflexive(relation):
    return [row | 1 << i for i, row in enumerate(relation)]


class Skeleton:
    """What is the same in all executions with these events: order in the threads, and kinds."""

    def __init__(self, events):
        self.events = events
        threads, places = collections.Counter(), collections.Counter()
        for i, event in enumerate(events):
            threads[event.thread] |= 1 << i
            places[event.loc] |= 1 << i
        later = [-1 << i + 1 for i in range(len(events))]
        others = (1 << len(events)) - 1 & ~threads[INIT]
        self.sb = [others if e.thread == INIT else threads[e.thread] & later[i] for i, e in enumerate(events)]
        self.same_loc = [places[e.loc] if e.loc is not None else 0 for e in events]
        self.rmw = [1 << i + 1 if events[i + 1:] and events[i + 1].rmw else 0 for i in range(len(events))]
        self.release = self.where(lambda e: (e.kind, e.order) in RELEASES)
        self.acquire = self.where(lambda e: (e.kind, e.order) in ACQUIRES)
        self.fences = self.where(lambda e: e.kind == "F")
        self.atomic_reads = self.where(lambda e: e.kind == "R" and e.order != "plain")
        self.atomic_writes = self.where(lambda e: e.kind == "W" and e.order != "plain")
        self.sc = self.where(lambda e: e.order == "seq_cst")
        self.sc_fences = self.sc & self.fences

    def where(self, condition):
        return sum(1 << i for i, event in enumerate(self.events) if condition(event))

    def conflicts(self):
        """Pairs that race unless one happens before the other."""
        for i, j in itertools.combinations(range(len(self.events)), 2):
            one, other = self.events[i], self.events[j]
            if (self.same_loc[i] >> j & 1 and one.thread != other.thread and INIT not in (one.thread, other.thread) and
                    "W" in (one.kind, other.kind) and "plain" in (one.order, other.order)):
                yield i, j


class Execution:
    """Events, where each read reads from, and the order of the writes of each location."""

    def __init__(self, skeleton, sources, orders):
        self.skeleton = skeleton
        size = len(skeleton.events)
        self.rf, self.mo, self.rb = [0] * size, [0] * size, [0] * size
        for order in orders.values():
            later = 0
            for write in reversed(order):
                self.mo[write] = later
                later |= 1 << write
        for read, write in sources.items():
            self.rf[write] |= 1 << read
            self.rb[read] = self.mo[write] & ~(1 << read + 1 if skeleton.rmw[read] else 0)

    def happens_before(self):
        s = self.skeleton
        every = (1 << len(s.events)) - 1
        sequence = kept(reflexive(closed(then(self.rf, s.rmw))), s.atomic_writes, every)
        reads = kept(then(sequence, self.rf), every, s.atomic_reads)
        ends = either(reads, then(reads, kept(s.sb, every, s.fences)))
        starts = either(ends, then(kept(s.sb, s.fences, every), ends))
        return closed(either(s.sb, kept(starts, s.release, s.acquire)))

    def is_consistent(self):
        """Atomicity holds by construction (write_orders)."""
        s = self.skeleton
        if not acyclic(either(s.sb, self.rf)):
            return False
        self.hb = hb = self.happens_before()
        changes = either(self.mo, self.rb)
        eco = either(self.rf, changes, then(changes, self.rf))
        around = then(hb, eco)
        if any((hb[i] | around[i]) >> i & 1 for i in range(len(hb))):
            return False
        return not s.sc or acyclic(self.psc(hb, eco))

    def psc(self, hb, eco):
        s = self.skeleton
        every = (1 << len(s.events)) - 1
        elsewhere = [row & ~same for row, same in zip(s.sb, s.same_loc)]
        there = [row & same for row, same in zip(hb, s.same_loc)]
        scb = either(s.sb, then(elsewhere, then(hb, elsewhere)), there, self.mo, self.rb)
        fence_then = kept(reflexive(hb), s.sc_fences, every)
        then_fence = kept(reflexive(hb), every, s.sc_fences)
        one = [1 << i if s.sc >> i & 1 else 0 for i in range(len(hb))]
        base = then(then(either(one, fence_then), scb), either(one, then_fence))
        fences = kept(either(hb, then(hb, then(eco, hb))), s.sc_fences, s.sc_fences)
        return either(base, fences)

    def races(self):
        """Of a consistent one."""
        return any(not self.hb[i] >> j & 1 and not self.hb[j] >> i & 1 for i, j in self.skeleton.conflicts())


def write_orders(events, writes, sources):
    """Orders of the writes of a location: the initial one first, those of a thread as it makes them, and a
    read-modify-write right behind what it reads."""
    behind = collections.defaultdict(list)
    for write in writes:
        if events[write].rmw:
            behind[sources[write - 1]].append(write)

    def extend(order, left):
        if not left:
            yield order
            return
        bound = [w for w in behind[order[-1]] if w in left]
        for write in bound or sorted(left):
            free = not events[write].rmw or write in bound
            mine = not any(w < write and events[w].thread == events[write].thread for w in left)
            if free and mine and len(bound) < 2:
                yield from extend(order + [write], left - {write})

    return extend(writes[:1], frozenset(writes[1:]))


def executions(events):
    """All consistent ones of these events (the initial values first), each with the last value of each location."""
    skeleton = None
    writes = collections.defaultdict(list)
    for i, event in enumerate(events):
        if event.kind == "W":
            writes[event.loc].append(i)
    reads = [i for i, event in enumerate(events) if event.kind == "R"]
    changing = [i for i in reads if events[i + 1:] and events[i + 1].rmw]
    choices = [[w for w in writes[events[r].loc] if events[w].value == events[r].value and not
                (events[w].thread == events[r].thread and w > r)] for r in reads]
    for chosen in itertools.product(*choices):
        sources = dict(zip(reads, chosen))
        if len({sources[read] for read in changing}) != len(changing):
            continue  # two read-modify-writes of the same write
        each = [list(write_orders(events, writes[loc], sources)) for loc in writes]
        for orders in itertools.product(*each):
            skeleton = skeleton or Skeleton(events)
            execution = Execution(skeleton, sources, dict(zip(writes, orders)))
            if execution.is_consistent():
                yield execution, {loc: events[order[-1]].value for loc, order in zip(writes, orders)}
