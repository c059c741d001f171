#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Tabs indent C, no trailing space, a final newline, no // comments, the
# licence line first.
set -eu
here=$(dirname "$0")
cd "$here/../.."
out=$(mktemp)
trap 'rm -f "$out"' EXIT

report() {
	if [ -s "$out" ]; then
		echo "fail $1: $(wc -l <"$out") times, first $(head -1 "$out")"
		cat "$out"
		failed=1
	else
		echo "pass $1"
	fi
}
failed=0

tests/lint/list_files text | xargs grep -nE '[[:blank:]]+$' /dev/null \
    >"$out" || :
report no_trailing_space

tests/lint/list_files text | while read -r file; do
	[ ! -s "$file" ] || [ "$(tail -c 1 "$file" | wc -l)" = 1 ] ||
		echo "$file"
done >"$out"
report final_newline

# A continuation of 4 spaces comes after the tabs; 8 in a row are a tab.
tests/lint/list_files c |
    xargs grep -nE '^	*( {8}| {1,3}[^ *]| {5,7}[^ ])' /dev/null \
    >"$out" || :
report tabs_indent

# Strings may hold //: they are cut out before the look.
tests/lint/list_files c | while read -r file; do
	sed -E 's/"([^"\\]|\\.)*"//g; s,/\*([^*]|\*[^/])*\*/,,g' "$file" |
	    grep -nE '(^|[^:*])//' | sed "s,^,$file:," || :
done >"$out"
report no_slash_slash_comment

tests/lint/list_files c | while read -r file; do
	[ "$(head -1 "$file")" = '/* SPDX-License-Identifier: ISC */' ] ||
		echo "$file"
done >"$out"
report licence_line_first

exit $failed
