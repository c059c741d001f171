#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Permits and breakers, deaths and outages.  tests/e2e/faults_origin.c.
exec "${BUILD:-build}/tests/e2e/faults_origin" "$@"
