#!/bin/sh
# SPDX-License-Identifier: ISC
#
# The demo, in its short form: ends well and in time, shows what it promises,
# and leaves nothing behind.
set -u
BUILD=${BUILD:-build}
LIMIT_S=60

failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/tmp"

env -u MAKEFLAGS -u MAKELEVEL make build/demo/shop \
    build/demo/stampede >"$dir/log" 2>&1 || {
	echo "fail demo_builds: $(tail -1 "$dir/log")"
	exit 1
}

if TMPDIR=$dir/tmp timeout $LIMIT_S demo/run --quick >"$dir/out" \
    2>"$dir/err" </dev/null; then
	echo "pass demo_ends_well"
else
	echo "fail demo_ends_well: $? $(tail -1 "$dir/err")"
	failed=1
fi
says() {
	if grep -qE "$2" "$dir/out"; then
		echo "pass $1"
	else
		echo "fail $1: no '$2'"
		failed=1
	fi
}
says demo_kills_a_worker 'kill -9 [0-9]+'
says demo_shows_lines_after_the_kill '^ +4 s '
says demo_shows_the_daemon '^state +(ready|degraded)'
says demo_shows_the_hottest_key '^count +[0-3]$'
says demo_computes_once_for_a_crowd \
    '^64 processes want one value .* computed 1 time, the last'
says demo_opens_the_breaker '^breaker opened, for all processes: [1-9]'
says demo_sums_up '^Weir answered [1-9][0-9.]*% of all requests'
says demo_reads_no_wrong_value ' 0 values wrong'
if grep -q "$(printf '\033')" "$dir/out"; then
	echo "fail demo_is_plain_in_a_file: there are escapes"
	failed=1
else
	echo "pass demo_is_plain_in_a_file"
fi
left=$(find "$dir/tmp" -mindepth 1)
if [ -z "$left" ]; then
	echo "pass demo_leaves_nothing"
else
	echo "fail demo_leaves_nothing: $left"
	failed=1
fi
exit $failed
