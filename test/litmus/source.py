"""The orders that the shipped source has, by its text.

An excerpt is a piece of a source file that stands there once, whatever white space lies in it. The order is that
of the last atomic operation that is called in it; where it calls something that has such an operation (a verb of
the fabric, full_fence), that excerpt is named behind it.
"""
import collections
import functools
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
SOURCES = TOP / "ompi_osc_rmalock"

Excerpt = collections.namedtuple("Excerpt", "file text via", defaults=(None,))

CALL = re.compile(r"(?<![\w])((?:__)?(?:atomic_)?(load|store|exchange|fetch|compare_exchange|thread_fence|signal_fence)"
                  r"(?:_\w+)?)\(")
ORDER = re.compile(r"memory_order(?:_|::)(\w+)|__ATOMIC_(\w+)")
OPERATIONS = {"store": "store", "load": "load", "await": "load", "add": "fetch", "swap": "exchange",
              "cas": "compare_exchange", "take": "compare_exchange", "fence": "thread_fence", "light": "signal_fence"}


class Wrong(Exception):
    """A program does not fit the source."""


@functools.lru_cache(None)
def text_of(file):
    """Without lines that are comments: what they hold does not happen."""
    return re.sub(r"^[ ]*//.*", "", (SOURCES / file).read_text(), flags=re.M)


@functools.lru_cache(None)
def place_of(excerpt):
    """Where its text begins and ends in the file."""
    pattern = r"\s*".join(re.escape(word) for word in excerpt.text.split())
    found = list(re.finditer(pattern, text_of(excerpt.file)))
    if len(found) != 1:
        raise Wrong(f"{excerpt.file}: found {len(found)} times instead of once: {excerpt.text}")
    return found[0].span()


@functools.lru_cache(None)
def call_at(excerpt):
    """The operation in an excerpt's text, and the span of its call."""
    begin, end = place_of(excerpt)
    text = text_of(excerpt.file)
    calls = list(CALL.finditer(text, begin, end))
    if not calls:
        raise Wrong(f"{excerpt.file}: no atomic operation: {excerpt.text}")
    call = calls[-1]
    depth, at = 1, call.end()
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return call[2], call.start(), at


def order_at(excerpt, operation):
    """Without an argument it is sequentially consistent. Of two orders the first is that of success."""
    found, begin, end = call_at(excerpt)
    if operation is not None and found != operation:
        raise Wrong(f"{excerpt.file}: {found}, not {operation}: {excerpt.text}")
    named = ORDER.search(text_of(excerpt.file), begin, end)
    return (named[1] or named[2]).lower() if named else "seq_cst"


class Orders:
    """Those of the excerpts, some of them changed."""

    def __init__(self, excerpts, changed=()):
        self.excerpts, self.changed = excerpts, dict(changed)

    def __call__(self, name, verb):
        if name not in self.excerpts:
            raise Wrong(f"no such excerpt: {name}")
        excerpt = self.excerpts[name]
        if name in self.changed:
            return self.changed[name]
        if excerpt.via is None:
            return order_at(excerpt, OPERATIONS.get(verb))
        place_of(excerpt)
        return "seq_cst" if excerpt.via == "membarrier" else self(excerpt.via, verb)


def unnamed(excerpts, others):
    """Lines with an order that no excerpt names. `others`: files whose further ones are relaxed, as they may be."""
    spans = collections.defaultdict(list)
    for excerpt in excerpts.values():
        if excerpt.via is None:
            spans[excerpt.file].append(call_at(excerpt)[1:])
    for path in sorted(SOURCES.rglob("*")):
        file = path.relative_to(SOURCES).as_posix()
        if path.suffix not in (".c", ".cc", ".h", ".hh"):
            continue
        text = text_of(file)
        for found in ORDER.finditer(text):
            known = any(begin <= found.start() < end for begin, end in spans[file])
            relaxed = (found[1] or found[2]).lower() == "relaxed"
            if not known and not (relaxed and file in others):
                yield f"{file}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}"
