#!/usr/bin/env python3
"""What the runners of test/mpi and test/programs share: components, jobs, result lines.

As a command, for scripts that make several runs:
    runner.py total < output      adds up the last lines of the runs in it. Before each the script prints a line that
                                  begins with RUN, and a run that does not come to its last line has failed
    runner.py mpirun ARGUMENTS    mpirun with what these tests always need: root, and more ranks than cores
"""

import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(os.path.dirname(HERE))
VCLUSTER = os.path.join(SOURCES, "contrib", "vcluster", "vcluster")

# Component: the MCA parameters that select it, and the window flavors it has.
ANY = "create,allocate,shared,dynamic"
UCX_WITHOUT_DEVICE = {"opal_common_ucx_tls": "any", "opal_common_ucx_devices": "any"}
COMPONENTS = {
    "rmalock": ({"osc": "rmalock", "osc_rmalock_verbose": "1"}, ANY),
    "sm": ({"osc": "sm"}, "allocate,shared"),
    "rdma": ({"osc": "rdma"}, "create,allocate,dynamic"),
    "ucx": ({"osc": "ucx", "pml": "ucx", **UCX_WITHOUT_DEVICE}, "create,allocate,dynamic"),
    "pt2pt": ({"osc": "pt2pt"}, "create,allocate,dynamic"),
}

# Where ranks are on several hosts messages go over TCP, unless --mca says otherwise (pml ucx).
BETWEEN_HOSTS = {"pml": "ob1", "btl": "tcp,vader,self"}
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
    return COMPONENTS[component][1].replace(",shared", "" if hosts() else ",shared")


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
    """The MCA parameters of a run; those of the command line win."""
    chosen = {**(BETWEEN_HOSTS if hosts() else {}), **COMPONENTS[component][0], **dict(mca)}
    if chosen.get("pml") == "ucx":
        chosen = {**UCX_WITHOUT_DEVICE, **chosen}
        if "btl" not in dict(mca):
            chosen.pop("btl", None)
    return chosen


def bare_mpirun(*arguments):
    """The command with what these tests always need."""
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return [os.environ.get("MPIRUN") or "mpirun", *as_root, "--oversubscribe", "--bind-to", "none", *arguments]


def mpirun(component, ranks, mca=(), options=()):
    """The command line up to the program."""
    command = bare_mpirun(*options, "-n", str(ranks))
    for key, value in parameters(component, mca).items():
        command += ["--mca", key, value]
    return command


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
        except subprocess.TimeoutExpired:
            out, err = stop(process)
            self.hung = True
        self.status = process.returncode
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")
        self.seconds += time.monotonic()


def stop(process):
    """Ends the whole job: mpirun passes SIGTERM on to the ranks; then nothing may be left."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            return process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            continue
    return b"", b"could not be killed"


class Report:
    """Prints one line per result and counts. Failures known of Open MPI's components are neither.

    With `cases` the cases of a program are counted, as far as it said how many there were.
    """

    def __init__(self, cases=False):
        self.passed = self.failed = 0
        self.cases = cases

    def line(self, verdict, what, component, ranks, text):
        passed, failed = int(verdict == "PASS"), int(verdict == "FAIL")
        said = re.match(r"(\d+) passed, (\d+) failed", text) if self.cases else None
        if said and passed + failed:
            passed, failed = int(said[1]), max(failed, int(said[2]))
        self.passed += passed
        self.failed += failed
        where = f"{ranks} ranks" + (f" on hosts with {os.environ['VCLUSTER_SLOTS']}" if hosts() else "")
        print(f"{verdict:<5} {what} {component} {where}: {text}", flush=True)

    def total(self):
        """Prints the last line; returns the exit status. Nothing run is not a success."""
        print(f"{self.passed} passed, {self.failed} failed")
        return self.failed != 0 or self.passed == 0


def total(lines):
    """The sums of all runs whose output this is; each that did not come to its last line is one failure."""
    begun = ended = passed = failed = 0
    for line in lines:
        begun += line.startswith("RUN ")
        if last := re.match(r"(\d+) passed, (\d+) failed", line):
            ended += 1
            passed, failed = passed + int(last[1]), failed + int(last[2])
    if begun > ended:
        print(f"FAIL: {begun - ended} runs did not come to an end")
    failed += max(0, begun - ended)
    print(f"{passed} passed, {failed} failed")
    return failed != 0 or passed == 0


def main(what, *arguments):
    if what == "total":
        return total(sys.stdin)
    if what == "mpirun":
        command = bare_mpirun(*arguments)
        os.execvp(command[0], command)
    return f"runner.py: there are total and mpirun, not '{what}'"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
