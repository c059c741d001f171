#!/bin/sh
# SPDX-License-Identifier: ISC
#
# The verbs of weir-ctl against a running daemon: what is stored comes back,
# binary keys too, and what each verb says is true.
set -u
BUILD=${BUILD:-build}
CTL=$BUILD/weir-ctl

failed=0
dir=$(mktemp -d) || exit 1
daemon=
trap '[ -z "$daemon" ] || { kill "$daemon"; wait "$daemon"; }; rm -rf "$dir"' \
    EXIT

pass() {
	echo "pass $1"
}

fail() {
	echo "fail $1: $2"
	failed=1
}

# expect NAME EXIT ARGUMENT...: weir-ctl ends with EXIT; output is kept.
expect() {
	name=$1 want=$2
	shift 2
	"$CTL" -s "$dir" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	if [ $got -eq "$want" ]; then
		pass "$name"
	else
		fail "$name" "exit $got, not $want: $(head -1 "$dir/err")"
	fi
}

# says NAME PATTERN: the output has it.
says() {
	if grep -qE -- "$2" "$dir/out"; then
		pass "$1"
	else
		fail "$1" "no '$2' in: $(tr '\n' '|' <"$dir/out")"
	fi
}

"$BUILD/weird" -s "$dir" -a off -l warning 2>"$dir/log" &
daemon=$!
tries=0
until "$CTL" -s "$dir" -c ping >/dev/null 2>&1; do
	tries=$((tries + 1))
	if [ $tries -gt 1000 ] || ! kill -0 $daemon 2>/dev/null; then
		fail the_daemon_starts "$(tail -1 "$dir/log")"
		daemon=
		exit 1
	fi
	sleep 0.02
done

expect version 0 -c version
says versions_are_there '^weird +[0-9]+\.[0-9]+'
expect ready_is_0 0 -c status
says status_is_ready '^state +ready$'
says status_has_the_pool '^default +0 +64\.0 MiB$'
expect workers 0 -c workers
says workers_has_the_keeper 'keeper .*running'
expect clients 0 -c clients

expect set 0 -c 'set k "two words" --ttl 1h --soft-ttl 30m --tag a --tag b'
says set_gives_a_version '^version +[0-9]+$'
version=$(sed 's/^version *//' "$dir/out")
expect get 0 -c 'get k'
says get_has_the_value '^value +two words$'
says get_has_the_version "^version +$version\$"
says get_has_the_ttl '^expires in +(1 h 0 min|59 min 59 s)$'
says get_has_the_soft_ttl '^stale in +(30 min 0 s|29 min 59 s)$'
expect inspect 0 -c 'inspect k'
says inspect_has_the_version "^version +$version\$"
says inspect_has_the_bytes '^value bytes +9$'
says inspect_has_two_tags '^tag hashes +[0-9a-f]{16}, [0-9a-f]{16}$'
says inspect_has_the_queue '^queue +(small|main)$'

expect set_if_absent_fails 1 -c 'set k v --if-absent'
expect set_if_version_fails 1 -c 'set k v --if-version 12345'
expect set_if_version 0 -c "set k v --if-version $version"
expect touch 0 -c 'touch k --ttl 0'
expect get_after_touch 0 -c 'get k'
says touch_with_0_is_never '^expires in +never$'
expect touch_of_nothing_is_3 3 -c 'touch no --ttl 1s'
expect del 0 -c 'del k'
expect get_after_del_is_3 3 -c 'get k'
expect del_again_is_3 3 -c 'del k'
expect inspect_of_nothing_is_3 3 -c 'inspect k'

expect binary_set 0 -c 'set \x00\xff\x0a\x5c \x00v\xfe'
expect binary_get 0 -c 'get \x00\xff\x0a\x5c'
says binary_get_escapes '^value +\\x00v\\xfe$'
expect binary_get_json 0 --json -c 'get \x00\xff\x0a\x5c'
says binary_get_json_has_base64 '"value64": "AHb\+"'
expect binary_scan 0 -c 'scan --prefix \x00'
says binary_scan_escapes '\\x00\\xff\\x0a\\x5c$'

# 250 keys with a shared prefix, met once each over several pages.
i=0
while [ $i -lt 250 ]; do
	echo "set page:$i $i --tag pages"
	i=$((i + 1))
done >"$dir/script"
expect a_script_runs 0 -f "$dir/script"
cursor=0
pages=0
: >"$dir/keys"
while [ $pages -lt 100 ]; do
	"$CTL" -s "$dir" -c "scan --prefix page: --limit 40 --cursor $cursor" \
	    >"$dir/out"
	grep -o 'page:[0-9]*$' "$dir/out" >>"$dir/keys"
	pages=$((pages + 1))
	cursor=$(sed -n 's/^more with --cursor *//p' "$dir/out")
	[ -n "$cursor" ] || break
done
met=$(sort -u "$dir/keys" | wc -l)
if [ "$met" -eq 250 ] && [ $pages -gt 2 ]; then
	pass scan_meets_all_over_pages
else
	fail scan_meets_all_over_pages "$met keys on $pages pages"
fi

expect pools 0 -c pools
says pools_counts_entries '^default +251 '
expect a_key_of_0_bytes_is_2 2 -c 'get ""'
long=$(printf '%01025d' 0)
expect a_key_of_1025_bytes_is_2 2 -c "get $long"
long=${long%0}
expect a_key_of_1024_bytes 0 -c "set $long v" -c "get $long"
if "$CTL" -s "$dir" -c 'get k --pool no' 2>&1 | grep -q 'no pool'; then
	pass no_such_pool_is_said
else
	fail no_such_pool_is_said "the message has another text"
fi
expect soft_purge 0 -c 'purge --tag pages --how soft --yes'
expect get_of_a_stale_key 0 -c 'get page:7'
says a_soft_purge_makes_stale '^stale +yes$'
expect hard_purge 0 -c 'purge --tag pages --yes'
expect get_after_a_purge_is_3 3 -c 'get page:7'
expect dry_run 0 -c 'purge --all --dry-run'
expect a_dry_run_purges_nothing 0 -c 'get \x00\xff\x0a\x5c'
expect purge_of_a_key 0 -c 'purge --key \x00\xff\x0a\x5c --yes'
says purge_of_a_key_counts '^number +1$'
expect a_purged_key_is_gone 3 -c 'get \x00\xff\x0a\x5c'
expect purge_all 0 -c 'set k v' -c 'purge --all --yes'
expect get_after_purge_all_is_3 3 -c 'get k'

expect stats 0 -c stats
says stats_counts_sets '[0-9]+  sets '
expect mem 0 -c mem
says mem_has_a_total '^total +[0-9.]+ MiB$'
expect verify 0 -c verify
says verify_finds_no_fault '^faults +0$'
# Origins: there is always the one called default.
expect origins 0 -c origins
says origins_has_the_default '^default +closed +normal +64 +0 +0 +0 +0$'
expect limiter_set 0 -c 'limiter set default 32 --reason "a test"'
says limiter_set_says_what_was '^was +64$'
expect limiter_show 0 -c 'limiter show default'
says the_limit_is_another '^limit now +32$'
expect a_limit_of_0_is_2 2 -c 'limiter set default 0'
expect a_limit_of_too_much_is_2 2 -c 'limiter set default 65537'
expect no_such_origin_is_3 3 -c 'limiter set no 3'
expect trip 0 -c 'breaker trip default --yes'
says trip_opens '^is +open$'
expect hold_open 0 -c 'breaker hold default open 1h --yes'
expect breaker_list 0 -c 'breaker list default'
says a_held_breaker_has_an_end '^held for +(1 h 0 min|59 min [0-9]+ s)$'
expect an_open_breaker_is_degraded 7 -c status
says status_names_the_origin 'breaker of origin default is open'
expect hold_closed 0 -c 'breaker hold default closed 1h'
expect held_closed_is_ready 0 -c status
expect hold_end 0 -c 'breaker hold default end'
expect reset 0 -c 'breaker reset default'
expect reset_is_ready 0 -c status
expect mode 0 -c 'mode default stale-on-error 1h'
expect mode_is_shown 0 -c 'origins default'
says mode_has_an_end '^mode ends in +(1 h 0 min|59 min 59 s)$'
expect mode_normal 0 -c 'mode default normal'
says mode_was '^was +stale-on-error$'
expect leases 0 -c leases
expect leases_of_no_pool_is_3 3 -c 'leases --pool no'
changes=$(grep -c 'admin-change.*origin=default.*result=OK' "$dir/log")
if [ "$changes" -eq 8 ] && grep -q 'reason="a test"' "$dir/log"; then
	pass each_change_is_logged_once
else
	fail each_change_is_logged_once "$changes lines"
fi
expect all_as_json 0 --json -c pools -c status -c stats -c workers \
    -c clients -c mem -c verify -c scan -c version -c ping -c origins \
    -c 'limiter show' -c 'breaker list' -c leases
if /usr/bin/python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
sys.exit(len(lines) != 14 or any(l["version"] != 1 for l in lines))
' "$dir/out"; then
	pass json_is_versioned
else
	fail json_is_versioned "$(head -2 "$dir/out")"
fi
exit $failed
