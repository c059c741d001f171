#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Fences go through libshm/shm_fence.h, which knows what ThreadSanitizer can
# not see; atomics name their order.
set -eu
cd "$(dirname "$0")/../.."
out=$(mktemp)
trap 'rm -f "$out"' EXIT
failed=0

report() {
	if [ -s "$out" ]; then
		echo "fail $1: $(wc -l <"$out") times, first $(head -1 "$out")"
		cat "$out"
		failed=1
	else
		echo "pass $1"
	fi
}

tests/lint/list_files c | grep -v '^libshm/shm_fence\.h$' |
    xargs grep -nE 'atomic_(thread|signal)_fence|__sync_' /dev/null \
    >"$out" || :
report fences_in_one_header

# Product code alone: a test's counter may take the default order.
tests/lint/list_files c | grep -vE '^(tests|bench)/' |
    xargs -r grep -nE \
    'atomic_(load|store|exchange|fetch_[a-z]+|compare_exchange_[a-z]+)[ (]' \
    /dev/null | grep -vE '_explicit' >"$out" || :
report atomics_name_their_order

tests/lint/list_files c | grep -vE '^(tests|bench)/' |
    xargs -r grep -nwE 'volatile' /dev/null |
    grep -vE '__asm__|sig_atomic_t|:[0-9]+:[[:blank:]]*/?\*' >"$out" || :
report no_volatile
exit $failed
