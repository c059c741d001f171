#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Rings that no client would write.  tests/e2e/faults_ring.c.
exec "${BUILD:-build}/tests/e2e/faults_ring" "$@"
