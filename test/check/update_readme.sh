#!/bin/sh
# Puts the table of a run into a README, between its "checked" markers.
# Usage: update_readme.sh README < output of rmalock_check --markdown
set -eu
readme=$1
table=$(mktemp)
trap 'rm -f "$table"' EXIT
cat >"$table"
awk -v table="$table" '
    /^<!-- checked: end/ { while ((getline line < table) > 0) print line; skip = 0 }
    !skip { print }
    /^<!-- checked: begin/ { skip = 1 }' "$readme" >"$readme.new"
mv "$readme.new" "$readme"
