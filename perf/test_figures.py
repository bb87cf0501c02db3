#!/usr/bin/python3
"""What perf/figures and perf/auto make of simulated cells. The cells are made up; what is run is a stand-in for
the simulator."""

import importlib.machinery
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import alock_claims  # noqa: E402
import n_cosed_claims  # noqa: E402
import paper_claims  # noqa: E402
import simulated  # noqa: E402

KEYS = {"model": "cray", "ranks_per_node": 16, "t_dc": 0, "t_l": "auto", "passes": "auto", "t_r": 0, "reader_batch": 0, "t_w": 0,
        "seed": 1, "outcome": "ok"}


def cell(**values):
    return {name: str(value) for name, value in {**KEYS, **values}.items()}


def load(name):
    """A command, which has no .py in its name."""
    loader = importlib.machinery.SourceFileLoader(name, str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def verdicts(rows):
    return {line[0]: line[3] for line in paper_claims.table(simulated.Cells(rows))}


class Claims(unittest.TestCase):
    def test_what_was_not_run_has_no_verdict(self):
        self.assertEqual(set(verdicts([]).values()), {"not run"})

    def test_a_cell_that_failed_is_no_figure(self):
        rows = [cell(lock="d_mcs", benchmark="LB", ranks=1024, f_w=1, per_second="", outcome="endless")]
        self.assertIsNone(simulated.Cells(rows).turnaround(lock="d_mcs", benchmark="LB", ranks=1024, f_w=1))

    def verdict_of_d_mcs(self, times):
        rows = [cell(lock="rma_mcs/ungated", benchmark="LB", ranks=1024, f_w=1, per_second=4000),
                cell(lock="d_mcs/ungated", benchmark="LB", ranks=1024, f_w=1, per_second=4000 / times)]
        return verdicts(rows)["RMA-MCS's latency is some 4x below D-MCS's"]

    def test_about_is_within_half_as_much_again(self):
        self.assertEqual(self.verdict_of_d_mcs(4), "holds")
        self.assertEqual(self.verdict_of_d_mcs(3), "holds")
        self.assertEqual(self.verdict_of_d_mcs(2), "differs")
        self.assertEqual(self.verdict_of_d_mcs(7), "differs")

    def test_one_place_that_is_behind_is_told(self):
        rows = [cell(lock=lock, benchmark="ECSB", ranks=ranks, f_w=0.02, per_second=value)
                for ranks, ours, theirs in ((64, 700, 100), (256, 300, 100))
                for lock, value in (("rma_rw", ours), ("fompi_rw", theirs))]
        ours, holds = paper_claims.ahead_of_fompi_rw(simulated.Cells(rows))
        self.assertFalse(holds)
        self.assertEqual(ours, "3.0x (P = 256, 2 %) to 7x")

    def test_seeds_are_a_spread(self):
        rows = [cell(lock="auto", benchmark="LB", ranks=16, f_w=1, seed=seed, per_second=value)
                for seed, value in enumerate((5, 1, 3), 1)]
        self.assertEqual(simulated.Cells(rows).throughput(lock="auto"), simulated.Spread(3, 1, 5))

    def test_other_thresholds_are_other_cells(self):
        rows = [cell(lock="rma_rw", benchmark="ECSB", ranks=64, f_w=0.02, per_second=1, reader_batch=16)]
        self.assertIsNone(paper_claims.default_rw(simulated.Cells(rows), "rma_rw", 64, 2))


class LockTable(unittest.TestCase):
    def claim(self, rows, number):
        return paper_claims.table(simulated.Cells(rows), alock_claims.CLAIMS)[number][2:4]

    def test_each_cell_has_both_of_our_locks(self):
        rows = [self.cells(lock, 100, rate) for lock, rate in (("alock", 100), ("pf_alock", 98), ("pf_cohort", 50))]
        lines = alock_claims.beside(simulated.Cells(rows)).splitlines()
        self.assertEqual(len(lines), 2 + 9)
        self.assertIn("| 20 | 20 | -, - | -, - | -, - | 0.98, 0.50 |", lines)

    def test_the_latency_of_what_is_local_is_held_to_both(self):
        rows = [cell(**alock_claims.cell(lock, 10, 20, 100, of_a_node=8), latency_us=took)
                for lock, took in (("alock", 1), ("d_mcs", 16), ("fompi_spin", 30))]
        self.assertEqual(self.claim(rows, 3), ("MCS: 16.0x, spin: 30.0x", "holds"))

    def cells(self, lock, local, per_second, **at):
        return cell(**{**alock_claims.cell(lock, 20, 20, local), **at}, per_second=per_second)

    def test_what_was_not_run_has_no_verdict(self):
        for number in range(len(alock_claims.CLAIMS)):
            self.assertEqual(self.claim([], number), ("", "not run"))

    def test_the_best_cell_is_held_to_what_is_claimed_at_most(self):
        rows = [self.cells(lock, local, rate) for local, rates in ((85, (20, 10, 2)), (95, (60, 2, 3)))
                for lock, rate in zip(("alock", "d_mcs", "fompi_spin"), rates)]
        self.assertEqual(self.claim(rows, 0), ("2.0x to 30.0x MCS's, 10.0x to 20.0x spin's", "holds"))

    def test_budgets_are_compared_over_all_localities(self):
        rows = [self.cells("alock", local, rate, locks=100, budget_remote=budget)
                for local in alock_claims.SHARED for budget, rate in ((20, 120), (5, 100))]
        self.assertEqual(self.claim(rows, 5), ("+20 %", "holds"))
        self.assertEqual(self.claim(rows[:-1], 5), ("", "not run"))
        rows += [self.cells("alock", local, rate, budget_remote=budget)
                 for local in alock_claims.SHARED for budget, rate in ((20, 150), (5, 100))]
        self.assertEqual(self.claim(rows, 5), ("+20 %; with 20 locks +50 %", "holds"))

    def test_a_cell_in_which_ours_is_behind_is_named(self):
        rows = [self.cells(lock, 100, rate) for lock, rate in (("alock", 100), ("pf_alock", 98), ("pf_cohort", 50))]
        self.assertEqual(self.claim(rows, 6), ("behind in 0 of 1 cells; least 0.98x (20 nodes, 20 locks, 100 % local)",
                                               "holds"))
        self.assertEqual(self.claim(rows, 7), ("behind in 1 of 1 cells; least 0.50x (20 nodes, 20 locks, 100 % local)",
                                               "differs"))


class Cascades(unittest.TestCase):
    def claim(self, rows, text):
        """Each (conditions, ours, verdict)."""
        return [line[1:4] for line in paper_claims.table(simulated.Cells(rows), n_cosed_claims.CLAIMS)
                if line[0].startswith(text) and line[3] != "not run"]

    def test_what_was_not_run_has_no_verdict(self):
        self.assertEqual(self.claim([], ""), [])

    def test_polling_and_notification_are_told_apart(self):
        rows = [cell(**{**n_cosed_claims.serial_cell(lock, mode, model)}, acquire_us=took)
                for mode in (0, 1) for lock, model, took in (
                    ("n_cosed", "cray", 100), ("srsl", "cray", 114), ("n_cosed", "notified", 200), ("srsl", "notified", 500))]
        self.assertEqual(self.claim(rows, "SRSL's lock"),
                         [("nobody waits; polling", "shared +14 %, exclusive +14 %", "holds"),
                          ("nobody waits; notification", "shared +150 %, exclusive +150 %", "differs")])

    def test_shared_and_exclusive_cascades_are_told_apart(self):
        rows = [cell(**n_cosed_claims.cell(lock, 16, mode), latency_us=took) for lock, mode, took in (
            ("n_cosed", 0, 10), ("dqnl", 0, 40), ("pf_cohort", 0, 8), ("n_cosed", 1, 40), ("dqnl", 1, 44),
            ("srsl", 0, 12), ("srsl", 1, 60))]
        self.assertEqual(self.claim(rows, "DQNL's cascade of shared"), [("16 waiters; polling", "+300 %", "holds")])
        self.assertEqual(self.claim(rows, "SRSL's cascade of shared"), [("16 waiters; polling", "+20 %", "holds")])
        self.assertEqual(self.claim(rows, "DQNL's cascade of exclusive"), [("16 waiters; polling", "+10 %", "differs")])
        self.assertEqual(self.claim(rows, "SRSL's cascade of exclusive"), [("16 waiters; polling", "+50 %", "holds")])
        self.assertEqual(self.claim(rows, "Ours: pf_cohort's cascade of shared"), [("16 waiters; polling", "0.80x", "holds")])


class Auto(unittest.TestCase):
    def test_the_best_lock_is_named_where_it_is_another(self):
        auto = load("auto")
        at = {"benchmark": "SOB", "ranks": 64, "f_w": 0.05, "ranks_per_node": 8}
        rows = [cell(lock="auto", per_second=85, **at), cell(lock="pf_cohort", per_second=85, **at),
                cell(lock="rma_rw", per_second=100, **at)]
        lines, found = auto.table(simulated.Cells(rows))
        self.assertEqual(found, [(0.85, "rma_rw")])
        self.assertIn("| 64 | 8 | cray, nic | SOB | - | **0.85** rma_rw | - | - |", lines)


# Writes a cell for each lock, unless the file has it. Stops the driver once, in the middle of a line.
SIMULATOR = """#!{python} -IS
import os, pathlib, signal, sys
csv, here = pathlib.Path(sys.argv[-1]), pathlib.Path(sys.argv[0]).parent
text = csv.read_text() if csv.exists() else "lock,ranks\\n"
if not text.endswith("\\n"):
    sys.exit("cut off")
for lock in sys.argv[sys.argv.index("--lock") + 1:sys.argv.index("--benchmark")]:
    line = lock + "," + sys.argv[sys.argv.index("--ranks") + 1] + "\\n"
    if line in text:
        continue
    with (here / "log").open("a") as log:
        log.write(line)
    if line == "d_mcs,64\\n" and not (here / "stopped").exists():
        (here / "stopped").touch()
        csv.write_text(text + line[:4])
        os.kill(os.getppid(), int(os.environ["FAKE_SIGNAL"]))
        sys.exit(1)
    text += line
    csv.write_text(text)
"""
DRIVER = """
import pathlib, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import simulated
simulated.run([simulated.Sweep(("d_mcs", "auto"), ("LB",), (16, 64), (2,))], sys.argv[2], pathlib.Path(sys.argv[3]), 64,
              sys.argv[4:] == ["anew"])
"""


class GoingOn(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "simulator").write_text(SIMULATOR.replace("{python}", sys.executable))
        (self.folder / "simulator").chmod(0o755)

    def drive(self, *arguments, by=signal.SIGINT):
        return subprocess.run([sys.executable, "-c", DRIVER, HERE, self.folder / "simulator", self.folder / "sim.csv",
                               *arguments], capture_output=True, text=True,
                              # A shell that runs the tests in the background has its children ignore SIGINT.
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                              env={**os.environ, "FAKE_SIGNAL": str(int(by))})

    def goes_on(self, by, status):
        stopped = self.drive(by=by)
        self.assertEqual(stopped.returncode, status, stopped.stderr)
        done = self.drive()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "sim.csv").read_text(), "lock,ranks\nd_mcs,16\nauto,16\nd_mcs,64\nauto,64\n")
        # The cell in which it was stopped is the only one that runs twice.
        self.assertEqual(len((self.folder / "log").read_text().splitlines()), 5)
        return stopped

    def test_ctrl_c_says_how_to_go_on(self):
        self.assertIn("stopped; the same command goes on from", self.goes_on(signal.SIGINT, 130).stderr)

    def test_a_driver_that_was_killed(self):
        self.goes_on(signal.SIGKILL, -signal.SIGKILL)

    def test_anew(self):
        self.goes_on(signal.SIGINT, 130)
        self.drive("anew")
        self.assertEqual(len((self.folder / "log").read_text().splitlines()), 5 + 4)


@unittest.skipIf(importlib.util.find_spec("matplotlib") is None, "matplotlib is not there")
class Pictures(unittest.TestCase):
    def test_nothing_is_drawn_of_nothing(self):
        import sim_plots
        for name, _, drawing in sim_plots.FIGURES:
            self.assertIsNone(drawing(simulated.Cells([])), name)


if __name__ == "__main__":
    unittest.main()
