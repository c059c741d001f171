#!/bin/sh
# SPDX-License-Identifier: ISC
#
# tests/crash/points.def lists each SHM_POINT() of the sources once, and none
# that is gone.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

report() {
	if [ -s "$work/out" ]; then
		echo "fail $1: $(tr '\n' ' ' <"$work/out")"
		failed=1
	else
		echo "pass $1"
	fi
}

tests/lint/list_files c | grep -E '^(libshm|server|client|ctl)/' |
    grep -v '^libshm/point\.h$' |
    xargs grep -ohE 'SHM_POINT\([a-z0-9_]+\)' |
    sed 's/.*(//; s/)//' | sort -u >"$work/used"
grep -E '^(CRASH|RECOVERY|OTHER)_POINT\(' tests/crash/points.def |
    sed 's/^[A-Z_]*(//; s/[,)].*//' | sort >"$work/listed"

if [ ! -s "$work/used" ] || [ ! -s "$work/listed" ]; then
	echo "fail points_are_found: no point in the sources or in the list"
	exit 1
fi
comm -23 "$work/used" "$work/listed" >"$work/out"
report points_of_the_sources_are_listed
comm -13 "$work/used" "$work/listed" >"$work/out"
report listed_points_are_in_the_sources
exit $failed
