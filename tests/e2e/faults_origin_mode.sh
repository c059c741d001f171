#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Incident modes, as callers see them.  tests/e2e/faults_origin_mode.c.
exec "${BUILD:-build}/tests/e2e/faults_origin_mode" "$@"
