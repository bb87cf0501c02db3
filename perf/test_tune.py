#!/usr/bin/env python3
"""contrib/tune, on a fake ompi_info and a command whose figure is a known function of the
thresholds: it finds the best, drops what fails, keeps what is not better by more than the spread,
and goes on where it was stopped. No MPI is needed."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TUNE = HERE.parent / "contrib" / "tune"

OMPI_INFO = """#!/bin/sh
cat <<'END'
mca:osc:rmalock:param:osc_rmalock_lock:value:auto
mca:osc:rmalock:param:osc_rmalock_lock:help:Lock algorithm (auto|pf_mcs|rma_rw)
mca:osc:rmalock:param:osc_rmalock_t_l:value:auto
mca:osc:rmalock:param:osc_rmalock_t_l:help:rma_rw, rma_mcs: numbers, such as 16,8; auto
mca:osc:rmalock:param:osc_rmalock_t_w:value:0
mca:osc:rmalock:param:osc_rmalock_t_w:help:pf_mcs, rma_rw: writers in a row; 0: ranks (0 to 1000000)
mca:osc:rmalock:param:osc_rmalock_reader_batch:value:0
mca:osc:rmalock:param:osc_rmalock_reader_batch:help:rma_rw: readers (0 to 1000000)
mca:osc:rmalock:param:osc_rmalock_t_dc:value:0
mca:osc:rmalock:param:osc_rmalock_t_dc:help:rma_rw: processes that share a counter (0 to 64)
mca:osc:rmalock:param:osc_rmalock_spin:value:100
mca:osc:rmalock:param:osc_rmalock_spin:help:Polls (0 to 1000000)
END
"""

# Best: t_dc 4, reader_batch 100, t_l 8,32. t_w does not matter, t_dc 8 does not run. A little noise, the same
# in every run of this test.
PROGRAM = """#!{python} -IS
import os, pathlib, sys
log = pathlib.Path(os.environ["FAKE_LOG"])
calls = log.read_text().splitlines() if log.exists() else []
if len(calls) == int(os.environ.get("FAKE_STOP", -1)):
    os.kill(os.getppid(), int(os.environ.get("FAKE_SIGNAL", 2)))
get = lambda name: os.environ["OMPI_MCA_osc_rmalock_" + name]
with log.open("a") as file:
    file.write(" ".join(get(name) for name in ("t_dc", "reader_batch", "t_l")) + "\\n")
if get("t_dc") == "8":
    sys.exit("no memory")
cost = 100 + (get("t_dc") != "4") * 50 + abs(int(get("reader_batch")) - 100) / 10
levels = (get("t_l") + ",0,0").replace("auto", "0").split(",")
cost += (levels[0] != "8") * 10 + (levels[1] != "32") * 5
print("figure:", cost + len(calls) % 3 / 10)
"""


class Tune(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (("ompi_info", OMPI_INFO),
                           ("program", PROGRAM.replace("{python}", sys.executable))):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def tune(self, *arguments, **environment):
        path = f"{self.folder}:{os.environ['PATH']}"
        known = {name: value for name, value in os.environ.items()
                 if not name.startswith("OMPI_MCA_osc_rmalock_")}
        return subprocess.run(
            [sys.executable, TUNE, "--repeats", "3", *arguments, "--value", r"figure: (\S+)",
             "--", str(self.folder / "program")], cwd=self.folder, capture_output=True, text=True,
            # A shell that runs the tests in the background has its children ignore SIGINT.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            env={**known, "PATH": path, "FAKE_LOG": str(self.folder / "log"), **environment})

    def rma_rw(self, **environment):
        return self.tune("--lock", "rma_rw", "--levels", "2", "--values", "t_dc=4,8",
                         "--values", "reader_batch=10,100", "--values", "t_l=8,32", **environment)

    def parameters(self):
        text = (self.folder / "rmalock-params.conf").read_text()
        return dict(re.findall(r"^(\w+) = (.*)$", text, re.M))

    def calls(self):
        return (self.folder / "log").read_text().splitlines()

    def test_the_best_of_every_threshold_in_the_papers_order(self):
        done = self.rma_rw()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.parameters(), {
            "osc_rmalock_lock": "rma_rw", "osc_rmalock_t_dc": "4", "osc_rmalock_reader_batch": "100",
            "osc_rmalock_t_l": "8,32", "osc_rmalock_t_w": "0"})
        steps = re.findall(r"^osc_rmalock_(.*):$", done.stdout, re.M)
        self.assertEqual(steps, ["t_dc", "reader_batch", "t_l, level 2", "t_l, level 3", "t_w"])
        self.assertRegex(done.stdout, r"gain: \+7\d\.\d % \[.*better")

    def test_what_fails_is_told_and_not_tried_again(self):
        done = self.rma_rw()
        self.assertIn("cannot: exit status 1: no memory", done.stdout)
        self.assertEqual(sum(call.startswith("8 ") for call in self.calls()), 1)

    def kept(self):
        return [json.loads(line) for line in (self.folder / "rmalock-tune.jsonl").read_text().splitlines()]

    def goes_on(self, by, status):
        whole = self.rma_rw()
        everything = self.calls()
        (self.folder / "log").unlink()
        stopped = self.rma_rw(FAKE_STOP="20", FAKE_SIGNAL=str(int(by)))
        self.assertEqual(stopped.returncode, status, stopped.stderr)
        self.assertEqual(sum("measured" in entry for entry in self.kept()), 20)
        again = self.rma_rw()
        self.assertEqual(again.returncode, 0, again.stderr)
        # The measurement during which it was stopped is the only one that is made twice.
        self.assertEqual(len(self.calls()), len(everything) + 1)
        self.assertEqual(re.findall("<", again.stdout), re.findall("<", whole.stdout))
        return stopped

    def test_goes_on_where_ctrl_c_stopped_it(self):
        stopped = self.goes_on(signal.SIGINT, 130)
        self.assertIn("the same command goes on", stopped.stderr)

    def test_goes_on_where_it_was_killed(self):
        self.goes_on(signal.SIGKILL, -signal.SIGKILL)

    def test_a_torn_line_counts_for_nothing(self):
        self.rma_rw(FAKE_STOP="20")
        journal = self.folder / "rmalock-tune.jsonl"
        journal.write_text(journal.read_text()[:-5])
        self.assertEqual(self.rma_rw().returncode, 0)
        # Each measurement is there once, and on a line of its own.
        keys = [entry["measured"] for entry in self.kept() if "measured" in entry]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertEqual(len(self.calls()), len(keys) + 2)

    def test_a_complete_tuning_is_not_gone_on_with(self):
        self.rma_rw()
        once = len(self.calls())
        self.rma_rw()
        self.assertEqual(len(self.calls()), 2 * once)

    def test_a_journal_of_another_tuning_is_refused(self):
        self.rma_rw(FAKE_STOP="20")
        for arguments, difference in ((["--lock", "pf_mcs"], "osc_rmalock_lock was rma_rw and is pf_mcs"),
                                      (["--lock", "rma_rw", "--repeats", "4"], "repeats was 3 and is 4"),
                                      (["--lock", "rma_rw", "--maximize"], "maximize was false and is true")):
            other = self.tune(*arguments)
            self.assertNotEqual(other.returncode, 0)
            self.assertIn("is of another tuning", other.stderr)
            self.assertIn(difference, other.stderr)
        self.assertEqual(self.tune("--lock", "pf_mcs", "--anew", OMPI_MCA_osc_rmalock_t_dc="4",
                                   OMPI_MCA_osc_rmalock_reader_batch="100", OMPI_MCA_osc_rmalock_t_l="8,32").returncode, 0)

    def test_a_lock_gets_its_own_thresholds_only(self):
        done = self.tune("--lock", "pf_mcs", OMPI_MCA_osc_rmalock_t_dc="4",
                         OMPI_MCA_osc_rmalock_reader_batch="100", OMPI_MCA_osc_rmalock_t_l="8,32")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.parameters(), {"osc_rmalock_lock": "pf_mcs", "osc_rmalock_t_w": "0"})
        self.assertIn("gain: none", done.stdout)

    def test_mistakes_are_named(self):
        for arguments, message in ((["--lock", "pfy"], "lock is one of auto, pf_mcs, rma_rw"),
                                   (["--values", "t_x=1"], "--values wants"),
                                   (["--only", "t_x"], "--only knows t_dc, t_r, reader_batch, t_l, passes, t_w"),
                                   (["--lock", "pf_mcs", "--only", "reader_batch"], "no threshold for lock pf_mcs")):
            done = self.tune(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
