#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Calls that are out while the daemon is restarted.
# tests/e2e/faults_origin_restart.c.
exec "${BUILD:-build}/tests/e2e/faults_origin_restart" "$@"
