## The boundary to Open MPI, compiled against the one-sided interface of its next series (ompi/mca/osc/osc.h here).
compile_boundary = $(CC) -I$(srcdir)/test/interface $(DEFS) $(DEFAULT_INCLUDES) $(mca_osc_rmalock_la_CPPFLAGS) \
	$(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -Werror -fsyntax-only

.PHONY: check-interface
check-interface:
	@for file in $(srcdir)/ompi_osc_rmalock/osc_rmalock_*.c; do \
		$(compile_boundary) "$$file" || exit 1; \
	done

CHECK_TESTS += test/check_interface
EXTRA_DIST += test/check_interface test/interface/local.mk test/interface/ompi/mca/osc/osc.h
