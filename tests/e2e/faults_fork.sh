#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Handles that are inherited, and keys and values at the ends.
# tests/e2e/faults_fork.c.
exec "${BUILD:-build}/tests/e2e/faults_fork" "$@"
