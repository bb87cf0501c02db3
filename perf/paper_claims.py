"""What the RMA-RW paper claims of its locks, the simulations that tell, and what is made of them."""

import dataclasses
import typing

from simulated import Sweep

RANKS = (16, 64, 256, 1024, 4096, 16384, 65536)
TO_4096 = RANKS[:5]
TO_1024 = RANKS[:4]
LOW_WRITERS = (0.2, 2, 5)
HIGH_WRITERS = (30, 60, 100)
T_L = ("10", "25", "50")  # of level 2; T_W = 1000
T_DC = (2, 4, 8, 16, 32, 64)
NEVER = 1000000  # readers to a counter: a cap that no run reaches
T_R = (16, 64, 1000, 2000, NEVER)
READER_BATCH = (0, 16, 64, 1000)


def alone(lock):
    """As the paper has it: without the gate that MPI's lock_all needs beside a lock."""
    return f"{lock}/ungated"


SWEEPS = [
    Sweep(tuple(map(alone, ("rma_mcs", "d_mcs"))), ("LB",), TO_1024, (100,)),
    Sweep(("rma_mcs", "d_mcs", "auto"), ("LB",), RANKS, (100,)),
    # foMPI's processes poll: a thousand of them take some 540 verbs for an operation.
    Sweep((alone("fompi_spin"),), ("LB",), TO_1024[:3], (100,)),
    Sweep((alone("fompi_spin"),), ("LB",), TO_1024[3:], (100,), operations=10, one_seed=True),
    Sweep(("rma_rw", "auto"), ("ECSB",), RANKS, LOW_WRITERS),
    Sweep(("fompi_rw",), ("ECSB",), TO_1024, LOW_WRITERS),
    Sweep(("rma_rw",), ("ECSB",), TO_1024, HIGH_WRITERS),
    Sweep(("rma_mcs", "d_mcs"), ("ECSB", "SOB", "WCSB", "WARB"), TO_1024, (100,)),
    Sweep(("rma_rw", "fompi_rw", "auto"), ("SOB", "WCSB", "WARB"), TO_1024, (0.2,)),
    Sweep(("rma_rw",), ("SOB",), TO_1024[1:], (25,), ("--t-l", *T_L, "--t-w", "1000")),
    Sweep(("rma_rw",), ("SOB",), TO_4096[1:], (2,), ("--t-dc", *map(str, T_DC))),
    # So many operations that each counter has 4,000 readers.
    Sweep(("rma_rw",), ("ECSB",), TO_1024[2:], LOW_WRITERS, ("--t-r", *map(str, T_R)), operations=250, one_seed=True),
    Sweep(("rma_rw",), ("ECSB",), TO_4096[2:], LOW_WRITERS, ("--reader-batch", *map(str, READER_BATCH))),
    Sweep(("rma_rw", "auto"), ("DHT",), TO_1024, (0, 2, 5, 20)),
    Sweep(("fompi_rw",), ("DHT",), TO_1024[:3], (0, 2, 5, 20)),
    Sweep(("fompi_rw",), ("DHT",), TO_1024[3:], (0, 2, 5, 20), operations=10, one_seed=True),
    Sweep(("fompi_rw",), ("DHTA",), TO_1024, (0, 2, 5, 20)),
]


COLUMNS = ("claim", "conditions", "ours", "verdict", "reason where it differs")


@dataclasses.dataclass(frozen=True)
class Claim:
    text: str
    conditions: str
    judge: typing.Callable  # of Cells; returns what is ours, and whether it holds; None: not run
    reason: str  # if it differs


def ratio(above, below):
    """Of two Spreads, of their medians, or None."""
    return above.median / below.median if above and below else None


def known(values):
    return [value for value in values if value is not None]


def about(claimed, measured):
    """Within a factor of 1.5."""
    return claimed / 1.5 <= measured <= claimed * 1.5


def turnaround_to_rma_mcs(other, claimed):
    def judge(cells):
        at = {"benchmark": "LB", "f_w": 1, "ranks": 1024}
        found = ratio(cells.turnaround(lock=alone(other), **at), cells.turnaround(lock=alone("rma_mcs"), **at))
        return ("", None) if found is None else (f"{found:.1f}x", about(claimed, found))
    return judge


def default_rw(cells, lock, ranks, writers, benchmark="ECSB"):
    return cells.throughput(lock=lock, benchmark=benchmark, ranks=ranks, f_w=writers / 100, t_l="auto",
                            t_dc=0, t_r=0, reader_batch=0, t_w=0)


def ahead_of_fompi_rw(cells):
    found = {(ranks, writers): ratio(default_rw(cells, "rma_rw", ranks, writers),
                                     default_rw(cells, "fompi_rw", ranks, writers))
             for ranks in TO_4096[1:] for writers in LOW_WRITERS}
    found = {key: value for key, value in found.items() if value is not None}
    if not found:
        return "", None
    (ranks, writers), least = min(found.items(), key=lambda item: item[1])
    return (f"{least:.1f}x (P = {ranks}, {writers} %) to {max(found.values()):.0f}x", least > 6)


def between_writers(writers, most):
    def judge(cells):
        found = known(ratio(default_rw(cells, "rma_rw", ranks, 0.2),
                            default_rw(cells, "rma_rw", ranks, writers)) for ranks in TO_1024)
        if not found:
            return "", None
        return f"{min(found):.1f}x to {max(found):.1f}x", max(found) <= 1.1 * most
    return judge


def flat_above_30(cells):
    found = []
    for ranks in TO_1024:
        values = known(default_rw(cells, "rma_rw", ranks, writers) for writers in HIGH_WRITERS)
        if len(values) == len(HIGH_WRITERS):
            medians = [value.median for value in values]
            found.append(max(medians) / min(medians))
    return ("", None) if not found else (f"up to {max(found):.1f}x apart", max(found) <= 1.25)


def t_l_figures(cells, ranks):
    return {t_l: cells.throughput(lock="rma_rw", benchmark="SOB", ranks=ranks, f_w=0.25, t_l=t_l, t_w=1000)
            for t_l in T_L}


def t_l_apart(cells):
    found, highest = [], []
    for ranks in TO_1024[1:]:
        figures = t_l_figures(cells, ranks)
        if None in figures.values():
            continue
        medians = {t_l: figure.median for t_l, figure in figures.items()}
        found.append(max(medians.values()) / min(medians.values()) - 1)
        highest.append(max(medians, key=medians.get))
    if not found:
        return "", None
    return (f"up to {100 * max(found):.0f} % apart; highest: {', '.join(highest)}",
            max(found) <= 0.25 and set(highest) == {"50"})


def t_dc_best(cells):
    best = {}
    for ranks in TO_4096[1:]:
        figures = {t_dc: cells.throughput(lock="rma_rw", benchmark="SOB", ranks=ranks, f_w=0.02, t_dc=t_dc)
                   for t_dc in T_DC}
        figures = {t_dc: figure.median for t_dc, figure in figures.items() if figure}
        if figures.get(16):
            best[ranks] = (max(figures, key=figures.get), max(figures.values()) / figures[16])
    if not best:
        return "", None
    return ("; ".join(f"P = {ranks}: best {t_dc}, {100 * (gain - 1):.0f} % above 16"
                      for ranks, (t_dc, gain) in best.items()),
            all(gain <= 1.1 for _, gain in best.values()))


def capped(cells, ranks, writers, t_r):
    return cells.throughput(lock="rma_rw", benchmark="ECSB", ranks=ranks, f_w=writers / 100, t_r=t_r,
                            reader_batch=0, t_l="auto", t_w=0)


def cap_on_readers(cells):
    """How far the paper's values are apart, and what the two lose that lose in the paper."""
    apart, lost = [], []
    for ranks in TO_1024[2:]:
        for writers in LOW_WRITERS:
            figures = {t_r: capped(cells, ranks, writers, t_r) for t_r in T_R}
            if None in figures.values():
                continue
            medians = {t_r: figure.median for t_r, figure in figures.items()}
            if writers != LOW_WRITERS[0]:
                large = [medians[t_r] for t_r in (1000, 2000, NEVER)]
                apart.append(max(large) / min(large) - 1)
            elif ranks > 512:
                lost += [1 - medians[t_r] / medians[NEVER] for t_r in (1000, 2000)]
    if not apart or not lost:
        return "", None
    return (f"2 and 5 %: up to {100 * max(apart):.0f} %; 0.2 %: 1000 and 2000 lose {100 * min(lost):.0f} to "
            f"{100 * max(lost):.0f} %", max(apart) < 0.01 and min(lost) > 0.01)


def dht_figures(cells, lock, ranks, writers):
    """`atomics`: foMPI-A, which takes no lock."""
    benchmark = {"benchmark": "DHTA"} if lock == "atomics" else {"benchmark": "DHT", "lock": lock}
    return cells.throughput(ranks=ranks, f_w=writers / 100, **benchmark)


def dht_ahead(other, name):
    def judge(cells):
        found = known(ratio(dht_figures(cells, "rma_rw", ranks, writers), dht_figures(cells, other, ranks, writers))
                      for ranks in TO_1024[1:] for writers in (2, 5, 20))
        if not found:
            return "", None
        return f"{min(found):.1f}x to {max(found):.1f}x of {name}'s operations", min(found) > 1
    return judge


def dht_equal(cells):
    found = known(ratio(dht_figures(cells, "rma_rw", 1024, 0), dht_figures(cells, other, 1024, 0))
                  for other in ("fompi_rw", "atomics"))
    if len(found) != 2:
        return "", None
    return (f"{found[0]:.1f}x foMPI-RW's, {found[1]:.1f}x foMPI-A's",
            all(1 / 1.25 <= value <= 1.25 for value in found))


CLAIMS = [
    Claim("RMA-MCS's latency is some 10x below foMPI-Spin's", "P = 1024, LB; locks alone",
          turnaround_to_rma_mcs("fompi_spin", 10),
          "all polls queue at one adapter, which takes 0.54 us for each, and the shipped back-off ends at some 4 us; "
          "the paper does not say how its spin lock backs off"),
    Claim("RMA-MCS's latency is some 4x below D-MCS's", "P = 1024, LB; locks alone", turnaround_to_rma_mcs("d_mcs", 4),
          "no reason found"),
    Claim("RMA-RW has more than 6x foMPI-RW's throughput", "ECSB, P >= 64, F_W 0.2, 2, 5 %", ahead_of_fompi_rw,
          "64 processes are 4 nodes with a counter each, so readers gain little more than 4x"),
    Claim("RMA-RW: F_W 0.2 % has at most 1.8x the throughput of 2 %", "ECSB, P <= 1024", between_writers(2, 1.8),
          "no reason found"),
    Claim("RMA-RW: F_W 0.2 % has at most 4.4x the throughput of 5 %", "ECSB, P <= 1024", between_writers(5, 4.4),
          "no reason found"),
    Claim("RMA-RW: flat above F_W = 30 %", "ECSB, 30, 60, 100 %", flat_above_30, "no reason found"),
    Claim("T_L,2 x T_L,1 of 10x100, 25x40, 50x20: at most 25 % apart, 50x20 highest", "SOB, F_W = 25 %",
          t_l_apart, "25x40 and 50x20 differ by less than their seeds do; 10x100 is the lowest, as in the paper"),
    Claim("T_DC: one counter a node is the best default", "SOB, F_W = 2 %; 16 processes a node", t_dc_best,
          "each counter is two more atomics of the writer, so fewer counters pay where there are many nodes; the "
          "paper sees that from P = 512 on with a counter on every second node"),
    Claim("T_R, a cap on the readers of a counter: below 1 % at F_W 2 and 5 %; 1000 and 2000 lose above P = 512 at "
          "0.2 %", "ECSB, P = 256, 1024; T_R 16 to 2000 beside one that is never reached", cap_on_readers,
          "1000 and 2000 are not reached between two resets; at a cap of 16 our reader waits up to 50 us for a writer "
          "that may be about to leave, which costs a half and more"),
    Claim("DHT: RMA-RW ahead of foMPI-A", "F_W 2, 5, 20 %; P >= 64", dht_ahead("atomics", "foMPI-A"),
          "foMPI-A's look-up is one get, which an adapter serves in 40 ns; RMA-RW is ahead only once inserts collide "
          "often: many processes, many inserts"),
    Claim("DHT: RMA-RW ahead of foMPI-RW", "F_W 2, 5, 20 %; P >= 64", dht_ahead("fompi_rw", "foMPI-RW"),
          "no reason found"),
    Claim("DHT: all equal without inserts", "F_W 0 %, P = 1024", dht_equal,
          "each of foMPI-RW's readers takes two atomics at one adapter, 0.54 us each: 0.9 million a second"),
]


def table(cells, claims=tuple(CLAIMS)):
    """(claim, conditions, ours, verdict, reason) of each."""
    lines = []
    for claim in claims:
        ours, holds = claim.judge(cells)
        verdict = "not run" if holds is None else "holds" if holds else "differs"
        lines.append((claim.text, claim.conditions, ours, verdict, claim.reason if verdict == "differs" else ""))
    return lines


def markdown(lines):
    head = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|\n"
    return head + "".join(f"| {' | '.join(line)} |\n" for line in lines)
