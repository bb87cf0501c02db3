#!/bin/sh
# The small cases of the lock checker that check_small.sh leaves out, but for the dearest.
exec "$(dirname "$0")/check_small.sh" --costly
