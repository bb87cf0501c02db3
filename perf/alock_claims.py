"""What the ALock paper claims of its lock table (SPAA 2024, section 6), the simulations that tell, and what is made of
them. Locks alone, without the gate that MPI's lock_all needs beside a lock; cost model cray, adapters do the atomics."""

import statistics

from paper_claims import Claim, about, alone, known, ratio
from simulated import Sweep

NODES = (5, 10, 20)
OF_A_NODE = 12
LOCKS = (20, 100, 1000)
LOCAL = (85, 90, 95, 100)
SHARED = LOCAL[:-1]  # some of a node's locks are taken from elsewhere
OURS = "alock"
RIVALS = {"MCS": "d_mcs", "spin": "fompi_spin"}
OPERATIONS = 200
EQUAL = 0.97


def sweep(locks, nodes, options, of_a_node=OF_A_NODE):
    return Sweep(tuple(map(alone, locks)), ("LOCKS",), tuple(n * of_a_node for n in nodes), (100,), options,
                 ranks_per_node=(of_a_node,), operations=OPERATIONS)


def table_options(locks, local):
    return ("--locks", *map(str, locks), "--local", *map(str, local))


SWEEPS = [
    sweep((OURS, *RIVALS.values(), "pf_cohort", "pf_alock"), NODES, table_options(LOCKS, LOCAL)),
    sweep((OURS,), NODES[-1:], (*table_options(LOCKS[:2], SHARED), "--budget-remote", "5")),
    sweep((OURS, RIVALS["MCS"]), (10,), table_options(LOCKS[-1:], (85, 95)), of_a_node=8),
    sweep((OURS, *RIVALS.values()), (10,), table_options(LOCKS[:1], (100,)), of_a_node=8),
]


def cell(lock, nodes, locks, local, of_a_node=OF_A_NODE, budget_remote=20):
    return {"benchmark": "LOCKS", "lock": alone(lock), "ranks": nodes * of_a_node, "ranks_per_node": of_a_node,
            "locks": locks, "local": local / 100, "budget_remote": budget_remote}


def rates(cells, above, below, nodes, locks, local):
    """Of each cell: its name, and how often `below` has to be taken for `above`."""
    found = {(n, k, share): ratio(cells.throughput(**cell(above, n, k, share)),
                                  cells.throughput(**cell(below, n, k, share)))
             for n in nodes for k in locks for share in local}
    return {key: value for key, value in found.items() if value is not None}


def up_to(claimed, nodes, locks, local):
    """`claimed`: of each rival, how many times its throughput ALock has at most."""
    def judge(cells):
        texts, holds = [], []
        for name, most in claimed.items():
            found = rates(cells, OURS, RIVALS[name], nodes, locks, local)
            if not found:
                return "", None
            texts.append(f"{min(found.values()):.1f}x to {max(found.values()):.1f}x {name}'s")
            holds.append(about(most, max(found.values())))
        return ", ".join(texts), all(holds)
    return judge


def latency(claimed):
    """`claimed`: by the part of local operations, MCS's mean latency by ALock's."""
    def judge(cells):
        texts, holds = [], []
        for local, times in claimed.items():
            at = {"nodes": 10, "locks": 1000, "local": local, "of_a_node": 8}
            found = ratio(cells.spread("latency_us", **cell(RIVALS["MCS"], **at)),
                          cells.spread("latency_us", **cell(OURS, **at)))
            if found is None:
                return "", None
            texts.append(f"{local} %: {found:.2f}x")
            holds.append(about(times, found))
        return ", ".join(texts), all(holds)
    return judge


def local_latency(cells):
    at = {"nodes": 10, "locks": LOCKS[0], "local": 100, "of_a_node": 8}
    found = {name: ratio(cells.spread("latency_us", **cell(rival, **at)), cells.spread("latency_us", **cell(OURS, **at)))
             for name, rival in RIVALS.items()}
    if None in found.values():
        return "", None
    return (", ".join(f"{name}: {times:.1f}x" for name, times in found.items()),
            about(17, found["MCS"]) and about(33, found["spin"]))


def gain_by_budgets(cells, locks):
    """In %, the mean over all localities, or None."""
    gains = known(ratio(cells.throughput(**cell(OURS, 20, locks, local)),
                        cells.throughput(**cell(OURS, 20, locks, local, budget_remote=5))) for local in SHARED)
    return 100 * (statistics.mean(gains) - 1) if len(gains) == len(SHARED) else None


def budgets(cells):
    gain, of_few = (gain_by_budgets(cells, locks) for locks in (100, 20))
    if gain is None:
        return "", None
    return f"{gain:+.0f} %" + ("" if of_few is None else f"; with 20 locks {of_few:+.0f} %"), about(23, gain)


def beside(cells):
    """Each cell of the table: how often ALock has to be taken for our locks."""
    found = {lock: rates(cells, lock, OURS, NODES, LOCKS, LOCAL) for lock in ("pf_alock", "pf_cohort")}
    lines = ["| nodes | locks | " + " | ".join(f"{local} % local" for local in LOCAL) + " |",
             "|---" * (2 + len(LOCAL)) + "|"]
    for nodes in NODES:
        for locks in LOCKS:
            texts = [", ".join(f"{of[nodes, locks, local]:.2f}" if (nodes, locks, local) in of else "-"
                               for of in found.values()) for local in LOCAL]
            lines.append(f"| {nodes} | {locks:,} | " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def as_fast_as_alock(lock):
    """In every cell; two locks that have the same rate differ by less than EQUAL."""
    def judge(cells):
        found = rates(cells, lock, OURS, NODES, LOCKS, LOCAL)
        if not found:
            return "", None
        behind = [value for value in found.values() if value < EQUAL]
        (nodes, locks, local), least = min(found.items(), key=lambda item: item[1])
        return (f"behind in {len(behind)} of {len(found)} cells; least {least:.2f}x ({nodes} nodes, {locks} locks, "
                f"{local} % local)", not behind)
    return judge


CLAIMS = [
    Claim("ALock has up to 29x MCS's throughput, 24x the spin lock's", "20 nodes, 20 locks; 85 to 95 % local",
          up_to({"MCS": 29, "spin": 24}, (20,), (20,), SHARED),
          "the paper's adapters collapse under loopback and thousands of connections, which the cost model has not; the "
          "spin lock backs off"),
    Claim("ALock has up to 24x MCS's throughput, 22x the spin lock's, if all is local", "20 locks; 5 to 20 nodes",
          up_to({"MCS": 24, "spin": 22}, NODES, (20,), (100,)),
          "as above: the model's loopback takes 0.4 us each way and does not congest; a lock that passes between cores "
          "takes 80 ns for each line"),
    Claim("ALock has up to 3.8x MCS's throughput, 3.3x the spin lock's, with little contention",
          "1,000 locks; 5 to 20 nodes; 85 to 95 % local",
          up_to({"MCS": 3.8, "spin": 3.3}, NODES, (1000,), SHARED),
          "with fewer contended locks the ratio is that of a CPU's atomic to two by loopback, which is larger where "
          "nothing but locks takes time"),
    Claim("MCS's latency is up to 17x ALock's, the spin lock's 33x, if all is local", "10 nodes of 8, 20 locks; means",
          local_latency, "as above"),
    Claim("MCS's latency is 2.1x ALock's at 95 % local, 1.35x at 85 %", "10 nodes of 8, 1,000 locks",
          latency({95: 2.1, 85: 1.35}), "as above"),
    Claim("Budgets of 20 (remote) and 5 (local) have up to 23 % more throughput than 5 and 5",
          "20 nodes, 100 locks; mean of 85, 90, 95 % local", budgets,
          "240 processes are 2.4 a lock, so that a queue from elsewhere seldom comes to 5; with 20 locks it does"),
    Claim("Ours: pf_alock is at least as fast as ALock", "every cell", as_fast_as_alock("pf_alock"),
          "a writer looks at up to five words more, at readers on both sides and at those that wait; the model charges 5 ns for "
          "each, in 100 to 200 ns of an uncontended operation on the node"),
    Claim("Ours: pf_cohort is at least as fast as ALock", "every cell", as_fast_as_alock("pf_cohort"),
          "its home record is the adapter's where adapters do atomics, for processes of the home's node, too"),
]
