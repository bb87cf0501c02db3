## The rules of the tree.
if CAN_TEST
CHECK_TESTS += test/tidy/tidy.py
endif
EXTRA_DIST += test/tidy/tidy.py test/tidy/local.mk
