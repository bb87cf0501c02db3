"""What a comparison is written as: JSON, CSV, a table for people, a table for documents."""

import csv
import dataclasses
import json
import os
import pathlib
import platform
import re

from components import mca_environment
from interleaved import CONFIDENCE


def machine(results):
    """Where this was measured: nothing here is comparable with another machine."""
    model = platform.processor() or platform.machine()
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
        model = re.search(r"^model name\s*: (.+)$", text, re.M).group(1)
    except (OSError, AttributeError):
        pass  # not Linux on x86: the architecture's name has to do
    versions = sorted({run["mpi"] for run in results.runs.values()})
    return {"cpu": model, "cores": cores(), "kernel": f"{platform.system()} {platform.release()}",
            "mpi": ", ".join(versions) or "unknown",
            "load": [round(load, 2) for load in os.getloadavg()]}


def cores():
    return len(os.sched_getaffinity(0))


def write_json(path, options, components, results, rows):
    document = {
        "machine": machine(results),
        "options": {name: value for name, value in vars(options).items() if name != "catalogue"},
        "environment": mca_environment(),
        "components": components,
        "selected": {name: run["component"] for name, run in results.runs.items()},
        "remarks": results.remarks,
        "sittings": results.sittings,
        "rows": [json_row(row) for row in rows],
        "runs": [dict(event, component_row=name, repeat=repeat)
                 for by_component in results.samples.values()
                 for name, by_repeat in by_component.items()
                 for repeat, event in by_repeat.items()],
    }
    path.write_text(json.dumps(document, indent=1, default=str) + "\n")


def json_row(row):
    fields = dataclasses.asdict(row)
    fields["key"]["params"] = json.loads(row.key.params)
    return fields


def write_csv(path, rows, baseline):
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["flavor", "case", "parameters", "metric", "unit", "component", "repeats",
                      "median", "low", "high", "confidence", "p10", "p90",
                      f"ratio_to_{baseline}", "ratio_low", "ratio_high", "failure"])
        for row in rows:
            key, value, ratio = row.key, row.value, row.ratio
            out.writerow(
                [key.flavor, key.case, key.params, key.metric, key.unit, row.component, row.repeats]
                + ([value.median, value.low, value.high, round(value.confidence, 4)]
                   if value else [""] * 4)
                + list(row.within or ("", ""))
                + ([ratio.median, ratio.low, ratio.high] if ratio else [""] * 3)
                + [row.failure or ""])


def human_size(value):
    for unit, size in (("M", 1 << 20), ("K", 1 << 10)):
        if value >= size and value % size == 0:
            return f"{value // size}{unit}"
    return str(value)


def label_of(case, params):
    return " ".join([case, *(f"{name}={human_size(value) if name == 'size' else value}"
                             for name, value in params.items())])


def label(key):
    return label_of(key.case, json.loads(key.params))


def scaled_unit(value, unit):
    """A unit that suits the magnitude, and its size in the unit measured in."""
    if unit == "ns":
        for name, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
            if abs(value) >= size:
                return name, size
    return ("", 1) if unit == "ratio" else (unit, 1)


def digits(value):
    """Three of them, whatever the magnitude."""
    if value != 0 and not 0.01 <= abs(value) < 1e5:
        return f"{value:.1e}"
    places = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{places}f}"


def span(interval, size=1):
    return f"[{digits(interval.low / size)} .. {digits(interval.high / size)}]"


def cells(row):
    """Component, value, its interval, ratio, its interval; a failure takes the value's place."""
    name = "  " + row.component
    if row.value is None:
        return [name, str(row.failure)]
    unit, size = scaled_unit(row.value.median, row.key.unit)
    line = [name, f"{digits(row.value.median / size)} {unit}".strip(), span(row.value, size),
            f"x {digits(row.ratio.median)}" if row.ratio else "",
            span(row.ratio) if row.ratio else ""]
    if row.failure:
        line.append(f"then {row.failure} (repeat {row.failure.repeat + 1})")
    return line


def print_table(rows):
    """Rows of a case stand together, and columns line up over the whole table."""
    lines = []
    for row in rows:
        metric = "" if row.key.metric == "-" else f": {row.key.metric}"
        title = f"{label(row.key)}{metric} ({row.key.flavor})"
        if not lines or lines[-1][0] != title:
            lines.append((title, None))
        lines.append((title, cells(row)))
    table = [line for _, line in lines if line and len(line) > 2]
    widths = [max((len(line[i]) for line in table), default=0) for i in range(5)]
    widths[0] = max((len(line[0]) for _, line in lines if line), default=0)
    for title, line in lines:
        if line is None:
            print(title)
        else:
            align = [line[0].ljust(widths[0])]
            align += [line[1]] if len(line) == 2 else (
                [cell.rjust(width) for cell, width in zip(line[1:5], widths[1:])] + line[5:])
            print("  ".join(align).rstrip())


def print_markdown(rows, components, baseline):
    """One line per result: the baseline's figure, and the others' ratio to it."""
    print(f"| case | {' | '.join(components)} |")
    print("|---" * (len(components) + 1) + "|")
    for start in range(0, len(rows), len(components)):
        line = rows[start:start + len(components)]
        title = f"`{label(line[0].key)}` {line[0].key.metric} ({line[0].key.flavor})"
        print(f"| {title} | {' | '.join(markdown_cell(row, baseline) for row in line)} |")


def markdown_cell(row, baseline):
    if row.value is None:
        return str(row.failure)
    if row.ratio and row.component != baseline:
        return f"x {digits(row.ratio.median)} {span(row.ratio)}"
    unit, size = scaled_unit(row.value.median, row.key.unit)
    return f"{digits(row.value.median / size)} {unit} {span(row.value, size)}".replace("  ", " ")


def cells_behind(rows, baseline, limit):
    """Rows of others that took less than `limit` of the baseline's time, the least first."""
    behind = [row for row in rows if row.key.unit == "ns" and row.component != baseline and row.ratio
              and row.ratio.median < limit]
    return sorted(behind, key=lambda row: row.ratio.median)


def print_behind(rows, baseline, limit):
    behind = cells_behind(rows, baseline, limit)
    for row in behind:
        unit, size = scaled_unit(row.value.median, row.key.unit)
        print(f"{row.component} x {digits(row.ratio.median)} {span(row.ratio)}, {digits(row.value.median / size)} {unit}: "
              f"{label(row.key)} ({row.key.flavor})")
    measured = len({row.key for row in rows if row.component == baseline and row.value})
    print(f"{len({row.key for row in behind})} of {measured} cells in which another component takes less than "
          f"{limit:g} of {baseline}'s time")


def sittings_text(sittings):
    """What to think of figures that are not of one sitting; nothing if they are."""
    if len(sittings) < 2:
        return ""
    began = ", ".join(f"repeat {sitting['repeat'] + 1} ({sitting['sitting']})" for sitting in sittings[1:])
    return (f"measured in {len(sittings)} sittings, the later ones from {began}; repeats of different sittings are less "
            "comparable, and so are medians over them")


def print_report(results, rows, options):
    if options.behind:
        print_behind(rows, options.baseline, options.behind)
    elif options.markdown:
        print_markdown(rows, options.compare, options.baseline)
    else:
        print_table(rows)
    where = machine(results)
    print(f"\n{options.ranks} ranks, {options.repeats} interleaved repeats; "
          f"x = ratio to {options.baseline}, formed within each repeat")
    print(f"medians of the repeats' medians [and their {interval_worth(rows)}]")
    print(f"{where['cpu']}, {where['cores']} cores; {where['kernel']}; {where['mpi']}; "
          f"load {where['load'][0]}")
    sittings = sittings_text(results.sittings)
    for remark in ([sittings] if sittings else []) + results.remarks:
        print(f"remark: {remark}")
    for name, run in results.runs.items():
        if run["component"] not in (name.partition("/")[0], "unknown"):
            print(f"remark: {name} ran on component {run['component']}")


def interval_worth(rows):
    lowest = min((row.value.confidence for row in rows if row.value), default=0)
    if lowest == 0:
        return "range; a single repeat has no spread"
    kind = "confidence interval" if lowest >= CONFIDENCE else "range: too few repeats for more"
    return f"{kind}; covers the median with {100 * lowest:.1f} % confidence or more"
