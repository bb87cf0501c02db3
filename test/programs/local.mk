## Programs that know nothing of rmalock: Debian's coarray tests, one for mpi4py, one for Global Arrays,
## NWChem with an input.

if CAN_TEST
FULL_TESTS += test/programs/check_rmalock
endif
EXTRA_DIST += test/programs/check_rmalock test/programs/local.mk test/programs/mpi4py_rma.py \
	test/programs/run test/programs/ga_arrays.c test/programs/water.nw

## What Open MPI does without rmalock. Each says on top how it is compiled and run.
EXTRA_DIST += test/programs/openmpi/lost_rank.c test/programs/openmpi/spawned.c

## Global Arrays are there for tests only: without them this program is not made, and `run` skips it.
ga_libs = -lga-openmpi -lscalapack-openmpi -larmci-openmpi -llapack -lblas -l:libgfortran.so.5 -lm

full_data += test/programs/ga_arrays
CLEANFILES += test/programs/ga_arrays

test/programs/ga_arrays: test/programs/ga_arrays.c
	@$(MKDIR_P) test/programs
	$(AM_V_CC)if printf '#include <ga.h>\n' | $(MPICC) -E - >/dev/null 2>&1; then \
	    $(MPICC) $(mpi_test_cflags) -o $@ $(srcdir)/test/programs/ga_arrays.c $(ga_libs); \
	else \
	    echo "$@ is not made: no Global Arrays (libglobalarrays-dev)"; \
	fi
