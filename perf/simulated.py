"""Cells of the simulator (test/sim): runs those that a CSV file lacks, and reads it."""

import csv
import dataclasses
import os
import pathlib
import signal
import statistics
import subprocess
import sys

from interleaved import bar

# Operations of each process, fewer the more processes there are, so that a cell takes seconds.
OPERATIONS = {16: 400, 64: 300, 256: 100, 1024: 40, 4096: 12, 16384: 5, 65536: 3}
ONE_SEED = 4096  # and more


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A call of the simulator for each number of ranks. Lists are swept over."""
    locks: tuple
    benchmarks: tuple
    ranks: tuple
    writers: tuple
    options: tuple = ()  # such as ("--t-dc", "8", "16")
    model: str = "cray"
    ranks_per_node: tuple = (16,)
    operations: int = 0  # of each process; 0: as OPERATIONS says
    one_seed: bool = False

    def command(self, simulator, ranks, csv_file):
        return [str(simulator), "--model", self.model, "--lock", *self.locks,
                "--benchmark", *self.benchmarks, "--ranks", str(ranks),
                "--ranks-per-node", *map(str, self.ranks_per_node),
                "--writers", *map(str, self.writers), *self.options,
                "--operations", str(self.operations or OPERATIONS[ranks]),
                "--seed", *map(str, (1,) if self.one_seed or ranks >= ONE_SEED else (1, 2, 3)),
                "-o", str(csv_file)]


def cut_torn_line(csv_file):
    """A machine that went down may have left part of a line, which the simulator would refuse."""
    if csv_file.exists():
        data = csv_file.read_bytes()
        os.truncate(csv_file, data.rfind(b"\n") + 1)


def run(sweeps, simulator, csv_file, most_ranks, anew=False):
    """One process of the simulator at a time; what the file has is not run again. Ctrl-C ends the program."""
    if not pathlib.Path(simulator).exists():
        sys.exit(f"there is no simulator {simulator}; build it (make test/sim/rmalock_sim), or name it "
                 "by --simulator")
    if anew:
        csv_file.unlink(missing_ok=True)
    cut_torn_line(csv_file)
    calls = [(sweep, ranks) for sweep in sweeps for ranks in sweep.ranks if ranks <= most_ranks]
    try:
        for number, (sweep, ranks) in enumerate(calls, 1):
            print(f"{bar(number - 1, len(calls))} {number}/{len(calls)}: {' '.join(sweep.benchmarks)}, {ranks} ranks, "
                  f"{' '.join(sweep.locks)}", file=sys.stderr)
            status = subprocess.call(sweep.command(simulator, ranks, csv_file))
            if status not in (0, 1):  # 1: cells that failed, whose lines say why
                sys.exit(status)
    except KeyboardInterrupt:
        print(f"\nstopped; the same command goes on from {csv_file}", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)


def read(csv_file):
    with pathlib.Path(csv_file).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if rows and "reader_batch" not in rows[0]:
        sys.exit(f"{csv_file} has the columns of an earlier version; perf/figures --anew makes it again")
    return Cells(rows)


@dataclasses.dataclass(frozen=True)
class Spread:
    """Of a figure over the seeds."""
    median: float
    low: float
    high: float

    @staticmethod
    def of(values):
        return Spread(statistics.median(values), min(values), max(values))


class Cells:
    """Rows of the CSV, found by their columns."""

    def __init__(self, rows):
        self.rows = rows

    def find(self, **wanted):
        """Those that are as `wanted` says, as ok as not."""
        return [row for row in self.rows
                if all(same(row[name], value) for name, value in wanted.items())]

    def throughput(self, **wanted):
        """Operations a second, or None."""
        return self.spread("per_second", **wanted)

    def spread(self, column, **wanted):
        """Of any column, or None."""
        values = [float(row[column]) for row in self.find(outcome="ok", **wanted)]
        return Spread.of(values) if values else None

    def turnaround(self, **wanted):
        """Microseconds from one operation of a process to its next, or None. That is the mean latency
        where processes do nothing else, and has the waits of those that starve in it."""
        spread = self.throughput(**wanted)
        ranks = int(wanted["ranks"])
        return spread and Spread(*(1e6 * ranks / value
                                   for value in (spread.median, spread.high, spread.low)))


def same(text, value):
    if isinstance(value, (int, float)):
        return text != "" and abs(float(text) - value) < 1e-9
    return text == value
