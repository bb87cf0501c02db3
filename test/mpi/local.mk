# MPI tests of the plugin: programs that run under any one-sided component, and their runner.
#
# They are compiled with MPI's own wrappers, which configure found (MPICC, MPICXX): the compiler of the
# rest of the build knows nothing of MPI.

MPI_TEST_C = locks put_get datatypes accumulate atomics requests active flavors comms \
	errors threads target_busy
MPI_TEST_PROGRAMS = $(MPI_TEST_C:%=test/mpi/%)
MPI_TEST_CFLAGS = -std=gnu11 -O1 -g -Wall -Wextra -Wshadow -Werror
MPI_TEST_HEADERS = test/mpi/mpi_test.h test/mpi/typemaps.h test/mpi/basics.h

EXTRA_DIST += test/mpi/run test/mpi/known_failures $(MPI_TEST_HEADERS) \
	$(MPI_TEST_C:%=test/mpi/%.c)

check_DATA += $(MPI_TEST_PROGRAMS)
CLEANFILES += $(MPI_TEST_PROGRAMS)

$(MPI_TEST_PROGRAMS): test/mpi/%: test/mpi/%.c $(MPI_TEST_HEADERS)
	@$(MKDIR_P) test/mpi
	$(AM_V_CC)$(MPICC) $(MPI_TEST_CFLAGS) -I$(srcdir)/test/mpi -o $@ $< -pthread
