#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Every counter of the table stands in a manual page.
set -eu
cd "$(dirname "$0")/../.."

pages=
for page in man/weir-metrics.7 man/weir.7; do
	[ -e "$page" ] && pages="$pages $page"
done
if [ ! -e libshm/stats.def ]; then
	echo "skip counters_documented: no counter table"
	exit 0
fi
missing=$(sed -nE 's/^STAT\(([a-z0-9_]+),.*/\1/p' libshm/stats.def |
    while read -r counter; do
	# shellcheck disable=SC2086 # the list is meant to split
	grep -qw "$counter" $pages /dev/null || echo "$counter"
done)
if [ -n "$missing" ]; then
	echo "fail counters_documented: no page has" $missing
	exit 1
fi
echo "pass counters_documented"
