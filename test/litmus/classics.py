"""The classical tests, and what RC11 says of them: they test the tool."""
from program import Program


def classic(name, threads, when, allowed, **more):
    return Program(name, "it ends so", {f"T{n}": text for n, text in enumerate(threads)}, when, allowed=allowed, **more)


def sb(name, store, load, allowed, fence="none"):
    return classic(name, [f"store x 1 {store}\nfence {fence}\nload r1 y {load}",
                          f"store y 1 {store}\nfence {fence}\nload r2 x {load}"], "r1 == 0 and r2 == 0", allowed)


def mp(name, store, load, allowed, before="none", behind="none"):
    return classic(name, [f"store x 1 relaxed\nfence {before}\nstore y 1 {store}",
                          f"load r1 y {load}\nfence {behind}\nload r2 x relaxed"], "r1 == 1 and r2 == 0", allowed)


def iriw(name, store, load, allowed, fence="none"):
    return classic(name, [f"store x 1 {store}", f"store y 1 {store}",
                          f"load r1 x {load}\nfence {fence}\nload r2 y {load}",
                          f"load r3 y {load}\nfence {fence}\nload r4 x {load}"],
                   "r1 == 1 and r2 == 0 and r3 == 1 and r4 == 0", allowed)


def two_plus_two_w(name, order, allowed):
    return classic(name, [f"store x 1 {order}\nstore y 2 {order}", f"store y 1 {order}\nstore x 2 {order}"],
                   "x == 1 and y == 1", allowed)


def wrc(name, store, load, allowed):
    return classic(name, ["store x 1 relaxed", f"load r1 x relaxed\nstore y 1 {store}",
                          f"load r2 y {load}\nload r3 x relaxed"], "r1 == 1 and r2 == 1 and r3 == 0", allowed)


def isa2(name, store, load, allowed):
    return classic(name, [f"store x 1 relaxed\nstore y 1 {store}", f"load r1 y {load}\nstore z 1 {store}",
                          f"load r2 z {load}\nload r3 x relaxed"], "r1 == 1 and r2 == 1 and r3 == 0", allowed)


def sequence(name, middle, allowed):
    """A release, something else written to the same place, and an acquire of that."""
    first, second = middle
    return classic(name, ["store x 1 relaxed\nstore y 1 release" + first, *second,
                          "load r1 y acquire\nload r2 x relaxed"], "r1 == 2 and r2 == 0", allowed)


TWO_THREADS = [
    sb("SB", "release", "acquire", True),
    sb("SB, sc", "seq_cst", "seq_cst", False),
    sb("SB, sc stores alone", "seq_cst", "acquire", True),
    sb("SB, sc fences", "relaxed", "relaxed", False, "seq_cst"),
    sb("SB, acq_rel fences", "relaxed", "relaxed", True, "acq_rel"),
    mp("MP", "relaxed", "relaxed", True),
    mp("MP, rel acq", "release", "acquire", False),
    mp("MP, rel rlx", "release", "relaxed", True),
    mp("MP, rlx acq", "relaxed", "acquire", True),
    mp("MP, fences", "relaxed", "relaxed", False, "release", "acquire"),
    mp("MP, one fence", "relaxed", "relaxed", True, "release"),
    mp("MP, fence and acquire", "relaxed", "acquire", False, "release"),
    classic("LB", ["load r1 x relaxed\nstore y 1 relaxed", "load r2 y relaxed\nstore x 1 relaxed"],
            "r1 == 1 and r2 == 1", False),
    two_plus_two_w("2+2W", "relaxed", True),
    two_plus_two_w("2+2W, rel", "release", True),
    two_plus_two_w("2+2W, sc", "seq_cst", False),
    classic("CoRR", ["store x 1 relaxed", "load r1 x relaxed\nload r2 x relaxed"], "r1 == 1 and r2 == 0", False),
    classic("CoWR", ["store x 1 relaxed\nload r1 x relaxed", "store x 2 relaxed"], "r1 == 0", False),
    classic("CoRW", ["load r1 x relaxed\nstore x 1 relaxed"], "r1 == 1", False),
    classic("CoWW", ["store x 1 relaxed\nstore x 2 relaxed"], "x == 1", False),
    classic("S", ["store x 2 relaxed\nstore y 1 release", "load r1 y acquire\nstore x 1 relaxed"],
            "r1 == 1 and x == 2", False),
    classic("R, sc", ["store x 1 seq_cst\nstore y 1 seq_cst", "store y 2 seq_cst\nload r1 x seq_cst"],
            "y == 2 and r1 == 0", False),
    classic("R", ["store x 1 release\nstore y 1 release", "store y 2 release\nload r1 x acquire"],
            "y == 2 and r1 == 0", True),
    classic("two increments", ["add r1 x 1 relaxed", "add r2 x 1 relaxed"], "x != 2", False),
    classic("two compare-and-swaps", ["cas r1 x 0 1 relaxed", "cas r2 x 0 1 relaxed"], "r1 == r2", False),
    classic("a race", ["store x 1 plain", "load r1 x plain"], "False", True),
    classic("plain data by rel acq", ["store x 1 plain\nstore y 1 release",
                                      "load r1 y acquire\nif r1 == 1: load r2 x plain"], "r2 == 0", False),
    classic("plain data by rlx", ["store x 1 plain\nstore y 1 relaxed",
                                  "load r1 y acquire\nif r1 == 1: load r2 x plain"], "False", True),
    classic("an await of what comes", ["store x 1 relaxed", "await r1 x r1==1 relaxed"], "False", False),
    classic("an await of what goes", ["store x 1 relaxed\nstore x 0 relaxed", "await r1 x r1==1 relaxed"],
            "False", True),
    classic("a mutex", ["take r0 m acquire\nload r1 x plain\nstore x r1+1 plain\nstore m 0 release"] * 2,
            "x != 2", False),
    classic("a mutex, released by rlx",
            ["take r0 m acquire\nload r1 x plain\nstore x r1+1 plain\nstore m 0 relaxed"] * 2, "False", True),
]

MEMBARRIERS = [
    classic("SB, membarrier", ["store x 1 relaxed\nlight seq_cst\nload r1 y relaxed",
                               "store y 1 relaxed\nmembarrier seq_cst\nload r2 x relaxed"],
            "r1 == 0 and r2 == 0", False, interrupted=("T0",)),
    classic("SB, membarrier, the compiler free", ["store x 1 relaxed\nlight none\nload r1 y relaxed",
                                                  "store y 1 relaxed\nmembarrier seq_cst\nload r2 x relaxed"],
            "r1 == 0 and r2 == 0", True, interrupted=("T0",)),
    classic("SB, one fence", ["store x 1 relaxed\nlight seq_cst\nload r1 y relaxed",
                              "store y 1 relaxed\nfence seq_cst\nload r2 x relaxed"], "r1 == 0 and r2 == 0", True),
]

MORE_THREADS = [
    iriw("IRIW", "release", "acquire", True),
    iriw("IRIW, sc", "seq_cst", "seq_cst", False),
    iriw("IRIW, sc fences", "relaxed", "relaxed", False, "seq_cst"),
    iriw("IRIW, sc loads alone", "release", "seq_cst", True),
    wrc("WRC", "relaxed", "relaxed", True),
    wrc("WRC, rel acq", "release", "acquire", False),
    isa2("ISA2", "relaxed", "acquire", True),
    isa2("ISA2, rel acq", "release", "acquire", False),
    sequence("a release sequence of an RMW", ("", ["add r0 y 1 relaxed"]), False),
    sequence("a store of the same thread ends it (C++20)", ("\nstore y 2 relaxed", []), True),
    sequence("a store of another thread ends it", ("", ["store y 2 relaxed"]), True),
    classic("Z6.U", ["store x 1 seq_cst\nstore y 1 release", "add r1 y 1 seq_cst\nload r2 y relaxed",
                     "store y 3 seq_cst\nload r3 x seq_cst"], "r1 == 1 and r2 == 3 and r3 == 0", True),
    classic("Z6.U, sc throughout", ["store x 1 seq_cst\nstore y 1 seq_cst",
                                    "add r1 y 1 seq_cst\nload r2 y seq_cst",
                                    "store y 3 seq_cst\nload r3 x seq_cst"], "r1 == 1 and r2 == 3 and r3 == 0", False),
    classic("RWC, sc fences", ["store x 1 relaxed", "load r1 x relaxed\nfence seq_cst\nload r2 y relaxed",
                               "store y 1 relaxed\nfence seq_cst\nload r3 x relaxed"],
            "r1 == 1 and r2 == 0 and r3 == 0", False),
    classic("W+RWC, sc fences, rel acq", ["store x 1 relaxed\nstore z 1 release",
                                          "load r1 z acquire\nfence seq_cst\nload r2 y relaxed",
                                          "store y 1 relaxed\nfence seq_cst\nload r3 x relaxed"],
            "r1 == 1 and r2 == 0 and r3 == 0", False),
]

CLASSICS = TWO_THREADS + MEMBARRIERS + MORE_THREADS
