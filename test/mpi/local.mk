# MPI tests of the plugin: programs that run under any one-sided component, and their runner.
#
# They are compiled with MPI's own wrappers, which configure found (MPICC, MPICXX): the compiler of the
# rest of the build knows nothing of MPI.

mpi_test_names = locks patience put_get datatypes accumulate arrays atomics requests active flavors comms \
	errors threads spawn target_busy parameters killed waiter shares counters deadlock device_memory \
	network ends late_answer held_lock crowd random_locks sections sessions refuse_calls \
	survive
mpi_test_binaries = $(mpi_test_names:%=test/mpi/%)
mpi_test_cflags = -std=gnu11 -O1 -g -Wall -Wextra -Wshadow -Werror
mpi_test_includes = test/mpi/mpi_test.h test/mpi/typemaps.h test/mpi/basics.h \
	test/mpi/use_window.h test/mpi/hide.h

EXTRA_DIST += test/mpi/run test/mpi/runner.py test/mpi/soak test/mpi/soak_jobs.py test/mpi/soak_report.py test/mpi/test_soak.py test/mpi/test_runner.py test/mpi/README.md test/mpi/known_failures \
	$(mpi_test_includes) \
	$(mpi_test_names:%=test/mpi/%.c)

check_DATA += $(mpi_test_binaries)
CLEANFILES += $(mpi_test_binaries)

## -rdynamic: device_memory.c stands in for a function of Open MPI, whose libraries must find it.
$(mpi_test_binaries): test/mpi/%: test/mpi/%.c $(mpi_test_includes)
	@$(MKDIR_P) test/mpi
	$(AM_V_CC)$(MPICC) $(mpi_test_cflags) -I$(srcdir)/test/mpi -o $@ $< -pthread -rdynamic


## The random programs against the oracle; in C++, so with the other wrapper.
oracle_sources = $(oracle_names:%=test/mpi/random_programs/%.cc) test/mpi/oracle.cc
oracle_headers = $(oracle_names:%=test/mpi/random_programs/%.hh) test/mpi/random_programs/random.hh
oracle_names = executor generator judge layouts program types windows

test/mpi/oracle: $(oracle_sources) $(oracle_headers)
	@$(MKDIR_P) test/mpi
	$(AM_V_CXX)$(MPICXX) $(CXX20_FLAGS) -O2 -g -Wall -Wextra -Wshadow -Werror -I$(srcdir)/test/mpi -o $@ \
		$(filter %.cc,$^)

check_DATA += test/mpi/oracle
CLEANFILES += test/mpi/oracle

if CAN_TEST
CHECK_TESTS += test/mpi/check_rmalock test/mpi/check_oracle test/mpi/check_parameters test/mpi/check_observe \
	test/mpi/check_network test/mpi/test_runner.py
FULL_TESTS += test/mpi/check_more test/mpi/check_valgrind test/mpi/check_far test/mpi/check_cover test/mpi/check_ground test/mpi/check_survive test/mpi/test_soak.py
endif
EXTRA_DIST += $(oracle_sources) $(oracle_headers) test/mpi/check_rmalock test/mpi/check_more test/mpi/check_far test/mpi/check_cover test/mpi/check_deep test/mpi/check_ground test/mpi/check_survive \
	test/mpi/check_crowd test/mpi/check_network test/mpi/check_observe test/mpi/check_oracle test/mpi/check_parameters test/mpi/check_valgrind \
	test/mpi/local.mk

## Component and programs once more, for ThreadSanitizer: an object of librmalock_core.la would hide its races. With
## -rpath libtool makes a module, though nobody installs it. Its undefined functions are those of ThreadSanitizer, whose
## runtime is the program's. -Wno-tsan: a header of Open MPI has a fence, which ThreadSanitizer does not model.
mpi_tsan_names = racing_puts threads network requests active flavors accumulate sections
mpi_tsan_binaries = $(mpi_tsan_names:%=test/mpi/tsan/%)

if CAN_TEST
FULL_TESTS += test/mpi/check_tsan
EXTRA_LTLIBRARIES = test/mpi/tsan/mca_osc_rmalock.la
test_mpi_tsan_mca_osc_rmalock_la_SOURCES = $(mca_osc_rmalock_la_SOURCES) $(librmalock_core_la_SOURCES) \
	$(librmalock_ucx_la_SOURCES)
test_mpi_tsan_mca_osc_rmalock_la_CPPFLAGS = $(mca_osc_rmalock_la_CPPFLAGS) $(UCX_CFLAGS)
test_mpi_tsan_mca_osc_rmalock_la_CFLAGS = $(AM_CFLAGS) $(tsan_flags) -Wno-tsan
test_mpi_tsan_mca_osc_rmalock_la_CXXFLAGS = $(AM_CXXFLAGS) $(tsan_flags)
test_mpi_tsan_mca_osc_rmalock_la_LIBADD = $(UCX_LIBS) $(OMPI_LIBS) $(HWLOC_LIBS) $(PMIX_LIBS)
test_mpi_tsan_mca_osc_rmalock_la_LDFLAGS = -module -avoid-version -shared -rpath $(abs_builddir)/test/mpi/tsan \
	-Wl,--version-script=$(srcdir)/ompi_osc_rmalock/exports.map
EXTRA_test_mpi_tsan_mca_osc_rmalock_la_DEPENDENCIES = ompi_osc_rmalock/exports.map

## The component as another build of it: for check_ground.
EXTRA_LTLIBRARIES += test/mpi/other/mca_osc_rmalock.la
test_mpi_other_mca_osc_rmalock_la_SOURCES = $(mca_osc_rmalock_la_SOURCES)
nodist_EXTRA_test_mpi_other_mca_osc_rmalock_la_SOURCES = cxx_links.cc
test_mpi_other_mca_osc_rmalock_la_CPPFLAGS = -DRMALOCK_BUILD_ID=1 $(mca_osc_rmalock_la_CPPFLAGS)
test_mpi_other_mca_osc_rmalock_la_LIBADD = $(mca_osc_rmalock_la_LIBADD)
test_mpi_other_mca_osc_rmalock_la_LDFLAGS = $(mca_osc_rmalock_la_LDFLAGS) -rpath $(abs_builddir)/test/mpi/other
EXTRA_test_mpi_other_mca_osc_rmalock_la_DEPENDENCIES = ompi_osc_rmalock/exports.map
full_data += test/mpi/other/mca_osc_rmalock.la

full_data += $(mpi_tsan_binaries) test/mpi/tsan/mca_osc_rmalock.la
endif
CLEANFILES += $(mpi_tsan_binaries) test/mpi/tsan/mca_osc_rmalock.la test/mpi/other/mca_osc_rmalock.la
EXTRA_DIST += test/mpi/check_tsan test/mpi/racing_puts.c test/mpi/tsan_suppressions

$(mpi_tsan_binaries): test/mpi/tsan/%: test/mpi/%.c $(mpi_test_includes)
	@$(MKDIR_P) test/mpi/tsan
	$(AM_V_CC)$(MPICC) $(mpi_test_cflags) $(tsan_flags) -I$(srcdir)/test/mpi -o $@ $< -pthread
