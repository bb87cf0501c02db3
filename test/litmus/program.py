"""Small programs as text, and whether they can end badly. README.md has the language."""
import collections
import dataclasses
import functools
import itertools
import re

from rc11 import INIT, Event, executions

ORDERS = ("plain", "relaxed", "acquire", "release", "acq_rel", "seq_cst", "none")
WRITTEN = {"acq_rel": "release", "acquire": "relaxed"}  # what a write has of an order, and a read
READ = {"acq_rel": "acquire", "release": "relaxed"}
MOST_CHANGES = 6  # of one location, one behind the other


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    bad: str  # in words
    threads: dict  # their text
    when: str = "False"  # bad as an expression of registers and last values; to race or to be stuck is bad, too
    init: dict = dataclasses.field(default_factory=dict)
    interrupted: tuple = ()  # threads in which another one's membarrier makes a fence
    mutants: tuple = ()  # orders of some sites: with these it can end badly
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
    parsed = {name: [parse(line, order_of) for line in text.strip().splitlines()]
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


Run = collections.namedtuple("Run", "events registers stuck")


class Runs:
    """What a thread can do, where each of its reads may find any value of `domain`."""

    def __init__(self, thread, statements, domain):
        self.thread, self.statements, self.domain = thread, statements, domain

    def all(self, at=0, events=(), registers=Registers()):
        if at == len(self.statements):
            yield Run(events, registers, None)
            return
        statement = self.statements[at]
        if not value(statement.condition, registers) or statement.order == "none":
            yield from self.all(at + 1, events, registers)
            return
        for more, known, stuck in self.steps(statement, registers):
            if stuck:
                yield Run(events, registers, stuck)
            else:
                yield from self.all(at + 1, events + tuple(more), known)

    def steps(self, statement, registers):
        verb, words = statement.verb, statement.words
        if verb == "fence":
            yield [Event(self.thread, "F", None, statement.order, None)], registers, None
        elif verb == "store":
            yield [self.write(statement, words[0], value(words[1], registers))], registers, None
        else:
            yield from self.reads(statement, registers)

    def write(self, statement, loc, what, rmw=False):
        return Event(self.thread, "W", loc, WRITTEN.get(statement.order, statement.order), what, rmw)

    def reads(self, statement, registers):
        """await ends at a value for which its condition holds, or is stuck; so is take."""
        verb, (register, loc, *operands) = statement.verb, statement.words
        for seen in sorted(self.domain[loc]):
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


def thread_runs(threads, init):
    domain = collections.defaultdict(set)
    for statements in threads:
        for statement in statements:
            for loc in statement.words[:1] if statement.verb == "store" else statement.words[1:2]:
                domain[loc].add(init.get(loc, 0))
    initial = tuple(Event(INIT, "W", loc, "relaxed", init.get(loc, 0)) for loc in sorted(domain))
    for _ in range(MOST_CHANGES):
        runs = [list(Runs(number, each, domain).all()) for number, each in enumerate(threads)]
        found = {(e.loc, e.value) for each in runs for run in each for e in run.events if e.kind == "W"}
        if all(what in domain[loc] for loc, what in found):
            break
        for loc, what in found:
            domain[loc].add(what)
    return initial, runs


def can_be(initial, together):
    """Whether each value that is read was written."""
    events = initial + sum((run.events for run in together), ())
    written = {(e.loc, e.value) for e in events if e.kind == "W"}
    stuck = {run.stuck for run in together if run.stuck}
    return {(e.loc, e.value) for e in events if e.kind == "R"} | stuck <= written


def races(together):
    """Whether some may: a plain access beside another one of the same place."""
    each = [{(e.loc, e.kind, e.order == "plain") for e in run.events} for run in together]
    return any(a[0] == b[0] is not None and "W" in (a[1], b[1]) and (a[2] or b[2])
               for one, other in itertools.combinations(each, 2) for a in one for b in other)


def bad_ending(program, order_of):
    """What the registers are in an execution that ends badly; None: there is none."""
    for threads in variants(program, order_of):
        initial, runs = thread_runs(threads, program.init)
        asks_last = any(e.loc in compiled(program.when).co_names for e in initial)
        for together in itertools.product(*runs):
            registers = Registers(item for run in together for item in run.registers.items())
            stuck = [run.stuck for run in together if run.stuck]
            may_race = races(together)
            if not (stuck or may_race or asks_last or value(program.when, registers)) or not can_be(initial, together):
                continue
            events = initial + sum((run.events for run in together), ())
            for execution, last in executions(events):
                if any(last[loc] != seen for loc, seen in stuck):
                    continue
                race = may_race and execution.races()
                if stuck or race or value(program.when, Registers(last, **registers)):
                    return dict(registers, **({"race": True} if race else {}), **({"stuck": stuck} if stuck else {}))
    return None
