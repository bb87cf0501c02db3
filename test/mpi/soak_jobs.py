"""The jobs of a soak: drawn from a seed, run, and judged."""

import json
import mmap
import os
import random
import re
import secrets
import shutil
import signal
import statistics
import struct
import subprocess
import tempfile
import time

import runner

KINDS = ["oracle", "locks", "kill", "growth"]
WEIGHTS = {"oracle": 2, "locks": 3, "kill": 14, "growth": 0.5}
AIMS = ["creates", "waits", "holds", "is visited", "any time"]

# As random_locks.c has them.
DOING = ["starts", "creates", "waits", "holds", "meets", "frees", "ends"]
LINE = struct.Struct("16q")
FIELDS = ["pid", "doing", "rounds", "locks", "descriptors", "maps", "segments", "heap", "resident", "held"]

START_SECONDS = 60  # for mpirun, on a busy machine
JOB_SECONDS = 240   # more than any program of a job takes
GONE_SECONDS = 10   # until what mpirun has ended is gone

# What the later part of a growth job may have more than its middle: the programs of a round differ.
MAY_GROW = {"descriptors": 2, "maps": 8, "segments": 0, "heap": 256 << 10, "resident": 2 << 20}


# --- Drawing -----------------------------------------------------------------------------------------------


def lock_names():
    table = os.path.join(runner.SOURCES, "ompi_osc_rmalock", "locks", "all.def")
    with open(table, encoding="utf-8") as text:
        return ["auto"] + re.findall(r"^RMALOCK_LOCK\((\w+),", text.read(), re.M)


def draw_layout(draws, on_hosts):
    """How the ranks of a job are taken for nodes, unless hosts say it, and what the network between these does."""
    ranks_per_node = 0 if on_hosts else draws.choice([0, 0, 1, 2])
    if ranks_per_node == 0 and not on_hosts:
        return {}
    domain, thread = draws.choice([("auto", "auto"), ("cpu", "on"), ("cpu", "off"), ("nic", "on")])
    layout = {"osc_rmalock_domain": domain, "osc_rmalock_progress_thread": thread}
    return layout if on_hosts else {"osc_rmalock_ranks_per_node": str(ranks_per_node), **layout}


def draw(about, index):
    """Job number `index` of a soak: the same for the same seed, whatever came out of those before."""
    draws = random.Random(about["seed"] * 1000003 + index)
    kinds = about["kinds"]
    job = {"number": index, "kind": draws.choices(kinds, [WEIGHTS[kind] for kind in kinds])[0],
           "lock": draws.choice(lock_names()), "ranks": draws.randint(2, about["ranks"]),
           "layout": draw_layout(draws, about["hosts"]), "seed": draws.getrandbits(31), "names": False}
    if job["kind"] == "oracle":
        while runner.lacks(job["lock"], "shared"):  # its programs hold shared locks together
            job["lock"] = draws.choice(lock_names())
        job["operations"] = draws.choice([1000, 5000, 20000])
    elif job["kind"] == "kill":
        job.update(aim=draws.choice(AIMS), victim=draws.randrange(job["ranks"]), rounds=draws.choice([0, 0, 1, 5]),
                   delay=draws.choice([0, 0.3 * draws.random(), 2 * draws.random()]), names=draws.random() < 0.2)
    else:
        job["seconds"] = about["growth_seconds"] if job["kind"] == "growth" else draws.choice([1, 3, 8])
    return job


# --- Running -----------------------------------------------------------------------------------------------


def roots():
    """Where the file system of each host is; each has a /dev/shm of its own."""
    if not runner.hosts():
        return [""]
    with open(os.path.join(os.environ["VCLUSTER_DIR"], "cluster.json"), encoding="ascii") as state:
        return [f"/proc/{host['process'][0]}/root" for host in json.load(state)["hosts"]]


class Running:
    """One mpirun with a folder for its segments, its board, and a mark by which its processes are found."""

    def __init__(self, job, options):
        self.folder = os.path.join("/dev/shm", f"rmalock-soak.{secrets.token_hex(6)}")
        self.folders = [root + self.folder for root in roots()]
        for folder in self.folders:
            os.mkdir(folder)
        self.output = tempfile.mkdtemp(prefix="job.", dir=options.output)
        self.mark = f"RMALOCK_SOAK={os.path.basename(self.folder)}"
        self.board_path = os.path.abspath(os.path.join(self.output, "board"))
        with open(self.board_path, "wb") as board:
            board.truncate(LINE.size * job["ranks"])
        with open(self.board_path, "rb") as board:
            self.board = mmap.mmap(board.fileno(), 0, prot=mmap.PROT_READ)
        self.begin = time.monotonic()
        with open(os.path.join(self.output, "output"), "wb") as output:
            self.process = subprocess.Popen(self.command(job, options), stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=subprocess.STDOUT, env=self.environment(), start_new_session=True)

    def command(self, job, options):
        mca = {"osc_rmalock_lock": job["lock"], "osc_rmalock_shm_dir": self.folder, **job["layout"]}
        spread = ["--map-by", "node", "-x", "RMALOCK_SOAK"] if runner.hosts() else []
        command = runner.mpirun("rmalock", job["ranks"], mca.items(), spread)
        if job["kind"] == "oracle":
            return command + [os.path.join(options.build, "oracle"), "--ops", str(job["operations"]),
                              "--seed", str(job["seed"])]
        # Processes that hide from each other have no windows of memory that they brought themselves.
        flavors = "allocate,shared" if job["names"] else "create,allocate,shared,dynamic"
        if runner.hosts():
            flavors = flavors.replace(",shared", "")
        return command + [os.path.join(options.build, "random_locks"), "--board", self.board_path,
                          "--seed", str(job["seed"]), "--folder", self.folder,
                          "--seconds", str(job.get("seconds", JOB_SECONDS)),
                          "--flavors", flavors, *(["--names"] if job["names"] else [])]

    def environment(self):
        name, value = self.mark.split("=")
        return dict(os.environ, UCX_LOG_LEVEL="error", UCX_TLS="tcp,self", **{name: value})

    def seconds(self):
        return time.monotonic() - self.begin

    def line(self, rank):
        """What a rank has on the board; it stays there when the rank is gone."""
        line = dict(zip(FIELDS, LINE.unpack_from(self.board, rank * LINE.size)))
        line["doing"] = DOING[line["doing"]]
        return line

    def ended(self, seconds):
        """Whether mpirun ends within that time."""
        try:
            self.process.wait(max(0.01, seconds))
            return True
        except subprocess.TimeoutExpired:
            return False

    def processes(self):
        """The processes of this job that live, mpirun's own among them."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/environ", "rb") as environ:
                    if self.mark.encode() in environ.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                continue
        return found

    def text(self):
        with open(os.path.join(self.output, "output"), encoding="utf-8", errors="replace") as output:
            return output.read()

    def trace(self):
        """Where the processes of a job that hangs are, if there is a debugger."""
        if shutil.which("gdb") is None:
            return
        with open(os.path.join(self.output, "traces"), "wb") as traces:
            for pid in self.processes():
                subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt"], stdout=traces,
                               stderr=subprocess.DEVNULL, timeout=60, check=False)

    def segments(self):
        return [name for folder in self.folders for name in os.listdir(folder)]

    def clean_up(self, keep):
        """What is left when mpirun is gone: ([process], [segment]); then nothing is."""
        if self.process.poll() is None:
            runner.stop(self.process)
        late = time.monotonic() + GONE_SECONDS
        while (self.processes() or self.segments()) and time.monotonic() < late:
            time.sleep(0.05)
        left, segments = self.processes(), self.segments()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        for folder in self.folders:
            shutil.rmtree(folder)
        self.board.close()
        if not keep:
            shutil.rmtree(self.output)
        return left, segments


# --- Judging -----------------------------------------------------------------------------------------------


def judge_run(running, result):
    """A job that comes to its end by itself."""
    limit = JOB_SECONDS + result.get("seconds", 0)
    if not running.ended(limit):
        running.trace()
        return f"it has not ended in {limit:.0f} s"
    text = running.text()
    if running.process.returncode != 0:
        return f"exit status {running.process.returncode}"
    if not re.search(r"^\w+: 1 passed, 0 failed", text, re.M):
        return "it did not say that it passed"
    return "" if runner.was_selected(text) or "--verbose" in text else "rmalock was not the component selected"


def wait_until(holds, running, seconds, step):
    late = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > late or running.process.poll() is not None:
            return False
        time.sleep(step)
    return True


def is_at(running, result, aim):
    """Whether the rank to be killed is doing what is aimed at; to be visited is to be locked by another one."""
    victim = result["victim"]
    if aim != "is visited":
        return running.line(victim)["doing"] == aim
    others = (running.line(rank) for rank in range(result["ranks"]) if rank != victim)
    return any(other["held"] >> victim & 1 for other in others)


def judge_kill(running, result, options):
    """A job of which one rank is killed. Any exit status but 0 is right then; what counts is that it ends."""
    victim = result["victim"]
    there = wait_until(lambda: running.line(victim)["pid"] != 0 and
                       running.line(victim)["rounds"] >= result["rounds"], running, START_SECONDS, 0.001)
    if not there:
        running.trace()
        return "the rank to be killed did not come so far"
    time.sleep(result["delay"])
    if result["aim"] != "any time":
        wait_until(lambda: is_at(running, result, result["aim"]), running, 2, 0)
    if running.process.poll() is not None:
        return f"the job ended before the rank was killed, exit status {running.process.returncode}"
    visited = is_at(running, result, "is visited")
    try:
        os.kill(running.line(victim)["pid"], signal.SIGKILL)
    except ProcessLookupError:
        return "the rank that was to be killed was gone"
    begin = time.monotonic()
    ended = running.ended(options.end_within)
    result["to_end"] = time.monotonic() - begin
    result["killed_when"] = running.line(victim)["doing"] + (" and is visited" if visited else "")
    result["others"] = [running.line(rank)["doing"] for rank in range(result["ranks"]) if rank != victim]
    if ended:
        return "" if running.process.returncode != 0 else "exit status 0 though a rank was killed"
    running.trace()
    return f"it has not ended {options.end_within:.0f} s after a rank was killed"


def grown(samples):
    """{what: (its median in the middle third, and in the last)}; samples of one rank, in the order of time."""
    third = len(samples) // 3
    return {what: tuple(statistics.median(sample[what] for sample in part)
                        for part in (samples[third:2 * third], samples[2 * third:])) for what in MAY_GROW}


def judge_growth(running, result):
    samples = {rank: [] for rank in range(result["ranks"])}
    late = time.monotonic() + JOB_SECONDS + result["seconds"]
    while running.process.poll() is None and time.monotonic() < late:
        time.sleep(0.2)
        for rank, seen in samples.items():
            line = dict(running.line(rank), at=running.seconds())
            if line["rounds"] > (seen[-1]["rounds"] if seen else 0):
                seen.append(line)
    result["samples"] = [dict(sample, rank=rank) for rank, seen in samples.items() for sample in seen]
    if problem := judge_run(running, result):
        return problem
    if min(map(len, samples.values())) < 6:
        return "too few samples to tell"
    result["growth"] = {rank: grown(seen) for rank, seen in samples.items()}
    return "; ".join(f"{what} of rank {rank} grew from {before:.0f} to {after:.0f}"
                     for rank, found in result["growth"].items() for what, (before, after) in found.items()
                     if after - before > MAY_GROW[what])


def run(job, options):
    """The job with what came of it."""
    result = dict(job)
    running = Running(job, options)
    try:
        if job["kind"] == "kill":
            problem = judge_kill(running, result, options)
        elif job["kind"] == "growth":
            problem = judge_growth(running, result)
        else:
            problem = judge_run(running, result)
    except BaseException:
        running.clean_up(keep=False)
        raise
    left, segments = running.clean_up(keep=True)
    problems = [problem] if problem else []
    problems += [f"{len(left)} processes stay"] if left else []
    problems += [f"segments stay: {' '.join(segments)}"] if segments else []
    result.update(verdict="FAIL" if problems else "PASS", problem="; ".join(problems), took=running.seconds(),
                  output=os.path.basename(running.output) if problems else "")
    if not problems:
        shutil.rmtree(running.output)
    return result
