"""What the runners of test/mpi and test/programs share: components, jobs, result lines."""

import os
import re
import signal
import subprocess
import time

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


def was_selected(stderr):
    """Whether rmalock served the windows of this job: the only proof is what it says itself."""
    return re.search(r"osc/rmalock: .*\bselected\b", stderr) is not None


def mpirun(component, ranks, mca=()):
    """The command line up to the program."""
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    if os.geteuid() == 0:
        command.insert(1, "--allow-run-as-root")
    for key, value in dict(COMPONENTS[component][0], **dict(mca)).items():
        command += ["--mca", key, value]
    return command


class Job:
    """One command, run to its end or until its time is up."""

    def __init__(self, command, timeout):
        self.seconds = -time.monotonic()
        environment = dict(os.environ, UCX_LOG_LEVEL="error")
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment, start_new_session=True)
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
        print(f"{verdict:<5} {what} {component} {ranks} ranks: {text}", flush=True)

    def total(self):
        """Prints the last line; returns the exit status. Nothing run is not a success."""
        print(f"{self.passed} passed, {self.failed} failed")
        return self.failed != 0 or self.passed == 0
