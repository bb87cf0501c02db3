#!/bin/sh
# Runs every small case of the lock checker; one PASS or FAIL line per case, for the test driver.
# Runs in the build directory, like every test.
out=$("${RMALOCK_CHECK:-test/check/rmalock_check}" --all-small)
status=$?
printf '%s\n' "$out" | awk -F ' *[|] ' '
    NF == 7 { print (($7 ~ /^(clean|caught)/) ? "PASS" : "FAIL") ": check " $1 " " $2 " " $7; next }
    { print }'
exit $status
