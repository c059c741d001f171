#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Nothing in the tree is left for later, and nothing names a place that only
# one machine has.
set -eu
cd "$(dirname "$0")/../.."
out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=0

# Written in two parts, so that this file does not find itself.
look() {
	tests/lint/list_files text | xargs grep -nE "$2" /dev/null >"$out" || :
	if [ -s "$out" ]; then
		echo "fail $1: $(wc -l <"$out") times, first $(head -1 "$out")"
		cat "$out"
		failed=1
	else
		echo "pass $1"
	fi
}

look nothing_left_for_later '\b(TO''DO|FIX''ME|XX''X)\b'
look no_private_path '(^|[^A-Za-z0-9_.])/(wo''rk|ho''me|ro''ot|Us''ers)/'
exit $failed
