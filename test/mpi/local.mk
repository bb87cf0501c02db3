# MPI tests of the plugin: programs that run under any one-sided component, and their runner.
#
# They are compiled with MPI's own wrappers, which configure found (MPICC, MPICXX): the compiler of the
# rest of the build knows nothing of MPI.

mpi_test_names = locks patience put_get datatypes accumulate atomics requests active flavors comms \
	errors threads spawn target_busy parameters killed waiter shares counters deadlock device_memory \
	network
mpi_test_binaries = $(mpi_test_names:%=test/mpi/%)
mpi_test_cflags = -std=gnu11 -O1 -g -Wall -Wextra -Wshadow -Werror
mpi_test_includes = test/mpi/mpi_test.h test/mpi/typemaps.h test/mpi/basics.h \
	test/mpi/use_window.h

EXTRA_DIST += test/mpi/run test/mpi/runner.py test/mpi/README.md test/mpi/known_failures \
	$(mpi_test_includes) \
	$(mpi_test_names:%=test/mpi/%.c)

check_DATA += $(mpi_test_binaries)
CLEANFILES += $(mpi_test_binaries)

## -rdynamic: device_memory.c stands in for a function of Open MPI, whose libraries must find it.
$(mpi_test_binaries): test/mpi/%: test/mpi/%.c $(mpi_test_includes)
	@$(MKDIR_P) test/mpi
	$(AM_V_CC)$(MPICC) $(mpi_test_cflags) -I$(srcdir)/test/mpi -o $@ $< -pthread -rdynamic


## The random programs against the oracle; in C++, so with the other wrapper.
test/mpi/oracle: test/mpi/oracle.cc
	@$(MKDIR_P) test/mpi
	$(AM_V_CXX)$(MPICXX) $(CXX20_FLAGS) -O2 -g -Wall -Wextra -Wshadow -Werror -I$(srcdir)/test/mpi -o $@ $<

check_DATA += test/mpi/oracle
CLEANFILES += test/mpi/oracle

if CAN_TEST
CHECK_TESTS += test/mpi/check_rmalock test/mpi/check_oracle test/mpi/check_parameters test/mpi/check_observe \
	test/mpi/check_network
FULL_TESTS += test/mpi/check_valgrind test/mpi/check_far test/mpi/check_cover
endif
EXTRA_DIST += test/mpi/oracle.cc test/mpi/check_rmalock test/mpi/check_far test/mpi/check_cover test/mpi/check_deep \
	test/mpi/check_network test/mpi/check_observe test/mpi/check_oracle test/mpi/check_parameters test/mpi/check_valgrind \
	test/mpi/local.mk
