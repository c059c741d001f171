#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Every script parses and may be executed.
set -eu
cd "$(dirname "$0")/../.."
out=$(mktemp)
trap 'rm -f "$out"' EXIT

for file in $(tests/lint/list_files text); do
	case "$(head -1 "$file")" in
	'#!/bin/sh'*)
		sh -n "$file" 2>&1 || echo "$file: does not parse"
		;;
	'#!'*python3)
		/usr/bin/python3 -c \
		    'import ast, sys; ast.parse(open(sys.argv[1]).read())' \
		    "$file" 2>&1 || echo "$file: does not parse"
		;;
	*)
		continue
		;;
	esac
	[ -x "$file" ] || echo "$file: not executable"
done >"$out"
if [ -s "$out" ]; then
	cat "$out"
	echo "fail scripts_parse: $(tail -1 "$out")"
	exit 1
fi
echo "pass scripts_parse"
