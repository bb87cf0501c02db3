## The component: a C++20 core that knows no MPI, and the C11 boundary to Open MPI around it.

core_cppflags = -I$(srcdir)/ompi_osc_rmalock -I$(srcdir)

noinst_LTLIBRARIES += librmalock_core.la
librmalock_core_la_CPPFLAGS = $(core_cppflags) $(HWLOC_CFLAGS)
librmalock_core_la_LIBADD = $(HWLOC_LIBS)
librmalock_core_la_SOURCES = \
	ompi_osc_rmalock/counters.def \
	ompi_osc_rmalock/fabric/adapter.hh \
	ompi_osc_rmalock/fabric/base.hh \
	ompi_osc_rmalock/fabric/bell.cc \
	ompi_osc_rmalock/fabric/bell.hh \
	ompi_osc_rmalock/fabric/concept.hh \
	ompi_osc_rmalock/fabric/cpu.hh \
	ompi_osc_rmalock/fabric/hybrid.hh \
	ompi_osc_rmalock/fabric/layout.hh \
	ompi_osc_rmalock/fabric/node.hh \
	ompi_osc_rmalock/fabric/on_node.hh \
	ompi_osc_rmalock/fabric/node_fence.cc \
	ompi_osc_rmalock/fabric/node_fence.hh \
	ompi_osc_rmalock/fabric/remote.hh \
	ompi_osc_rmalock/fabric/tally.hh \
	ompi_osc_rmalock/fabric/waiter.hh \
	ompi_osc_rmalock/locks/algorithms/alock.hh \
	ompi_osc_rmalock/locks/algorithms/d_mcs.hh \
	ompi_osc_rmalock/locks/algorithms/direct_passive.hh \
	ompi_osc_rmalock/locks/algorithms/dqnl.hh \
	ompi_osc_rmalock/locks/algorithms/fompi_rw.hh \
	ompi_osc_rmalock/locks/algorithms/fompi_spin.hh \
	ompi_osc_rmalock/locks/algorithms/n_cosed.hh \
	ompi_osc_rmalock/locks/algorithms/pf_alock.hh \
	ompi_osc_rmalock/locks/algorithms/pf_cohort.hh \
	ompi_osc_rmalock/locks/algorithms/pf_mcs.hh \
	ompi_osc_rmalock/locks/algorithms/rma_mcs.hh \
	ompi_osc_rmalock/locks/algorithms/rma_rw.hh \
	ompi_osc_rmalock/locks/algorithms/srsl.hh \
	ompi_osc_rmalock/locks/all.def \
	ompi_osc_rmalock/locks/all.hh \
	ompi_osc_rmalock/locks/lock.hh \
	ompi_osc_rmalock/locks/lock_env.hh \
	ompi_osc_rmalock/locks/parts/baton.hh \
	ompi_osc_rmalock/locks/parts/cohort.hh \
	ompi_osc_rmalock/locks/parts/counter_room.hh \
	ompi_osc_rmalock/locks/parts/drain.hh \
	ompi_osc_rmalock/locks/parts/batch.hh \
	ompi_osc_rmalock/locks/parts/element_marks.hh \
	ompi_osc_rmalock/locks/parts/holder_records.hh \
	ompi_osc_rmalock/locks/parts/mcs_queue.hh \
	ompi_osc_rmalock/locks/parts/members.hh \
	ompi_osc_rmalock/locks/parts/node_records.hh \
	ompi_osc_rmalock/locks/parts/reader_group.hh \
	ompi_osc_rmalock/locks/parts/near_entry.hh \
	ompi_osc_rmalock/locks/parts/node_event_count.hh \
	ompi_osc_rmalock/locks/parts/passing_ticket.hh \
	ompi_osc_rmalock/locks/parts/patience.hh \
	ompi_osc_rmalock/locks/parts/qnodes.hh \
	ompi_osc_rmalock/locks/parts/push_list.hh \
	ompi_osc_rmalock/locks/parts/queue_tree.hh \
	ompi_osc_rmalock/locks/parts/section.hh \
	ompi_osc_rmalock/locks/parts/ticket.hh \
	ompi_osc_rmalock/locks/window_lock/all_gate.hh \
	ompi_osc_rmalock/locks/window_lock/configure.cc \
	ompi_osc_rmalock/locks/window_lock/configure.hh \
	ompi_osc_rmalock/locks/window_lock/lock_config.cc \
	ompi_osc_rmalock/locks/window_lock/lock_config.hh \
	ompi_osc_rmalock/locks/window_lock/gate_alls.hh \
	ompi_osc_rmalock/locks/window_lock/gate_exclusives.hh \
	ompi_osc_rmalock/locks/window_lock/gate_nodes.hh \
	ompi_osc_rmalock/locks/window_lock/gate_parts.hh \
	ompi_osc_rmalock/locks/window_lock/gate_rules.hh \
	ompi_osc_rmalock/locks/window_lock/gate_word.hh \
	ompi_osc_rmalock/locks/window_lock/gated_lock.hh \
	ompi_osc_rmalock/locks/window_lock/gated_sections.hh \
	ompi_osc_rmalock/locks/window_lock/registry.cc \
	ompi_osc_rmalock/locks/window_lock/registry.hh \
	ompi_osc_rmalock/locks/window_lock/window_lock.hh \
	ompi_osc_rmalock/params.cc \
	ompi_osc_rmalock/params.def \
	ompi_osc_rmalock/rmalock_api.h \
	ompi_osc_rmalock/topology/here.cc \
	ompi_osc_rmalock/topology/machine.cc \
	ompi_osc_rmalock/topology/machine.hh \
	ompi_osc_rmalock/topology/spec.cc \
	ompi_osc_rmalock/topology/spec.hh \
	ompi_osc_rmalock/topology/tree.hh \
	ompi_osc_rmalock/host.cc \
	ompi_osc_rmalock/host.hh \
	ompi_osc_rmalock/together.hh \
	ompi_osc_rmalock/network/answers.cc \
	ompi_osc_rmalock/network/answers.hh \
	ompi_osc_rmalock/network/departures.cc \
	ompi_osc_rmalock/network/departures.hh \
	ompi_osc_rmalock/network/doorbell.cc \
	ompi_osc_rmalock/network/doorbell.hh \
	ompi_osc_rmalock/network/exchange.cc \
	ompi_osc_rmalock/network/exchange.hh \
	ompi_osc_rmalock/network/groups.hh \
	ompi_osc_rmalock/network/inbox.cc \
	ompi_osc_rmalock/network/inbox.hh \
	ompi_osc_rmalock/network/message.hh \
	ompi_osc_rmalock/network/message_check.cc \
	ompi_osc_rmalock/network/message_check.hh \
	ompi_osc_rmalock/network/message_sink.hh \
	ompi_osc_rmalock/network/neighbours.cc \
	ompi_osc_rmalock/network/neighbours.hh \
	ompi_osc_rmalock/network/network.cc \
	ompi_osc_rmalock/network/network.hh \
	ompi_osc_rmalock/network/or_end_the_job.hh \
	ompi_osc_rmalock/network/outbox.cc \
	ompi_osc_rmalock/network/outbox.hh \
	ompi_osc_rmalock/network/reach.hh \
	ompi_osc_rmalock/network/reachability.cc \
	ompi_osc_rmalock/network/reachability.hh \
	ompi_osc_rmalock/network/remote.cc \
	ompi_osc_rmalock/network/remote_words.cc \
	ompi_osc_rmalock/network/remote.hh \
	ompi_osc_rmalock/network/section.hh \
	ompi_osc_rmalock/network/servers.hh \
	ompi_osc_rmalock/network/trial.cc \
	ompi_osc_rmalock/network/trial.hh \
	ompi_osc_rmalock/network/trial_pairs.cc \
	ompi_osc_rmalock/network/trial_pairs.hh \
	ompi_osc_rmalock/network/waiting_requests.hh \
	ompi_osc_rmalock/network/waiting_sections.hh \
	ompi_osc_rmalock/network/window_directory.cc \
	ompi_osc_rmalock/network/window_directory.hh \
	ompi_osc_rmalock/network/window_id.hh \
	ompi_osc_rmalock/window/api.cc \
	ompi_osc_rmalock/window/create/body.cc \
	ompi_osc_rmalock/window/create/body.hh \
	ompi_osc_rmalock/window/create/copy_once.h \
	ompi_osc_rmalock/window/create/exposure.hh \
	ompi_osc_rmalock/window/create/failures.cc \
	ompi_osc_rmalock/window/create/failures.hh \
	ompi_osc_rmalock/window/create/foundation.cc \
	ompi_osc_rmalock/window/create/foundation.hh \
	ompi_osc_rmalock/window/create/held_accumulates.cc \
	ompi_osc_rmalock/window/create/held_accumulates.hh \
	ompi_osc_rmalock/window/create/held_back.cc \
	ompi_osc_rmalock/window/create/held_back.hh \
	ompi_osc_rmalock/window/create/held_batches.hh \
	ompi_osc_rmalock/window/create/held_copies.cc \
	ompi_osc_rmalock/window/create/held_copies.hh \
	ompi_osc_rmalock/window/create/kernel_copy.hh \
	ompi_osc_rmalock/window/create/memory.cc \
	ompi_osc_rmalock/window/create/memory.hh \
	ompi_osc_rmalock/window/create/plan.cc \
	ompi_osc_rmalock/window/create/plan.hh \
	ompi_osc_rmalock/window/create/record.hh \
	ompi_osc_rmalock/window/create/regions.cc \
	ompi_osc_rmalock/window/create/regions.hh \
	ompi_osc_rmalock/window/create/scratch.cc \
	ompi_osc_rmalock/window/create/scratch.hh \
	ompi_osc_rmalock/window/create/segment.cc \
	ompi_osc_rmalock/window/create/segment.hh \
	ompi_osc_rmalock/window/create/stores.hh \
	ompi_osc_rmalock/window/create/stream.hh \
	ompi_osc_rmalock/window/create/wait_observer.cc \
	ompi_osc_rmalock/window/create/wait_observer.hh \
	ompi_osc_rmalock/window/create/waiters.cc \
	ompi_osc_rmalock/window/create/waiters.hh \
	ompi_osc_rmalock/window/create/window_name.hh \
	ompi_osc_rmalock/window/data/access.cc \
	ompi_osc_rmalock/window/data/access.hh \
	ompi_osc_rmalock/window/data/accumulate.cc \
	ompi_osc_rmalock/window/data/accumulate_far.cc \
	ompi_osc_rmalock/window/data/accumulate_intrinsic.cc \
	ompi_osc_rmalock/window/data/collector.hh \
	ompi_osc_rmalock/window/data/kernels.cc \
	ompi_osc_rmalock/window/data/element_ops.hh \
	ompi_osc_rmalock/window/data/element_starts.hh \
	ompi_osc_rmalock/window/data/elements.hh \
	ompi_osc_rmalock/window/data/kernels.hh \
	ompi_osc_rmalock/window/data/loops.hh \
	ompi_osc_rmalock/window/data/loops_avx2.cc \
	ompi_osc_rmalock/window/data/loops_avx2.hh \
	ompi_osc_rmalock/window/data/section.cc \
	ompi_osc_rmalock/window/data/thread_number.cc \
	ompi_osc_rmalock/window/data/thread_number.hh \
	ompi_osc_rmalock/window/diag/blame.cc \
	ompi_osc_rmalock/window/diag/blame.hh \
	ompi_osc_rmalock/window/diag/counts.cc \
	ompi_osc_rmalock/window/diag/counts.hh \
	ompi_osc_rmalock/window/diag/last_words.cc \
	ompi_osc_rmalock/window/diag/last_words.hh \
	ompi_osc_rmalock/window/diag/observed.cc \
	ompi_osc_rmalock/window/diag/observed.hh \
	ompi_osc_rmalock/window/diag/watch.cc \
	ompi_osc_rmalock/window/diag/watch.hh \
	ompi_osc_rmalock/window/sync/active.cc \
	ompi_osc_rmalock/window/sync/courtesy.hh \
	ompi_osc_rmalock/window/sync/deferred.cc \
	ompi_osc_rmalock/window/sync/epoch.cc \
	ompi_osc_rmalock/window/sync/epoch.hh \
	ompi_osc_rmalock/window/sync/epochs.cc \
	ompi_osc_rmalock/window/sync/epochs.hh \
	ompi_osc_rmalock/window/sync/held.hh \
	ompi_osc_rmalock/window/sync/rounds.hh \
	ompi_osc_rmalock/window/sync/passive.cc \
	ompi_osc_rmalock/window/sync/fast_path.hh \
	ompi_osc_rmalock/window/window.cc \
	ompi_osc_rmalock/window/window.hh

component_LTLIBRARIES = mca_osc_rmalock.la
## compat/ comes last: it stands in only for headers that this Open MPI did not install.
mca_osc_rmalock_la_CPPFLAGS = $(core_cppflags) $(OMPI_CPPFLAGS) \
	-isystem $(srcdir)/ompi_osc_rmalock/compat $(HWLOC_CFLAGS) $(PMIX_CFLAGS) $(RMALOCK_VERSION_FLAGS)
mca_osc_rmalock_la_SOURCES = \
	ompi_osc_rmalock/compat/ompi/mpi/fortran/base/fint_2_int.h \
	ompi_osc_rmalock/compat/opal/mca/threads/pthreads/threads_pthreads_mutex.h \
	ompi_osc_rmalock/compat/opal/mca/threads/pthreads/threads_pthreads_threads.h \
	ompi_osc_rmalock/compat/opal/mca/threads/pthreads/threads_pthreads_tsd.h \
	ompi_osc_rmalock/osc_rmalock.h \
	ompi_osc_rmalock/osc_rmalock_accumulate.c \
	ompi_osc_rmalock/osc_rmalock_compat.h \
	ompi_osc_rmalock/osc_rmalock_component.c \
	ompi_osc_rmalock/osc_rmalock_data.c \
	ompi_osc_rmalock/osc_rmalock_failure.c \
	ompi_osc_rmalock/osc_rmalock_survive.c \
	ompi_osc_rmalock/osc_rmalock_gpu.c \
	ompi_osc_rmalock/osc_rmalock_layout.c \
	ompi_osc_rmalock/osc_rmalock_module.c \
	ompi_osc_rmalock/osc_rmalock_peers.c \
	ompi_osc_rmalock/osc_rmalock_pvars.c \
	ompi_osc_rmalock/osc_rmalock_request.c
## The core's objects are C++, so the C++ compiler links; the libraries of Open MPI are named because a
## libmpi that was dlopen'ed (mpi4py) offers no symbols to others.
nodist_EXTRA_mca_osc_rmalock_la_SOURCES = cxx_links.cc
mca_osc_rmalock_la_LIBADD = librmalock_core.la librmalock_ucx.la $(UCX_LIBS) $(OMPI_LIBS) $(HWLOC_LIBS) $(PMIX_LIBS)
mca_osc_rmalock_la_LDFLAGS = -module -avoid-version -shared -Wl,-z,defs \
	-Wl,--version-script=$(srcdir)/ompi_osc_rmalock/exports.map
EXTRA_mca_osc_rmalock_la_DEPENDENCIES = ompi_osc_rmalock/exports.map

## What tells one build from another: every line that is compiled into the component.
BUILT_SOURCES += ompi_osc_rmalock/build_id.h
CLEANFILES += ompi_osc_rmalock/build_id.h
build_id_of = $(librmalock_core_la_SOURCES) $(librmalock_ucx_la_SOURCES) $(mca_osc_rmalock_la_SOURCES)
ompi_osc_rmalock/build_id.h: $(build_id_of)
	$(AM_V_GEN)$(MKDIR_P) ompi_osc_rmalock && (cd $(srcdir) && cat $(build_id_of)) | cksum | \
	awk '{ printf "#ifndef RMALOCK_BUILD_ID\n#define RMALOCK_BUILD_ID ((uint64_t)%s << 32 | %s)\n#endif\n", $$1, $$2 }' \
	    >$@.tmp && mv $@.tmp $@

EXTRA_DIST += ompi_osc_rmalock/exports.map ompi_osc_rmalock/README.md ompi_osc_rmalock/locks/README.md
