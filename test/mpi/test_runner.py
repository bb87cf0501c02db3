#!/usr/bin/env python3
"""What the runner keeps of a job's output, shown by stand-ins for mpirun."""

import os
import sys
import unittest

sys.dont_write_bytecode = True  # the source folder may be read-only
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import runner  # noqa: E402


class Jobs(unittest.TestCase):
    def test_a_job_that_ends(self):
        job = runner.Job(["sh", "-c", "echo said; echo wrong >&2; exit 3"], 60)
        self.assertEqual((False, 3, "said\n", "wrong\n"), (job.hung, job.status, job.out, job.err))

    def test_what_a_job_says_when_it_is_stopped_does_not_count(self):
        job = runner.Job(["sh", "-c", "trap 'echo Socket closed >&2; exit 1' TERM; echo said; echo wrong >&2; "
                          "while :; do sleep 0.1; done"], 1)
        self.assertEqual((True, "said\n", "wrong\n"), (job.hung, job.out, job.err))

    def test_a_job_that_does_not_let_itself_be_stopped_is_killed(self):
        runner.STOP_SECONDS = 1
        job = runner.Job(["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"], 1)
        self.assertEqual((True, -9, ""), (job.hung, job.status, job.err))


if __name__ == "__main__":
    unittest.main()
