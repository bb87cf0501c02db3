"""The report's figures. Each takes the rows of comparisons and returns a matplotlib figure, or None
if nothing of it was measured."""

import dataclasses
import json
import math

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from tables import human_size, scaled_unit

# Okabe and Ito's colours, which stay apart for the colour-blind; markers and hatches do in print.
STYLES = {
    "sm": ("#0072B2", "s"), "rdma": ("#E69F00", "^"), "ucx": ("#009E73", "v"),
    "pt2pt": ("#CC79A7", "D"), "rmalock": ("#D55E00", "o"), "default": ("#666666", "x"), "mpich": ("#56B4E9", "*"),
}
MORE = [("#D55E00", "o"), ("#8C2D04", "P"), ("#F0A070", "X"), ("#0B3C5D", "1"), ("#999933", "h"),
        ("#882255", "<"), ("#332288", ">"), ("#44AA99", "p"), ("#AA4499", "d")]
CALL_COLORS = {"computation": "#DDDDDD", "lock": "#D55E00", "get": "#0072B2", "unlock": "#E69F00",
               "flush": "#009E73", "sync": "#CC79A7", "barrier": "#777777"}
CALL_HATCHES = {"computation": "", "lock": "//", "get": "..", "unlock": "\\\\", "flush": "xx",
                "sync": "++", "barrier": ""}
plt.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True,
                     "axes.spines.top": False, "axes.spines.right": False,
                     "figure.constrained_layout.use": True, "hatch.linewidth": 0.5})


@dataclasses.dataclass(frozen=True)
class Measured:
    """Rows of one comparison's JSON document, by what they are of."""
    document: dict

    def components(self):
        return list(self.document["components"])

    def rows(self, case, metric=None, flavor=None):
        return [row for row in self.document["rows"]
                if row["key"]["case"] == case and row["value"]
                and metric in (None, row["key"]["metric"])
                and flavor in (None, row["key"]["flavor"])]

    def has(self, *cases):
        return any(self.rows(case) for case in cases)

    def events(self, case):
        return [event for event in self.document["runs"] if event["case"] == case]


def styles(components):
    """Distinct ones, the same for the same list."""
    taken = [STYLES[name] for name in components if name in STYLES]
    chosen, spare = {}, [each for each in MORE if each not in taken]
    for name in components:
        chosen[name] = STYLES.get(name) or (spare.pop(0) if spare else MORE[-1])
    return chosen


def errors(row, size=1.0):
    value = row["value"]
    return ((value["median"] - value["low"]) / size, (value["high"] - value["median"]) / size)


def axes_of(count, width=4.6, height=3.4, columns=None, **options):
    columns = columns or count
    lines = math.ceil(count / columns)
    figure, axes = plt.subplots(lines, columns, figsize=(width * columns, height * lines),
                                squeeze=False, **options)
    return figure, [axis for line in axes for axis in line]


def legend(figure, axes):
    """One for the figure, of what any panel shows."""
    known = {}
    for axis in axes:
        for handle, name in zip(*axis.get_legend_handles_labels()):
            known.setdefault(name, handle)
    if known:
        figure.legend(known.values(), known.keys(), loc="upper center", ncol=min(5, len(known)), frameon=False,
                      bbox_to_anchor=(0.5, 0.0))


def lines(axis, rows, components, x_of, scale=1.0, places=None, **options):
    """One line with error bars for each component; x from x_of(row), or its place among `places`."""
    chosen = styles(components)
    for number, component in enumerate(components):
        points = sorted(((x_of(row), row) for row in rows if row["component"] == component),
                        key=lambda point: point[0])
        if not points:
            continue
        beside = 0.035 * (number - (len(components) - 1) / 2)  # so that error bars stay apart
        at = [places.index(x) + beside if places else x for x, _ in points]
        color, marker = chosen[component]
        axis.errorbar(at, [row["value"]["median"] / scale for _, row in points],
                      yerr=list(zip(*(errors(row, scale) for _, row in points))), label=component,
                      color=color, marker=marker, markersize=4.5, linewidth=1.2, capsize=2,
                      **options)
    if places:
        axis.xaxis.set_major_locator(FixedLocator(range(len(places))))
        axis.set_xticklabels([f"{place:g}" for place in places])


def size_axis(axis, rows):
    sizes = sorted({row["key"]["params"]["size"] for row in rows})
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_locator(FixedLocator(sizes))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda size, _: human_size(int(size))))
    axis.set_xlabel("bytes")


def log_axis(axis, which, text):
    """Labels at 1, 2 and 5 of each decade, where they fit."""
    (axis.set_yscale if which == "y" else axis.set_xscale)("log")
    one = axis.yaxis if which == "y" else axis.xaxis
    low, high = one.get_view_interval()
    subs = (1, 2, 5) if high / max(low, 1e-12) < 200 else (1,)
    one.set_major_locator(LogLocator(subs=subs, numticks=20))
    one.set_minor_formatter(NullFormatter())
    one.set_major_formatter(FuncFormatter(text))


def time_axis(axis, which="y"):
    def text(value, _):
        unit, size = scaled_unit(value, "ns")
        return f"{value / size:g} {unit}"
    log_axis(axis, which, text)


def count_axis(axis):
    log_axis(axis, "y", lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")


def share_axis(axis):
    """Percent; what lies outside is noise, but is shown."""
    low, high = axis.get_ylim()
    axis.set_ylim(min(-4, low), max(104, high))
    axis.set_ylabel("latency hidden, %")


# --- the figures -----------------------------------------------------------------------------------

def calls(measured, cases):
    """A dot for each call and component, on a logarithmic axis."""
    cases = [case for case in cases if measured.rows(case, flavor="allocate")]
    if not cases:
        return None
    figure, (axis,) = axes_of(1, 8.6, 1.2 + 0.32 * len(cases))
    components = measured.components()
    for number, (component, (color, marker)) in enumerate(styles(components).items()):
        rows = [(cases.index(case), row) for case in cases
                for row in measured.rows(case, flavor="allocate")
                if row["component"] == component]
        if rows:
            shift = 0.5 * (number / max(1, len(components) - 1) - 0.5)
            axis.errorbar([row["value"]["median"] for _, row in rows],
                          [place + shift for place, _ in rows],
                          xerr=list(zip(*(errors(row) for _, row in rows))), fmt=marker,
                          color=color, label=component, markersize=4.5, capsize=2, linewidth=1)
    time_axis(axis, "x")
    axis.set_yticks(range(len(cases)), cases)
    axis.set_ylim(len(cases) - 0.4, -0.6)
    axis.set_xlabel("time per operation")
    legend(figure, [axis])
    return figure


def transfers(measured):
    if not measured.has("lock_put_unlock", "lock_get_unlock"):
        return None
    figure, axes = axes_of(2)
    for axis, case in zip(axes, ("lock_put_unlock", "lock_get_unlock")):
        rows = measured.rows(case, "latency", "allocate")
        lines(axis, rows, measured.components(), lambda row: row["key"]["params"]["size"])
        size_axis(axis, rows)
        axis.tick_params(axis="x", labelsize=7.5)
        time_axis(axis)
        axis.set_title(case)
    legend(figure, axes)
    return figure


def overlap_curves(axis, measured, case, size):
    """The total against the computation inside the epoch, both in bare latencies."""
    chosen = styles(measured.components())
    for component, (color, marker) in chosen.items():
        curves = [event["curve"] for event in measured.events(case)
                  if event["component_row"] == component and "curve" in event
                  and event["params"]["size"] == size]
        if not curves:
            continue
        middle = [sorted(values)[len(values) // 2] for values in zip(*curves)]
        share = [step / (len(middle) - 1) for step in range(len(middle))]
        axis.plot(share, middle, color=color, marker=marker, markersize=3.5, linewidth=1.2,
                  label=component)
    axis.plot([0, 1], [1, 2], color="#999999", linestyle=":", label="nothing hidden")
    axis.axhline(1, color="#999999", linestyle="--", linewidth=1, label="all hidden")
    axis.set_xlabel("computation before the unlock / bare latency")
    axis.set_ylabel("total / bare latency")
    axis.set_title(f"{case}, {human_size(size)}")


def overlap(measured):
    if not measured.has("overlap_put", "overlap_get"):
        return None
    figure, axes = axes_of(4, columns=2)
    for number, case in enumerate(("overlap_put", "overlap_get")):
        rows = measured.rows(case, "hidden", "allocate")
        lines(axes[number], rows, measured.components(), lambda row: row["key"]["params"]["size"])
        size_axis(axes[number], rows)
        share_axis(axes[number])
        axes[number].set_title(case)
        sizes = sorted({row["key"]["params"]["size"] for row in rows})
        if sizes:
            overlap_curves(axes[2 + number], measured, case,
                           32768 if 32768 in sizes else sizes[-1])
    legend(figure, axes)
    return figure


def overlap_operations(measured):
    if not measured.has("overlap_ops_put", "overlap_ops_get"):
        return None
    figure, axes = axes_of(2)
    for axis, case in zip(axes, ("overlap_ops_put", "overlap_ops_get")):
        rows = measured.rows(case, "hidden", "allocate")
        places = sorted({row["key"]["params"]["operations"] for row in rows})
        lines(axis, rows, measured.components(),
              lambda row: row["key"]["params"]["operations"], places=places)
        axis.set_xlabel("operations of 32K in the epoch")
        share_axis(axis)
        axis.set_title(case)
    legend(figure, axes)
    return figure


def receiver(measured, case, x_name):
    if not measured.has(case):
        return None
    figure, axes = axes_of(2)
    for axis, metric in zip(axes, ("slowdown", "served")):
        rows = measured.rows(case, metric, "allocate")
        places = sorted({row["key"]["params"][x_name] for row in rows})
        grouped_bars(axis, rows, measured.components(), places,
                     lambda row: row["key"]["params"][x_name])
        axis.set_xticklabels([human_size(place) for place in places])
        axis.set_xlabel({"size": "bytes of each get", "origins": "origins"}[x_name])
        axis.set_title({"slowdown": "the target's computation, slower by",
                        "served": "epochs served meanwhile, per ms"}[metric])
    axes[0].axhline(1, color="#999999", linestyle="--", linewidth=1)
    axes[1].set_yscale("symlog", linthresh=0.1)
    legend(figure, axes)
    return figure


def busy(measured):
    """Every call against a target that computes: bars, a panel for each flavor."""
    flavors = [flavor for flavor in ("allocate", "create")
               if measured.rows("target_busy", flavor=flavor)]
    if not flavors:
        return None
    figure, axes = axes_of(len(flavors), sharey=True)
    components = measured.components()
    for axis, flavor in zip(axes, flavors):
        rows = measured.rows("target_busy", flavor=flavor)
        metrics = list(dict.fromkeys(row["key"]["metric"] for row in rows))
        grouped_bars(axis, rows, components, metrics, lambda row: row["key"]["metric"])
        axis.tick_params(axis="x", labelsize=7.5)
        axis.set_title(f"MPI_Win_{flavor}")
        time_axis(axis)
    legend(figure, axes)
    return figure


def grouped_bars(axis, rows, components, groups, group_of):
    width = 0.8 / len(components)
    for number, (component, (color, _)) in enumerate(styles(components).items()):
        mine = {group_of(row): row for row in rows if row["component"] == component}
        at = [place for place, group in enumerate(groups) if group in mine]
        if at:
            shown = [mine[groups[place]] for place in at]
            axis.bar([place + (number + 0.5) * width - 0.4 for place in at],
                     [row["value"]["median"] for row in shown], width,
                     yerr=list(zip(*(errors(row) for row in shown))), color=color, capsize=2,
                     label=component, error_kw={"linewidth": 0.8})
    axis.set_xticks(range(len(groups)), groups)
    axis.grid(axis="x", visible=False)


LOCK_CASES = ("lb", "ecsb", "sob", "wcsb", "warb")


def writers_axis(axis, rows, components, scale=1.0, **options):
    places = sorted({row["key"]["params"]["writers"] for row in rows})
    lines(axis, rows, components, lambda row: row["key"]["params"]["writers"], scale, places,
          **options)
    axis.set_xlabel("exclusive locks, %")


def locks(measured):
    if not measured.has(*LOCK_CASES):
        return None
    figure, axes = axes_of(5, 3.9, 3.2, columns=3)
    axes.pop().set_axis_off()  # five panels of six
    for axis, case in zip(axes, LOCK_CASES):
        metric = "latency" if case == "lb" else "throughput"
        writers_axis(axis, measured.rows(case, metric), measured.components())
        axis.set_title(case.upper())
        if case == "lb":
            time_axis(axis)
            axis.set_ylabel("mean latency")
        else:
            count_axis(axis)
            axis.set_ylabel("locks per ms")
    legend(figure, axes)
    return figure


def fairness(measured):
    if not measured.has(*LOCK_CASES):
        return None
    figure, axes = axes_of(5, 3.9, 2.9, columns=3)
    axes.pop().set_axis_off()  # five panels of six
    for axis, case in zip(axes, LOCK_CASES):
        writers_axis(axis, measured.rows(case, "fairness"), measured.components())
        axis.set_title(case.upper())
        axis.set_ylim(-0.03, 1.05)
        axis.set_ylabel("fewest / most locks of a rank")
    legend(figure, axes)
    return figure


def longest(measured):
    """What the latency benchmark's mean hides."""
    if not measured.rows("lb", "longest"):
        return None
    figure, axes = axes_of(3, 3.9, 3.0)
    for axis, metric, title in zip(axes, ("latency_shared", "latency_exclusive", "longest"),
                                   ("shared, mean", "exclusive, mean", "longest of all")):
        writers_axis(axis, measured.rows("lb", metric), measured.components())
        time_axis(axis)
        axis.set_title(f"LB, {title}")
    legend(figure, axes)
    return figure


def thresholds(measured):
    """A panel for each threshold; the value that is set stands first."""
    rows = measured.rows("sob", "throughput")
    settings = {}  # threshold -> values, from rows such as rmalock/pf_mcs/t_w=16
    for name in measured.components():
        threshold, equals, value = name.rpartition("/")[2].partition("=")
        if equals:
            settings.setdefault(threshold, []).append((value, name))
    if not rows or not settings:
        return None
    start = measured.components()[0]
    figure, axes = axes_of(len(settings), 3.6, 3.0, sharey=True)
    for axis, (threshold, values) in zip(axes, settings.items()):
        names = [start] + [name for _, name in values]
        for number, writers in enumerate(sorted({row["key"]["params"]["writers"]
                                                 for row in rows})):
            mine = {row["component"]: row for row in rows
                    if row["key"]["params"]["writers"] == writers}
            at = [place for place, name in enumerate(names) if name in mine]
            shown = [mine[names[place]] for place in at]
            axis.errorbar(at, [row["value"]["median"] for row in shown],
                          yerr=list(zip(*(errors(row) for row in shown))) or None, capsize=2,
                          color=MORE[3 * number % len(MORE)][0],
                          marker=MORE[3 * number % len(MORE)][1], markersize=4.5, linewidth=1.2,
                          label=f"{writers:g} % exclusive")
        axis.set_xticks(range(len(names)), ["as set"] + [value for value, _ in values])
        axis.set_title(f"{threshold.upper()} of {start.partition('/')[2]}")
        count_axis(axis)
    axes[0].set_ylabel("locks per ms")
    legend(figure, axes)
    return figure


def hashtable(measured):
    if not measured.has("dht_atomics", "dht_locks"):
        return None
    figure, axes = axes_of(2, sharey=True)
    for axis, case, title in zip(axes, ("dht_locks", "dht_atomics"),
                                 ("with MPI locks", "atomics only")):
        writers_axis(axis, measured.rows(case, "total"), measured.components())
        axis.set_xlabel("inserts, %")
        axis.set_title(title)
        time_axis(axis)
    axes[0].set_ylabel("500 operations of each process")
    legend(figure, axes)
    return figure


def lu_bars(axis, rows, components):
    """Stacked: the processes' average in each call. The total has the error bar."""
    by = {(row["component"], row["key"]["metric"]): row for row in rows}
    shown = [name for name in components if (name, "total") in by]
    base = [0.0] * len(shown)
    for call, color in CALL_COLORS.items():
        heights = [by[name, call]["value"]["median"] / 1e6 if (name, call) in by else 0.0
                   for name in shown]
        if any(heights):
            axis.bar(range(len(shown)), heights, 0.7, bottom=base, color=color, label=call,
                     hatch=CALL_HATCHES[call], edgecolor="white", linewidth=0.3)
        base = [low + height for low, height in zip(base, heights)]
    totals = [by[name, "total"] for name in shown]
    axis.errorbar(range(len(shown)), [row["value"]["median"] / 1e6 for row in totals],
                  yerr=list(zip(*(errors(row, 1e6) for row in totals))), fmt="_", color="black",
                  capsize=3, linewidth=1, markersize=14, label="total of the slowest rank")
    axis.set_xticks(range(len(shown)), shown, rotation=30, ha="right", fontsize=8)
    axis.set_ylabel("ms")
    axis.grid(axis="x", visible=False)


def lu_calls(axis, rows, components):
    """What the stacked bars hide where a call is cheap: each call on a logarithmic axis."""
    metrics = {row["key"]["metric"] for row in rows}
    grouped_bars(axis, [row for row in rows if row["key"]["metric"] in CALL_COLORS], components,
                 [call for call in CALL_COLORS if call in metrics],
                 lambda row: row["key"]["metric"])
    axis.tick_params(axis="x", labelsize=7.5, rotation=30)
    time_axis(axis)


def lu(measured, draw=lu_bars):
    cases = [case for case in ("lu_exclusive", "lu_shared", "lu_lock_all") if measured.rows(case)]
    orders = sorted({row["key"]["params"]["order"] for case in cases
                     for row in measured.rows(case)})
    if not orders:
        return None
    figure, axes = axes_of(len(cases) * len(orders), 3.9, 3.2, columns=len(cases))
    panels = [(order, case) for order in orders for case in cases]
    for axis, (order, case) in zip(axes, panels):
        rows = [row for row in measured.rows(case) if row["key"]["params"]["order"] == order]
        draw(axis, rows, measured.components())
        axis.set_title(f"{case}, n = {order}")
    legend(figure, axes)
    return figure


def read(path):
    return Measured(json.loads(path.read_text()))
