## What is installed beside the component, and what a user runs from a clone.

rmalockdatadir = $(datadir)/rmalock
rmalockdata_DATA = contrib/rmalock.env
EXTRA_DIST += contrib/tune

## `module use` takes modulefiles/, `module load` takes rmalock/VERSION: hence the file's name.
rmalockmoduledir = $(rmalockdatadir)/modulefiles/rmalock
rmalockmodule_DATA = contrib/$(VERSION)
CLEANFILES += contrib/rmalock.env contrib/$(VERSION)

fill_in = $(MKDIR_P) contrib && \
	sed -e 's|@componentdir[@]|$(componentdir)|g' -e 's|@pmix_component_dir[@]|$(pmix_component_dir)|g' \
	    -e 's|@mandir[@]|$(mandir)|g' -e 's|@rmalockdatadir[@]|$(rmalockdatadir)|g' \
	    -e 's|@VERSION[@]|$(VERSION)|g' -e 's|@OMPI_VERSION[@]|$(OMPI_VERSION)|g'

contrib/rmalock.env: contrib/rmalock.env.in Makefile
	$(AM_V_GEN)$(fill_in) $(srcdir)/contrib/rmalock.env.in >$@.tmp && mv $@.tmp $@

contrib/$(VERSION): contrib/modulefile.in Makefile
	$(AM_V_GEN)$(fill_in) $(srcdir)/contrib/modulefile.in >$@.tmp && mv $@.tmp $@

EXTRA_DIST += contrib/rmalock.env.in contrib/check contrib/quickstart contrib/quickstart_job.c \
	contrib/chroot-check contrib/cross-check contrib/sitecheck contrib/depends contrib/openmpi.py contrib/steps.sh contrib/tally \
	contrib/modulefile.in contrib/package contrib/debian/control contrib/debian/copyright contrib/debian/rules \
	contrib/debian/source/format contrib/debian/openmpi-rmalock.docs contrib/debian/openmpi-rmalock.examples contrib/debian/openmpi-rmalock.lintian-overrides \
	contrib/spack/spack_repo/rmalock/repo.yaml contrib/spack/spack_repo/rmalock/packages/openmpi/package.py \
	contrib/spack/spack_repo/rmalock/packages/openmpi_rmalock/package.py \
	contrib/vcluster/README.md contrib/vcluster/cluster.py contrib/vcluster/delay.c contrib/vcluster/slurm contrib/vcluster/vcluster \
	contrib/spin/check contrib/spin/all_gate.pml contrib/spin/d_mcs.pml contrib/spin/pf_cohort.pml contrib/spin/pf_mcs.pml \
	contrib/spin/rma_rw.pml

if CAN_TEST
FULL_TESTS += contrib/spin/check contrib/sitecheck
endif
