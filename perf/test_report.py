#!/usr/bin/python3
"""The report's page: every figure is drawn from measurements, nothing is fetched from elsewhere,
and what could not be measured is said. The measurements are made up; no MPI is needed."""

import base64
import importlib.machinery
import importlib.util
import json
import pathlib
import re
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
                "lock,benchmark,ranks,f_w,t_dc,t_l,t_r,t_w,outcome,per_second\n" + "".join(
                    f"{lock},LB,1024,1,0,auto,0,0,ok,{rate}\n" for lock, rate in (("rma_mcs/ungated", 400), ("d_mcs/ungated", 100))))
            _, _, text = report.simulated_section(folder)
            self.assertIn("<td>4.0x</td><td>holds</td>", text)
            self.assertEqual(text.count("<img "), len(list(folder.glob("*.png"))))
            self.assertTrue((folder / "sim_latency.png").exists())

    def test_a_figure_without_measurements_is_left_out(self):
        nothing = report.plots.Measured(document([]))
        for section in report.SECTIONS:
            for name, _, drawing in section.figures:
                self.assertIsNone(drawing(nothing), name)


if __name__ == "__main__":
    unittest.main()
