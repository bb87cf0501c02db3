#!/usr/bin/env python3
"""rma_bench itself: its cases run and verify, and it notices operations that are lost and locks that
do not exclude. On osc/sm, which every Open MPI has and which runs all cases."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True  # the source tree may be read-only
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from components import openmpi

BENCH = next((path.resolve() for path in (pathlib.Path("perf/rma_bench"), HERE / "rma_bench")
              if os.access(path, os.X_OK)), None)
MPICC = os.environ.get("MPICC") or shutil.which("mpicc.openmpi") or "mpicc"
MPIRUN = os.environ.get("MPIRUN") or shutil.which("mpirun.openmpi") or "mpirun"
SMALL = ["--order", "100", "--block", "16", "--writers", "0,20,100"]
SKIP = 77  # what Automake takes for "could not be run here"


def run(*arguments, ranks=2, component="sm", **environment):
    command = openmpi.mpirun("-n", str(ranks), "--mca", "osc", component, launcher=MPIRUN)
    for name in environment:
        command += ["-x", name]
    command += [BENCH, "--iters", "4", "--busy", "0.01", *SMALL, *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True,
                          text=True, timeout=120)
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return done, events


def cases_of(events, kind):
    return {event["case"] for event in events if event["event"] == kind}


class Bench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        listed = subprocess.run([BENCH, "--list", "--json"], check=True, capture_output=True,
                                text=True)
        cls.catalogue = [json.loads(line) for line in listed.stdout.splitlines()]

    def test_every_case_runs_and_verifies(self):
        done, events = run(ranks=3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(cases_of(events, "wrong"), set())
        self.assertEqual(cases_of(events, "result"), {row["case"] for row in self.catalogue})
        for event in events:
            if event["event"] == "result":
                self.assertLessEqual(event["p10"], event["median"])
                self.assertLessEqual(event["median"], event["p90"])

    def test_flavors_and_sizes_are_taken(self):
        done, events = run("--run", "lock_put_unlock", "--flavor", "create", "--size", "24",
                           component="^no_such_component")
        results = [event for event in events if event["event"] == "result"]
        self.assertEqual([(event["flavor"], event["params"]) for event in results],
                         [("create", {"size": 24})], done.stderr)

    def test_phases_of_overlap(self):
        core = str(min(os.sched_getaffinity(0)))
        done, events = run("--run", "overlap_flush_put", "--flavor", "allocate", "--size", "4096",
                           "--phases", "--origin-core", core)
        medians = {event["metric"]: event["median"] for event in events if event["event"] == "result"}
        self.assertEqual(set(medians), {"hidden", "bare", "alone", "calls", "computation", "wait"}, done.stderr)
        self.assertGreater(min(value for metric, value in medians.items() if metric != "hidden"), 0)

    def test_a_core_that_is_not_there_is_an_error(self):
        done, _ = run("--run", "lock_excl", "--origin-core", "1000")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--origin-core", done.stderr)

    def test_a_phase_of_the_lock_benchmarks_takes_as_long_as_is_said(self):
        begin = time.monotonic()
        done, events = run("--run", "ecsb", "--writers", "100", "--iters", "1", "--duration", "2")
        self.assertGreater(time.monotonic() - begin, 2)
        self.assertEqual({event["metric"] for event in events if event["event"] == "result"},
                         {"throughput", "fairness"}, done.stderr)

    def test_the_percentiles_of_a_table_grow(self):
        _, events = run("--run", "lock_table", "--locks", "5", "--local", "50", "--iters", "1")
        values = [event["median"] for event in events
                  if event["event"] == "result" and event["metric"].startswith("latency_p")]
        self.assertEqual(len(values), 7)
        self.assertEqual(values, sorted(values))

    def test_a_serial_lock_is_of_both_modes_and_both_kinds_of_target(self):
        _, events = run("--run", "lock_serial", "--iters", "1")
        found = [(event["params"]["mode"], event["params"]["target"], event["metric"])
                 for event in events if event["event"] == "result"]
        self.assertEqual(found, [(mode, target, metric) for target in ("in MPI", "asleep")
                                 for mode in ("shared", "exclusive") for metric in ("lock", "unlock")])

    def test_lu_of_every_shape(self):
        orders = [1, 7, 16, 33, 100]  # less than a block, one block, ragged last blocks
        for ranks in (1, 2, 3, 4):
            done, events = run("--run", "lu_*", "--order", ",".join(map(str, orders)), ranks=ranks)
            self.assertEqual(done.returncode, 0, done.stderr)
            totals = [(event["case"], event["params"]["order"]) for event in events
                      if event["event"] == "result" and event["metric"] == "total"]
            self.assertEqual(totals, [(case, order) for case in
                                      ("lu_exclusive", "lu_shared", "lu_lock_all")
                                      for order in orders])

    def test_wrong_numbers_are_refused(self):
        for option in ("--order 0", "--order 5,x", "--block -1", "--iters many", "--size 0",
                       "--origin-core -1", "--origin-core x", "--busy soon", "--duration 0",
                       "--duration long"):
            done = subprocess.run([BENCH, *option.split()], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, option)
            self.assertIn(option.split()[0], done.stderr)

    def test_too_few_ranks_is_a_reason_not_a_gap(self):
        _, events = run("--run", "receiver_overlap_many")
        self.assertEqual([event["reason"] for event in events if event["event"] == "cannot"],
                         ["needs 3 ranks, has 2"])

    def test_unknown_case_is_refused(self):
        done = subprocess.run([BENCH, "--run", "lock_excl,no_such_case"], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no_such_case", done.stderr)


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.fault = os.path.join(cls.folder.name, "fault.so")
        subprocess.run([MPICC, "-shared", "-fPIC", "-O1", "-o", cls.fault, HERE / "fault.c"],
                       check=True)

    def test_lost_operations_are_wrong_in_every_case(self):
        done, events = run(ranks=3, LD_PRELOAD=self.fault, RMA_FAULT="lose")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(cases_of(events, "result"), set())
        self.assertEqual(cases_of(events, "wrong"), cases_of(events, "end"))
        self.assertIn("WRONG VALUES", done.stderr)

    def test_locks_that_do_not_exclude_are_wrong(self):
        locks = {"lock_excl", "lock_shared", "lock_all", "lb", "lb_one_writer", "ecsb", "sob", "wcsb", "warb",
                 "dht_locks", "lock_table", "cascade", "lock_serial"}
        done, events = run("--run", ",".join(locks), "--writers", "100", ranks=3, LD_PRELOAD=self.fault, RMA_FAULT="shared")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(cases_of(events, "wrong"), locks)


if __name__ == "__main__":
    missing = [tool for tool in (MPIRUN, MPICC) if shutil.which(tool) is None]
    if missing or BENCH is None:
        print("skipped: not found:", *(missing or ["perf/rma_bench"]))
        sys.exit(SKIP)
    unittest.main()
