## The simulator: the shipped locks on a simulated machine (included by Makefile.am).

sim_cppflags = $(core_cppflags) -I$(srcdir)/test -DRMALOCK_SIM_MODELS='"$(abs_srcdir)/test/sim/models.json"' \
	-DRMALOCK_VERBS='"$(abs_srcdir)/perf/verbs.json"'

if CAN_TEST
## Once for the program and the tests: the locks take long to compile.
check_LTLIBRARIES = test/sim/librmalock_sim.la
check_PROGRAMS += test/sim/rmalock_sim test/sim_test
CHECK_TESTS += test/sim_test
FULL_TESTS += test/sim/check_sweep

test_sim_librmalock_sim_la_SOURCES = \
	test/sim/benchmark.cc \
	test/sim/benchmark.hh \
	test/sim/cascade.hh \
	test/sim/servers.hh \
	test/sim/costs.cc \
	test/sim/costs.def \
	test/sim/costs.hh \
	test/sim/event_queue.hh \
	test/sim/memory.hh \
	test/sim/sim_fabric.hh \
	test/sim/sweep.cc \
	test/sim/sweep.hh \
	test/sim/window.cc \
	test/sim/window.hh \
	test/sim/cluster.cc \
	test/sim/cluster.hh \
	ompi_osc_rmalock/locks/window_lock/lock_config.cc \
	$(topology_sources) \
	$(model_headers)
test_sim_librmalock_sim_la_CPPFLAGS = $(sim_cppflags)

test_sim_rmalock_sim_SOURCES = test/sim/main.cc
test_sim_rmalock_sim_CPPFLAGS = $(sim_cppflags)
test_sim_rmalock_sim_LDADD = test/sim/librmalock_sim.la -lboost_context -lfmt

test_sim_test_SOURCES = \
	test/sim/contract_test.cc \
	test/sim/locks_test.cc \
	test/sim/plain_costs.hh \
	test/sim/sweep_test.cc
test_sim_test_CPPFLAGS = $(sim_cppflags) $(GTEST_CFLAGS)
test_sim_test_LDADD = test/sim/librmalock_sim.la $(GTEST_LIBS) -lboost_context -lfmt
endif

EXTRA_DIST += test/sim/README.md test/sim/check_sweep test/sim/models.json test/sim/local.mk
