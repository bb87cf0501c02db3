# MPI tests of the plugin: programs that run under any one-sided component, and their runner.
#
# They are compiled with MPI's own wrappers, which configure found (MPICC, MPICXX): the compiler of the
# rest of the build knows nothing of MPI.

mpi_test_names = locks put_get datatypes accumulate atomics requests active flavors comms \
	errors threads spawn target_busy
mpi_test_binaries = $(mpi_test_names:%=test/mpi/%)
mpi_test_flags = -g -Wall -Wextra -Wshadow -Werror
mpi_test_includes = test/mpi/mpi_test.h test/mpi/typemaps.h test/mpi/basics.h \
	test/mpi/use_window.h

EXTRA_DIST += test/mpi/run test/mpi/runner.py test/mpi/known_failures test/mpi/check \
	test/mpi/check-oracle test/mpi/this_build.sh test/mpi/README.md test/mpi/oracle.cc \
	$(mpi_test_includes) $(mpi_test_names:%=test/mpi/%.c)

check_DATA += $(mpi_test_binaries) test/mpi/oracle
CLEANFILES += $(mpi_test_binaries) test/mpi/oracle

if CAN_TEST
TESTS += test/mpi/check test/mpi/check-oracle
endif

$(mpi_test_binaries): test/mpi/%: test/mpi/%.c $(mpi_test_includes)
	@$(MKDIR_P) test/mpi
	$(AM_V_CC)$(MPICC) -std=gnu11 -O1 $(mpi_test_flags) -I$(srcdir)/test/mpi -o $@ $< -pthread

test/mpi/oracle: test/mpi/oracle.cc
	@$(MKDIR_P) test/mpi
	$(AM_V_CXX)$(MPICXX) -std=gnu++20 -O2 $(mpi_test_flags) -o $@ $<
