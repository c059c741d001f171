#!/bin/sh
# SPDX-License-Identifier: ISC
#
# The program in README.md, as it stands there, compiles against what `make
# install` installs, and does what it says.
set -u
BUILD=${BUILD:-build}

failed=0
dir=$(mktemp -d) || exit 1
daemon=
trap '[ -z "$daemon" ] || { kill "$daemon"; wait "$daemon"; }; rm -rf "$dir"' \
    EXIT

check() {
	if [ "$2" -eq 0 ]; then
		echo "pass $1"
	else
		echo "fail $1: $(tail -1 "$dir/log")"
		failed=1
	fi
}

env -u MAKEFLAGS -u MAKELEVEL make install DESTDIR="$dir/root" PREFIX=/usr \
    >"$dir/log" 2>&1
check install_fills_a_destdir $?

# shellcheck disable=SC2016 # the dollar is an end of line
sed -n '/^```c$/,/^```$/p' README.md | sed '/^```/d' >"$dir/hello.c"

line=$(sed -n 's/^cc hello.c -o hello //p' README.md)
PKG_CONFIG_SYSROOT_DIR=$dir/root
PKG_CONFIG_PATH=$dir/root/usr/lib/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH
# In a staged tree the paths of the system are not left out.
PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS PKG_CONFIG_ALLOW_SYSTEM_LIBS
(cd "$dir" && eval "gcc -Wall -Wextra -Werror hello.c -o hello $line") \
    >"$dir/log" 2>&1
check the_readme_example_compiles $?

"$BUILD/weird" -s "$dir" -a off -l warning 2>"$dir/log" &
daemon=$!
tries=0
until "$BUILD/weir-ctl" -s "$dir" -c ping >/dev/null 2>&1; do
	tries=$((tries + 1))
	if [ $tries -gt 1000 ] || ! kill -0 $daemon 2>/dev/null; then
		echo "fail the_daemon_starts: $(tail -1 "$dir/log")"
		daemon=
		exit 1
	fi
	sleep 0.02
done
for round in first second; do
	WEIR_SOCKET=$dir/weird.sock LD_LIBRARY_PATH=$dir/root/usr/lib \
	    "$dir/hello" >"$dir/log" 2>&1
	[ "$(cat "$dir/log")" = 'hello (WEIR_OK)' ]
	check "the_readme_example_runs_a_${round}_time" $?
done
exit $failed
