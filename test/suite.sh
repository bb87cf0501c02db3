# What the test suites in shell share. Source it after setting `top`, the folder of the sources.
#
#   count COMMAND…      runs a suite, adds up its lines of results, and ends with its last line and exit status
#                       (test/mpi/runner.py)
#   try WHAT COMMAND…   one line of a result, with the last line of what the command says; on failure all of it
#   $work               a folder that is removed in the end

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count() {
    rm -rf "$work"
    exec "$top/test/mpi/runner.py" results "$@"
}

try() {
    try_what=$1 try_begin=$(date +%s) try_verdict=PASS
    shift
    "$@" >"$work/log" 2>&1 || try_verdict=FAIL
    [ $try_verdict = PASS ] || sed 's/^/    /' "$work/log"
    try_said=$(tail -n 1 "$work/log")
    echo "$try_verdict  $try_what ($(($(date +%s) - try_begin)) s)${try_said:+: $try_said}"
}
