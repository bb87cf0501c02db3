## What there is to read. contrib/reference makes rmalock.7 and the tables of reference.md and checked.md; all are kept.

dist_man_MANS = docs/rmalock.7
EXTRA_DIST += docs/architecture.svg docs/auto.md docs/checked.md docs/design.md docs/glossary.md docs/multi-host.md docs/reference.md \
	docs/results.md docs/troubleshooting.md docs/versions.md contrib/reference
