#!/bin/sh
# SPDX-License-Identifier: ISC
#
# A file holds one idea and a function does one job.  The style says 400
# lines and 60; what is a little over is for a reader to judge.
set -eu
cd "$(dirname "$0")/../.."
MAX_FILE_LINES=450
MAX_FUNCTION_LINES=70
out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=0

tests/lint/list_files c | while read -r file; do
	lines=$(wc -l <"$file")
	[ "$lines" -le $MAX_FILE_LINES ] || echo "$file: $lines lines"
done >"$out"
if [ -s "$out" ]; then
	echo "fail file_length: $(wc -l <"$out") files, first $(head -1 "$out")"
	cat "$out"
	failed=1
else
	echo "pass file_length"
fi

# A function's braces stand alone in the first column.
tests/lint/list_files c | while read -r file; do
	awk -v f="$file" -v limit=$MAX_FUNCTION_LINES '
	/^\{$/ { start = NR; name = last }
	/^\}/ && start {
		if (NR - start - 1 > limit)
			print f ":" start ": " NR - start - 1 " lines: " name
		start = 0
	}
	/^[a-z]/ { last = $0 }' "$file"
done >"$out"
if [ -s "$out" ]; then
	echo "fail function_length: $(wc -l <"$out")," \
	    "first $(head -1 "$out")"
	cat "$out"
	failed=1
else
	echo "pass function_length"
fi
exit $failed
