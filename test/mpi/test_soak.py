#!/usr/bin/env python3
"""What soak judges, shown by a stand-in for mpirun that does one thing wrong at a time."""

import contextlib
import io
import json
import os
import shutil
import stat
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True  # the source folder may be read-only
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import soak_jobs  # noqa: E402
import soak_report  # noqa: E402

# A job of one process that is all of its ranks; FAKE says what it does wrong.
STAND_IN = """#!/usr/bin/env python3
import os, struct, subprocess, sys, time
fake, arguments = os.environ["FAKE"].split(), sys.argv
def option(name):
    return arguments[arguments.index(name) + 1]
def at_the_end(status):
    if "segment" in fake:
        open(os.path.join(option("osc_rmalock_shm_dir"), "rmalock.0"), "w").close()
    if "process" in fake:
        subprocess.Popen(["sleep", "100"], start_new_session=True)
    print("osc/rmalock: window 'w' selected: lock" if "unselected" not in fake else "")
    print("random_locks: 1 passed, 0 failed" if "silent" not in fake else "")
    sys.exit(status)
if "--board" not in arguments:
    at_the_end(0)
ranks, board = int(option("-n")), open(option("--board"), "r+b")
victim = subprocess.Popen(["sleep", "100"])
for rounds in range(1, 21):
    for rank in range(ranks):
        grown = rounds if "grows" in fake else 0
        board.seek(128 * rank)
        board.write(struct.pack("16q", victim.pid, 3, rounds, 1, 20 + grown, 100, 0, 1 << 20, 1 << 24,
                                2 * ("visits" in fake), *[0] * 6))
    board.flush()
    time.sleep(0.25 if float(option("--seconds")) == 9 else 0.002)
if float(option("--seconds")) < 100:
    victim.kill()
    at_the_end(0)
victim.wait()
time.sleep(100 if "stays" in fake else 0)
at_the_end(0 if "content" in fake else 137)
"""


class Soak(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        launcher = os.path.join(self.folder, "mpirun")
        with open(launcher, "w", encoding="utf-8") as text:
            text.write(STAND_IN)
        os.chmod(launcher, os.stat(launcher).st_mode | stat.S_IXUSR)
        os.environ["MPIRUN"] = launcher
        soak_jobs.GONE_SECONDS = 1
        self.options = types.SimpleNamespace(build=self.folder, output=self.folder, end_within=2)

    def tearDown(self):
        del os.environ["MPIRUN"]
        shutil.rmtree(self.folder)

    def run_job(self, kind, fake="", **more):
        os.environ["FAKE"] = fake
        job = {"number": 0, "kind": kind, "lock": "auto", "ranks": 2, "layout": {}, "seed": 1, "names": False,
               "seconds": 1, "operations": 1, **more}
        if kind == "kill":
            del job["seconds"]
            job.update(aim="holds", victim=1, rounds=1, delay=0)
        return soak_jobs.run(job, self.options)

    def expect(self, problem, result):
        self.assertEqual("FAIL", result["verdict"])
        self.assertRegex(result["problem"], problem)
        self.assertTrue(os.path.isdir(os.path.join(self.folder, result["output"])))

    def test_good_jobs_pass(self):
        for kind in ("oracle", "locks", "kill"):
            result = self.run_job(kind)
            self.assertEqual(("PASS", ""), (result["verdict"], result["problem"]))
        self.assertEqual("holds", result["killed_when"])
        self.assertLess(result["to_end"], 2)

    def test_a_rank_that_another_one_has_locked(self):
        self.assertEqual("holds and is visited", self.run_job("kill", "visits")["killed_when"])

    def test_a_segment_that_stays(self):
        self.expect("segments stay: rmalock.0", self.run_job("kill", "segment"))

    def test_a_process_that_stays(self):
        self.expect("1 processes stay", self.run_job("locks", "process"))

    def test_a_job_that_stays_when_a_rank_is_killed(self):
        self.expect("it has not ended 2 s after", self.run_job("kill", "stays"))

    def test_a_job_that_does_not_notice(self):
        self.expect("exit status 0 though", self.run_job("kill", "content"))

    def test_another_component(self):
        self.expect("not the component selected", self.run_job("oracle", "unselected"))

    def test_no_last_line(self):
        self.expect("did not say that it passed", self.run_job("oracle", "silent"))

    def test_growth(self):
        self.assertEqual("PASS", self.run_job("growth", seconds=9)["verdict"])
        self.expect(r"descriptors of rank 1 grew from \d+ to \d+", self.run_job("growth", "grows", seconds=9))

    def test_what_stays_is_removed(self):
        before = set(os.listdir("/dev/shm"))
        result = self.run_job("kill", "process segment stays")
        self.expect("processes stay|not ended", result)
        self.assertEqual([], [name for name in set(os.listdir("/dev/shm")) - before if "rmalock-soak" in name])


class Journal(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.path = os.path.join(self.folder, "soak.jsonl")
        self.about = {"seed": 1, "ranks": 4, "hosts": "", "kinds": soak_jobs.KINDS, "growth_seconds": 20, "end_within": 30}

    def tearDown(self):
        shutil.rmtree(self.folder)

    def test_jobs_are_of_the_seed_and_their_number(self):
        self.assertEqual(soak_jobs.draw(self.about, 7), soak_jobs.draw(self.about, 7))
        kinds = {soak_jobs.draw(self.about, number)["kind"] for number in range(200)}
        self.assertEqual(set(soak_jobs.KINDS), kinds)

    def test_it_goes_on(self):
        journal = soak_report.Journal(self.path)
        journal.begin(self.about)
        journal.add({**soak_jobs.draw(self.about, 0), "verdict": "FAIL", "problem": "it is late", "took": 2.5,
                     "output": "job.1"})
        with open(self.path, "a", encoding="utf-8") as lines:
            lines.write('{"number": 1, "ki')  # stopped while it wrote
        again = soak_report.Journal(self.path)
        again.begin(json.loads(json.dumps(self.about)))
        self.assertEqual((1, 1, 2.5), (len(again.results), again.failed(), again.seconds()))
        again.add({**soak_jobs.draw(self.about, 1), "verdict": "PASS", "problem": "", "took": 1, "output": ""})
        self.assertEqual([0, 1], [result["number"] for result in soak_report.Journal(self.path).results])
        soak_report.write(self.folder, again)
        with open(os.path.join(self.folder, "soak.md"), encoding="utf-8") as text:
            self.assertRegex(text.read(), r"FAIL job 0: .*it is late; output in `job.1/`")

    def test_another_soak_is_not_mixed_in(self):
        soak_report.Journal(self.path).begin(self.about)
        with self.assertRaisesRegex(SystemExit, "is of another soak"), contextlib.redirect_stderr(io.StringIO()):
            soak_report.Journal(self.path).begin({**self.about, "seed": 2})


if __name__ == "__main__":
    unittest.main()
