#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Workers die between doing what was asked and saying so.
# tests/e2e/faults_answer.c, preload_answer.c.
set -u
BUILD=${BUILD:-build}
wanted=$(mktemp) || exit 1
trap 'rm -f "$wanted"' EXIT
# In place before it is mapped.
head -c 4 /dev/zero >"$wanted"
WEIR_TEST_ANSWER=$wanted LD_PRELOAD=$BUILD/tests/e2e/preload_answer.so \
    "$BUILD/tests/e2e/faults_answer" "$@"
