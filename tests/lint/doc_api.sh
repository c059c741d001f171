#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Every function and result of the public header stands in a page, each
# function in a NAME; the pages' examples compile.
set -eu
cd "$(dirname "$0")/../.."
header="client/weir.h client/weir_fetch.h"
if [ ! -e client/weir.h ]; then
	echo "skip api_documented: no public header"
	exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# The comments name functions too: prototypes alone count.
sed -e 's,/\*.*\*/,,' -e '/\/\*/,/\*\//d' $header >"$dir/bare"
functions=$(grep -oE '\bweir_[a-z_]+\(' "$dir/bare" | tr -d '(' | sort -u)
missing=$(for f in $functions; do
	grep -qE "^\.Nm $f( ,)?\$" man/*.3 || echo "$f"
done)
if [ -z "$functions" ] || [ -n "$missing" ]; then
	echo "fail api_functions_documented: no page names" $missing
	failed=1
else
	echo "pass api_functions_documented"
fi

missing=$(sed -nE 's/^RESULT\(([A-Z_]+),.*/WEIR_\1/p' libshm/result.def |
    while read -r result; do
	grep -qw "$result" man/libweirclient.3 || echo "$result"
done)
if [ -n "$missing" ]; then
	echo "fail api_results_documented: libweirclient.3 lacks" $missing
	failed=1
else
	echo "pass api_results_documented"
fi

missing=$(for f in $functions; do
	grep -qw "$f" client/weirclient.map || echo "$f"
done)
if [ -n "$missing" ]; then
	echo "fail api_functions_exported: weirclient.map lacks" $missing
	failed=1
else
	echo "pass api_functions_exported"
fi

for page in man/libweirclient.3 man/weir_*.3; do
	unit="$dir/$(basename "$page" .3).c"
	sed -n '/^\.Sh EXAMPLES/,/^\.Ed/p' "$page" |
	    sed -e '/^\./d' -e 's/\\e/\\/g' >"$unit"
	if ! grep -q 'weir\.h' "$unit" || ! gcc -std=gnu11 -Wall -Wextra \
	    -Werror -Iclient -fsyntax-only "$unit" 2>"$unit.err"; then
		echo "$page" >>"$dir/broken"
		[ ! -e "$unit.err" ] || cat "$unit.err"
	fi
done
if [ -e "$dir/broken" ]; then
	echo "fail api_examples_compile:" $(cat "$dir/broken")
	failed=1
else
	echo "pass api_examples_compile"
fi
exit $failed
