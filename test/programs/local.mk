# Programs that know nothing of rmalock: third-party ones of Debian's packages, and mpi4py_rma.py.

EXTRA_DIST += test/programs/run test/programs/check test/programs/mpi4py_rma.py

if CAN_TEST
TESTS += test/programs/check
endif
