"""The kernel's software adapter (rdma_rxe), changed for tests: as an adapter with more atomics does it, and slower.

Two changes of the function that carries out an atomic:
- A compare-and-swap whose comparand is ALWAYS swaps whatever is there. Real adapters have that as a masked
  compare-and-swap with an empty mask; all_atomics.c makes swaps of UCX into it.
- The parameter atomic_gap_us is the time between the adapter's load and its store. What a CPU stores meanwhile is lost,
  as it can be with every adapter, but seldom: a program that mixes CPUs' and the adapter's atomics fails at once.
"""

import os

ALWAYS = "0xfedc5a5a7b3d1e9fULL"
PARAMETER = """#include <linux/delay.h>
#include <linux/moduleparam.h>
static uint atomic_gap_us;
module_param(atomic_gap_us, uint, 0644);
"""
GAP = """if (atomic_gap_us >= 1000)
mdelay(atomic_gap_us / 1000);
else if (atomic_gap_us)
udelay(atomic_gap_us);
"""
# The kernel's releases have it in different files; each change is one replacement.
KNOWN = (
    ("rxe_resp.c", (  # Linux 6.1
        ('#include "rxe.h"\n', PARAMETER + '#include "rxe.h"\n'),
        ("if (value == atmeth_comp(pkt))", f"if (value == atmeth_comp(pkt) || atmeth_comp(pkt) == {ALWAYS})"),
        ("*vaddr = value;\n", GAP + "*vaddr = value;\n"),
    )),
    ("rxe_mr.c", (  # Linux 6.12
        ('#include "rxe.h"\n', PARAMETER + '#include "rxe.h"\n'),
        ("if (value == compare)", f"if (value == compare || compare == {ALWAYS})"),
        ("*va = value;\n", GAP + "*va = value;\n"),
    )),
)


def changed(text, changes):
    """None if the text is not of the release that the changes are for."""
    for old, new in changes:
        if text.count(old) != 1:
            return None
        text = text.replace(old, new)
    return text


def edit(folder):
    """Raises LookupError where no change fits."""
    for name, changes in KNOWN:
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as file:
            text = changed(file.read(), changes)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return
    raise LookupError("this kernel's rdma_rxe carries out atomics in an unknown way")
