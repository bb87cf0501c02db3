# The lock checker: the shipped lock headers under every interleaving (included by Makefile.am).
if CAN_TEST
check_PROGRAMS += test/check/rmalock_check
CHECK_TESTS += test/check/check_small.sh
FULL_TESTS += test/check/check_costly.sh
endif
EXTRA_DIST += test/check/check_small.sh test/check/check_costly.sh test/check/times test/check/README.md \
	test/check/local.mk

test_check_rmalock_check_SOURCES = \
    test/check/all_gate_setup.hh \
    test/check/cases.cc \
    test/check/cases.hh \
    test/check/cases_all_gate.cc \
    test/check/cases_alock.cc \
    test/check/cases_d_mcs.cc \
    test/check/cases_direct_passive.cc \
    test/check/cases_dqnl.cc \
    test/check/cases_elements.cc \
    test/check/cases_event_count.cc \
    test/check/cases_fompi.cc \
    test/check/cases_large.cc \
    test/check/cases_lingering.cc \
    test/check/cases_n_cosed.cc \
    test/check/cases_pf_alock.cc \
    test/check/cases_pf_cohort.cc \
    test/check/cases_pf_mcs.cc \
    test/check/cases_rma.cc \
    test/check/cases_srsl.cc \
    test/check/cases_ticket.cc \
    test/check/checker_fabric.hh \
    test/check/explore.cc \
    test/check/explore.hh \
    test/check/fingerprint.hh \
    test/check/ghost.hh \
    test/check/lock_setup.cc \
    test/check/lock_setup.hh \
    test/check/main.cc \
    test/check/memory.hh \
    test/check/mutants/all_gate.hh \
    test/check/mutants/alock.hh \
    test/check/mutants/broken_fabric.hh \
    test/check/mutants/d_mcs.hh \
    test/check/mutants/element_marks.hh \
    test/check/mutants/direct_passive.hh \
    test/check/mutants/n_cosed.hh \
    test/check/mutants/passing_ticket.hh \
    test/check/mutants/pf_alock.hh \
    test/check/mutants/pf_cohort.hh \
    test/check/mutants/pf_mcs.hh \
    test/check/mutants/rma.hh \
    test/check/mutants/rma_printed.hh \
    test/check/mutants/srsl.hh \
    test/check/mutants/ticket.hh \
    test/check/progress.hh \
    test/check/scenario.cc \
    test/check/scenario.hh \
    test/check/world.cc \
    test/check/world.hh \
    $(model_headers)
test_check_rmalock_check_CPPFLAGS = $(core_cppflags) -I$(srcdir)/test
test_check_rmalock_check_LDADD = -lboost_context -lfmt
