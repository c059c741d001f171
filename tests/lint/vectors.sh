#!/bin/sh
# SPDX-License-Identifier: ISC
#
# A second reader, by the page and without the C code, finds in the frozen
# frames what stands beside them.
set -eu
cd "$(dirname "$0")/../.."
exec python3 tests/vectors/check.py
