## Real verbs, in machines under QEMU (contrib/roce). Without what those take it is skipped, and says why.

roce_binaries = $(roce_names:%=test/mpi/%) perf/paths contrib/roce/all_atomics.so
roce_names = locks flavors put_get accumulate atomics requests active network oracle

.PHONY: check-roce
check-roce: all $(roce_binaries)
	@$(AM_TESTS_ENVIRONMENT) $(srcdir)/test/roce/check_roce; status=$$?; test $$status = 77 || exit $$status

contrib/roce/all_atomics.so: contrib/roce/all_atomics.c
	@$(MKDIR_P) contrib/roce
	$(AM_V_CC)$(CC) $(AM_CFLAGS) -O2 -fvisibility=default $(UCX_CFLAGS) -shared -fPIC -o $@ $< $(UCX_LIBS) -luct -ldl

CLEANFILES += contrib/roce/all_atomics.so
EXTRA_DIST += contrib/roce/README.md contrib/roce/adapter.py contrib/roce/all_atomics.c contrib/roce/image.py \
	contrib/roce/initrd-init contrib/roce/machines.py contrib/roce/roce contrib/roce/guest/agent \
	contrib/roce/guest/environment contrib/roce/guest/init test/roce/check_roce test/roce/local.mk
