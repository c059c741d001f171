#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Each header compiles by itself, and twice in one file.
set -eu
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

flags=$(make -s --no-print-directory show-flags)
tests/lint/list_files c | grep '\.h$' | while read -r header; do
	unit="$dir/$(echo "$header" | tr / _).c"
	{
		echo "#include \"$header\""
		echo "#include \"$header\""
		# ISO C wants a declaration in every file.
		echo "typedef int header_stands_alone;"
	} >"$unit"
	# shellcheck disable=SC2086 # flags are meant to split
	gcc $flags -I. -fsyntax-only "$unit" 2>"$unit.err" || {
		echo "$header" >>"$dir/failed"
		cat "$unit.err"
	}
done
if [ -e "$dir/failed" ]; then
	echo "fail headers_stand_alone:" $(cat "$dir/failed")
	exit 1
fi
echo "pass headers_stand_alone"
