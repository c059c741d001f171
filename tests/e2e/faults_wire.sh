#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Bad bytes, floods and clients that do nothing.  tests/e2e/faults_wire.c.
exec "${BUILD:-build}/tests/e2e/faults_wire" "$@"
