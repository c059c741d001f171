#!/bin/sh
# SPDX-License-Identifier: ISC
#
# The examples compile as their heads say, against what `make install`
# installs, and do what they say against a daemon; the programs in the pages
# of fetch and permits too.
set -u
BUILD=${BUILD:-build}
e2e=$(dirname "$0")

failed=0
dir=$(mktemp -d) || exit 1
daemon=
server=
# The server's workers outlive their parent: they are of one session.
trap '[ -z "$server" ] || kill -9 "-$server"
    [ -z "$daemon" ] || { kill "$daemon"; wait "$daemon"; }; rm -rf "$dir"' \
    EXIT

check() {
	if [ "$2" -eq 0 ]; then
		echo "pass $1"
	else
		echo "fail $1: $(tr '\n' '|' <"$dir/log" | tail -c 500)"
		failed=1
	fi
}

# says NAME TEXT: the log has it.
says() {
	grep -qF -- "$2" "$dir/log"
	check "$1" $?
}

# ---- building ----

env -u MAKEFLAGS -u MAKELEVEL make install DESTDIR="$dir/root" PREFIX=/usr \
    >"$dir/log" 2>&1
check the_library_is_installed $?
PKG_CONFIG_SYSROOT_DIR=$dir/root
PKG_CONFIG_PATH=$dir/root/usr/lib/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH
# In a staged tree the paths of the system are not left out.
PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS PKG_CONFIG_ALLOW_SYSTEM_LIBS
LIBRARY_PATH=$dir/root/usr/lib
C_INCLUDE_PATH=$dir/root/usr/include
LD_LIBRARY_PATH=$dir/root/usr/lib
export LIBRARY_PATH C_INCLUDE_PATH LD_LIBRARY_PATH

# What follows "cc NAME.c" in the head of the example, up to a command after.
for source in client/examples/*.c; do
	name=$(basename "$source" .c)
	cp "$source" "$dir/$name.c"
	line=$(sed -n "s/^ \*	cc $name\.c \([^&]*\).*/\1/p" "$source")
	[ -n "$line" ] && (cd "$dir" &&
	    eval "gcc -Wall -Wextra -Werror $name.c -o $name $line") \
	    >"$dir/log" 2>&1
	check "the_example_${name}_compiles" $?
done

# page NAME: its example as a source.
page() {
	sed -n '/^\.Sh EXAMPLES/,/^\.Ed/p' "man/$1" |
	    sed -e '/^\./d' -e 's/\\e/\\/g'
}
page weir_fetch.3 >"$dir/fetch.c"
gcc -Wall -Wextra -Werror -o "$dir/fetch" "$dir/fetch.c" -lweirclient \
    >"$dir/log" 2>&1
check the_example_of_weir_fetch_compiles $?
{
	page weir_permit_acquire.3
	cat <<-'END'
	#include <stdio.h>
	int query(void) { return 7; }
	int main(void)
	{
		struct weir *cache;

		if (weir_open(&cache, NULL) != WEIR_OK) {
			return 1;
		}
		printf("%d\n", guarded_query(cache));
		weir_close(cache);
		return 0;
	}
	END
} >"$dir/permit.c"
gcc -Wall -Wextra -Werror -o "$dir/permit" "$dir/permit.c" -lweirclient \
    >"$dir/log" 2>&1
check the_example_of_weir_permit_acquire_compiles $?

# ---- a daemon ----

cat >"$dir/weird.conf" <<'END'
origin database {
	limit = 16
	partition_limit = 0
	timeout = 5s
}
origin narrow {
	limit = 1
	partition_limit = 0
	queue = 0
}
origin flaky {
	breaker_calls = 5
	breaker_open = 10m
	breaker_open_max = 10m
}
END
WEIR_SOCKET=$dir/weird.sock
export WEIR_SOCKET
"$BUILD/weird" -s "$dir" -f "$dir/weird.conf" -a off -l warning \
    2>"$dir/daemon-log" &
daemon=$!
tries=0
until "$BUILD/weir-ctl" -s "$dir" -c ping >/dev/null 2>&1; do
	tries=$((tries + 1))
	if [ $tries -gt 1000 ] || ! kill -0 $daemon 2>/dev/null; then
		echo "fail the_daemon_starts: $(tail -1 "$dir/daemon-log")"
		daemon=
		exit 1
	fi
	sleep 0.02
done
ctl() {
	"$BUILD/weir-ctl" -s "$dir" -c "$1" >"$dir/log" 2>&1
}

# runs NAME EXIT PROGRAM ARGUMENT...: it ends with EXIT; its output is the log.
runs() {
	name=$1 want=$2 program=$3
	shift 3
	"$dir/$program" "$@" >"$dir/log" 2>&1 </dev/null
	[ $? -eq "$want" ]
	check "$name" $?
}

# ---- programs that end ----

runs the_example_of_weir_fetch_runs 0 fetch
says it_prints_its_value 'slow work'
runs the_example_of_weir_permit_acquire_runs 0 permit
says it_prints_the_answer_of_its_query '7'
runs get_or_set_computes 0 get_or_set answer
says it_says_that_it_computed 'computed: computed for answer'
runs get_or_set_finds_it 0 get_or_set answer
says it_says_that_it_found_it 'from the cache: computed for answer'
runs event_loop_runs 0 event_loop
says it_counts_to_a_thousand \
    '1000 answers, 0 failures, the counter is at 1000'

# ---- the guard of a slow call ----

runs guard_call_answers 0 guard_call
says it_says_so 'answered'
runs guard_call_answers_for_an_origin 0 guard_call ok database
runs guard_call_fails 1 guard_call fail database
says it_says_that_it_failed 'failed'
runs an_origin_that_is_not_there_is_an_error 1 guard_call ok nowhere
says it_says_which_error 'WEIR_MISS'
tries=0
until grep -qF 'down: again in' "$dir/log" || [ $tries -eq 50 ]; do
	"$dir/guard_call" fail flaky >"$dir/log" 2>&1
	tries=$((tries + 1))
done
says an_origin_that_fails_is_not_called 'down: again in'
[ $tries -gt 5 ]
check it_was_called_until_the_breaker_opened $?
ctl 'breaker reset flaky'
check the_breaker_is_reset $?
runs after_a_reset_it_is_called 0 guard_call ok flaky

# The narrow one lets one in, and has no queue: of many at once some are told.
tries=0
: >"$dir/crowd"
until grep -qF 'busy (' "$dir/crowd" || [ $tries -eq 50 ]; do
	pids=
	for _ in 1 2 3 4; do
		"$dir/guard_call" ok narrow >>"$dir/crowd" 2>&1 &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid"
	done
	tries=$((tries + 1))
done
cp "$dir/crowd" "$dir/log"
says a_full_origin_sheds 'busy (queue_full): again in'
says and_lets_others_in 'answered'

# ---- the preforking server ----

start_server() {
	port=$("$e2e/http_get" port)
	setsid "$dir/prefork_server" "$port" 4 "$dir/origin-is-down" \
	    >"$dir/server-log" 2>&1 </dev/null &
	server=$!
	tries=0
	until "$e2e/http_get" "$port" /up | grep -q '^200 '; do
		tries=$((tries + 1))
		if [ $tries -gt 500 ] || ! kill -0 $server 2>/dev/null; then
			return 1
		fi
		sleep 0.02
	done
}
# Somebody else may take the port in between.
start_server || start_server || start_server
cp "$dir/server-log" "$dir/log"
check the_server_starts $?

# get PATH [COUNT]: the answers are the log.
get() {
	"$e2e/http_get" "$port" "$@" | sort >"$dir/log"
}
# count PATTERN: lines of the log that begin so.
count() {
	grep -c "^$1" "$dir/log"
}

get /page
says a_page_is_computed '200 computed page /page, made by process'
get /page
says then_it_is_a_hit '200 hit page /page, made by process'

get /crowded 20
[ "$(count '200 computed ')" -eq 1 ] && [ "$(count '200 ')" -eq 20 ] &&
    [ "$(sed 's/^200 [a-z]* //' "$dir/log" | sort -u | wc -l)" -eq 1 ]
check of_twenty_at_once_one_computes_and_all_have_its_page $?

get /none
says no_such_page_is_404 '404 computed no such page'
get /none
says and_is_remembered '404 hit no such page'

touch "$dir/origin-is-down"
get /failing
says without_an_old_page_it_is_503 '503 none WEIR_FAILED: again in'
# The back-off doubles with each failure, until a slow test falls into it.
tries=0
until [ $tries -eq 50 ] || grep -q '^503 none WEIR_BACKING_OFF' "$dir/log"; do
	get /failing
	tries=$((tries + 1))
done
says then_it_is_not_tried_at_once '503 none WEIR_BACKING_OFF: again in'
ctl 'purge --all --how soft --yes'
check the_pages_are_made_stale $?
get /page
says the_old_page_is_served_while_it_fails '200 stale page /page, made by'
rm "$dir/origin-is-down"
tries=0
until [ $tries -eq 200 ] || grep -q '^200 computed' "$dir/log"; do
	get /page
	tries=$((tries + 1))
	sleep 0.02
done
says once_it_answers_the_page_is_new '200 computed page /page, made by'

get /victim
worker=$(sed -n 's/^200 computed .* process //p' "$dir/log")
[ -n "$worker" ] && kill -9 "$worker"
check a_worker_is_killed $?
# What it had accepted is lost; what comes after is not.
lost=0
for i in 1 2 3 4 5 6 7 8; do
	get "/after-$i"
	grep -q '^200 computed ' "$dir/log" || lost=$((lost + 1))
done
[ $lost -eq 0 ]
check the_others_and_a_new_one_go_on $?

# ---- without a daemon ----

cp "$dir/daemon-log" "$dir/log"
kill $daemon && wait $daemon
check the_daemon_lived_until_here_and_ends_well $?
daemon=
runs without_a_daemon_the_call_is_made 0 guard_call
says it_says_that_nobody_guards_it 'unguarded: '
runs without_a_daemon_get_or_set_computes 0 get_or_set other
says and_says_why_it_did_not_store 'not stored: WEIR_NO_SERVER'
get /uncached
says the_server_computes_without_a_daemon '200 computed page /uncached'
exit $failed
