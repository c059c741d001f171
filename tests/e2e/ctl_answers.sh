#!/bin/sh
# SPDX-License-Identifier: ISC
#
# The verbs of weir-ctl against scripted answers: what each prints, which
# exit status each kind of trouble gives, and that no answer breaks it.
set -u
BUILD=${BUILD:-build}
CTL=$BUILD/weir-ctl

failed=0
dir=$(mktemp -d) || exit 1
fake=
trap '[ -z "$fake" ] || kill "$fake"; rm -rf "$dir"' EXIT

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

# says NAME FILE TEXT: the file has the text.
says() {
	if grep -qF -- "$3" "$dir/$2"; then
		pass "$1"
	else
		fail "$1" "no '$3' in: $(tr '\n' '|' <"$dir/$2")"
	fi
}

expect no_daemon_is_4 4 -c ping
says no_daemon_is_said err 'is weird running?'
mkdir "$dir/locked"
: >"$dir/locked/admin.sock"
expect no_socket_is_4 4 -s "$dir/locked" -c ping
long=$(printf '%0120d' 0)
expect a_long_path_is_4 4 -s "/$long" -c ping
expect a_bad_timeout_is_2 2 -t 5 -c ping

/usr/bin/python3 "$(dirname "$0")/fake_admin" "$dir" &
fake=$!
tries=0
while [ ! -S "$dir/admin.sock" ]; do
	tries=$((tries + 1))
	if [ $tries -gt 1000 ] || ! kill -0 $fake; then
		fail the_fake_starts "no socket"
		exit 1
	fi
	sleep 0.01
done

# Every verb, as people and as programs see it.
expect ping 0 -c ping
expect version 0 -c version
says version_has_ours out 'weir-ctl'
says version_has_theirs out '9.9'
expect degraded_is_7 7 -c status
says status_has_reasons out 'a worker is dead'
says status_has_durations out '1 d 2 h'
says status_has_sizes out '64.0 MiB'
expect pools 0 -c pools
says pools_has_ratios out '92.5%'
expect one_pool 0 -c 'pools --pool other'
says one_pool_shows_what_is_missing out 'hit ratio       -'
expect no_such_pool_is_3 3 -c 'pools --pool no'
expect workers 0 -c workers
expect clients 0 -c clients
expect stats 0 -c stats
says stats_has_counters out 'get_hits'
if grep -q get_misses "$dir/out"; then
	fail stats_leaves_zeros_out "get_misses is there"
else
	pass stats_leaves_zeros_out
fi
if awk 'length($0) > 80 { exit 1 }' "$dir/out"; then
	pass stats_fits_in_80_columns
else
	fail stats_fits_in_80_columns "$(cat "$dir/out")"
fi
expect all_stats 0 -c 'stats --all'
says all_stats_has_zeros out 'get_misses'
expect mem 0 -c mem
says mem_has_sums out '69.5 KiB'
says mem_has_parts out '1.5 KiB'
expect faults_are_7 7 -c verify
says verify_names_them out 'dangling'

expect get 0 -c 'get k'
says get_escapes out 'a\x09b\x00é'
says get_counts_down out '1 min 30 s'
says get_knows_never out 'never'
expect get_json 0 --json -c 'get k'
says get_json_is_the_answer out '"value64": "YQliAMOp"'
expect a_missing_key_is_3 3 -c 'get missing'
expect a_cut_value_is_7 7 -c 'get cut'
expect an_answer_in_pieces 0 --json -c 'get pieces'
says pieces_are_joined out '"value_bytes": 3000'
expect odd_members_are_survived 0 -c 'get odd'
expect del_of_nothing_is_3 3 -c 'del k'
expect touch 0 -c 'touch k --ttl 1h'
says touch_sends_ms request '"ttl_ms":3600000'
expect touch_without_ttl_is_2 2 -c 'touch k'
expect inspect 0 -c 'inspect k'
says inspect_has_tags out '00ff'
says inspect_has_parts out '1234'
expect scan 0 -c 'scan --prefix a\x00 --limit 9'
says scan_sends_binary request '"prefix64":"YQA="'
says scan_escapes out 'a\x00\xff\x5c'
says scan_names_the_cursor out '12'

expect set 0 -c 'set k\x01 "a b" --ttl 250ms --tag t --tag "u v"'
says set_sends_controls request '"key":"k\u0001"'
says set_sends_values request '"value":"a b"'
says set_sends_tags request '"tags":["t","u v"]'
says set_sends_ttls request '"ttl_ms":250'
expect set_if_version 0 -c 'set k v --if-version 77'
says set_sends_versions request '"version_id":77'
expect versions_may_be_signed 0 -c 'set k v --if-version -1'
says those_are_the_same_bits request '"version_id":-1'
expect versions_may_be_large 0 -c 'set k v --if-version 18446744073709551614'
says those_are_the_same_bits_too request '"version_id":-2'
expect two_conditions_are_2 2 -c 'set k v --if-absent --if-version 1'
expect a_bad_version_is_2 2 -c 'set k v --if-version 1x'
expect a_binary_tag_is_2 2 -c 'set k v --tag \xff'
expect a_bad_ttl_is_2 2 -c 'set k v --ttl 10'
expect a_missing_value_is_2 2 -c 'set k'
expect an_unknown_option_is_2 2 -c 'get k --ttl 1s'
expect words_that_look_like_options 0 -c 'get -- --k'
says those_are_sent request '"key":"--k"'

# Purge asks first.
: >"$dir/request"
expect purge_needs_yes 2 -c 'purge --all'
expect purge_needs_a_what 2 -c 'purge --yes'
expect purge_needs_one_what 2 -c 'purge --all --key k --yes'
expect purge_needs_a_known_how 2 -c 'purge --all --how much --yes'
if [ -s "$dir/request" ]; then
	fail a_refused_purge_sends_nothing "$(cat "$dir/request")"
else
	pass a_refused_purge_sends_nothing
fi
expect purge_dry_run 0 -c 'purge --all --pool default --dry-run'
says a_dry_run_asks_only request '"verb":"pools"'
says a_dry_run_counts out '5'
expect purge_of_a_key_dry_run 0 --json -c 'purge --key k --dry-run'
says a_dry_run_says_so out '"dry_run": true'
expect purge_dry_run_in_no_pool 3 -c 'purge --all --pool no --dry-run'
expect purge_dry_run_in_the_default_pool 0 -c 'purge --all --dry-run'
expect purge 0 -c 'purge --tag x --how soft --yes'
says purge_sends_how request '"how":"soft"'

# Trouble.
expect denied_is_5 5 -c 'get denied'
says denied_is_said err 'read-only level'
expect busy_is_1 1 -c 'get busy'
expect a_text_is_shown 3 -c 'get text'
says a_text_is_said err 'no such pool'
expect an_invalid_request_is_2 2 -c 'get invalid'
expect silence_is_6 6 -t 100ms -c 'get silent'
expect a_hangup_is_4 4 -c 'get hangup'
expect half_an_answer_is_4 4 -c 'get half'
expect bad_magic_is_1 1 -c 'get magic'
expect a_foreign_id_is_1 1 -c 'get foreign'
expect a_huge_length_is_1 1 -c 'get huge'
expect broken_json_is_1 1 -c 'get nojson'
expect no_object_is_1 1 -c 'get array'
expect trouble_does_not_last 4 -k -c 'get hangup' -c 'get k'
says the_next_line_connects_anew out 'value'
"$CTL" -s "$dir" --json -k -c pools -c status -c stats -c workers \
    -c clients -c mem -c verify -c scan -c version -c 'inspect k' \
    -c 'set k v' -c ping >"$dir/out" 2>"$dir/err"
if /usr/bin/python3 -c '
import json, sys
lines = open(sys.argv[1]).readlines()
sys.exit(len(lines) != 12 or any(json.loads(l)["version"] != 1 for l in lines))
' "$dir/out"; then
	pass each_verb_prints_one_json_line
else
	fail each_verb_prints_one_json_line "$(cat "$dir/out")"
fi
if /usr/bin/python3 - "$CTL" "$dir" <<'PY'
import os, pty, sys
def shown(env):
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(env)
        os.execv(sys.argv[1], [sys.argv[1], "-s", sys.argv[2], "-c", "pools"])
    text = b""
    try:
        while True:
            more = os.read(terminal, 4096)
            if not more:
                break
            text += more
    except OSError:
        pass
    os.waitpid(pid, 0)
    return text
plain = shown({"TERM": "xterm", "NO_COLOR": "1"})
colour = shown({"TERM": "xterm", "NO_COLOR": ""})
sys.exit(b"default" not in plain or b"\033" in plain or
         b"\033[1m" not in colour)
PY
then
	pass colours_are_for_terminals_without_NO_COLOR
else
	fail colours_are_for_terminals_without_NO_COLOR "see the escapes"
fi
exit $failed
