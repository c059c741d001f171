#!/bin/sh
# SPDX-License-Identifier: ISC
#
# 80 columns, a tab being 8; tables in .def files have 100.
set -eu
cd "$(dirname "$0")/../.."
out=$(mktemp)
trap 'rm -f "$out"' EXIT

check() {
	limit=$1
	while read -r file; do
		expand -t 8 "$file" | awk -v f="$file" -v limit="$limit" \
		    'length($0) > limit { print f ":" NR ": " length($0) }'
	done
}

{
	tests/lint/list_files text | grep -E '\.([ch]|sh|py)$|/[a-z_]+$' |
	    grep -v '\.def$' | check 80
	tests/lint/list_files text | grep '\.def$' | check 100
} >"$out"
if [ -s "$out" ]; then
	echo "fail line_width: $(wc -l <"$out") lines, first $(head -1 "$out")"
	cat "$out"
	exit 1
fi
echo "pass line_width"
