#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Leaders die, stop, fail and come late.  tests/e2e/faults_lease.c.
exec "${BUILD:-build}/tests/e2e/faults_lease" "$@"
