"""What a soak keeps of its jobs, and its report."""

import csv
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf"))
from journal import Journal as Kept  # noqa: E402

COLUMNS = ["number", "verdict", "kind", "lock", "ranks", "layout", "seed", "names", "took", "operations", "seconds",
           "aim", "victim", "killed_when", "others", "to_end", "problem", "output"]
SAMPLE_COLUMNS = ["job", "rank", "at", "rounds", "locks", "descriptors", "maps", "segments", "heap", "resident"]


class Journal(Kept):
    """All results, on disk after each: a line for the soak, then one for each job."""

    def __init__(self, path):
        super().__init__(path, "soak", "soak", "remove it, or name another folder with --output")

    @property
    def results(self):
        return self.entries

    def seconds(self):
        return sum(result["took"] for result in self.results)

    def failed(self):
        return sum(result["verdict"] != "PASS" for result in self.results)


def layout_of(result):
    parts = [f"{key.removeprefix('osc_rmalock_')} {value}" for key, value in result["layout"].items()]
    return ", ".join(parts) or "one node"


def line(result):
    text = f"{result['verdict']} job {result['number']}: {result['kind']}, {result['lock']}, {result['ranks']} ranks, " \
           f"{layout_of(result)}, {result['took']:.1f} s"
    if "to_end" in result:
        text += f", killed when it {result['killed_when']}, ended {result['to_end']:.2f} s later"
    return text + (f": {result['problem']}" if result["problem"] else "")


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in cells) + " |\n" for cells in lines) + "\n"


def groups(results, key):
    found = {}
    for result in results:
        found.setdefault(key(result), []).append(result)
    return sorted(found.items())


def counts(name, results, key):
    return table([name, "jobs", "failed", "seconds"],
                 [[group, len(of), sum(r["verdict"] != "PASS" for r in of), f"{sum(r['took'] for r in of):.0f}"]
                  for group, of in groups(results, key)])


def kills(results):
    killed = [result for result in results if "to_end" in result]
    return table(["killed when the rank", "kills", "failed", "s until the job ended: median", "longest"],
                 [[doing, len(of), sum(r["verdict"] != "PASS" for r in of),
                   f"{statistics.median(r['to_end'] for r in of):.2f}", f"{max(r['to_end'] for r in of):.2f}"]
                  for doing, of in groups(killed, lambda r: r["killed_when"] + (", named segments" if r["names"] else ""))])


def growth(results):
    rows = []
    for result in (r for r in results if "growth" in r):
        for rank, found in result["growth"].items():
            rounds = max(s["rounds"] for s in result["samples"] if s["rank"] == int(rank))
            rows.append([result["number"], f"{result['lock']}, {layout_of(result)}", rank, rounds,
                         *(f"{before:.0f}, {after:.0f}" for before, after in found.values())])
    if not rows:
        return "none\n\n"
    names = list(next(r for r in results if "growth" in r)["growth"].values())[0]
    return table(["job", "of", "rank", "rounds", *names], rows)


def failures(results):
    failed = [result for result in results if result["verdict"] != "PASS"]
    return "".join(f"- {line(result)}; output in `{result['output']}/`\n" for result in failed) or "none\n"


def replay(about):
    """What a job is drawn from."""
    kinds = "".join(f" --kind {kind}" for kind in about["kinds"])
    return f"--seed {about['seed']}" + (f" --hosts {about['hosts']}" if about["hosts"] else "") + \
        f" --ranks {about['ranks']}{kinds}"


def on_hosts(about):
    return f" on hosts with {about['hosts']}" if about["hosts"] else ""


def markdown(journal):
    about, results = journal.about, journal.results
    return f"""# Soak, seed {about['seed']}

{journal.seconds() / 60:.1f} minutes, {len(results)} jobs, {journal.failed()} failed. Up to {about['ranks']} ranks{on_hosts(about)}. After a kill
a job has {about['end_within']:.0f} s to end. Job N once more:
`test/mpi/soak {replay(about)} --replay N`.

{counts('kind', results, lambda r: r['kind'])}{counts('lock', results, lambda r: r['lock'])}\
{counts('layout', results, layout_of)}## Kills

{kills(results)}## Growth

Medians of the middle third and of the last third of a job's samples, while no window was open; heap and resident in bytes.
Open MPI itself keeps some memory of each window.

{growth(results)}## Failures

{failures(results)}"""


def write_table(path, columns, rows):
    partial = path + ".part"
    with open(partial, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(partial, path)


def write(folder, journal):
    rows = [dict(result, layout=layout_of(result), others=" ".join(result.get("others", []))) for result in
            journal.results]
    write_table(os.path.join(folder, "soak.csv"), COLUMNS, rows)
    write_table(os.path.join(folder, "growth.csv"), SAMPLE_COLUMNS,
                [dict(sample, job=result["number"]) for result in journal.results for sample in
                 result.get("samples", [])])
    partial = os.path.join(folder, "soak.md.part")
    with open(partial, "w", encoding="utf-8") as text:
        text.write(markdown(journal))
    os.replace(partial, os.path.join(folder, "soak.md"))
