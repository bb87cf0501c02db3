"""What the N-CoSED paper claims of its cascades (CCGrid 2007, section 4.3), the simulations that tell, and what is made
of them. All that wait for a lock have had it so long after its holder releases; locks alone, cost model cray, adapters do
the atomics, each process on a node of its own unless a row says otherwise."""

from paper_claims import Claim, about, alone, ratio
from simulated import Sweep

WAITERS = (2, 4, 8, 16, 32)
OURS = ("pf_cohort", "rma_rw")
LOCKS = ("n_cosed", "dqnl", "srsl", *OURS)
ON_NODES = 142  # home and holder are on the first of the nodes
SHARED, EXCLUSIVE = 0, 1  # F_W
EQUAL = 1.03


def sweep(locks, waiters, ranks_per_node):
    """Beside them are the home and the holder."""
    return Sweep(tuple(map(alone, locks)), ("CASCADE",), tuple(n + 2 for n in waiters), (0, 100),
                 ranks_per_node=(ranks_per_node,), operations=20)


SWEEPS = [sweep(LOCKS, WAITERS, 1), sweep(("n_cosed", *OURS), (ON_NODES,), 16)]


def cell(lock, waiters, exclusive, ranks_per_node=1):
    return {"benchmark": "CASCADE", "lock": alone(lock), "ranks": waiters + 2, "ranks_per_node": ranks_per_node,
            "f_w": exclusive}


def times(cells, above, below, *at):
    """How often `below`'s cascade has to be taken for that of `above`."""
    return ratio(cells.spread("latency_us", **cell(above, *at)), cells.spread("latency_us", **cell(below, *at)))


def shared(cells):
    found = times(cells, "dqnl", "n_cosed", 16, SHARED)
    return ("", None) if found is None else (f"{100 * (found - 1):+.0f} %", about(4.17, found))


def shared_by_server(cells):
    found = times(cells, "srsl", "n_cosed", 16, SHARED)
    return ("", None) if found is None else (f"{100 * (found - 1):+.0f} %", found > 1 and about(1.25, found))


def exclusive_by_server(cells):
    found = times(cells, "srsl", "n_cosed", 16, EXCLUSIVE)
    return ("", None) if found is None else (f"{found:.2f}x", found > EQUAL)


def exclusive(cells):
    found = times(cells, "dqnl", "n_cosed", 16, EXCLUSIVE)
    return ("", None) if found is None else (f"{found:.2f}x", 1 / EQUAL <= found <= EQUAL)


def no_longer(lock, *at):
    def judge(cells):
        found = times(cells, lock, "n_cosed", *at)
        return ("", None) if found is None else (f"{found:.2f}x", found <= EQUAL)
    return judge


CLAIMS = [
    Claim("DQNL's cascade of shared locks takes 317 % longer than N-CoSED's", "16 waiters", shared,
          "a grant costs the paper a message and a wake-up, 4 to 11 us; in the model it is a put of 1.2 us, and N-CoSED's "
          "holder sends its puts one after another, 0.4 us each"),
    Claim("SRSL's cascade of shared locks takes 25 % longer than N-CoSED's", "16 waiters", shared_by_server,
          "N-CoSED's holder asks the home for those that wait, a round trip, before it wakes them; the server knows them, and has "
          "a core of its own"),
    Claim("DQNL's cascade of exclusive locks takes as long as N-CoSED's", "16 waiters", exclusive, ""),
    Claim("SRSL's cascade of exclusive locks takes longer than N-CoSED's", "16 waiters", exclusive_by_server, ""),
    Claim("Ours: pf_cohort's cascade of shared locks takes no longer than N-CoSED's", "16 waiters",
          no_longer("pf_cohort", 16, SHARED),
          "its readers wake each other, one of each node after another; N-CoSED's holder wakes all, and knows them because "
          "each has gone to it"),
    Claim("Ours: pf_cohort's cascade of shared locks takes no longer than N-CoSED's", f"{ON_NODES} waiters on 9 nodes of 16",
          no_longer("pf_cohort", ON_NODES, SHARED, 16), ""),
    Claim("Ours: pf_cohort's cascade of exclusive locks takes no longer than N-CoSED's",
          f"{ON_NODES} waiters on 9 nodes of 16", no_longer("pf_cohort", ON_NODES, EXCLUSIVE, 16), ""),
]
