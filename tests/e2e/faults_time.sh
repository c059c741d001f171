#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Clocks that jump, processes that stand still, and what a hit takes.
# tests/e2e/faults_time.c, preload_wall.c.
# tests/run: exclusive
set -u
BUILD=${BUILD:-build}
wall=$(mktemp) || exit 1
trap 'rm -f "$wall"' EXIT
# In place before it is mapped.
head -c 8 /dev/zero >"$wall"
failed=0
WEIR_TEST_WALL=$wall LD_PRELOAD=$BUILD/tests/e2e/preload_wall.so \
    "$BUILD/tests/e2e/faults_time" "$@" || failed=1
"$BUILD/tests/e2e/faults_time" "$@" || failed=1
exit $failed
