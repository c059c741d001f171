#!/bin/sh
# SPDX-License-Identifier: ISC
#
# The pages are clean mdoc, and every page of ours they refer to exists.
set -eu
cd "$(dirname "$0")/../.."
failed=0

set -- man/*.[1-8]
if [ ! -e "$1" ]; then
	echo "skip pages_are_clean_mdoc: no page"
	exit 0
fi
if mandoc -T lint -W warning "$@"; then
	echo "pass pages_are_clean_mdoc"
else
	echo "fail pages_are_clean_mdoc: see above"
	failed=1
fi
missing=$(sed -nE 's/^\.Xr ((lib)?weir[a-z.-]*) ([1-8]).*/\1.\3/p' "$@" |
    sort -u | while read -r page; do
	[ -e "man/$page" ] || echo "$page"
done)
if [ -z "$missing" ]; then
	echo "pass pages_refer_to_pages_that_exist"
else
	echo "fail pages_refer_to_pages_that_exist: no" $missing
	failed=1
fi
exit $failed
