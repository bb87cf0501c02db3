#!/usr/bin/python3
"""The report's page: every figure is drawn from measurements, nothing is fetched from elsewhere,
what could not be measured is said, and a report that was stopped goes on. The measurements are made up;
no MPI is needed."""

import base64
import html
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
SKIP = 77


def load_report():
    """The report is a command and has no .py in its name."""
    loader = importlib.machinery.SourceFileLoader("report", str(HERE / "report"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("report", loader))
    sys.modules["report"] = module
    loader.exec_module(module)
    return module


try:
    import matplotlib  # noqa: F401
except ImportError:
    print("skipped: matplotlib is not there")
    sys.exit(SKIP)
report = load_report()

COMPONENTS = ["sm", "rmalock/pf_mcs", "rmalock/direct_passive", "rmalock/pf_mcs/t_w=16"]
PARAMS = {  # case pattern -> points of its parameters, metrics with their units
    r"lock_(put|get)_unlock": ([{"size": s} for s in (1, 4096)], {"latency": "ns"}),
    r"overlap_(put|get)": ([{"size": s, "operations": 1} for s in (4096, 32768)], {"hidden": "%"}),
    r"overlap_ops_.*": ([{"size": 32768, "operations": n} for n in (1, 2)], {"hidden": "%"}),
    r"receiver_overlap": ([{"size": 4096, "origins": 1}],
                          {"slowdown": "ratio", "served": "epochs/ms"}),
    r"receiver_overlap_many": ([{"size": 32768, "origins": n} for n in (2, 4)],
                               {"slowdown": "ratio", "served": "epochs/ms"}),
    r"target_busy": ([{"busy_s": 2}], {"lock": "ns", "unlock": "ns"}),
    r"lb": ([{"writers": w} for w in (0, 0.2, 100)],
            {"latency": "ns", "latency_shared": "ns", "latency_exclusive": "ns", "longest": "ns",
             "fairness": "min/max"}),
    r"ecsb|sob|wcsb|warb": ([{"writers": w} for w in (0, 0.2, 100)],
                            {"throughput": "locks/ms", "fairness": "min/max"}),
    r"dht_.*": ([{"writers": w, "operations": 500} for w in (0, 20)], {"total": "ns"}),
    r"lu_.*": ([{"order": n, "block": 128} for n in (600, 3000)],
               {"total": "ns", "computation": "ns", "lock": "ns", "get": "ns", "barrier": "ns"}),
    r".*": ([{}], {"latency": "ns"}),
}


def points(case):
    return next(found for pattern, found in PARAMS.items() if re.fullmatch(pattern, case))


def row(case, params, metric, unit, component, value):
    failed = component == "rmalock/pf_mcs" and case == "lock_all"
    return {"key": {"flavor": "allocate", "case": case, "params": params, "metric": metric,
                    "unit": unit}, "component": component, "repeats": 3, "within": None,
            "value": None if failed else {"median": value, "low": 0.9 * value,
                                          "high": 1.2 * value, "confidence": 0.75},
            "ratio": None, "failure": {"kind": "cannot", "reason": "crashed: <signal>",
                                       "repeat": 0} if failed else None}


def document(cases):
    rows, runs = [], []
    for case in cases:
        where, metrics = points(case)
        for params in where:
            for metric, unit in metrics.items():
                for number, component in enumerate(COMPONENTS, 1):
                    value = 0.1 * number if unit == "min/max" else 1e3 * number
                    rows.append(row(case, params, metric, unit, component, value))
                    runs.append({"case": case, "params": params, "component_row": component,
                                 "curve": [1, 1.2, 1.5]})
    return {"components": dict.fromkeys(COMPONENTS, ""), "rows": rows, "runs": runs,
            "machine": {"cpu": "a & b", "cores": 2, "kernel": "k", "mpi": "m", "load": [1]},
            "options": {"ranks": 2, "repeats": 3, "baseline": "sm"}}


# Plays both mpirun and rma_bench, and stops the report in a case: once what was answered before is written down.
FAKE = r'''#!{python} -IS
import glob, json, os, signal, sys, time
points = json.load(open(os.environ["FAKE_CASES"]))

def say(**event):
    print(json.dumps(event), flush=True)

def written_down():
    return sum('"case"' in line for name in glob.glob(os.environ["FAKE_FOLDER"] + "/*.jsonl") for line in open(name)
               if not name.endswith("report.jsonl"))

if "--list" in sys.argv:
    for case in points:
        say(case=case, source="s", parameters="p", metric="m", flavors="allocate", min_ranks=2)
    sys.exit(0)
say(event="run", ranks=2, mpi="Fake MPI v1", component="unknown")
for case in sys.argv[sys.argv.index("--run") + 1].split(","):
    with open(os.environ["FAKE_LOG"], "a+") as log:
        log.seek(0)
        begun = len(log.readlines())
        log.write(" ".join(sys.argv[1:-1]) + " " + case + "\n")
    about = dict(case=case, flavor="allocate", ranks=2)
    for params, metric, unit in points[case]:
        say(event="result", params=params, metric=metric, unit=unit, median=100 + len(metric), p10=99, p90=199, samples=9,
            curve=[1, 1.2, 1.5], **about)
    if begun == int(os.environ["FAKE_STOP"]):
        while written_down() < begun - int(os.environ["FAKE_TWICE"]):
            time.sleep(0.01)
        os.kill(os.getppid(), int(os.environ["FAKE_SIGNAL"]))
        time.sleep(60)
    say(event="end", seconds=0, **about)
'''


class GoingOn(unittest.TestCase):
    """The report is killed for real, by what it has launched."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log, self.fake = self.folder / "log", self.folder / "fake"
        self.fake.write_text(FAKE.replace("{python}", sys.executable))
        self.fake.chmod(0o755)
        cases = {case: [(params, metric, unit) for params in points(case)[0] for metric, unit in points(case)[1].items()]
                 for run in report.RUNS.values() for case in run.cases}
        (self.folder / "cases").write_text(json.dumps(cases))

    def report(self, output, *options, stop=-1, by=signal.SIGKILL, twice=0):
        return subprocess.run(
            [sys.executable, HERE / "report", "--small", "--repeats", "2", "--compare", "sm,rmalock", "--mpirun", self.fake,
             "--bench", self.fake, "--output", self.folder / output, *options], capture_output=True, text=True,
            # A shell that runs the tests in the background has its children ignore SIGINT.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            env={**os.environ, "PATH": "/nowhere", "FAKE_LOG": str(self.log), "FAKE_FOLDER": str(self.folder / output),
                 "FAKE_CASES": str(self.folder / "cases"), "FAKE_STOP": str(stop), "FAKE_SIGNAL": str(int(by)),
                 "FAKE_TWICE": str(twice)})

    def cases(self):
        """Those that were run since the last call."""
        found = [line.split()[-1] for line in self.log.read_text().splitlines()]
        self.log.unlink()
        return found

    def rows(self, output):
        return {name: json.loads((self.folder / output / f"{name}.json").read_text())["rows"] for name in report.RUNS}

    def test_stopped_twice_it_ends_as_in_one_go(self):
        done = self.report("whole")
        self.assertEqual(done.returncode, 0, done.stderr)
        whole = self.cases()
        self.assertEqual(self.report("parts", stop=30).returncode, -signal.SIGKILL)
        refused = self.report("parts", "--ranks", "3")
        self.assertIn("is of another report: ranks was not set and is 3; --anew begins anew", refused.stderr)
        stopped = self.report("parts", stop=150, by=signal.SIGINT, twice=1)
        self.assertEqual(stopped.returncode, 130)
        self.assertIn("report: stopped; the same command goes on", stopped.stderr)
        done = self.report("parts")
        self.assertEqual(done.returncode, 0, done.stderr)
        # The cases in which it was stopped are the only ones that run twice.
        self.assertEqual(len(self.cases()), len(whole) + 2)
        self.assertEqual(self.rows("parts"), self.rows("whole"))
        self.assertNotIn("Several sittings", (self.folder / "whole" / "report.html").read_text())
        line, = re.findall(r"Several sittings\. (.*)</p>", (self.folder / "parts" / "report.html").read_text())
        self.assertRegex(line, r"^calls: measured in 2 sittings, the later ones from repeat 1 .*; \w+: measured in 2 ")
        # It is complete: the next one begins anew.
        self.report("parts", stop=0)
        self.assertEqual(self.cases(), whole[:1])


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for name, run in report.RUNS.items():
            (cls.folder / f"{name}.json").write_text(json.dumps(document(run.cases)))
            (cls.folder / f"{name}.csv").write_text("a,b\n")
        cls.html = report.write(cls.folder, "A title").read_text()

    def test_every_figure_is_a_picture_in_the_page_and_beside_it(self):
        names = [name for section in report.SECTIONS for name, _, _ in section.figures]
        inside = re.findall(r'<img src="data:image/png;base64,([^"]+)"', self.html)
        self.assertEqual(len(inside), len(names))
        for name, text in zip(names, inside):
            png = base64.b64decode(text)
            self.assertEqual(png, (self.folder / f"{name}.png").read_bytes())
            self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")

    def test_nothing_is_fetched_from_elsewhere(self):
        self.assertEqual([link for link in re.findall(r'(?:src|href)="([^"]*)"', self.html)
                          if not link.startswith(("data:", "#"))], [])

    def test_every_case_of_every_run_is_shown(self):
        for run in report.RUNS.values():
            for case in run.cases:
                self.assertIn(f"<td>{case}", self.html)

    def test_what_could_not_be_measured_is_said(self):
        self.assertIn("rmalock/pf_mcs, lock_all (allocate): crashed: &lt;signal&gt;", self.html)

    def test_simulated_claims_are_a_section_where_there_are_any(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.assertIsNone(report.simulated_section(folder))
            (folder / "sim.csv").write_text(
                "lock,benchmark,ranks,f_w,t_dc,t_l,t_r,reader_batch,t_w,outcome,per_second\n" + "".join(
                    f"{lock},LB,1024,1,0,auto,0,0,0,ok,{rate}\n" for lock, rate in (("rma_mcs/ungated", 400), ("d_mcs/ungated", 100))))
            _, _, text = report.simulated_section(folder)
            self.assertIn("<td>4.0x</td><td>holds</td>", text)
            for claims in (report.paper_claims, report.alock_claims, report.n_cosed_claims):
                self.assertIn(f"<td>{html.escape(claims.CLAIMS[-1].text)}", text)
            self.assertEqual(text.count("<img "), len(list(folder.glob("*.png"))))
            self.assertTrue((folder / "sim_latency.png").exists())

    def test_a_figure_without_measurements_is_left_out(self):
        nothing = report.plots.Measured(document([]))
        for section in report.SECTIONS:
            for name, _, drawing in section.figures:
                self.assertIsNone(drawing(nothing), name)


if __name__ == "__main__":
    unittest.main()
