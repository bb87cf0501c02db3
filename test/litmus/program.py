"""Small programs as text, and whether they can end badly. README.md has the language."""
import collections
import dataclasses
import functools
import itertools
import operator
import re

from rc11 import INIT, Event, executions

ORDERS = ("plain", "relaxed", "acquire", "release", "acq_rel", "seq_cst", "none")
WRITTEN = {"acq_rel": "release", "acquire": "relaxed"}  # what a write has of an order, and a read
READ = {"acq_rel": "acquire", "release": "relaxed"}


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    bad: str  # in words
    threads: dict  # their text
    when: str = "False"  # bad as an expression of registers and last values; to race or to be stuck is bad, too
    init: dict = dataclasses.field(default_factory=dict)
    interrupted: tuple = ()  # threads in which another one's membarrier makes a fence
    mutants: tuple = ()  # orders of some excerpts: with these it can end badly
    enough: tuple = ()  # with these it cannot
    allowed: bool = False  # whether it may end so, as it stands


@dataclasses.dataclass(frozen=True)
class Statement:
    condition: str
    verb: str
    words: tuple
    order: str


def parse(line, order_of):
    condition, verb, words, order = re.match(r"(?:if (.+?): )?(\w+) ?(.*?) ?(\w+)$", line.strip()).groups()
    return Statement(condition or "True", verb, tuple(words.split()),
                     order if order in ORDERS else order_of(order, verb))


# A membarrier, and what it does in a thread that it interrupts. The system sends word, and waits for the answers.
MEMBARRIER = [parse(line, None) for line in (
    "fence seq_cst", "store sent 1 release", "await r_answer answered r_answer==1 acquire", "fence seq_cst")]
HANDLER = [parse(line, None) for line in (
    "await r_sent sent r_sent==1 acquire", "fence seq_cst", "store answered 1 release")]


def with_membarriers(statements):
    for statement in statements:
        if statement.verb != "membarrier":
            yield statement
        elif statement.order != "none":
            yield from MEMBARRIER


def reorderings(statements):
    """Without a fence for the compiler (light none) what stands on its sides may change places."""
    place = next((i for i, statement in enumerate(statements) if statement.verb == "light"), None)
    if place is None:
        yield statements
        return
    before, behind = statements[:place], statements[place + 1:]
    yield from reorderings(before + behind)
    if statements[place].order == "none":
        yield from reorderings(before[:-1] + [behind[0], before[-1]] + behind[1:])


def variants(program, order_of):
    """The program's threads as statements, in every way in which they may come."""
    parsed = {name: [parse(line, order_of) for line in text.splitlines() if line.strip()]
              for name, text in program.threads.items()}
    fenced = any(s.verb == "membarrier" and s.order != "none" for each in parsed.values() for s in each)
    choices = []
    for name, statements in parsed.items():
        ways = list(reorderings(list(with_membarriers(statements))))
        if fenced and name in program.interrupted:
            ways = [way[:at] + HANDLER + way[at:] for way in ways for at in range(len(way) + 1)]
        choices.append(ways)
    return itertools.product(*choices)


class Registers(dict):
    def __missing__(self, name):
        return None  # not reached


@functools.lru_cache(None)
def compiled(expression):
    return compile(expression, expression, "eval")


def value(expression, registers):
    return eval(compiled(expression), {}, registers)


class Run:
    """One way through a thread. `needs`: what it reads of others; `gives`: what it writes."""

    def __init__(self, events, registers, own, stuck=None):
        self.events, self.registers, self.stuck = events, registers, stuck
        self.gives = {(e.loc, e.value) for e in events if e.kind == "W"}
        self.needs = own.needs
        self.accesses = {(e.loc, e.kind, e.order == "plain") for e in events if e.kind != "F"}


class Own:
    """What a thread knows of each location by itself: the value that it has written last, else the initial one."""

    def __init__(self, init, last=None, needs=frozenset()):
        self.init, self.last, self.needs = init, last or {}, needs

    def value(self, loc):
        return self.last.get(loc, self.init.get(loc, 0))

    def behind(self, events):
        last, needs = dict(self.last), set(self.needs)
        for event in events:
            if event.kind == "R" and event.value != last.get(event.loc, self.init.get(event.loc, 0)):
                needs.add((event.loc, event.value))
            elif event.kind == "W":
                last[event.loc] = event.value
        return Own(self.init, last, frozenset(needs))


class Runs:
    """What a thread can do. Of others it may read any value of `foreign`."""

    def __init__(self, thread, statements, foreign):
        self.thread, self.statements, self.foreign = thread, statements, foreign

    def all(self, own, at=0, events=(), registers=Registers()):
        if at == len(self.statements):
            yield Run(events, registers, own)
            return
        statement = self.statements[at]
        if not value(statement.condition, registers) or statement.order == "none":
            yield from self.all(own, at + 1, events, registers)
            return
        for more, known, stuck in self.steps(statement, own, registers):
            if stuck:
                yield Run(events, registers, own, stuck)
            else:
                yield from self.all(own.behind(more), at + 1, events + tuple(more), known)

    def steps(self, statement, own, registers):
        verb, words = statement.verb, statement.words
        if verb == "fence":
            yield [Event(self.thread, "F", None, statement.order, None)], registers, None
        elif verb == "store":
            yield [self.write(statement, words[0], value(words[1], registers))], registers, None
        else:
            yield from self.reads(statement, own, registers)

    def write(self, statement, loc, what, rmw=False):
        return Event(self.thread, "W", loc, WRITTEN.get(statement.order, statement.order), what, rmw)

    def reads(self, statement, own, registers):
        """await ends at a value for which its condition holds, or is stuck; so is take."""
        verb, (register, loc, *operands) = statement.verb, statement.words
        for seen in sorted(self.foreign[loc] | {own.value(loc)}):
            known = Registers(registers, **{register: seen})
            events = [Event(self.thread, "R", loc, READ.get(statement.order, statement.order), seen)]
            if verb == "await" and not value(operands[0], known) or verb == "take" and seen != 0:
                yield [], registers, (loc, seen)
                continue
            written = {"add": lambda: seen + value(operands[0], registers),
                       "swap": lambda: value(operands[0], registers), "take": lambda: 1,
                       "cas": lambda: value(operands[1], registers)}
            if verb in written and (verb != "cas" or seen == value(operands[0], registers)):
                events.append(self.write(statement, loc, written[verb](), True))
            yield events, known, None


def changes(statement):
    """The location that it may change, and by what or to what: an expression. None: it changes nothing."""
    what = {"store": 1, "add": 2, "swap": 2, "cas": 3}.get(statement.verb)
    if what is None:
        return (statement.words[1], "1") if statement.verb == "take" else (None, None)
    return statement.words[0 if statement.verb == "store" else 1], statement.words[what]


def possible(threads, init):
    """Values that a location can have, where all its changes name numbers: one that is stored, and some of the
    additions, each once, as there are no loops."""
    statements = [(s.verb, *changes(s)) for each in threads for s in each]
    values = {}
    for loc in {loc for _, loc, _ in statements if loc}:
        own = [(verb == "add", what) for verb, other, what in statements if other == loc]
        if all(re.fullmatch(r"-?\d+", what) for _, what in own):
            values[loc] = {init.get(loc, 0)} | {int(what) for adds, what in own if not adds}
            for more in (int(what) for adds, what in own if adds):
                values[loc] |= {value + more for value in values[loc]}
    return values


def thread_runs(threads, init):
    """The runs of each thread. What one writes others may read: so often as there are writes, one behind the other."""
    written = [collections.defaultdict(set) for _ in threads]
    can_be = possible(threads, init)
    for _ in range(1 + sum(s.verb not in ("load", "await", "fence") for each in threads for s in each)):
        runs = []
        for number, statements in enumerate(threads):
            foreign = collections.defaultdict(set)
            for other, values in enumerate(written):
                for loc in values if other != number else ():
                    foreign[loc] |= values[loc]
            runs.append(list(Runs(number, statements, foreign).all(Own(init))))
        found = [{(loc, what) for run in each for loc, what in run.gives if what in can_be.get(loc, (what,))}
                 for each in runs]
        if all(what in values[loc] for values, each in zip(written, found) for loc, what in each):
            break
        for values, each in zip(written, found):
            for loc, what in each:
                values[loc].add(what)
    return runs


def together(runs):
    """Runs of all threads that give each other what they need. Sets are bits here: there are many runs."""
    bit = collections.defaultdict(lambda: 1 << len(bit))
    each = [[(run, sum(map(bit.__getitem__, run.gives)), sum(map(bit.__getitem__, run.needs))) for run in of_thread]
            for of_thread in runs]
    to_come = [0]
    for of_thread in reversed(each):
        to_come.append(functools.reduce(operator.or_, (gives for _, gives, _ in of_thread), to_come[-1]))

    def choose(chosen, given, needed):
        if len(chosen) == len(runs):
            yield chosen
            return
        later = to_come[len(runs) - len(chosen) - 1]
        for run, gives, needs in each[len(chosen)]:
            if not (needed | needs) & ~(given | gives | later):
                yield from choose(chosen + [run], given | gives, needed | needs)

    return choose([], 0, 0)


def races(chosen):
    """Whether some may: a plain access beside another one of the same place."""
    return any(a[0] == b[0] and "W" in (a[1], b[1]) and (a[2] or b[2])
               for one, other in itertools.combinations(chosen, 2) for a in one.accesses for b in other.accesses)


def bad_ending(program, order_of):
    """What the registers are in an execution that ends badly; None: there is none."""
    for threads in variants(program, order_of):
        for chosen in together(thread_runs(threads, program.init)):
            registers = Registers(item for run in chosen for item in run.registers.items())
            events = sum((run.events for run in chosen), ())
            stuck = [run.stuck for run in chosen if run.stuck]
            locs = sorted({e.loc for e in events if e.loc} | {loc for loc, _ in stuck})
            may_race = races(chosen)
            asks_last = set(locs) & set(compiled(program.when).co_names)
            if not (stuck or may_race or asks_last or value(program.when, registers)):
                continue
            initial = tuple(Event(INIT, "W", loc, "relaxed", program.init.get(loc, 0)) for loc in locs)
            for execution, last in executions(initial + events):
                if any(last[loc] != seen for loc, seen in stuck):
                    continue
                race = may_race and execution.races()
                if stuck or race or value(program.when, Registers(last, **registers)):
                    return dict(registers, **({"race": True} if race else {}), **({"stuck": stuck} if stuck else {}))
    return None
