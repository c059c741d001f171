#!/bin/sh
# SPDX-License-Identifier: ISC
#
# What a client may not write to, and workers that dump core.
# tests/e2e/faults_seal.c.
exec "${BUILD:-build}/tests/e2e/faults_seal" "$@"
