#!/usr/bin/env python3
"""The rules of this tree that can be checked.

Each rule is a function that yields "file:line: what is wrong". Run from anywhere; part of `make check`.
`tidy.py --selftest` checks that every rule finds what it is there for.
"""
import collections
import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
SOURCE = {".c", ".cc", ".h", ".hh"}
BOUNDARY = re.compile(r"ompi_osc_rmalock/(osc_rmalock[\w]*\.[ch]|compat/.*)$")
LONGEST_FUNCTION = 60  # lines: a screen
LONGEST_README = 150
NAMED = ("ompi_osc_rmalock/", "ucx_glue/", "contrib/", "perf/", "test/", "docs/", "README.md", "CONTRIBUTING.md",
         "CHANGELOG.md")  # where comments, names and words name the actor
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
MPI_HEADER = re.compile(r"^(mpi\.h|ompi/|ompi_config|opal/|orte/|opal_)")
UCX_HEADER = re.compile(r"^(ucp|ucs|uct)/")


class Tree:
    """Files by path relative to the top, as text."""

    def __init__(self, files):
        self.files = files

    @classmethod
    def of_checkout(cls):
        names = tracked() or unpacked()
        texts = {}
        for name in names:
            path = TOP / name
            if path.is_file():
                try:
                    texts[name] = path.read_text()
                except UnicodeDecodeError:
                    texts[name] = ""
        return cls(texts)

    def sources(self):
        for name, text in self.files.items():
            if pathlib.Path(name).suffix in SOURCE:
                yield name, text

    def includes(self):
        for name, text in self.sources():
            for number, line in enumerate(text.splitlines(), 1):
                if found := INCLUDE.match(line):
                    yield name, number, found[1]


def tracked():
    try:
        listed = subprocess.run(["git", "-C", TOP, "ls-files"], capture_output=True, text=True)
    except FileNotFoundError:  # a machine without git
        return []
    return listed.stdout.split() if listed.returncode == 0 else []


def unpacked():
    """A release has no git; its files are what counts then."""
    made = re.compile(r"(^|/)(build-aux|m4|autom4te\.cache|_build|_build-\w+|_inst|_install|_package|__pycache__)(/|$)"
                      r"|(^|/)(configure~?|aclocal\.m4|Makefile\.in)$")
    names = (str(path.relative_to(TOP)) for path in TOP.rglob("*") if path.is_file())
    return [name for name in names if not made.search(name)]


def ucx_stays_in_its_folder(tree):
    for name, number, header in tree.includes():
        stands_in = name == "contrib/roce/all_atomics.c"  # for a function of UCX's own
        if UCX_HEADER.match(header) and not name.startswith("ucx_glue/") and not stands_in:
            yield f"{name}:{number}: includes {header}; only ucx_glue/ may"


def mpi_stays_at_the_boundary(tree):
    for name, number, header in tree.includes():
        ours = name.startswith(("ompi_osc_rmalock/", "ucx_glue/"))
        if ours and MPI_HEADER.match(header) and not BOUNDARY.match(name):
            yield f"{name}:{number}: includes {header}; only the boundary files may"


# The folders that each folder of the sources may include from, besides itself.
BELOW_WINDOW = {"fabric", "topology", "locks", "ucx_glue", "network", "core"}
BELOW = {
    "fabric": set(),
    "topology": {"fabric"},
    "locks": {"fabric", "topology"},
    "ucx_glue": {"fabric"},
    "network": {"fabric", "ucx_glue", "core"},
    "window/create": BELOW_WINDOW,
    "window/diag": BELOW_WINDOW | {"window/create"},
    "window/sync": BELOW_WINDOW | {"window/create", "window/diag"},
    "window/data": BELOW_WINDOW | {"window/create", "window/diag", "window/sync"},
    "window": BELOW_WINDOW | {"window/create", "window/diag", "window/sync", "window/data"},
}


def room_of(path):
    """The folder of a source as BELOW calls it, the innermost that it names; core: host.hh and rmalock_api.h, which lie
    above them all."""
    parts = path.removeprefix("ompi_osc_rmalock/").split("/")[:-1]
    rooms = ("/".join(parts[:depth]) for depth in range(len(parts), 0, -1))
    return next((room for room in rooms if room in BELOW), parts[0] if parts else "core")


def included_files(tree):
    for name, number, header in tree.includes():
        for path in (f"ompi_osc_rmalock/{header}", header):
            if name.startswith(("ompi_osc_rmalock/", "ucx_glue/")) and path in tree.files:
                yield name, number, path
                break


def arrows_run_down(tree):
    for name, number, path in included_files(tree):
        room, other = room_of(name), room_of(path)
        if room in BELOW and other != room and other not in BELOW[room]:
            yield f"{name}:{number}: includes {path}; {room}/ may include from {sorted(BELOW[room])}"


def no_files_run_in_circles(tree):
    """A header and its implementation count as one file."""
    def file_of(path):
        return re.sub(r"\.(hh|cc|h|c)$", "", path)

    arrows = collections.defaultdict(set)
    for name, _, path in included_files(tree):
        if file_of(name) != file_of(path):
            arrows[file_of(name)].add(file_of(path))
    done = set()

    def walk(file, way):
        if file in way:
            yield " -> ".join([*way[way.index(file):], file])
        elif file not in done:
            for other in sorted(arrows[file]):
                yield from walk(other, [*way, file])
            done.add(file)

    for file in sorted(arrows):
        yield from walk(file, [])


def algorithms_only_wait_by_verbs(tree):
    busy = re.compile(r"sched_yield|std::this_thread|__builtin_ia32_pause|while\s*\(\s*fabric_\.get")
    for name, text in tree.sources():
        if not re.match(r"ompi_osc_rmalock/locks/.*\.hh$", name):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if busy.search(line):
                yield f"{name}:{number}: waits without a verb of the fabric"


def words_are_sequentially_consistent(tree):
    """No x86 processor shows a weaker load of a word or of the bell's sleepers: a wake is lost elsewhere
    (fabric/bell.hh). Only a sleeper that is awake again may take its mark away in its own time, and fence_node
    orders marks of elements."""
    weaker = re.compile(r"memory_order(_|::)(relaxed|consume|acquire|release|acq_rel)")
    exempt = re.compile(r"sleepers_\.fetch_(sub|and)\(|own->store\(")
    for name in ("ompi_osc_rmalock/fabric/cpu.hh", "ompi_osc_rmalock/fabric/bell.hh"):
        for number, line in enumerate(tree.files.get(name, "").splitlines(), 1):
            if weaker.search(line) and not exempt.search(line):
                yield f"{name}:{number}: weaker than sequentially consistent"


def comments_name_the_actor(tree):
    """A clause that begins with such a pronoun hides the writer, waiter, origin, home or node that acts; so does a name
    that begins with one. This file is no exception, so the pronouns are in pieces here."""
    hidden = re.compile(r"(?<![a-z])wh(o|oever|om)(?![a-z])", re.I)
    camel = re.compile(r"Wh(o|oever|om)(?![a-z])")
    for name, text in tree.files.items():
        if not name.startswith(NAMED):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if hidden.search(line) or camel.search(line):
                yield f"{name}:{number}: a clause that does not name its actor"


def tables_in_comments_are_whole(tree):
    """A formatter that fills comments puts the end of a table's line on a line of its own: a word or two, with the
    table's next line further to the right; or the dashes of a ruler below its title."""
    comment = re.compile(r"\s*//[/!]?( *)(\S.*)$")
    dashes = re.compile(r"-{8,}")
    for name, text in tree.sources():
        lines = [comment.match(line) for line in text.splitlines()]
        for number, (before, line, after) in enumerate(zip(lines, lines[1:], lines[2:] + [None]), 2):
            if not before or not line:
                continue
            if dashes.fullmatch(line[2]) and re.match(r"-{2,4} ", before[2]):
                yield f"{name}:{number}: a ruler that is broken"
            rest = len(line[1]) <= len(before[1]) and len(line[2]) <= 14 and len(before[0]) > 80
            if rest and after and len(after[1]) > len(line[1]) + 7:
                yield f"{name}:{number}: a table whose line is broken"


def functions_fit_a_screen(tree):
    """A function body ends with a brace in the column of the line that opened it."""
    opening = re.compile(r"^( *)(?!namespace|struct|class|enum|union|extern|typedef|static const|const )"
                         r"[\w:~<>,&*\[\]() ={}|.\"-]*\)[\w ]*(?:-> [\w:<>]+ )?\{$|^(\{)$")
    for name, text in tree.sources():
        lines = text.splitlines()
        for number, line in enumerate(lines):
            found = opening.match(line)
            if not found or re.match(r"^\s*(if|for|while|switch|do|else|return|constexpr)\b", line):
                continue
            closing = (found[1] or "") + "}"
            end = next((n for n in range(number + 1, len(lines))
                        if lines[n].rstrip(";,") in (closing, closing + ")")), number)
            if end - number > LONGEST_FUNCTION:
                yield f"{name}:{number + 1}: a function of {end - number} lines"


def reference():
    """contrib/reference as a module, without a compiled copy beside it."""
    loader = importlib.machinery.SourceFileLoader("reference", str(TOP / "contrib" / "reference"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("reference", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def reference_is_of_the_source(tree):
    """docs/reference.md has the rows of the .def files, and the man page is docs/reference.md."""
    yield from reference().wrong(tree.files)


def readme_is_short(tree):
    lines = tree.files.get("README.md", "").count("\n")
    if lines > LONGEST_README:
        yield f"README.md:{LONGEST_README}: has {lines} lines; docs/ has room"


def links_lead_somewhere(tree):
    """Links of the README and of docs/ to files of this tree."""
    for name, text in tree.files.items():
        if name != "README.md" and not re.match(r"docs/[^/]*\.md$", name):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for link in re.findall(r"\]\((?!\w+:|#)([^)#]+)", line):
                target = (pathlib.PurePosixPath(name).parent / link).as_posix()
                if target not in tree.files:
                    yield f"{name}:{number}: a link to {target}, which is not there"


def nothing_is_dead(tree):
    """Every file is named by a makefile (and so is built, run or distributed)."""
    makefiles = "\n".join(text for name, text in tree.files.items()
                          if name.endswith((".mk", "Makefile.am", "configure.ac")))
    exempt = re.compile(r"^(\.gitignore|Makefile\.am|configure\.ac|.*local\.mk)$")
    stems = re.compile(r"^test/mpi/(?:random_programs/)?(\w+)\.(?:c|cc|hh)$")
    for name in tree.files:
        found = stems.match(name)
        if exempt.match(name) or name in makefiles or (found and re.search(rf"\b{found[1]}\b", makefiles)):
            continue
        yield f"{name}:1: no makefile names it"


def text_is_clean(tree):
    for name, text in tree.files.items():
        for number, line in enumerate(text.splitlines(), 1):
            if line != line.rstrip():
                yield f"{name}:{number}: trailing white space"
            if "\t" in line and not name.endswith((".mk", "Makefile.am", "Makefile", "debian/rules")):
                yield f"{name}:{number}: a tab"
        if text and not text.endswith("\n"):
            yield f"{name}:1: no newline at the end"


RULES = [ucx_stays_in_its_folder, mpi_stays_at_the_boundary, arrows_run_down, no_files_run_in_circles,
         algorithms_only_wait_by_verbs, words_are_sequentially_consistent, comments_name_the_actor,
         tables_in_comments_are_whole, functions_fit_a_screen, reference_is_of_the_source, readme_is_short,
         links_lead_somewhere, nothing_is_dead, text_is_clean]

BODY = "    x();\n" * (LONGEST_FUNCTION + 1)
OFFENDERS = {
    ucx_stays_in_its_folder: {"perf/a.c": "#include <ucp/api/ucp.h>\n"},
    mpi_stays_at_the_boundary: {"ompi_osc_rmalock/window/a.cc": '#include "mpi.h"\n'},
    arrows_run_down: [
        {"ompi_osc_rmalock/network/a.hh": '#include "window/b.hh"\n', "ompi_osc_rmalock/window/b.hh": ""},
        {"ompi_osc_rmalock/window/create/a.hh": '#include "window/diag/b.hh"\n',
         "ompi_osc_rmalock/window/diag/b.hh": ""}],
    no_files_run_in_circles: {"ompi_osc_rmalock/locks/a.cc": '#include "locks/b.hh"\n',
                              "ompi_osc_rmalock/locks/b.hh": '#include "locks/a.hh"\n',
                              "ompi_osc_rmalock/locks/a.hh": ""},
    algorithms_only_wait_by_verbs: {"ompi_osc_rmalock/locks/a.hh": "while (fabric_.get(w) != 0)\n"},
    words_are_sequentially_consistent: {
        "ompi_osc_rmalock/fabric/cpu.hh": "at(w).load(std::memory_order_acquire);\n"},
    comments_name_the_actor: {"ompi_osc_rmalock/locks/a.hh": "// Wh" + "o waits is told.\n"},
    tables_in_comments_are_whole: {"ompi_osc_rmalock/a.hh": "// word   " + 75 * "x" + "\n// rest\n//            more\n"},
    functions_fit_a_screen: {"test/check/a.cc": "void f(int a) {\n" + BODY + "}\n"},
    reference_is_of_the_source: {
        "ompi_osc_rmalock/params.def": 'RMALOCK_PARAM_INT(n, 1, 0, 9, PROCESS, "Help")\n'},
    readme_is_short: {"README.md": "\n" * (LONGEST_README + 1)},
    links_lead_somewhere: {"docs/a.md": "[b](b.md)\n"},
    nothing_is_dead: {"contrib/forgotten": ""},
    text_is_clean: {"a.md": "tail \n"},
}


def offenders():
    """Each rule with the trees that it is there for, one by one."""
    for rule in RULES:
        for files in OFFENDERS[rule] if isinstance(OFFENDERS[rule], list) else [OFFENDERS[rule]]:
            yield rule, Tree(files)


def selftest():
    missed = [rule.__name__ for rule, tree in offenders() if not list(rule(tree))]
    for name in missed:
        print(f"selftest: {name} finds nothing in what it is there for")
    return not missed


def main():
    tree = Tree.of_checkout()
    good = selftest()
    if "--selftest" in sys.argv:
        return 0 if good else 1
    failed = 0
    for rule in RULES:
        found = list(rule(tree))
        failed += bool(found)
        print("\n".join([f"{'FAIL' if found else 'ok  '} {rule.__name__}"] + found))
    print(f"{len(RULES) - failed + good} passed, {failed + (not good)} failed")
    return 1 if failed or not good else 0


if __name__ == "__main__":
    sys.exit(main())
