"""Pictures of simulated cells, as the RMA-RW paper's figures 3 to 6, ALock's 5 and 6, and N-CoSED's 7. Each takes Cells and returns a
matplotlib figure, or None if nothing of it was run."""

import alock_claims
import n_cosed_claims
import page
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from paper_claims import (HIGH_WRITERS, LOW_WRITERS, NEVER, RANKS, READER_BATCH, T_DC, T_L, T_R, TO_1024, TO_4096,
                          alone, capped, dht_figures)
from plots import axes_of, legend

STYLES = {"auto": ("#D55E00", "o"), "rma_rw": ("#0072B2", "s"), "rma_mcs": ("#009E73", "^"),
          "d_mcs": ("#E69F00", "v"), "fompi_rw": ("#CC79A7", "D"), "fompi_spin": ("#666666", "x"),
          "atomics": ("#000000", "*")}
STYLES |= {alone("rma_mcs"): ("#0B3C5D", "<"), alone("d_mcs"): ("#999933", ">"),
           alone("fompi_spin"): STYLES["fompi_spin"], alone("alock"): ("#332288", "P"),
           alone("pf_cohort"): STYLES["auto"], alone("rma_rw"): STYLES["rma_rw"],
           alone("pf_alock"): ("#44AA99", "h"), alone("n_cosed"): ("#882255", "p"), alone("dqnl"): ("#8C2D04", "1"),
           alone("srsl"): ("#E69F00", "2")}
MORE = [("#0B3C5D", "1"), ("#882255", "<"), ("#999933", "h"), ("#44AA99", "p"), ("#332288", ">"),
        ("#8C2D04", "P")]


def line(axis, points, label, style):
    """`points`: x and Spread, which may be None. Whether there is one."""
    points = [(x, spread) for x, spread in points if spread]
    if not points:
        return False
    color, marker = style
    axis.errorbar([x for x, _ in points], [spread.median for _, spread in points],
                  yerr=[[spread.median - spread.low for _, spread in points],
                        [spread.high - spread.median for _, spread in points]],
                  label=label, color=color, marker=marker, markersize=4.5, linewidth=1.2, capsize=2)
    return True


def ranks_axis(axis, ranks, text, across):
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_locator(FixedLocator(ranks))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{int(value):,}"))
    axis.tick_params(axis="x", labelsize=7.5)
    axis.set_yscale("log")
    axis.set_xlabel(across)
    axis.set_ylabel(text)


def panels(cells, titles, ranks, text, draw, columns=None, across="processes"):
    """`draw(axis, title)` returns whether it has drawn."""
    figure, axes = axes_of(len(titles), 3.6, 3.1, columns=columns)
    drawn = False
    for axis, title in zip(axes, titles):
        drawn = draw(axis, title) or drawn
        axis.set_title(str(title))
        ranks_axis(axis, ranks, text, across)
    for axis in axes[len(titles):]:
        axis.set_visible(False)
    if not drawn:
        plt.close(figure)
        return None
    legend(figure, axes)
    return figure


def of_locks(axis, locks, ranks, figure_of):
    """`figure_of(lock, ranks)` returns a Spread, or None."""
    return any([line(axis, [(p, figure_of(lock, p)) for p in ranks], lock, STYLES[lock])
                for lock in locks])


def latency(cells):
    return panels(cells, ["LB: a process's time for an operation"], RANKS, "us", lambda axis, _: of_locks(
        axis, (*map(alone, ("rma_mcs", "d_mcs", "fompi_spin")), "rma_mcs", "d_mcs", "auto"), RANKS,
        lambda lock, p: cells.turnaround(lock=lock, benchmark="LB", ranks=p, f_w=1)))


def writers_only(cells):
    return panels(cells, ("ECSB", "SOB", "WCSB", "WARB"), TO_1024, "operations/s", lambda axis, name: of_locks(
        axis, ("rma_mcs", "d_mcs"), TO_1024,
        lambda lock, p: cells.throughput(lock=lock, benchmark=name, ranks=p, f_w=1)), columns=2)


def fractions(cells):
    titles = {f"F_W = {writers} %": writers for writers in LOW_WRITERS}
    return panels(cells, list(titles), RANKS, "operations/s", lambda axis, title: of_locks(
        axis, ("rma_rw", "fompi_rw", "auto"), RANKS,
        lambda lock, p: cells.throughput(lock=lock, benchmark="ECSB", ranks=p, f_w=titles[title] / 100,
                                         t_r=0, reader_batch=0, t_dc=0, t_w=0)))


def many_writers(cells):
    def draw(axis, _):
        return any([line(axis, [(p, cells.throughput(lock="rma_rw", benchmark="ECSB", ranks=p, t_r=0,
                                                     reader_batch=0, f_w=writers / 100)) for p in TO_1024],
                         f"F_W = {writers} %", style)
                    for writers, style in zip((*LOW_WRITERS, *HIGH_WRITERS), MORE)])
    return panels(cells, ["rma_rw, ECSB"], TO_1024, "operations/s", draw)


def benchmarks(cells):
    return panels(cells, ("SOB", "WCSB", "WARB"), TO_1024, "operations/s", lambda axis, name: of_locks(
        axis, ("rma_rw", "fompi_rw", "auto"), TO_1024,
        lambda lock, p: cells.throughput(lock=lock, benchmark=name, ranks=p, f_w=0.002)))


def of_values(cells, ranks, text, values, label, find):
    def draw(axis, _):
        return any([line(axis, [(p, find(p, value)) for p in ranks], label(value), style)
                    for value, style in zip(values, MORE)])
    return panels(cells, [text], ranks, "operations/s", draw)


def t_l(cells):
    return of_values(cells, TO_1024[1:], "rma_rw, SOB, F_W = 25 %, T_W = 1000", T_L,
                     lambda value: f"T_L,2 = {value}, T_L,1 = {1000 // int(value)}",
                     lambda p, value: cells.throughput(lock="rma_rw", benchmark="SOB", ranks=p, f_w=0.25,
                                                       t_l=value, t_w=1000))


def t_dc(cells):
    return of_values(cells, TO_4096[1:], "rma_rw, SOB, F_W = 2 %", T_DC,
                     lambda value: f"{value} processes a counter",
                     lambda p, value: cells.throughput(lock="rma_rw", benchmark="SOB", ranks=p, f_w=0.02,
                                                       t_dc=value))


def t_r(cells):
    return of_values(cells, TO_1024[2:], "rma_rw, ECSB, F_W = 0.2 %: a cap on the readers of a counter", T_R,
                     lambda value: f"{value} readers" if value < NEVER else "never reached",
                     lambda p, value: capped(cells, p, 0.2, value))


def reader_batch(cells):
    return of_values(cells, TO_4096[2:], "rma_rw, ECSB, F_W = 0.2 %: a wait for readers", READER_BATCH,
                     lambda value: f"{value} readers",
                     lambda p, value: cells.throughput(lock="rma_rw", benchmark="ECSB", ranks=p, f_w=0.002,
                                                       t_r=0, reader_batch=value, t_l="auto", t_w=0))


def hashtable(cells):
    titles = {f"{writers} % inserts": writers for writers in (0, 2, 5, 20)}
    return panels(cells, list(titles), TO_1024, "operations/s", lambda axis, title: of_locks(
        axis, ("rma_rw", "fompi_rw", "atomics", "auto"), TO_1024,
        lambda lock, p: dht_figures(cells, lock, p, titles[title])), columns=2)


def lock_table(cells):
    """At 95 % local operations; all of the rest is on other nodes."""
    titles = {f"{locks:,} locks, 95 % local": locks for locks in alock_claims.LOCKS}
    ranks = [nodes * alock_claims.OF_A_NODE for nodes in alock_claims.NODES]
    return panels(cells, list(titles), ranks, "operations/s", lambda axis, title: of_locks(
        axis, map(alone, (alock_claims.OURS, "d_mcs", "fompi_spin", "pf_cohort", "pf_alock")), ranks,
        lambda lock, p: cells.throughput(**alock_claims.cell(lock.removesuffix(alone("")),
                                                             p // alock_claims.OF_A_NODE, titles[title], 95))))


PARTS = [part / 20 for part in range(1, 20)]


def latencies(axis, cells, locks, local):
    """The part of the operations that take no longer, by the time; mean of the seeds. Whether there is one."""
    for lock in map(alone, (alock_claims.OURS, *alock_claims.RIVALS.values(), "pf_cohort", "pf_alock")):
        rows = cells.find(outcome="ok", **alock_claims.cell(lock.removesuffix(alone("")), 20, locks, local))
        seeds = [map(float, row["twentieths_us"].split("/")) for row in rows]
        if seeds:
            color, marker = STYLES[lock]
            axis.plot([sum(times) / len(times) for times in zip(*seeds)], PARTS, label=lock, color=color, marker=marker,
                      markersize=3, linewidth=1.2)
    axis.set_xscale("log")
    axis.set_title(f"{locks:,} locks, {local} % local")
    axis.set_xlabel("us")
    axis.set_ylabel("part of the operations")
    return bool(axis.lines)


def lock_table_latencies(cells):
    titles = [(locks, local) for local in (100, 85) for locks in alock_claims.LOCKS]
    figure, axes = axes_of(len(titles), 3.6, 3.1, columns=3)
    if not any([latencies(axis, cells, *title) for axis, title in zip(axes, titles)]):
        plt.close(figure)
        return None
    legend(figure, axes)
    return figure


def cascades(cells):
    titles = {"shared": n_cosed_claims.SHARED, "exclusive": n_cosed_claims.EXCLUSIVE}

    def draw(axis, title):
        return of_locks(axis, map(alone, n_cosed_claims.LOCKS), n_cosed_claims.WAITERS, lambda lock, n: cells.spread(
            "latency_us", **n_cosed_claims.cell(lock.removesuffix(alone("")), n, titles[title])))
    return panels(cells, list(titles), n_cosed_claims.WAITERS, "us until all have had the lock", draw, across="waiters")


FIGURES = [
    ("sim_latency", "Figure 3: latency of locks without a shared mode.", latency),
    ("sim_writers", "Figure 3: their throughput.", writers_only),
    ("sim_fractions", "Figure 5: throughput with few writers.", fractions),
    ("sim_many_writers", "Section 5.2.4: throughput of RMA-RW with more writers.", many_writers),
    ("sim_benchmarks", "Figure 5: other benchmarks, F_W = 0.2 %.", benchmarks),
    ("sim_t_l", "Figure 4c: passings within a node and between nodes.", t_l),
    ("sim_t_dc", "Figure 4a: processes that share a counter.", t_dc),
    ("sim_t_r", "Figure 4e: a cap on the readers of a counter.", t_r),
    ("sim_reader_batch", "Not in the paper: a writer waits for readers.", reader_batch),
    ("sim_hashtable", "Figure 6: the hashtable; atomics: foMPI-A.", hashtable),
    ("sim_cascades", "N-CoSED's figure 7: a cascade of shared, and of exclusive, waiters on a node each.", cascades),
    ("sim_locks", "ALock's figure 5: a table of locks on nodes of 12 processes.", lock_table),
    ("sim_lock_latencies", "ALock's figure 6: latency of lock and unlock, on 20 nodes of 12 processes.", lock_table_latencies),
]


def draw(cells, folder):
    """(PNG, caption) of each picture, which is left in the folder as well."""
    pictures = []
    for name, caption, drawing in FIGURES:
        figure = drawing(cells)
        if figure is not None:
            png = page.picture(figure)
            (folder / f"{name}.png").write_bytes(png)
            pictures.append((png, caption))
    return pictures
