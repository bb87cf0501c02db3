## Benchmarks. The program is an ordinary MPI program, so the MPI compile wrapper builds it, not the
## compiler that builds the component.

perf_rma_bench_sources = \
	perf/rma_bench.c \
	perf/catalogue.c \
	perf/sampling.c \
	perf/report.c \
	perf/transfer.c \
	perf/cases_sync.c \
	perf/cases_overlap.c \
	perf/cases_target.c \
	perf/cases_calls.c \
	perf/cases_locks.c \
	perf/cases_tables.c \
	perf/cases_sweep.c \
	perf/cases_window.c \
	perf/cases_dht.c \
	perf/dht.c \
	perf/cases_lu.c \
	perf/lu.c \
	perf/lu_blocks.c

perf_rma_bench_headers = perf/bench.h perf/words.h perf/dht.h perf/lu.h

PERF_CFLAGS = -std=c11 -D_XOPEN_SOURCE=700 -Wall -Wextra -Wshadow $(WERROR)

noinst_SCRIPTS += perf/rma_bench perf/paths
CLEANFILES += perf/rma_bench perf/paths comparison.json comparison.csv

perf/rma_bench: $(perf_rma_bench_sources) $(perf_rma_bench_headers)
	$(AM_V_GEN)$(MKDIR_P) perf; sources=; \
	for file in $(perf_rma_bench_sources); do sources="$$sources $(srcdir)/$$file"; done; \
	$(MPICC) $(CFLAGS) $(PERF_CFLAGS) -o $@ $$sources -lm

## The same program for MPICH, where that is installed; the driver's row mpich runs it.
MPICH_CC = mpicc.mpich
CLEANFILES += perf/rma_bench_mpich
.PHONY: perf-mpich
perf-mpich:
	@if echo '#include <mpi.h>' | $(MPICH_CC) -E -x c - >/dev/null 2>&1; then \
		$(MAKE) perf/rma_bench_mpich; \
	elif command -v $(MPICH_CC) >/dev/null 2>&1; then \
		echo "MPICH is left out: $(MPICH_CC) finds no mpi.h (Debian: libmpich-dev)"; fi

perf/rma_bench_mpich: $(perf_rma_bench_sources) $(perf_rma_bench_headers)
	$(AM_V_GEN)$(MKDIR_P) perf; sources=; \
	for file in $(perf_rma_bench_sources); do sources="$$sources $(srcdir)/$$file"; done; \
	$(MPICH_CC) $(CFLAGS) $(PERF_CFLAGS) -o $@ $$sources -lm

perf/paths: perf/paths.c
	$(AM_V_GEN)$(MKDIR_P) perf; \
	$(MPICC) $(CFLAGS) $(PERF_CFLAGS) -o $@ $(srcdir)/perf/paths.c

## It brings a worker of its own, so that it compares with what nothing in MPI offers.
noinst_SCRIPTS += perf/lock_and_atomic
CLEANFILES += perf/lock_and_atomic
EXTRA_DIST += perf/lock_and_atomic.cc
perf/lock_and_atomic: perf/lock_and_atomic.cc librmalock_ucx.la
	$(AM_V_GEN)$(MKDIR_P) perf; \
	$(MPICXX) $(CXX20_FLAGS) $(CXXFLAGS) -Wall -Wextra -Wshadow $(WERROR) -DOMPI_SKIP_MPICXX -I$(srcdir) \
		-I$(srcdir)/ompi_osc_rmalock -o $@ $(srcdir)/perf/lock_and_atomic.cc .libs/librmalock_ucx.a \
		$(UCX_LIBS) -pthread

## More arguments in BENCH, such as: make bench BENCH="--run 'lock_*' -n 4"
BENCH =
.PHONY: bench
bench: perf/rma_bench perf-mpich
	$(srcdir)/perf/compare --bench perf/rma_bench --mpirun "$(MPIRUN)" $(BENCH)

## The page about it all; REPORT=--small for about three minutes.
REPORT =
.PHONY: report
report: perf/rma_bench perf-mpich
	$(srcdir)/perf/report --bench perf/rma_bench --mpirun "$(MPIRUN)" $(REPORT)

CHECK_TESTS += perf/guard perf/test_guard.py
FULL_TESTS += perf/test_compare.py perf/test_bench.py perf/test_report.py perf/test_tune.py perf/test_figures.py

EXTRA_DIST += \
	$(perf_rma_bench_sources) \
	$(perf_rma_bench_headers) \
	perf/compare \
	perf/components.py \
	perf/interleaved.py \
	perf/journal.py \
	perf/tables.py \
	perf/test_compare.py \
	perf/test_bench.py \
	perf/report \
	perf/plots.py \
	perf/page.py \
	perf/test_report.py \
	perf/paths.c \
	perf/guard \
	perf/instructions.json \
	perf/verbs.json \
	perf/test_guard.py \
	perf/test_tune.py \
	perf/fault.c \
	perf/local.mk \
	perf/README.md

## The RMA-RW paper's figures, and whether auto chooses well, both by the simulator. They go on where they were stopped.
.PHONY: figures auto
figures: test/sim/rmalock_sim
	$(srcdir)/perf/figures --simulator test/sim/rmalock_sim

auto: test/sim/rmalock_sim
	$(srcdir)/perf/auto --simulator test/sim/rmalock_sim

EXTRA_DIST += perf/figures perf/auto perf/simulated.py perf/paper_claims.py perf/alock_claims.py perf/n_cosed_claims.py perf/sim_plots.py perf/test_figures.py

## A script beside a report.c, which make would otherwise compile into it wherever that file is the newer one.
perf/report: ;
