#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Many keys expire together.  tests/e2e/faults_expire.c.
exec "${BUILD:-build}/tests/e2e/faults_expire" "$@"
