#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Processes are killed at random under load.  tests/e2e/faults_kill.c.
exec "${BUILD:-build}/tests/e2e/faults_kill" "$@"
