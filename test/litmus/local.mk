## Small programs under the memory model of C++20.
if CAN_TEST
CHECK_TESTS += test/litmus/check
endif
EXTRA_DIST += test/litmus/check test/litmus/README.md test/litmus/classics.py test/litmus/excerpts.py test/litmus/program.py \
	test/litmus/programs.py test/litmus/rc11.py test/litmus/source.py test/litmus/local.mk
