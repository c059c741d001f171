#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Breakers by hand, dead probes, and queues that are full.
# tests/e2e/faults_origin_breaker.c.
exec "${BUILD:-build}/tests/e2e/faults_origin_breaker" "$@"
