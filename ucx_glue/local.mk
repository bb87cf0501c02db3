## What the component knows of UCX.

ucx_glue_cppflags = -I$(srcdir) $(core_cppflags) $(UCX_CFLAGS)

noinst_LTLIBRARIES += librmalock_ucx.la
librmalock_ucx_la_CPPFLAGS = $(ucx_glue_cppflags)
librmalock_ucx_la_SOURCES = \
	ucx_glue/atomic_requests.hh \
	ucx_glue/callbacks.hh \
	ucx_glue/completion.hh \
	ucx_glue/creation.cc \
	ucx_glue/data.cc \
	ucx_glue/descriptors.cc \
	ucx_glue/descriptors.hh \
	ucx_glue/flush.cc \
	ucx_glue/memory.cc \
	ucx_glue/memory.hh \
	ucx_glue/messages.cc \
	ucx_glue/operation.hh \
	ucx_glue/opening.cc \
	ucx_glue/opening.hh \
	ucx_glue/peer.hh \
	ucx_glue/peer_state.hh \
	ucx_glue/peers.hh \
	ucx_glue/printed.hh \
	ucx_glue/probe.cc \
	ucx_glue/progress_thread.cc \
	ucx_glue/progress_thread.hh \
	ucx_glue/pulse.cc \
	ucx_glue/relief.hh \
	ucx_glue/room.cc \
	ucx_glue/signals.hh \
	ucx_glue/status.cc \
	ucx_glue/status.hh \
	ucx_glue/tcp.cc \
	ucx_glue/tcp.hh \
	ucx_glue/types.hh \
	ucx_glue/words.cc \
	ucx_glue/worker.cc \
	ucx_glue/worker.hh \
	ucx_glue/worker_options.hh
