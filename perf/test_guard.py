#!/usr/bin/env python3
"""The guard's judgement: a path that doubles fails, whatever is recorded for this configuration.
Counts are made up; neither MPI nor valgrind is needed."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent


def load_guard():
    """The guard is a command and has no .py in its name."""
    loader = importlib.machinery.SourceFileLoader("guard", str(HERE / "guard"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("guard", loader))
    loader.exec_module(module)
    return module


guard = load_guard()
KEY = "openmpi-4.1 g++-12 x86_64"
RECORD = {KEY: {"sm": {"put8": 50, "lock_all": 100}, "rmalock/a": {"put8": 80, "lock_all": 90}}}


def verdicts(counted, key=KEY, reference=None):
    wanted, tolerance = guard.expected(RECORD, key, reference or RECORD[KEY]["sm"])
    return {row[1]: row[4] for row in guard.judge({"rmalock/a": counted}, wanted, tolerance)}


class Judgement(unittest.TestCase):
    def test_as_recorded(self):
        self.assertEqual(verdicts({"put8": 80, "lock_all": 95}), {"put8": "", "lock_all": ""})

    def test_a_path_that_doubles_fails(self):
        self.assertEqual(verdicts({"put8": 160, "lock_all": 90})["put8"], "LONGER")

    def test_a_path_that_doubles_fails_with_another_compiler_and_open_mpi(self):
        other = {"put8": 60, "lock_all": 120}  # Open MPI's own part is longer there
        key = "openmpi-5.0 g++-14 x86_64"
        self.assertEqual(verdicts({"put8": 96, "lock_all": 108}, key, other),
                         {"put8": "", "lock_all": ""})
        self.assertEqual(verdicts({"put8": 192, "lock_all": 108}, key, other)["put8"], "LONGER")

    def test_less_is_told_and_passes(self):
        rows = guard.judge({"a": {"put8": 40}}, {"a": {"put8": 80}}, 1.15)
        self.assertEqual(rows[0][4], "shorter")
        self.assertEqual(guard.failed(rows), [])

    def test_a_path_that_is_not_counted_or_not_recorded_fails(self):
        self.assertEqual(verdicts({"put8": 80}), {"put8": "", "lock_all": "NOT COUNTED"})
        self.assertEqual(verdicts({"put8": 80, "lock_all": 90, "get8": 80})["get8"],
                         "NOT RECORDED")

    def test_a_new_lock_passes_until_it_is_recorded(self):
        rows = guard.judge({"rmalock/b": {"put8": 80}}, RECORD[KEY], 1.15)
        self.assertEqual((rows[0][4], guard.failed(rows)), ("new: to be recorded", []))

    def test_the_nearest_configuration_has_the_same_open_mpi(self):
        record = dict.fromkeys(["openmpi-5.0 g++-12 x86_64", "openmpi-4.1 g++-14 x86_64"])
        self.assertEqual(guard.nearest(record, KEY), "openmpi-4.1 g++-14 x86_64")


class Verbs(unittest.TestCase):
    WANTED = {"rmalock/a, cpu": {"flush": [0.0, 1.0], "lock_all": [0.01, 0.01]}}

    def verdict(self, flush):
        rows = guard.judge_verbs({"rmalock/a, cpu": {"flush": flush, "lock_all": [0.01, 0.01]}},
                                 self.WANTED)
        return {row[1]: row[4] for row in rows}["flush"]

    def test_one_more_of_either_fails(self):
        self.assertEqual(self.verdict([0.0, 1.0]), "")
        self.assertEqual(self.verdict([0.01, 1.01]), "")
        self.assertEqual(self.verdict([1.0, 1.0]), "MORE")
        self.assertEqual(self.verdict([0.0, 2.0]), "MORE")
        self.assertEqual(self.verdict([0.0, 0.0]), "fewer")

    def test_what_is_missing_on_either_side_is_told(self):
        rows = guard.judge_verbs({"b": {"put8": [0, 0]}}, {"b": {"flush": [0, 1]}})
        self.assertEqual([row[4] for row in rows], ["NOT COUNTED", "NOT RECORDED"])

    def test_they_are_read_from_lines(self):
        self.assertEqual(guard.read_verbs("UCX  warning\nflush 0.00 1.00\n"),
                         {"flush": [0.0, 1.0]})


class Dumps(unittest.TestCase):
    def test_counts_are_those_of_one_walk(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "dump.1").write_text(
                "desc: Trigger: Client Request: put8\nsummary: 82014\ntotals: 82014\n")
            pathlib.Path(folder, "dump").write_text(
                "desc: Trigger: Program termination\ntotals: 5\n")
            self.assertEqual(guard.read_dumps(folder), {"put8": 82.0})

    def test_what_is_recorded_is_complete(self):
        for paths in json.loads(guard.RECORD.read_text()).values():
            self.assertIn(guard.REFERENCE, paths)
            for counts in paths.values():
                self.assertTrue(set(guard.LOCK_PATHS) <= set(counts))


if __name__ == "__main__":
    unittest.main()
