"""Interleaved measurement: components take turns within every repeat, and what they say is kept.

Results are medians with their order-statistic confidence intervals, and ratios formed within each
repeat. A component that cannot run a case keeps its row, with the reason."""

import dataclasses
import json
import math
import os
import queue
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading

from components import absent_component
from journal import now

CONFIDENCE = 0.95
# Ratios of percentages, or of figures that may be zero, say nothing.
RATIO_UNITS = ("ns", "ratio", "epochs/ms", "locks/ms", "min/max")


# --- statistics ------------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Interval:
    median: float
    low: float
    high: float
    confidence: float  # what the order statistics really cover; 0 for a single value


def median_interval(values, confidence=CONFIDENCE):
    """The median and the tightest pair of order statistics that covers it with `confidence`.

    Nothing is assumed about the distribution. With few values no pair covers that much: then it is
    the full range, and the confidence says what that is worth."""
    ordered = sorted(values)
    count = len(ordered)
    outside, dropped = 0.5 ** count, 0  # chance that the median lies below the lowest value
    while dropped + 1 <= (count - 1) // 2:
        wider = outside + math.comb(count, dropped + 1) * 0.5 ** count
        if 1 - 2 * wider < confidence:
            break
        outside, dropped = wider, dropped + 1
    return Interval(statistics.median(ordered), ordered[dropped], ordered[count - 1 - dropped],
                    max(0.0, 1 - 2 * outside))


def paired_ratios(values, baseline):
    """Ratios within each repeat in which both were measured; {repeat: value} on both sides."""
    return [values[repeat] / baseline[repeat]
            for repeat in sorted(values) if baseline.get(repeat)]


# --- running one program ---------------------------------------------------------------------------

@dataclasses.dataclass
class Outcome:
    """What one mpirun left behind."""
    status: int
    hung: bool
    errors: str  # standard error


def terminate(process):
    """mpirun passes SIGTERM on to its ranks; one that does not react is killed."""
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def forward_lines(stream, lines):
    with stream:
        for line in stream:
            lines.put(line)
    lines.put(None)


def run_program(command, silence, on_event, environment=None):
    """Run `command`, handing each JSON line to on_event. Silence for that many seconds is a hang."""
    lines = queue.Queue()
    hung = False
    with tempfile.TemporaryFile(mode="w+", errors="replace") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=errors, text=True, errors="replace",
                                   start_new_session=True, env=environment)
        reader = threading.Thread(target=forward_lines, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            while (line := lines.get(timeout=silence)) is not None:
                event = parse_event(line)
                if event is not None:
                    on_event(event)
            process.wait(timeout=silence)
        except (queue.Empty, subprocess.TimeoutExpired):
            hung = True
        finally:
            if process.poll() is None:
                terminate(process)
        errors.seek(0)
        return Outcome(process.returncode, hung, errors.read())


def parse_event(line):
    """mpirun may mix messages of its own into the output; those are not events."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "event" in event else None


REASONS = [  # the most telling message first
    (re.compile(r"^rma_bench: (.+)$", re.M), "{0}"),
    (re.compile(r"Framework: +(\S+)\s+Component: +(\S+)"), "component {1} ({0}) not found"),
    (re.compile(r"An error occurred in (MPI_\w+)(?s:.*?)\*\*\* (MPI_ERR_[^\n]+)"), "{0}: {1}"),
    (re.compile(r"exited on signal (\d+ \([^)]+\))"), "crashed: signal {0}"),
    (re.compile(r"^ *(\w+\(\) failed)\s+--> Returned \"([^\"]+)\"", re.M), "{0}: {1}"),
    (re.compile(r"An error occurred in (MPI_\w+)"), "error in {0}"),
    # Not rules, and not mpirun's complaints about messages that it lost.
    (re.compile(r"^(?!-+$)(?!.*ORTE_ERROR_LOG)(\S.+)$", re.M), "{0}"),
]


def reason_of(outcome, silence):
    """Why a run ended without its answers, in one line."""
    if outcome.hung:
        return f"hung: no answer for {silence:g} s"
    for pattern, form in REASONS:
        found = pattern.search(outcome.errors)
        if found:
            return form.format(*(part.strip() for part in found.groups()))
    return f"exit status {outcome.status} without a message"


# --- the comparison --------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True, order=True)
class Key:
    """What is compared: one metric of one case at one point of its parameters."""
    flavor: str
    case: str
    params: str  # JSON
    metric: str
    unit: str


@dataclasses.dataclass(frozen=True)
class Failure:
    kind: str  # cannot | wrong
    reason: str
    repeat: int

    def __str__(self):
        return f"{'WRONG VALUES' if self.kind == 'wrong' else 'cannot'}: {self.reason}"


class Results:
    """All measurements and failures, in the order in which they were first seen."""

    def __init__(self):
        self.runs = {}       # component -> the program's own description of the run
        self.samples = {}    # Key -> component -> repeat -> result event
        self.failures = {}   # (flavor, case) -> component -> Failure
        self.remarks = []
        self.sittings = []   # when each began, and in which repeat

    def add(self, component, repeat, event):
        case = (event["flavor"], event["case"])
        if event["event"] == "result":
            key = Key(*case, json.dumps(event["params"]), event["metric"], event["unit"])
            self.samples.setdefault(key, {}).setdefault(component, {})[repeat] = event
        elif event["event"] in ("cannot", "wrong"):
            self.fail(component, case, event["event"], event["reason"], repeat)

    def fail(self, component, case, kind, reason, repeat):
        known = self.failures.setdefault(case, {}).get(component)
        if known is None or (kind == "wrong" and known.kind != "wrong"):
            self.failures[case][component] = Failure(kind, reason, repeat)

    def failure(self, component, case):
        return self.failures.get(case, {}).get(component)

    def medians(self, key, component):
        return {repeat: event["median"]
                for repeat, event in self.samples.get(key, {}).get(component, {}).items()}

    def any_wrong(self, component=None):
        return any(failure.kind == "wrong" and component in (None, name)
                   for row in self.failures.values() for name, failure in row.items())


class Answers:
    """What has been answered, in the results; and in a journal, if there is one, whose answers are known from the start."""

    def __init__(self, results, journal=None):
        self.results, self.journal, self.known, self.seated = results, journal, set(), False
        for entry in journal.entries if journal else []:
            self.take(entry)

    def take(self, entry):
        if "sitting" in entry:
            self.results.sittings.append(entry)
        elif "run" in entry:
            self.results.runs[entry["component"]] = entry["run"]
        elif "remark" in entry:
            self.results.remarks.append(entry["remark"])
        elif "case" in entry:
            component, case, repeat = entry["component"], (entry["flavor"], entry["case"]), entry["repeat"]
            for event in entry["events"]:
                self.results.add(component, repeat, event)
            if entry["failed"]:
                self.results.fail(component, case, "cannot", entry["failed"], repeat)
            self.known.add((component, *case, repeat))

    def keep(self, entry):
        if self.journal:
            self.journal.add(entry)

    def run(self, component, event):
        if self.results.runs.get(component) != event:
            self.results.runs[component] = event
            self.keep({"component": component, "run": event})

    def remark(self, text):
        if text not in self.results.remarks:
            self.results.remarks.append(text)
            self.keep({"remark": text})

    def case(self, component, flavor, case, repeat, events, failed=None):
        """The case's events are in the results already; its failure is not."""
        if not self.seated:
            self.seated = True
            self.results.sittings.append({"sitting": now(), "repeat": repeat})
            self.keep(self.results.sittings[-1])
        if failed:
            self.results.fail(component, (flavor, case), "cannot", failed, repeat)
        self.keep({"component": component, "flavor": flavor, "case": case, "repeat": repeat, "events": events,
                   "failed": failed})

    def pending(self, component, flavor, cases, repeat):
        """A case that has failed once is not tried again, or a hang would cost its timeout in every repeat."""
        return [case for case in cases if not self.results.failure(component, (flavor, case))
                and (component, flavor, case, repeat) not in self.known]


class Comparison:
    def __init__(self, launch, components, work, repeats, silence, progress, journal=None):
        self.launch = launch          # (component, cases, flavor) -> command line
        self.components = components  # name -> mpirun arguments
        self.work = work              # flavor -> cases, in the program's order
        self.repeats = repeats
        self.silence = silence
        self.progress = progress
        self.results = Results()
        self.answers = Answers(self.results, journal)

    def run(self):
        """Every component once per repeat, each repeat starting with another one."""
        names = list(self.components)
        for repeat in range(self.repeats):
            first = repeat % len(names)
            for flavor, cases in self.work.items():
                for name in names[first:] + names[:first]:
                    self.run_component(name, flavor, cases, repeat)
        self.progress.close()
        return self.results

    def run_component(self, name, flavor, cases, repeat):
        """Run the cases; when a run dies, go on behind the case that it died in."""
        pending = self.answers.pending(name, flavor, cases, repeat)
        self.progress.skip(len(cases) - len(pending))
        while pending:
            events, answered, outcome, started = self.run_cases(name, flavor, pending, repeat)
            left = [case for case in pending if case not in answered]
            if not left:
                self.remark_end(name, outcome)
                return
            reason = reason_of(outcome, self.silence)
            failed = left[:1]
            if not started:  # then it has the same answer for every case
                failed = left
                absent = absent_component(self.components[name])
                reason = f"component {absent} (osc) not found" if absent else reason
            for case in failed:
                self.answers.case(name, flavor, case, repeat, events.get(case, []), reason)
            self.progress.skip(len(failed))
            pending = left[len(failed):]

    def run_cases(self, name, flavor, cases, repeat):
        events, answered = {}, set()
        started = False

        def on_event(event):
            nonlocal started
            if event["event"] == "run":
                started = True
                self.answers.run(name, event)
            elif event["event"] == "end":
                answered.add(event["case"])
                self.answers.case(name, flavor, event["case"], repeat, events.get(event["case"], []))
                self.progress.step(f"repeat {repeat + 1}/{self.repeats} {name} {event['case']}")
            else:
                self.results.add(name, repeat, event)
                events.setdefault(event["case"], []).append(event)

        self.progress.show(f"repeat {repeat + 1}/{self.repeats} {name} starts")
        try:
            outcome = run_program(self.launch(name, cases, flavor), self.silence, on_event)
        except FileNotFoundError as missing:
            outcome = Outcome(127, False, f"rma_bench: {missing}")
        return events, answered, outcome, started

    def remark_end(self, name, outcome):
        """Wrong values have their own report; any other bad end after the last case is told."""
        if outcome.hung or (outcome.status != 0 and not self.results.any_wrong(name)):
            self.answers.remark(f"{name}: after its last case: {reason_of(outcome, self.silence)}")


def bar(done, total, width=30):
    filled = width * done // max(1, total)
    return f"[{'#' * filled}{'.' * (width - filled)}]"


class Progress:
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, total, stream=sys.stderr):
        self.total, self.done, self.stream = total, 0, stream
        self.shown = stream.isatty()

    def show(self, text):
        if not self.shown:
            return
        self.stream.write(f"\r\033[K{bar(self.done, self.total)} {self.done}/{self.total} {text}")
        self.stream.flush()

    def step(self, text):
        self.done += 1
        self.show(text)

    def skip(self, count):
        self.done += count

    def close(self):
        if self.shown:
            self.stream.write("\r\033[K")


# --- summary ---------------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Row:
    key: Key
    component: str
    repeats: int = 0
    value: Interval = None
    within: tuple = None   # median over repeats of each run's own 10th and 90th percentile
    ratio: Interval = None  # to the baseline
    failure: Failure = None


def summarize(results, work, components, baseline):
    """One row per key and component, failures included, in the order of the catalogue."""
    keys = []
    for case in ((flavor, name) for flavor, names in work.items() for name in names):
        measured = [key for key in results.samples if (key.flavor, key.case) == case]
        keys += measured or [Key(*case, "{}", "-", "-")]
    return [summarize_one(results, key, component, baseline)
            for key in keys for component in components]


def summarize_one(results, key, component, baseline):
    failure = results.failure(component, (key.flavor, key.case))
    values = results.medians(key, component)
    if not values or (failure and failure.kind == "wrong"):
        return Row(key, component, failure=failure or Failure("cannot", "not measured", 0))
    events = results.samples[key][component].values()
    within = tuple(statistics.median(event[field] for event in events) for field in ("p10", "p90"))
    ratios = paired_ratios(values, results.medians(key, baseline))
    trusted = key.unit in RATIO_UNITS and ratios and not wrong(results, baseline, key)
    return Row(key, component, len(values), median_interval(values.values()), within,
               median_interval(ratios) if trusted else None, failure)


def wrong(results, component, key):
    failure = results.failure(component, (key.flavor, key.case))
    return failure is not None and failure.kind == "wrong"
