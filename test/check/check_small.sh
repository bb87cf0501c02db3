#!/bin/sh
# Runs small cases of the lock checker, as many parts of them at a time as there are cores; one PASS or FAIL line per
# case, for the test driver: the cheapest ones, which `make check` has time for, or with --costly those that `make
# check-full` has time for as well. Runs in the build directory, like every test.
#
# A case whose row in docs/checked.md says something else, and a row of a case that there is not, are failures, too.
#
#   check_small.sh [--costly]
#   check_small.sh OPTION...    options of rmalock_check that choose cases: --at-most 10, --run d_mcs
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/test/suite.sh"
[ "${1-}" = --inside ] || count "$0" --inside "$@"
shift
checker=${RMALOCK_CHECK:-test/check/rmalock_check}
cheap=90 # seconds that those of `make check` have taken, one after the other
dear=330 # the same with those of `make check-full`; what is left is for `make check-deep`
case ${1-} in
"") set -- --at-most "$cheap" --times "$top/test/check/times" ;;
--costly) set -- --beyond "$cheap" --at-most "$dear" --times "$top/test/check/times" ;;
esac
cores=$(nproc)
parts=$((cores < 8 ? 8 * cores : 64)) # more than cores, since some take long
seq "$parts" | xargs -P "$cores" -I PART sh -c '
    out=$1 part=$2
    shift 2
    "$@" --part "$part" >"$out/$part" 2>&1
    echo $? >"$out/$part.status"' sh "$work" PART "$checker" "$@" --parts "$parts"
"$checker" --list | sed '/(deep)$/d' >"$work/names"
cat "$work"/*[0-9] | "$top/contrib/reference" --compare "$work/names" >"$work/differs"
cat "$work"/*[0-9] "$work/differs" | awk -F ' *[|] ' '
    /^docs\/checked.md: / { print "FAIL: check " $0; next }
    NF == 7 { print (($7 ~ /^(clean|caught)/) ? "PASS" : "FAIL") ": check " $1 " " $2 " " $7; next }
    /^[0-9]+ cases, [0-9]+ not as expected$/ { next }
    { print }'
for status in "$work"/*.status; do
    read -r code <"$status"
    [ "$code" -le 1 ] || exit "$code" # 1: a case is not as expected, which its line says
done
