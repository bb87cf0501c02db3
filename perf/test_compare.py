#!/usr/bin/env python3
"""The comparison driver: its statistics, and that a component which cannot run, crashes, hangs or
computes wrong values is reported as such and costs the others nothing. No MPI is needed: a fake
launcher plays the components."""

import contextlib
import csv
import importlib.machinery
import importlib.util
import io
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the source tree may be read-only
HERE = pathlib.Path(__file__).resolve().parent


def load_compare():
    """The driver is a command and has no .py in its name."""
    loader = importlib.machinery.SourceFileLoader("compare", str(HERE / "compare"))
    spec = importlib.util.spec_from_loader("compare", loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["compare"] = module
    loader.exec_module(module)
    return module


compare = load_compare()
import components
import interleaved
import tables

# Plays both mpirun and rma_bench. As rma_bench it lists three cases; as mpirun it behaves as the
# component arguments say, and logs which component was run with which cases.
FAKE = r'''#!{python}
import json, os, signal, sys, time

def say(**event):
    print(json.dumps(event), flush=True)

def option(name, default=None):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default

if "--list" in sys.argv:
    for case in ("one", "two", "three"):
        say(case=case, source="s", parameters="p", metric="m", flavors="allocate", min_ranks=2)
    sys.exit(0)

play, cases, flavor = option("--play"), option("--run").split(","), option("--flavor")
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write(play + " " + ",".join(cases) + "\n")
if play == "absent":
    sys.exit("-----\nA requested component was not found.\n\nFramework: osc\nComponent: absent\n")
say(event="run", ranks=2, mpi="Fake MPI v1", component="unknown")
print("a message of mpirun's own")

def stop_the_driver(answered):
    """Once it has written down what it was told before."""
    lines = lambda: [json.loads(line) for line in open(os.environ["FAKE_JOURNAL"]) if line.endswith("\n")]
    while sum("case" in line for line in lines()) < answered:
        time.sleep(0.01)
    os.kill(os.getppid(), getattr(signal, os.environ["FAKE_SIGNAL"]))
    time.sleep(60)

for case in cases:
    about = dict(case=case, flavor=flavor, ranks=2)
    with open(os.environ["FAKE_LOG"] + ".cases", "a+") as log:
        log.seek(0)
        begun = len(log.readlines())
        log.write(play + " " + case + "\n")
    if case == "two":
        if play == "crash":
            sys.stderr.write("rank 1 with PID 0 on node n exited on signal 11 (Segmentation fault).\n")
            os._exit(139)
        if play == "hang":
            signal.pause()
        if play == "error":
            sys.exit("*** An error occurred in MPI_Win_lock\n*** on win 3\n*** MPI_ERR_RMA_SYNC: x\n")
        if play == "declines":
            say(event="cannot", reason="MPI_Win_allocate: MPI_ERR_WIN", **about)
            say(event="end", seconds=0, **about)
            continue
        if play == "wrong":
            say(event="wrong", reason="rank 1: lost update", **about)
            say(event="end", seconds=0, **about)
            continue
    value = dict(slow=300.0).get(play, 100.0)
    say(event="result", params=dict(size=8), metric="latency", unit="ns", median=value,
        p10=value - 1, p90=value + 1, samples=9, discarded=1, iterations=10, mpi="Fake MPI v1",
        component="unknown", **about)
    if begun == int(os.environ.get("FAKE_STOP", -1)):
        stop_the_driver(begun)
    say(event="end", seconds=0, **about)
if play == "late":
    sys.exit("rma_bench: could not finalize")
sys.exit(1 if play == "wrong" else 0)
'''


class Statistics(unittest.TestCase):
    def test_median_and_range_of_few_values(self):
        interval = interleaved.median_interval([3, 1, 2])
        self.assertEqual((interval.median, interval.low, interval.high), (2, 1, 3))
        self.assertAlmostEqual(interval.confidence, 1 - 2 * 0.5 ** 3)

    def test_single_value_claims_no_confidence(self):
        interval = interleaved.median_interval([7])
        self.assertEqual((interval.median, interval.low, interval.high, interval.confidence),
                         (7, 7, 7, 0))

    def test_interval_is_as_tight_as_the_confidence_allows(self):
        # Textbook values: 95 % takes the extremes of 6, and the 2nd and 8th of 9 give 96.1 %.
        six = interleaved.median_interval(range(1, 7))
        self.assertEqual((six.low, six.high), (1, 6))
        self.assertAlmostEqual(six.confidence, 0.96875)
        nine = interleaved.median_interval(range(1, 10))
        self.assertEqual((nine.low, nine.high), (2, 8))
        self.assertAlmostEqual(nine.confidence, 0.9609375)

    def test_claimed_confidence_is_the_true_coverage(self):
        # Each value is below or above the true median (0) with equal chance: count all outcomes.
        for count in range(2, 13):
            covered = 0
            for signs in itertools.product((-1, 1), repeat=count):
                interval = interleaved.median_interval([s * (i + 1) for i, s in enumerate(signs)])
                covered += interval.low <= 0 <= interval.high
            self.assertAlmostEqual(covered / 2 ** count, interval.confidence)

    def test_one_outlier_moves_neither_median_nor_interval(self):
        calm = interleaved.median_interval(range(1, 12))
        self.assertEqual(interleaved.median_interval([*range(1, 11), 10 ** 9]), calm)

    def test_ratios_are_formed_within_repeats(self):
        # The second repeat was ten times slower for everyone: the ratio does not move.
        self.assertEqual(interleaved.paired_ratios({0: 20, 1: 200, 2: 40}, {0: 10, 1: 100, 3: 5}),
                         [2, 2])

    def test_a_zero_baseline_gives_no_ratio(self):
        self.assertEqual(interleaved.paired_ratios({0: 20}, {0: 0}), [])


class Reasons(unittest.TestCase):
    def reason(self, errors, status=1, hung=False):
        return interleaved.reason_of(interleaved.Outcome(status, hung, errors), 5)

    def test_reasons(self):
        self.assertEqual(self.reason("", 3), "exit status 3 without a message")
        self.assertEqual(self.reason("anything", hung=True), "hung: no answer for 5 s")
        self.assertEqual(self.reason("------\n\nsomething odd\n"), "something odd")
        self.assertEqual(self.reason("noise\nrma_bench: out of luck\n"), "out of luck")
        self.assertEqual(self.reason("[n:1] ORTE_ERROR_LOG: x\n  open() failed\n  --> Returned "
                                     "\"Not found\" (-13)\n*** An error occurred in MPI_Init\n"),
                         "open() failed: Not found")
        self.assertEqual(self.reason("[n:1] ORTE_ERROR_LOG: x\n"),
                         "exit status 1 without a message")

    def test_numbers_are_readable(self):
        self.assertEqual(tables.scaled_unit(85.04, "ns"), ("ns", 1))
        self.assertEqual(tables.scaled_unit(2.5e3, "ns"), ("us", 1e3))
        self.assertEqual(tables.scaled_unit(2.5e3, "%"), ("%", 1))
        self.assertEqual([tables.digits(value) for value in (0, 0.004, 1.234, 85.04, 2500, 7e6)],
                         ["0.00", "4.0e-03", "1.23", "85.0", "2500", "7.0e+06"])
        self.assertEqual(tables.human_size(32768), "32K")
        self.assertEqual(tables.human_size(1000), "1000")


class WithFake(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.fake = self.folder / "fake"
        self.fake.write_text(FAKE.replace("{python}", sys.executable))
        self.fake.chmod(0o755)


class Driver(WithFake):
    def setUp(self):
        super().setUp()
        os.environ["FAKE_LOG"] = str(self.folder / "log")

    def compare(self, *plays, repeats=3, timeout=60, options=()):
        """Status, table text, JSON document, and the runs in their order."""
        arguments = [*options, "--mpirun", str(self.fake), "--bench", str(self.fake), "--repeats",
                     str(repeats), "--timeout", str(timeout), "--output",
                     str(self.folder / "out"), "--compare", ","]
        for play in plays:
            arguments += ["--component", f"{play}=--play {play}"]
        with contextlib.redirect_stdout(io.StringIO()) as table:
            status = compare.run(compare.parse_options(arguments))
        document = json.loads((self.folder / "out.json").read_text())
        log = (self.folder / "log").read_text().splitlines()
        return status, table.getvalue(), document, log

    def medians(self, document, component):
        return {row["key"]["case"]: row["value"]["median"] for row in document["rows"]
                if row["component"] == component and row["value"]}

    def test_components_take_turns_and_ratios_refer_to_the_baseline(self):
        status, table, document, log = self.compare("good", "slow")
        self.assertEqual(status, 0)
        self.assertEqual([line.split()[0] for line in log],
                         ["good", "slow", "slow", "good", "good", "slow"])
        ratios = {row["component"]: row["ratio"]["median"] for row in document["rows"]}
        self.assertEqual(ratios, {"good": 1, "slow": 3})
        self.assertIn("x 3.00", table)
        self.assertIn("Fake MPI v1", table)

    def failing(self, play, reason, timeout=60):
        """One component fails in case two: the other cases and the other component stand."""
        status, table, document, log = self.compare("good", play, timeout=timeout)
        self.assertEqual(status, 0)
        self.assertEqual(set(self.medians(document, "good")), {"one", "two", "three"})
        self.assertEqual(set(self.medians(document, play)), {"one", "three"})
        self.assertIn(f"cannot: {reason}", table)
        return log

    def test_crash(self):
        log = self.failing("crash", "crashed: signal 11 (Segmentation fault)")
        runs = [line.split()[1] for line in log if line.startswith("crash")]
        # It goes on behind the crash, and does not try again what crashed.
        self.assertEqual(runs, ["one,two,three", "three", "one,three", "one,three"])

    def test_mpi_error(self):
        self.failing("error", "MPI_Win_lock: MPI_ERR_RMA_SYNC: x")

    def test_hang(self):
        self.failing("hang", "hung: no answer for 3 s", timeout=3)

    def test_declined_window(self):
        self.failing("declines", "MPI_Win_allocate: MPI_ERR_WIN")

    def test_component_that_is_not_there(self):
        status, table, document, log = self.compare("good", "absent")
        self.assertEqual(status, 0)
        self.assertEqual(table.count("cannot: component absent (osc) not found"), 3)
        self.assertEqual(sum(line.startswith("absent") for line in log), 1)

    def test_wrong_values_are_never_a_result(self):
        status, table, document, _ = self.compare("wrong", "good")
        self.assertEqual(status, 1)
        self.assertIn("WRONG VALUES: rank 1: lost update", table)
        self.assertNotIn("two", self.medians(document, "wrong"))
        # Nor is anything a ratio to it.
        self.assertEqual([row["ratio"] for row in document["rows"]
                          if row["key"]["case"] == "two"], [None, None])
        # The table keeps the catalogue's order all the same.
        self.assertEqual([row["key"]["case"] for row in document["rows"]],
                         ["one", "one", "two", "two", "three", "three"])

    def test_bad_end_after_the_last_case_is_told(self):
        _, table, document, _ = self.compare("late")
        self.assertEqual(set(self.medians(document, "late")), {"one", "two", "three"})
        self.assertIn("late: after its last case: could not finalize", table)

    def test_another_mpi_that_is_not_there_keeps_its_row(self):
        components.OTHER_MPI["elsewhere"] = ("no_such_mpirun", "rma_bench_elsewhere")
        self.addCleanup(components.OTHER_MPI.pop, "elsewhere")
        status, table, document, _ = self.compare(
            "good", options=["--component", "elsewhere="])
        self.assertEqual(status, 0)
        self.assertEqual(table.count("cannot: no_such_mpirun is not installed"), 3)
        self.assertEqual(set(self.medians(document, "good")), {"one", "two", "three"})

    def test_nothing_measured_is_a_failure(self):
        status, table, _, _ = self.compare("absent")
        self.assertEqual(status, 1)
        self.assertIn("cannot: component absent", table)

    def test_markdown_has_figures_of_the_baseline_and_ratios_of_the_others(self):
        _, table, _, _ = self.compare("good", "slow", "crash", options=["--markdown"])
        lines = table.splitlines()
        self.assertEqual(lines[0], "| case | good | slow | crash |")
        self.assertEqual(lines[3], "| `two size=8` latency (allocate) | 100 ns [100 .. 100] | "
                                   "x 3.00 [3.00 .. 3.00] | "
                                   "cannot: crashed: signal 11 (Segmentation fault) |")

    def test_cells_in_which_another_component_is_ahead_are_listed(self):
        _, table, _, _ = self.compare("slow", "good", options=["--behind", "0.8"])
        self.assertEqual(table.splitlines()[0],
                         "good x 0.33 [0.33 .. 0.33], 100 ns: one size=8 (allocate)")
        self.assertIn("3 of 3 cells in which another component takes less than 0.8 of slow's time", table)
        _, table, _, _ = self.compare("good", "slow", options=["--behind", "0.8"])
        self.assertIn("0 of 3 cells", table)

    def test_csv_has_a_line_for_every_component(self):
        self.compare("good", "crash", repeats=1)
        with (self.folder / "out.csv").open() as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 6)
        failed = [row for row in rows if row["failure"]]
        self.assertEqual([(row["case"], row["component"], row["median"]) for row in failed],
                         [("two", "crash", "")])


class GoingOn(WithFake):
    """The driver is killed for real, by what it has launched."""

    def setUp(self):
        super().setUp()
        self.journal = self.folder / "kept.jsonl"

    def compare(self, *options, stop=-1, by="SIGKILL"):
        """The finished driver. The baseline crashes in case two: what failed is kept as well."""
        return subprocess.run(
            [sys.executable, HERE / "compare", "--mpirun", self.fake, "--bench", self.fake, "--repeats", "2", "--output",
             self.folder / "out", "--compare", ",", "--component", "crash=--play crash", "--component",
             "slow=--play slow", "--journal", self.journal, *options], capture_output=True, text=True,
            # A shell that runs the tests in the background has its children ignore SIGINT.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            env={**os.environ, "FAKE_LOG": str(self.folder / "log"), "FAKE_STOP": str(stop), "FAKE_SIGNAL": by,
                 "FAKE_JOURNAL": str(self.journal)})

    def cases(self):
        return (self.folder / "log.cases").read_text().splitlines()

    def rows(self):
        return json.loads((self.folder / "out.json").read_text())["rows"]

    def test_killed_at_any_case_it_ends_as_in_one_go(self):
        self.assertEqual(self.compare().returncode, 0)
        whole, rows = self.cases(), self.rows()
        self.assertEqual(len(whole), 11)
        for stop in (0, 2, 5, 10):  # in which a crash does not come first
            (self.folder / "log.cases").unlink()
            self.assertEqual(self.compare(stop=stop).returncode, -signal.SIGKILL)
            done = self.compare()
            self.assertEqual(done.returncode, 0, done.stderr)
            # The case in which it was killed is the only one that runs twice.
            self.assertEqual(self.cases(), whole[:stop + 1] + whole[stop:])
            self.assertEqual(self.rows(), rows)
            self.assertEqual("measured in 2 sittings" in done.stdout, stop > 0)

    def test_ctrl_c_says_how_to_go_on(self):
        done = self.compare(stop=5, by="SIGINT")
        self.assertEqual(done.returncode, 130)
        self.assertIn(f"compare: stopped; the same command goes on from {self.journal}", done.stderr)
        self.assertIn("remark: interrupted", done.stdout)
        done = self.compare()
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("remark: interrupted", done.stdout)
        self.assertEqual(len(self.cases()), 12)

    def test_a_torn_line_counts_for_nothing(self):
        self.compare()
        rows, lines = self.rows(), self.journal.read_text().splitlines(keepends=True)
        last = max(number for number, line in enumerate(lines) if '"case"' in line)
        self.journal.write_text("".join(lines[:last]) + lines[last][:-9])
        (self.folder / "log.cases").unlink()
        self.assertEqual(self.compare().returncode, 0)
        self.assertEqual((self.cases(), self.rows()), (["crash three"], rows))
        self.assertTrue(all(json.loads(line) for line in self.journal.read_text().splitlines()))

    def test_other_settings_are_refused_by_name_and_anew_begins_anew(self):
        self.compare(stop=5)
        kept = self.journal.read_text()
        for options, difference in ((["--repeats", "3"], "repeats was 2 and is 3"), (["-n", "4"], "ranks was 2 and is 4"),
                                    (["--run", "one,two"], 'cases allocate had ["three"]'),
                                    (["--component", "good=--play good"],
                                     "components good was not set and is --play good"),
                                    (["--origin-core", "1"], "origin-core was not set and is 1")):
            done = self.compare(*options)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{difference}; --anew begins anew", done.stderr)
        self.assertEqual(self.journal.read_text(), kept)
        (self.folder / "log.cases").unlink()
        done = self.compare("--repeats", "1", "--anew")
        self.assertEqual((done.returncode, len(self.cases())), (0, 6))
        self.assertNotIn("sittings", done.stdout)

    def test_a_complete_comparison_is_not_gone_on_with(self):
        self.compare()
        self.assertEqual(self.compare("--repeats", "1").returncode, 0)
        self.assertEqual(len(self.cases()), 11 + 6)

    def test_another_file_is_no_journal(self):
        self.journal.write_text("precious\n")
        done = self.compare("--anew")
        self.assertIn("is not a journal", done.stderr)
        self.assertEqual(self.journal.read_text(), "precious\n")


class Components(unittest.TestCase):
    """On a fake ompi_info."""
    INFO = """#!/bin/sh
case "$*" in *"--param osc rmalock"*) cat <<'END'
mca:osc:rmalock:param:osc_rmalock_lock:value:auto
mca:osc:rmalock:param:osc_rmalock_lock:help:Lock algorithm (auto|direct_passive|pf_mcs)
mca:osc:rmalock:param:osc_rmalock_t_w:value:0
mca:osc:rmalock:param:osc_rmalock_t_w:help:Writers in a row; 0: ranks (0 to 1000000)
END
;; *) echo mca:osc:rmalock:version:1; esac
"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = pathlib.Path(folder.name, "ompi_info")
        program.write_text(self.INFO)
        program.chmod(0o755)
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = f"{folder.name}:{path}"

    def test_parameters_are_those_of_ompi_info(self):
        t_w = components.rmalock_parameters()["osc_rmalock_t_w"]
        self.assertEqual((t_w.default, t_w.low, t_w.high), ("0", 0, 1000000))

    def test_every_lock_becomes_a_row(self):
        self.assertEqual(components.expand(["sm", "rmalock/*"]),
                         ["sm", "rmalock/direct_passive", "rmalock/pf_mcs"])
        self.assertEqual(components.arguments_of("rmalock/pf_mcs", components.COMPONENTS),
                         "--mca osc rmalock --mca osc_rmalock_lock pf_mcs")
        self.assertEqual(components.arguments_of("rmalock/pf_mcs/t_w=16", {"rmalock": "R"}),
                         "R --mca osc_rmalock_lock pf_mcs --mca osc_rmalock_t_w 16")
        for name in ("other/pf_mcs", "rmalock/pf_mcs/pf_mcs"):
            self.assertIsNone(components.arguments_of(name, components.COMPONENTS))

    def test_an_absent_component_is_named(self):
        self.assertEqual(components.absent_component("--mca osc sm"), "sm")
        self.assertIsNone(components.absent_component("--mca osc rmalock"))

    def test_without_rmalock_the_row_stays(self):
        os.environ["PATH"] = "/nowhere"
        self.assertEqual(components.expand(["rmalock/*"]), ["rmalock/*"])


class Catalogue(unittest.TestCase):
    ROWS = [{"case": "lock_excl", "flavors": "allocate"},
            {"case": "target_busy", "flavors": "allocate,create"}]

    def test_flavors_come_from_the_row_unless_given(self):
        self.assertEqual(compare.select_work(self.ROWS, ["*"], None),
                         {"allocate": ["lock_excl", "target_busy"], "create": ["target_busy"]})
        self.assertEqual(compare.select_work(self.ROWS, ["lock_*"], ["create"]),
                         {"create": ["lock_excl"]})

    def test_a_pattern_without_a_case_is_an_error(self):
        with self.assertRaises(SystemExit):
            compare.select_work(self.ROWS, ["lokc_*"], None)


if __name__ == "__main__":
    unittest.main()
