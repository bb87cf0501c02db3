## The UCX layer, by several processes on this machine: plain, and with the sanitizers.

ucx_test_sources = \
	test/ucx/close_test.cc \
	test/ucx/load_test.cc \
	test/ucx/lost_test.cc \
	test/ucx/messages_test.cc \
	test/ucx/processes.cc \
	test/ucx/processes.hh \
	test/ucx/progress_thread_test.cc \
	test/ucx/room_test.cc \
	test/ucx/verbs_test.cc
ucx_test_cppflags = $(ucx_glue_cppflags) -I$(srcdir)/test/ucx $(GTEST_CFLAGS)

if CAN_TEST
check_PROGRAMS += test/ucx_test
full_programs += test/ucx_test_asan
CHECK_TESTS += test/ucx_test
FULL_TESTS += test/ucx_test_asan

test_ucx_test_SOURCES = $(ucx_test_sources)
test_ucx_test_CPPFLAGS = $(ucx_test_cppflags)
test_ucx_test_LDADD = librmalock_ucx.la $(UCX_LIBS) $(GTEST_LIBS)

test_ucx_test_asan_SOURCES = $(ucx_test_sources) $(librmalock_ucx_la_SOURCES)
test_ucx_test_asan_CPPFLAGS = $(ucx_test_cppflags)
test_ucx_test_asan_CXXFLAGS = $(AM_CXXFLAGS) $(asan_flags)
test_ucx_test_asan_LDADD = $(UCX_LIBS) $(GTEST_LIBS)
$(test_ucx_test_asan_OBJECTS): CXXFLAGS += -O1
endif
