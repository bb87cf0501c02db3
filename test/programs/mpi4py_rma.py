#!/usr/bin/env python3
"""Every one-sided method of mpi4py, the way Python programs use them, with and without threads.

    mpirun -n P python3 mpi4py_rma.py [--flavors create,allocate,shared,dynamic] [--no-threads]

Each check compares data; the last line is `mpi4py_rma: N passed, N failed`, counted by all ranks.
A watchdog ends a program that hangs.
"""

import signal
import sys
import threading
import traceback
from array import array

import mpi4py

mpi4py.rc.thread_level = "funneled" if "--no-threads" in sys.argv else "multiple"
from mpi4py import MPI  # noqa: E402  (the level must be set before)

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.Get_rank(), COMM.Get_size()
NEXT, PREVIOUS = (RANK + 1) % SIZE, (RANK - 1) % SIZE
INT = MPI.INT.Get_size()
WORDS = 64  # of each rank's memory, ints


class Part:
    """A window of one flavor with WORDS ints on each rank; `place` is a target displacement."""

    def __init__(self, flavor, comm=COMM):
        self.comm, self.flavor = comm, flavor
        self.places = None
        self.memory = None
        size = WORDS * INT
        if flavor == "create":
            self.memory = MPI.Alloc_mem(size)
            self.win = MPI.Win.Create(self.memory, INT, MPI.INFO_NULL, comm)
        elif flavor == "allocate":
            self.win = MPI.Win.Allocate(size, INT, MPI.INFO_NULL, comm)
        elif flavor == "shared":
            self.win = MPI.Win.Allocate_shared(size, INT, MPI.INFO_NULL, comm)
        else:
            self.memory = MPI.Alloc_mem(size)
            self.win = MPI.Win.Create_dynamic(MPI.INFO_NULL, comm)
            self.win.Attach(self.memory)
            self.places = comm.allgather(MPI.Get_address(self.memory))
        self.win.Lock(comm.Get_rank(), MPI.LOCK_EXCLUSIVE)
        self.words()[:] = array("i", [0] * WORDS)
        self.win.Unlock(comm.Get_rank())
        comm.Barrier()

    def words(self):
        memory = self.memory if self.memory is not None else self.win.tomemory()
        return memoryview(memory).cast("B").cast("i")

    def place(self, target, index):
        return index if self.places is None else self.places[target] + INT * index

    def target(self, target, index, count=1, datatype=MPI.INT):
        return (self.place(target, index), count, datatype)

    def local(self, index):
        self.win.Lock(self.comm.Get_rank(), MPI.LOCK_SHARED)
        value = self.words()[index]
        self.win.Unlock(self.comm.Get_rank())
        return value

    def close(self):
        self.comm.Barrier()
        if self.flavor == "dynamic":
            self.win.Detach(self.memory)
        self.win.Free()
        assert self.win == MPI.WIN_NULL
        if self.memory is not None:
            MPI.Free_mem(self.memory)


def ints(*values):
    return array("i", values)


def equal(actual, expected, what=""):
    if isinstance(actual, array):
        actual = list(actual)
    assert actual == expected, f"{what}: expected {expected}, got {actual}"


# --- One function per group of methods; each gets a fresh window of the flavor ----------------------


def put_get(part):
    win, got = part.win, ints(0, 0, 0)
    win.Lock(NEXT)  # exclusive by default
    win.Put([ints(RANK, RANK + 1, RANK + 2), MPI.INT], NEXT, part.target(NEXT, 5, 3))
    win.Flush(NEXT)
    win.Get([got, MPI.INT], NEXT, part.target(NEXT, 5, 3))
    win.Unlock(NEXT)
    equal(got, [RANK, RANK + 1, RANK + 2])
    COMM.Barrier()
    equal(part.local(6), PREVIOUS + 1)


def put_get_derived(part):
    win = part.win
    every_third = MPI.INT.Create_vector(4, 1, 3).Commit()
    got = array("i", [-1] * 12)
    win.Lock(NEXT, MPI.LOCK_SHARED)
    win.Put([ints(1, 2, 3, 4), 4, MPI.INT], NEXT, part.target(NEXT, 20, 1, every_third))
    win.Flush(NEXT)
    win.Get([got, 1, every_third], NEXT, part.target(NEXT, 20, 1, every_third))
    win.Unlock(NEXT)
    equal(got, [1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1])
    every_third.Free()


def proc_null(part):
    win, got = part.win, ints(7)
    win.Lock_all()
    win.Put([ints(1), MPI.INT], MPI.PROC_NULL)
    win.Get([got, MPI.INT], MPI.PROC_NULL)
    win.Accumulate([ints(1), MPI.INT], MPI.PROC_NULL)
    win.Unlock_all()
    equal(got, [7])


def accumulate(part):
    win, old = part.win, ints(-1, -1)
    win.Lock_all()
    for target in range(SIZE):
        win.Accumulate([ints(1, RANK), MPI.INT], target, part.target(target, 0, 2), MPI.SUM)
    win.Flush_all()
    COMM.Barrier()
    win.Get_accumulate([ints(0, 0), MPI.INT], [old, MPI.INT], NEXT, part.target(NEXT, 0, 2), MPI.NO_OP)
    win.Flush_local(NEXT)
    equal(old, [SIZE, SIZE * (SIZE - 1) // 2])
    COMM.Barrier()
    win.Accumulate([ints(RANK), MPI.INT], NEXT, part.target(NEXT, 1), MPI.REPLACE)
    win.Unlock_all()
    COMM.Barrier()
    equal(part.local(0), SIZE)
    equal(part.local(1), PREVIOUS)


def atomics(part):
    win, drawn = part.win, []
    win.Lock_all(MPI.MODE_NOCHECK)
    for _ in range(50):
        got = ints(-1)
        win.Fetch_and_op([ints(1), MPI.INT], [got, MPI.INT], 0, part.place(0, 0), MPI.SUM)
        win.Flush(0)
        drawn.append(got[0])
    got = ints(-1)
    win.Compare_and_swap([ints(RANK + 1), MPI.INT], [ints(0), MPI.INT], [got, MPI.INT], 0, part.place(0, 1))
    win.Flush(0)
    win.Unlock_all()
    tickets = COMM.gather(drawn)
    winners = COMM.gather(got[0] == 0)
    if RANK == 0:
        equal(sorted(sum(tickets, [])), list(range(50 * SIZE)), "tickets")
        equal(sum(winners), 1, "winners of one compare_and_swap")
        assert winners[part.local(1) - 1]


def atomics_of_doubles(part):
    win, got = part.win, array("d", [-1])
    win.Lock_all()
    for _ in range(20):
        win.Fetch_and_op([array("d", [0.5]), MPI.DOUBLE], [got, MPI.DOUBLE], 0, part.place(0, 2), MPI.SUM)
        win.Flush_local_all()
        assert 0 <= got[0] < 10 * SIZE and got[0] * 2 == int(got[0] * 2)
    win.Unlock_all()
    COMM.Barrier()
    if RANK == 0:
        win.Lock(0)
        equal(memoryview(part.words()).cast("B").cast("d")[1], 10.0 * SIZE)
        win.Unlock(0)


def requests(part):
    win, got, old = part.win, ints(-1), ints(-1)
    win.Lock(NEXT, MPI.LOCK_SHARED)
    puts = [win.Rput([ints(10 * i + RANK), MPI.INT], NEXT, part.target(NEXT, i)) for i in range(8)]
    receive = COMM.irecv(source=PREVIOUS)
    send = COMM.isend("beside them", NEXT)
    MPI.Request.Waitall(puts)
    equal(receive.wait(), "beside them")
    send.wait()
    win.Flush(NEXT)
    win.Rget([got, MPI.INT], NEXT, part.target(NEXT, 7)).Wait()
    equal(got, [70 + RANK])
    win.Raccumulate([ints(5), MPI.INT], NEXT, part.target(NEXT, 7), MPI.SUM).Wait()
    win.Rget_accumulate([ints(1), MPI.INT], [old, MPI.INT], NEXT, part.target(NEXT, 7), MPI.SUM).Wait()
    win.Unlock(NEXT)
    equal(old, [75 + RANK])
    COMM.Barrier()
    equal(part.local(7), 76 + PREVIOUS)


def locks_exclude(part):
    win, pair = part.win, ints(0, 0)
    for i in range(50):
        target = (RANK + i) % SIZE
        win.Lock(target, MPI.LOCK_EXCLUSIVE)
        win.Get([pair, MPI.INT], target, part.target(target, 30, 2))
        win.Flush(target)
        equal(pair[0], pair[1])
        pair[0] += 1
        pair[1] += 1
        win.Put([pair, MPI.INT], target, part.target(target, 30, 2))
        win.Unlock(target)
    COMM.Barrier()
    equal(COMM.allreduce(part.local(30)), 50 * SIZE)


def fence(part):
    win = part.win
    win.Fence(MPI.MODE_NOPRECEDE)
    for i in range(5):
        win.Put([ints(100 * i + RANK), MPI.INT], NEXT, part.target(NEXT, 3))
        win.Fence()
        equal(part.words()[3], 100 * i + PREVIOUS)
        win.Fence()
    win.Fence(MPI.MODE_NOSUCCEED)


def post_start_complete_wait(part):
    win, world = part.win, COMM.Get_group()
    to, origins = world.Incl([NEXT]), world.Incl([PREVIOUS])
    for i in range(5):
        win.Post(origins)
        win.Start(to)
        win.Put([ints(i + RANK), MPI.INT], NEXT, part.target(NEXT, 4))
        win.Complete()
        if i % 2:
            win.Wait()
        else:
            while not win.Test():
                pass
        equal(part.words()[4], i + PREVIOUS)
    win.Start(MPI.GROUP_EMPTY)
    win.Complete()
    for group in (to, origins, world):
        group.Free()


def what_can_be_asked(part):
    win = part.win
    flavors = dict(create=MPI.WIN_FLAVOR_CREATE, allocate=MPI.WIN_FLAVOR_ALLOCATE,
                   shared=MPI.WIN_FLAVOR_SHARED, dynamic=MPI.WIN_FLAVOR_DYNAMIC)
    equal(win.Get_attr(MPI.WIN_CREATE_FLAVOR), flavors[part.flavor])
    equal(win.flavor, flavors[part.flavor])
    equal(win.model, MPI.WIN_UNIFIED)
    if part.flavor != "dynamic":
        equal(win.Get_attr(MPI.WIN_SIZE), WORDS * INT)
        equal(win.Get_attr(MPI.WIN_DISP_UNIT), INT)
        equal(len(win.tomemory()), WORDS * INT)
    win.Set_name("named")
    equal(win.Get_name(), "named")
    group = win.Get_group()
    equal(group.Get_size(), SIZE)
    group.Free()
    info = win.Get_info()
    win.Set_info(info)
    info.Free()
    keyval = MPI.Win.Create_keyval()
    win.Set_attr(keyval, "a Python object")
    equal(win.Get_attr(keyval), "a Python object")
    win.Delete_attr(keyval)
    MPI.Win.Free_keyval(keyval)
    win.Sync()
    if part.flavor == "shared":
        memory, unit = win.Shared_query(NEXT)
        equal((len(memory), unit), (WORDS * INT, INT))


def errors(part):
    win = part.win
    win.Set_errhandler(MPI.ERRORS_RETURN)
    try:
        win.Unlock(NEXT)
    except MPI.Exception as error:
        equal(error.Get_error_class(), MPI.ERR_RMA_SYNC)
    else:
        raise AssertionError("unlock without lock did not fail")
    handler = win.Get_errhandler()
    assert handler == MPI.ERRORS_RETURN
    handler.Free()
    put_get(part)


def zero_sized(part):
    empty = MPI.Win.Create(None, 1, MPI.INFO_NULL, COMM) if part.flavor == "create" else None
    if part.flavor == "allocate":
        empty = MPI.Win.Allocate(0, 1, MPI.INFO_NULL, COMM)
    if part.flavor == "shared":
        empty = MPI.Win.Allocate_shared(0, 1, MPI.INFO_NULL, COMM)
    if empty is None:
        return
    empty.Lock_all()
    empty.Flush_all()
    empty.Unlock_all()
    empty.Free()


def own_communicator(part):
    comm = COMM.Split(RANK % 2, -RANK)
    small = Part(part.flavor, comm)
    last = comm.Get_size() - 1 - comm.Get_rank()
    small.win.Lock(last)
    small.win.Put([ints(comm.Get_rank()), MPI.INT], last, small.target(last, 0))
    small.win.Unlock(last)
    comm.Barrier()
    equal(small.local(0), last)
    small.close()
    comm.Free()


# --- Threads --------------------------------------------------------------------------------------------


def in_threads(body, count):
    problems = []

    def guarded(i):
        try:
            body(i)
        except Exception:  # a thread's failure is the test's
            problems.append(traceback.format_exc())

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[0]


def threads_lock_different_targets(part):
    def body(target):
        pair = ints(0, 0)
        for _ in range(30):
            part.win.Lock(target, MPI.LOCK_EXCLUSIVE)
            part.win.Get([pair, MPI.INT], target, part.target(target, 40, 2))
            part.win.Flush(target)
            equal(pair[0], pair[1])
            pair[0] += 1
            pair[1] += 1
            part.win.Put([pair, MPI.INT], target, part.target(target, 40, 2))
            part.win.Unlock(target)

    in_threads(body, SIZE)
    COMM.Barrier()
    equal(part.local(40), 30 * SIZE)


def threads_share_an_epoch(part):
    def body(i):
        got = ints(-1)
        for _ in range(30):
            part.win.Accumulate([ints(1), MPI.INT], NEXT, part.target(NEXT, 50), MPI.SUM)
            part.win.Rput([ints(i), MPI.INT], NEXT, part.target(NEXT, 51 + i)).Wait()
            part.win.Flush(NEXT)
            part.win.Get([got, MPI.INT], NEXT, part.target(NEXT, 51 + i))
            part.win.Flush_local(NEXT)
            equal(got, [i])

    part.win.Lock_all()
    in_threads(body, 4)
    part.win.Unlock_all()
    COMM.Barrier()
    equal(part.local(50), 30 * 4)


CHECKS = [put_get, put_get_derived, proc_null, accumulate, atomics, atomics_of_doubles, requests,
          locks_exclude, fence, post_start_complete_wait, what_can_be_asked, errors, zero_sized,
          own_communicator]
THREADED = [threads_lock_different_targets, threads_share_an_epoch]


def option(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def on_several_hosts():
    """Whether there are ranks that share no memory."""
    host = COMM.Split_type(MPI.COMM_TYPE_SHARED)
    together = host.Get_size()
    host.Free()
    return together < SIZE


def run(check, flavor):
    """True if the check holds on all ranks."""
    signal.alarm(60)
    good = True
    part = Part(flavor)
    try:
        check(part)
    except Exception:
        good = False
        print(f"rank {RANK}: {check.__name__}/{flavor}\n{traceback.format_exc()}", file=sys.stderr)
    COMM.Barrier()
    part.close()
    return COMM.allreduce(good, MPI.LAND)


def main():
    checks = CHECKS if "--no-threads" in sys.argv else CHECKS + THREADED
    skipped = option("--skip", "").split(",")
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        checks = CHECKS
    results = {}
    flavors = option("--flavors", "create,allocate,shared,dynamic").split(",")
    if on_several_hosts() and "shared" in flavors:
        flavors.remove("shared")
    for flavor in flavors:
        for check in checks:
            if check.__name__ not in skipped:
                results[f"{check.__name__}/{flavor}"] = run(check, flavor)
    signal.alarm(0)
    if RANK == 0:
        for name, good in results.items():
            print("ok  " if good else "FAIL", name)
        good = sum(results.values())
        print(f"mpi4py_rma: {good} passed, {len(results) - good} failed, 0 skipped ({SIZE} ranks)")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
