## What is installed beside the component, and what a user runs from a clone.

rmalockdatadir = $(datadir)/rmalock
rmalockdata_DATA = contrib/rmalock.env
CLEANFILES += contrib/rmalock.env
EXTRA_DIST += contrib/tune

contrib/rmalock.env: contrib/rmalock.env.in Makefile
	$(AM_V_GEN)$(MKDIR_P) contrib && \
	sed -e 's|@componentdir[@]|$(componentdir)|g' -e 's|@pmix_component_dir[@]|$(pmix_component_dir)|g' \
	    $(srcdir)/contrib/rmalock.env.in >$@.tmp && mv $@.tmp $@

EXTRA_DIST += contrib/rmalock.env.in contrib/check contrib/quickstart contrib/quickstart_job.c \
	contrib/chroot-check contrib/sitecheck contrib/depends contrib/steps.sh contrib/tally \
	contrib/vcluster/README.md contrib/vcluster/cluster.py contrib/vcluster/delay.c contrib/vcluster/vcluster \
	contrib/spin/check contrib/spin/all_gate.pml contrib/spin/d_mcs.pml contrib/spin/pf_cohort.pml contrib/spin/pf_mcs.pml \
	contrib/spin/rma_rw.pml

if CAN_TEST
FULL_TESTS += contrib/spin/check contrib/sitecheck
endif
