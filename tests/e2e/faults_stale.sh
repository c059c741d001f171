#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Failures, stale values, writes meanwhile.  tests/e2e/faults_stale.c.
exec "${BUILD:-build}/tests/e2e/faults_stale" "$@"
