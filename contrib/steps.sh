# Steps with progress, for the scripts of this folder. Source it after setting `title`.
#
#   step "What is done" command…   runs it with its output in a log; shows the time it takes; on failure
#                                  shows the end of the log, says plainly what failed, and exits 1

steps_log=$(mktemp "${TMPDIR:-/tmp}/rmalock-${title:-steps}.XXXXXX")
trap 'rm -f "$steps_log"' EXIT
steps_done=0

step() {
    steps_what=$1
    shift
    steps_done=$((steps_done + 1))
    steps_begin=$(date +%s)
    printf '[%d] %s ... ' "$steps_done" "$steps_what"
    if "$@" >"$steps_log" 2>&1; then
        printf 'done (%d s)\n' $(($(date +%s) - steps_begin))
        return 0
    fi
    printf 'FAILED\n\n'
    tail -n 30 "$steps_log"
    printf '\n%s: this step failed: %s\n    %s\n' "${title:-steps}" "$steps_what" "$*" >&2
    exit 1
}

# Builds the clone in $1 into $1/_build, configured for $1/_install. Repeatable. Of debug information line numbers alone,
# unless the caller has other flags: with all of it the checker takes 1.8 times as long to compile.
steps_build() {
    step "Generate configure" autoreconf -fi "$1"
    mkdir -p "$1/_build"
    step "Configure" env -C "$1/_build" ../configure --prefix="$1/_install" \
        CFLAGS="${CFLAGS--O2 -g1}" CXXFLAGS="${CXXFLAGS--O2 -g1}"
    step "Build" make -C "$1/_build" -j"$(nproc)"
    step "Install into _install/" make -C "$1/_build" install
}
