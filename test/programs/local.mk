## Programs that know nothing of rmalock: Debian's coarray tests, and one for mpi4py.

if CAN_TEST
TESTS += test/programs/check_rmalock
endif
EXTRA_DIST += test/programs/check_rmalock test/programs/local.mk test/programs/mpi4py_rma.py \
	test/programs/run
