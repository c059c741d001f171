#!/bin/sh
# SPDX-License-Identifier: ISC
#
# What is a flood of misses, and what is none.  tests/e2e/faults_origin_flood.c.
exec "${BUILD:-build}/tests/e2e/faults_origin_flood" "$@"
