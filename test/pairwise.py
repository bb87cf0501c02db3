#!/usr/bin/env python3
"""Combinations of settings such that every two values of different settings meet in one of them.

    pairwise.py                      one combination a line, for a test run: lock=pf_mcs topology=flat …
    pairwise.py --all                every combination instead
    pairwise.py layout=1x4,2x2 …     values of a setting, instead of the built-in ones or of one more; values
                                     that contain commas are separated by ;
    pairwise.py --only lock=d_mcs    those lines in which it is so
    pairwise.py --selftest           exit status 0 if all pairs are covered, and a gap would be noticed

The same settings give the same lines on every machine.
"""
import argparse
import itertools
import pathlib
import re
import sys

LOCKS = pathlib.Path(__file__).resolve().parents[1] / "ompi_osc_rmalock" / "locks" / "all.def"
SETTINGS = {
    "lock": ["auto"] + re.findall(r"^RMALOCK_LOCK\((\w+),", LOCKS.read_text(), re.M),
    "topology": ["auto", "flat", "node:2", "numa:2,node:2"],
    "layout": ["1x4", "2x2", "4x1"],  # hosts x ranks
    "domain": ["cpu", "nic"],
    "progress": ["auto", "on", "off"],
}


def pointless(setting):
    """Combinations that say nothing new, and those that cannot be."""
    nic = setting.get("domain") == "nic"
    one_host = setting.get("layout", "").startswith("1x")
    if nic and one_host:
        return True  # on one host the CPU does all atomics
    # Where no adapter does atomics, the transport's CPU stands in for it: somebody has to serve, which in this
    # domain no thread does by itself.
    return nic and setting.get("progress", "on") != "on"


def product(settings):
    lines = (dict(zip(settings, values)) for values in itertools.product(*settings.values()))
    return [line for line in lines if not pointless(line)]


def pairs_of(line):
    return set(itertools.combinations(sorted(line.items()), 2))


def cover(settings):
    """Takes, again and again, the first line that has the most pairs nobody has had yet."""
    lines = product(settings)
    pairs = [pairs_of(line) for line in lines]
    missing = set().union(*pairs) if pairs else set()
    chosen = []
    while missing:
        best = max(range(len(lines)), key=lambda i: len(pairs[i] & missing))  # the first of equals
        chosen.append(lines[best])
        missing -= pairs[best]
    return chosen


def uncovered(settings, lines):
    wanted = set().union(*(pairs_of(line) for line in product(settings)))
    return wanted - set().union(*(pairs_of(line) for line in lines))


def selftest():
    lines = cover(SETTINGS)
    whole = product(SETTINGS)
    good = not uncovered(SETTINGS, lines)
    good = good and len(lines) * 4 < len(whole)  # or the product itself would do
    good = good and all(line in whole for line in lines)
    # Of few lines each is there for a pair of its own: a gap has to show.
    good = good and any(uncovered(SETTINGS, lines[:i] + lines[i + 1:]) for i in range(len(lines)))
    good = good and len(cover({"a": ["1", "2"], "b": ["1", "2"], "c": ["1", "2"]})) == 4
    print(f"{len(lines)} lines of {len(whole)}: {'ok' if good else 'FAIL'}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", metavar="NAME=VALUE")
    parser.add_argument("--selftest", action="store_true")
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE,VALUE")
    options = parser.parse_args()
    if options.selftest:
        return 0 if selftest() else 1
    settings = dict(SETTINGS)
    for given in options.settings:
        name, values = given.split("=", 1)
        settings[name] = values.split(";") if ";" in values else values.split(",")
    for line in product(settings) if options.all else cover(settings):
        words = [f"{name}={value}" for name, value in line.items()]
        if options.only is None or options.only in words:
            print(*words)
    return 0


if __name__ == "__main__":
    sys.exit(main())
