#!/bin/sh
# SPDX-License-Identifier: ISC
#
# A daemon's life: start, signals, reload, deaths of its processes, stop.  As
# who runs the script, and if that is root as nobody too.
# tests/run: timeout_s 180
#
# Functions are called by name, as conditions to wait for.
# shellcheck disable=SC2317
set -u
BUILD=${BUILD:-build}
WEIRD=$BUILD/weird
failed=0
pid=
# Not in $TMPDIR: nobody has to reach it.
dir=$(mktemp -d /tmp/weir-life.XXXXXX) || exit 1
trap '[ -z "$pid" ] || kill -9 $pid 2>/dev/null; rm -rf "$dir"' EXIT
chmod 755 "$dir"

pass() {
	echo "pass $who$1"
}

fail() {
	echo "fail $who$1: $2"
	failed=1
}

# until_true SECONDS COMMAND...: true as soon as COMMAND is.
until_true() {
	tries=$(($1 * 20))
	shift
	while ! "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.05
	done
}

# judge NAME SECONDS COMMAND...
judge() {
	name=$1
	shift
	if until_true "$@"; then
		pass "$name"
	else
		fail "$name" "not in $1 s; $(tail -2 "$log" | tr '\n' ' ')"
	fi
}

logged() {
	grep -q "$1" "$log"
}

# How often it was logged is more than $1.
logged_more_than() {
	[ "$(grep -c "$2" "$log")" -gt "$1" ]
}

gone() {
	for one in $1; do
		# A zombie has ended: only its parent has not looked.
		[ ! -e "/proc/$one" ] ||
		    grep -q '^State:	Z' "/proc/$one/status" 2>/dev/null ||
		    return 1
	done
}

children() {
	# Processes come and go between the names and the look: -s.
	grep -ls "^PPid:[[:space:]]*$pid\$" /proc/[0-9]*/status |
	    tr -dc '0-9\n'
}

# The pid of a child, by the daemon's own account.
child() {
	seen=$(grep -c state_pool "$log")
	kill -USR1 "$pid"
	until_true 5 logged_more_than "$seen" state_pool || return 1
	sed -nE "s/.*state_child child=$1 pid=([0-9]+) .*/\\1/p" "$log" |
	    tail -1
}

another() {
	now=$(child "$1") && [ -n "$now" ] && [ "$now" -ne 0 ] &&
	    [ "$now" -ne "$2" ]
}

# start ARGUMENT...: pid and log are set; false if it does not get ready.
start() {
	log=$dir/log
	: >"$log"
	$as "$WEIRD" "$@" >>"$log" 2>&1 </dev/null &
	pid=$!
	until_true 20 logged '>ready '
}

# stop NAME: SIGTERM, exit status 0, sockets gone.
stop() {
	kill -TERM "$pid"
	wait "$pid"
	status=$?
	if [ $status -ne 0 ]; then
		fail "$1" "exit $status: $(tail -1 "$log")"
	elif [ -e "$run/weird.sock" ] || [ -e "$run/admin.sock" ]; then
		fail "$1" "a socket is left"
	else
		pass "$1"
	fi
	pid=
}

basics() {
	if start -f "$conf" -s "$run" -a 127.0.0.1:0; then
		pass starts
	else
		fail starts "$(tail -1 "$log")"
		return 1
	fi
	judge tells_its_port 5 logged 'admin_port=127.0.0.1:[1-9]'
	if [ -S "$run/weird.sock" ] && [ -S "$run/admin.sock" ]; then
		pass sockets_are_there
	else
		fail sockets_are_there "$(ls "$run")"
	fi
	$as "$WEIRD" -s "$run" -a off -m 4M >"$dir/second" 2>&1 </dev/null
	if [ $? -eq 1 ] && grep -q "pid=$pid" "$dir/second"; then
		pass second_start_is_refused_and_told_by_whom
	else
		fail second_start_is_refused_and_told_by_whom \
		    "$(head -1 "$dir/second")"
	fi
	loose=
	for one in $pid $(children); do
		grep -q '^NoNewPrivs:	1' "/proc/$one/status" ||
		    loose="$loose $one"
	done
	if [ -z "$loose" ] && [ -n "$(children)" ]; then
		pass no_new_privileges
	else
		fail no_new_privileges "processes$loose"
	fi
}

reloads() {
	kill -HUP "$pid"
	judge reload_without_change 5 \
	    logged 'reloaded changed=0 needs_restart=0'
	printf 'workers = 3\nlog_level = debug\n' >"$conf"
	printf 'pool web {\n\tmemory = 8M\n\tusers = { 0 }\n}\n' >>"$conf"
	kill -HUP "$pid"
	judge reload_takes_what_it_can 5 \
	    logged 'reload_changed option=log_level'
	judge reload_takes_access_lists 5 logged \
	    'reload_changed option=pool.web.users'
	judge reload_names_what_it_cannot 5 logged \
	    'reload_needs_restart option=workers'
	echo 'wrokers = 3' >>"$conf"
	kill -HUP "$pid"
	judge bad_reload_names_the_line 5 logged "$conf:7: there is no option"
	judge bad_reload_is_refused 5 logged 'reload_failed errors=1'
	kill -USR1 "$pid"
	judge reloads_are_counted 5 logged 'reloads=2 reloads_failed=1'
}

deaths() {
	for one in worker-0 keeper; do
		old=$(child $one)
		kill -9 "$old"
		judge "killed_${one%-*}_is_back" 10 another $one "$old"
		judge "death_of_${one%-*}_is_logged" 5 logged \
		    "child_died child=$one pid=$old signal=9"
	done
	# Whoever runs it, the watchdog is the same, and takes its seconds.
	[ -z "$as" ] || return
	# Stopped, it does not stir: the watchdog has to see it.
	old=$(child worker-1)
	kill -STOP "$old"
	judge stopped_worker_is_replaced 15 another worker-1 "$old"
	judge stopped_worker_is_logged 5 logged \
	    'child_stands_still child=worker-1'
}

# The supervisor is killed; nobody survives it, and the next start works.
orphans() {
	start -f "$conf" -s "$run" -a off || {
		fail starts_for_the_kill "$(tail -1 "$log")"
		return
	}
	all=$(children)
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	if [ "$(echo "$all" | wc -l)" -eq 3 ]; then
		pass children_are_seen
	else
		fail children_are_seen "$(echo "$all" | tr '\n' ' ')"
	fi
	judge children_die_with_the_supervisor 2 gone "$all"
	if [ -S "$run/weird.sock" ]; then
		pass stale_socket_is_left
	else
		fail stale_socket_is_left "none in $run"
	fi
	if start -f "$conf" -s "$run" -a off; then
		pass stale_socket_does_not_matter
	else
		fail stale_socket_does_not_matter "$(tail -1 "$log")"
	fi
}

notifications() {
	python3 -c '
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
out = open(sys.argv[2], "wb", 0)
while True:
    out.write(s.recv(4096) + b"\n")
' "$dir/notify" "$dir/told" &
	listener=$!
	until_true 5 test -S "$dir/notify" || fail notify "no listener"
	NOTIFY_SOCKET=$dir/notify WATCHDOG_USEC=600000
	export NOTIFY_SOCKET WATCHDOG_USEC
	start -f "$conf" -s "$run" -a off || fail notify "$(tail -1 "$log")"
	unset NOTIFY_SOCKET WATCHDOG_USEC
	log_of_daemon=$log
	log=$dir/told
	judge manager_is_told_of_memory 5 logged EXTEND_TIMEOUT_USEC=
	judge manager_is_told_ready 5 logged READY=1
	judge manager_hears_the_watchdog 5 logged_more_than 1 WATCHDOG=1
	kill -HUP "$pid"
	judge manager_is_told_of_reloads 5 logged '^RELOADING=1'
	judge manager_is_told_their_time 5 logged '^MONOTONIC_USEC=[1-9]'
	log=$log_of_daemon
	stop stops_for_the_manager
	log=$dir/told
	judge manager_is_told_of_the_stop 5 logged '^STOPPING=1'
	kill $listener
	wait $listener 2>/dev/null
	rm -f "$dir/notify"
	log=$log_of_daemon
}

whole_life() {
	run=$dir/run-$who
	conf=$dir/conf-$who
	printf 'workers = 2\npool web {\n\tmemory = 8M\n}\n' >"$conf"
	chmod 644 "$conf"
	$as mkdir -m 755 "$run" 2>/dev/null ||
	    install -d -m 755 -o nobody "$run"
	basics || return
	reloads
	deaths
	stop term_stops_it
	printf 'workers = 2\npool web {\n\tmemory = 8M\n}\n' >"$conf"
	orphans
	kill -INT "$pid"
	wait "$pid"
	status=$?
	pid=
	if [ $status -eq 0 ]; then
		pass int_stops_it
	else
		fail int_stops_it "exit $status"
	fi
	notifications
}

who='' as=''
whole_life
if [ "$(id -u)" -eq 0 ]; then
	who=nobody_
	as='setpriv --reuid=65534 --regid=65534 --clear-groups'
	if $as test -x "$WEIRD"; then
		whole_life
	else
		echo "skip nobody_starts: nobody cannot run $WEIRD"
	fi
fi
exit $failed
