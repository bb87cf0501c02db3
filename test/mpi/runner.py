#!/usr/bin/env python3
"""What the runners of test/mpi and test/programs share: components, jobs, result lines.

As a command, for scripts:
    runner.py total < output      adds up the last lines of the runs in it. Before each the script prints a line that
                                  begins with RUN, and a run that does not come to its last line has failed
    runner.py results COMMAND     runs a suite and adds up the lines that begin with PASS, FAIL or SKIP. Any other exit
                                  status than 0 is a failure; with 77 the whole suite is skipped
"""

import collections
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(os.path.dirname(HERE))
CONTRIB = os.path.join(SOURCES, "contrib")
VCLUSTER = os.path.join(CONTRIB, "vcluster", "vcluster")
sys.path.insert(0, CONTRIB)
sys.dont_write_bytecode = True  # the source folder may be read-only
import openmpi  # noqa: E402

# Component: the window flavors it has.
COMPONENTS = {
    "rmalock": "create,allocate,shared,dynamic",
    "sm": "allocate,shared",
    "rdma": "create,allocate,dynamic",
    "ucx": "create,allocate,dynamic",
    "pt2pt": "create,allocate,dynamic",
}
VERBOSE = {"osc_rmalock_verbose": "1"}  # rmalock says when it is selected
SKIPPED = 77  # the exit status of what cannot be run here
STOP_SECONDS = 10  # for a job to end after SIGTERM
ONE_HOST_ONLY = ("sm", "rdma")  # these have no windows across hosts that TCP links


def add_host_options(parser):
    parser.add_argument("--hosts", metavar="SPEC", help="on virtual hosts (contrib/vcluster): 4x2 or 1,2,3, "
                        "which is the number of ranks, too; needs root, else the exit status is 77")
    parser.add_argument("--racks", default="1", help="with --hosts: racks that they stand in")
    parser.add_argument("--delay", default="0", help="with --hosts: microseconds more between racks")


def hosts():
    """Ranks of each host if this program runs on virtual hosts, else None."""
    slots = os.environ.get("VCLUSTER_SLOTS")
    return [int(n) for n in slots.split(",")] if slots else None


def flavors(component):
    """The window flavors a component has here: hosts share no memory."""
    return COMPONENTS[component].replace(",shared", "" if hosts() else ",shared")


def go_to_hosts(options, *folders):
    """With --hosts, starts this program once more, on the first of them; every mpirun then uses them all."""
    if not options.hosts or hosts():
        return
    folders += (SOURCES, *os.environ.get("OMPI_MCA_mca_base_component_path", "").split(":"))
    command = [VCLUSTER, "run", options.hosts, "--racks", options.racks, "--delay", options.delay]
    for folder in folders:
        command += ["--share", folder] if os.path.isdir(folder) else []
    sys.stdout.flush()
    os.execv(VCLUSTER, command + ["--", sys.executable, os.path.abspath(sys.argv[0])] + sys.argv[1:])


def check_components(components):
    """A message if a component cannot be run here, else None."""
    wrong = [c for c in components if c in ONE_HOST_ONLY]
    if hosts() and wrong:
        return f"{', '.join(wrong)}: not on several hosts; there are " + \
            ", ".join(c for c in COMPONENTS if c not in ONE_HOST_ONLY)
    return None


def lacks(lock, trait):
    """Whether the traits in the lock's header say `.trait = false`: of shared, or of patient (LockTraits)."""
    header = os.path.join(SOURCES, "ompi_osc_rmalock", "locks", "algorithms", lock + ".hh")
    if not os.path.exists(header):  # auto, or a name that is refused
        return False
    with open(header, encoding="utf-8") as text:
        traits = re.search(r"LockTraits kTraits\{(.*?)\};", text.read(), re.S)
    return f".{trait} = false" in traits[1]


def was_selected(stderr):
    """Whether rmalock served the windows of this job: the only proof is what it says itself."""
    return re.search(r"osc/rmalock: .*\bselected\b", stderr) is not None


def parameters(component, mca=()):
    """The MCA parameters of a run; those of the command line win. Between hosts messages go over TCP, unless they say
    otherwise (pml ucx)."""
    chosen = {**(openmpi.BY_TCP if hosts() else {}), **openmpi.COMPONENTS[component],
              **(VERBOSE if component == "rmalock" else {}), **dict(mca)}
    if chosen.get("pml") == "ucx":
        chosen = {**openmpi.UCX_WITHOUT_DEVICE, **chosen}
        if "btl" not in dict(mca):
            chosen.pop("btl", None)
    return chosen


def mpirun(component, ranks, mca=(), options=()):
    """The command line up to the program."""
    return openmpi.mpirun(*options, "-n", str(ranks), *openmpi.mca_options(parameters(component, mca)))


class Job:
    """One command, run to its end or until its time is up."""

    def __init__(self, command, timeout, folder=None):
        self.seconds = -time.monotonic()
        environment = dict(os.environ, UCX_LOG_LEVEL="error")
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment, cwd=folder, start_new_session=True)
        self.hung = False
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as late:
            # Without what comes of the end that it is put to: ranks that lose their peers one after another ("Socket
            # closed", Open MPI 5.0) say nothing about the job.
            out, err = late.output or b"", late.stderr or b""
            if not stop(process):
                err += b"could not be killed"
            self.hung = True
        self.status = process.returncode
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")
        self.seconds += time.monotonic()


def stop(process):
    """Ends the whole job: mpirun passes SIGTERM on to the ranks; then nothing may be left. False if something is."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.communicate(timeout=STOP_SECONDS)
            return True
        except subprocess.TimeoutExpired:
            continue
    return False


class Report:
    """Prints one line per result and counts. Failures known of Open MPI's components are neither.

    With `cases` the cases of a program are counted, as far as it said how many there were.
    """

    def __init__(self, cases=False):
        self.passed = self.failed = self.skipped = 0
        self.cases = cases

    def count(self, passed, failed):
        """Results that the suite prints itself."""
        self.passed += int(passed)
        self.failed += int(failed)

    def line(self, verdict, what, component, ranks, text):
        passed, failed = int(verdict == "PASS"), int(verdict == "FAIL")
        said = re.match(r"(\d+) passed, (\d+) failed", text) if self.cases else None
        if said and passed + failed:
            passed, failed = int(said[1]), max(failed, int(said[2]))
        self.count(passed, failed)
        self.skipped += verdict == "SKIP"
        where = f"{ranks} ranks" + (f" on hosts with {os.environ['VCLUSTER_SLOTS']}" if hosts() else "")
        print(f"{verdict:<5} {what} {component} {where}: {text}", flush=True)

    def add(self, name, wrong, job=None, output=""):
        """A result with a name of its own. `wrong` says what is wrong, if anything is; then the output is shown."""
        self.count(not wrong, bool(wrong))
        if wrong:
            print(f"FAIL  {name}: {wrong}\n{job.out + job.err if job else ''}{output}", flush=True)
        else:
            print(f"PASS  {name}" + (f" ({job.seconds:.1f} s)" if job else ""), flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print(f"SKIP  {name}: {why}", flush=True)

    def total(self, more=""):
        """Prints the last line, with `more` at its end; returns the exit status. Nothing run is not a success."""
        print(f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "") + more,
              flush=True)
        if self.failed or self.passed:
            return int(self.failed != 0)
        return SKIPPED if self.skipped else 1


def total(lines):
    """The sums of all runs whose output this is; each that did not come to its last line is one failure."""
    report, begun, ended = Report(), 0, 0
    for line in lines:
        begun += line.startswith("RUN ")
        if last := re.match(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", line):
            ended += 1
            report.count(last[1], last[2])
            report.skipped += int(last[3] or 0)
    if begun > ended:
        print(f"FAIL: {begun - ended} runs did not come to an end")
        report.failed += begun - ended
    return report.total()


def results(command):
    """Runs a suite that prints one line per result, and shows what it prints."""
    counted = collections.Counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as suite:
        for line in suite.stdout:
            print(line, end="", flush=True)
            verdict = re.match(r"(PASS|FAIL|SKIP)\b", line)
            counted[verdict and verdict[1]] += 1
    if suite.returncode == SKIPPED:
        return SKIPPED
    if suite.returncode:
        print(f"FAIL: exit status {suite.returncode}")
    report = Report()
    report.passed, report.skipped = counted["PASS"], counted["SKIP"]
    report.failed = counted["FAIL"] + (suite.returncode != 0)
    return report.total()


def main(what, *arguments):
    if what == "total":
        return total(sys.stdin)
    if what == "results":
        return results(arguments)
    return f"runner.py: there are total and results, not '{what}'"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
