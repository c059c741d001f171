#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Where a daemon may have to live: two at once, on one core, as somebody
# without rights, in a control group that is too small.  Each serves a client
# of the shell and ends well.
set -u
BUILD=${BUILD:-build}
WEIRD=$BUILD/weird
CTL=$BUILD/weir-ctl
failed=0
pids=
# Not in $TMPDIR: somebody else has to reach it.
dir=$(mktemp -d /tmp/weir-machine.XXXXXX) || exit 1
trap '[ -z "$pids" ] || kill -9 $pids 2>/dev/null; rm -rf "$dir"' EXIT
chmod 755 "$dir"

pass() {
	echo "pass $1"
}

fail() {
	echo "fail $1: $2"
	failed=1
}

# start NAME COMMAND...: a daemon in a directory of that name, by way of
# COMMAND; pid and pids are set.  False: it does not serve.
start() {
	name=$1
	shift
	"$@" "$WEIRD" -s "$dir/$name" -a off -m 8M -w 2 2>"$dir/$name.log" \
	    </dev/null &
	pid=$!
	pids="$pids $pid"
	tries=0
	until "$CTL" -s "$dir/$name" -c ping >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 400 ] && kill -0 $pid 2>/dev/null || return 1
		sleep 0.05
	done
}

# stop NAME PID
stop() {
	kill -TERM "$2"
	wait "$2"
	status=$?
	if [ $status -eq 0 ]; then
		pass "${1}_ends_well"
	else
		fail "${1}_ends_well" "exit $status"
	fi
}

# has NAME VALUE: the daemon's own answer.
has() {
	got=$("$CTL" -s "$dir/$1" -c 'get k' 2>&1 | sed -n 's/^value *//p')
	if [ "$got" = "$2" ]; then
		pass "${1}_keeps_its_own"
	else
		fail "${1}_keeps_its_own" "'$got'"
	fi
}

# together NAME COMMAND...: two at once, which have nothing in common.
together() {
	both=$1
	shift
	if ! start "${both}_first" "$@"; then
		fail "${both}_first_serves" "$(tail -1 "$dir/$name.log")"
		return
	fi
	first=$pid
	if ! start "${both}_second" "$@"; then
		fail "${both}_second_serves" "$(tail -1 "$dir/$name.log")"
		return
	fi
	second=$pid
	"$CTL" -s "$dir/${both}_first" -c 'set k one' >/dev/null
	"$CTL" -s "$dir/${both}_second" -c 'set k two' >/dev/null
	has "${both}_first" one
	has "${both}_second" two
	"$CTL" -s "$dir/${both}_first" -c 'purge --all --yes' >/dev/null
	has "${both}_second" two
	stop "${both}_first" "$first"
	has "${both}_second" two
	stop "${both}_second" "$second"
}

together two_daemons env
if command -v taskset >/dev/null && core=$(taskset -pc $$ |
    sed 's/.*: *\([0-9]*\).*/\1/') && taskset -c "$core" true; then
	together one_core taskset -c "$core"
else
	echo "skip one_core: no taskset"
fi

# As nobody, in a directory of nobody's; keys of all kinds by the shell.
somebody='setpriv --reuid=65534 --regid=65534 --clear-groups'
if [ "$(id -u)" -eq 0 ] && $somebody test -x "$WEIRD" 2>/dev/null; then
	install -d -m 755 -o 65534 "$dir/nobody"
	# shellcheck disable=SC2086
	if start nobody $somebody; then
		pass nobody_starts_a_daemon
		owner=$(awk '/^Uid:/ { print $2 }' "/proc/$pid/status")
		if [ "$owner" = 65534 ]; then
			pass nobody_runs_as_nobody
		else
			fail nobody_runs_as_nobody "uid $owner"
		fi
		"$CTL" -s "$dir/nobody" -c 'set \x00\x0a\xff v' >/dev/null
		if $somebody "$CTL" -s "$dir/nobody" -c 'get \x00\x0a\xff' |
		    grep -q '^value *v$'; then
			pass nobody_reads_a_binary_key
		else
			fail nobody_reads_a_binary_key "no value"
		fi
		stop nobody "$pid"
	else
		fail nobody_starts_a_daemon "$(tail -1 "$dir/nobody.log")"
	fi
else
	echo "skip nobody_starts_a_daemon: not root, or weird is out of reach"
fi

# The group of this process gets a smaller one below it, by either version.
group=
limit=
if [ -w /sys/fs/cgroup/memory ]; then
	own=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
	group=/sys/fs/cgroup/memory$own/weir-test.$$
	limit=memory.limit_in_bytes
elif [ -w /sys/fs/cgroup ]; then
	group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/weir-test.$$
	limit=memory.max
fi
if [ -n "$group" ] && mkdir "$group" 2>/dev/null; then
	if [ -e "$group/$limit" ] && echo 67108864 >"$group/$limit"; then
		sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh \
		    "$group" timeout 20 "$WEIRD" -s "$dir/small" -a off \
		    -m 256M >"$dir/small.log" 2>&1 </dev/null
		status=$?
		if [ $status -eq 1 ] && ! grep -q '>ready ' "$dir/small.log"
		then
			pass small_group_is_refused_before_ready
		else
			fail small_group_is_refused_before_ready \
			    "exit $status: $(tail -1 "$dir/small.log")"
		fi
	else
		echo "skip small_group_is_refused_before_ready: no limit to set"
	fi
	tries=0
	until rmdir "$group" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || break
		sleep 0.05
	done
else
	echo "skip small_group_is_refused_before_ready: no group to make"
fi
exit $failed
