## Programs of the core, and what they take. Each line of the suites is a program, plain and under a sanitizer.

test_cppflags = $(core_cppflags) -I$(srcdir)/test $(GTEST_CFLAGS)
asan_flags = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
tsan_flags = -fsanitize=thread

harness_headers = \
	test/harness/counting.hh \
	test/harness/delayed.hh \
	test/harness/lock_parts.hh \
	test/harness/section.hh \
	test/harness/stress.hh \
	test/harness/thread_words.hh

## What the checker and the simulator share.
model_headers = test/model/fiber.hh test/model/occupancy.hh

bell_source = ompi_osc_rmalock/fabric/bell.cc ompi_osc_rmalock/fabric/node_fence.cc

topology_sources = \
	ompi_osc_rmalock/topology/machine.cc \
	ompi_osc_rmalock/topology/spec.cc

unit_sources = \
	test/unit/bell_test.cc \
	test/unit/blame_test.cc \
	test/unit/counts_test.cc \
	test/unit/epoch_test.cc \
	test/unit/courtesy_test.cc \
	test/unit/rounds_test.cc \
	test/unit/scratch_test.cc \
	test/unit/answers_test.cc \
	test/unit/groups_test.cc \
	test/unit/held_accumulates_test.cc \
	test/unit/held_back_test.cc \
	test/unit/held_copies_test.cc \
	test/unit/held_test.cc \
	test/unit/loops_test.cc \
	test/unit/patience_test.cc \
	test/unit/peer_state_test.cc \
	test/unit/memory_test.cc \
	test/unit/message_check_test.cc \
	test/unit/lock_config_test.cc \
	test/unit/params_test.cc \
	test/unit/reachability_test.cc \
	test/unit/regions_test.cc \
	test/unit/thread_number_test.cc \
	test/unit/topology_test.cc \
	test/unit/waiting_requests_test.cc \
	test/unit/waiting_sections_test.cc \
	test/unit/window_test.cc

EXTRA_DIST += test/README.md test/suite.sh test/check_fast test/check_package test/check_series test/check_exports test/check_pairwise test/pairwise.py

if CAN_TEST
check_PROGRAMS += test/unit_test test/cost_test test/stress_test
full_programs += test/unit_test_asan test/stress_test_tsan
CHECK_TESTS += test/unit_test test/cost_test test/stress_test test/check_pairwise test/check_exports
FULL_TESTS += test/unit_test_asan test/stress_test_tsan

test_unit_test_SOURCES = $(unit_sources)
test_unit_test_CPPFLAGS = $(test_cppflags)
test_unit_test_LDADD = librmalock_core.la librmalock_ucx.la $(UCX_LIBS) $(GTEST_LIBS)

## The core again, compiled with the sanitizers: an object of librmalock_core.la would hide its errors.
test_unit_test_asan_SOURCES = $(unit_sources) $(librmalock_core_la_SOURCES) $(librmalock_ucx_la_SOURCES)
test_unit_test_asan_CPPFLAGS = $(test_cppflags) $(HWLOC_CFLAGS) $(UCX_CFLAGS)
test_unit_test_asan_CXXFLAGS = $(AM_CXXFLAGS) $(asan_flags)
test_unit_test_asan_LDADD = $(HWLOC_LIBS) $(UCX_LIBS) $(GTEST_LIBS)
## Behind the user's: optimised, what those two sanitizers add takes several times as long to compile.
$(test_unit_test_asan_OBJECTS): CXXFLAGS += -O0

test_cost_test_SOURCES = test/locks/cost_test.cc $(bell_source) $(topology_sources) $(harness_headers)
test_cost_test_CPPFLAGS = $(test_cppflags)
test_cost_test_LDADD = $(GTEST_LIBS)

test_stress_test_SOURCES = test/locks/stress_test.cc test/locks/element_marks_test.cc test/locks/passing_ticket_test.cc test/locks/ticket_test.cc test/locks/turns_test.cc $(bell_source) $(topology_sources) $(harness_headers)
test_stress_test_CPPFLAGS = $(test_cppflags)
test_stress_test_LDADD = $(GTEST_LIBS) -lpthread

test_stress_test_tsan_SOURCES = test/locks/stress_test.cc test/locks/element_marks_test.cc test/locks/passing_ticket_test.cc test/locks/ticket_test.cc test/locks/turns_test.cc $(bell_source) $(topology_sources) $(harness_headers)
test_stress_test_tsan_CPPFLAGS = $(test_cppflags)
test_stress_test_tsan_CXXFLAGS = $(AM_CXXFLAGS) $(tsan_flags)
test_stress_test_tsan_LDADD = $(GTEST_LIBS) -lpthread
else
## There is nothing to run, and make check has to say so.
check-local:
	@echo "make check: what the tests need is missing; configure says what" >&2; exit 1
endif
