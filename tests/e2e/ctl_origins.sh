#!/bin/sh
# SPDX-License-Identifier: ISC
#
# The verbs of weir-ctl about origins and leases against scripted answers: what
# each sends and prints, what is asked before it is done, and exit statuses.
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

# fits NAME: no line of the output is longer than a terminal is wide.
fits() {
	if awk 'length($0) > 80 { exit 1 }' "$dir/out"; then
		pass "$1"
	else
		fail "$1" "$(awk 'length($0) > 80' "$dir/out")"
	fi
}

# sends_nothing NAME: the daemon was asked nothing since forget_request.
forget_request() {
	: >"$dir/request"
}
sends_nothing() {
	if [ -s "$dir/request" ]; then
		fail "$1" "$(cat "$dir/request")"
	else
		pass "$1"
	fi
}

# What is shown.
expect origins 0 -c origins
fits origins_fit_in_80_columns
says origins_have_the_breaker out 'half-open'
says origins_have_the_mode out 'stale-on-error'
says origins_sum_the_refusals out '1234'
says a_breaker_may_be_off out 'off        normal'
expect one_origin 0 -c 'origins held'
says it_is_asked_for_by_name request '"origin":"held"'
says one_origin_has_the_end_of_its_mode out 'mode ends in     10 min 0 s'
says one_origin_has_the_end_of_its_hold out '23 h 59 min'
says one_origin_has_uploads out 'uploads refused  6'
says one_origin_has_the_flood out '00000000deadbeef'
expect no_such_origin_is_3 3 -c 'origins nope'
says no_such_origin_is_said err 'no origin of that name'
expect an_origin_that_is_locked_is_7 7 -c 'origins locked'
says what_has_no_lock_is_shown out 'bypass'
says why_there_are_no_numbers_is_said err 'locked: a process that is stopped'
expect locked_in_json_too 7 --json -c 'origins locked'
says json_has_it out '"locked": true'
expect odd_origins_are_survived 0 -c 'origins odd' -c 'limiter show odd' \
    -c 'breaker list odd'

expect limiters 0 -c 'limiter show'
fits limiters_fit_in_80_columns
says limiters_have_large_numbers out '9000000000'
expect one_limiter 0 -c 'limiter show db'
fits one_limiter_fits_in_80_columns
says a_share_of_the_queue_is_told out 'may wait of it   a quarter'
says no_limit_is_none out 'of a host        none'
says a_limit_is_a_number out 'of a client      20'
says each_refusal_has_its_reason out '1000  queue_full'
says each_reason_has_a_text out 'no place left to wait'
says an_unknown_reason_is_shown out '34  novel_reason'
expect a_locked_limiter_is_7 7 -c 'limiter show locked'

expect breakers 0 -c 'breaker list'
fits breakers_fit_in_80_columns
says breakers_have_the_window out '11  20'
expect one_breaker 0 -c 'breaker list db'
says one_breaker_has_its_probe out 'probe            pid 4711'
says one_breaker_has_its_rules out 'opens at calls   20'

expect leases 0 -c 'leases'
fits leases_fit_in_80_columns
says leases_have_clients out 'pid 4194304'
says leases_have_workers out 'worker 7'
says leases_have_dead_leaders out 'gone'
says codes_may_be_negative out '-111'
says more_leases_are_said err 'there are more'
expect leases_of_a_pool 0 -c 'leases --pool p --limit 20'
says leases_send_the_pool request '"pool":"p"'
says leases_send_the_limit request '"limit":20'
expect locked_shards_are_7 7 -c 'leases --limit 7'
says locked_shards_are_said err '2 shards'

# What is changed.
expect limiter_set 0 -c 'limiter set db 32 --reason "slow today"'
says limiter_set_sends_the_limit request '"limit":32'
says limiter_set_sends_the_reason request '"reason":"slow today"'
says limiter_set_shows_what_was out 'was     64'
says limiter_set_shows_what_is out 'is      32'
expect limiter_set_of_nothing_is_3 3 -c 'limiter set nope 32'
expect a_lock_that_is_not_had_is_1 1 -c 'limiter set busy 32'
says it_is_said_that_nothing_changed err 'nothing was changed'
expect a_reason_that_is_no_text_is_2 2 \
    -c "$(printf 'limiter set db 32 --reason \377')"

forget_request
expect trip_needs_yes 2 -c 'breaker trip db'
expect hold_open_needs_yes 2 -c 'breaker hold db open 10m'
expect bypass_needs_yes 2 -c 'mode db bypass 10m'
expect hold_needs_an_end 2 -c 'breaker hold db open --yes'
expect hold_ends_within_a_day 2 -c 'breaker hold db closed 86400001ms'
expect a_mode_needs_an_end 2 -c 'mode db stale-on-error'
sends_nothing what_is_refused_sends_nothing

expect trip 0 -c 'breaker trip db --yes'
says trip_is_sent request '"verb":"breaker_trip"'
says trip_names_the_origin request '"args":{"origin":"db"}'
expect reset 0 -c 'breaker reset db --reason fixed'
says reset_sends_the_reason request '"reason":"fixed"'
expect hold_open 0 -c 'breaker hold db open 10m --yes'
says hold_sends_ms request '"for_ms":600000'
says hold_sends_the_state request '"state":"open"'
says hold_shows_its_end out 'ends in  10 min 0 s'
expect hold_closed_for_a_day 0 -c 'breaker hold db closed 24h'
says a_day_is_sent request '"for_ms":86400000'
expect hold_end 0 -c 'breaker hold db end'
says hold_end_sends_0 request '"for_ms":0'
expect mode_bypass 0 -c 'mode db bypass 1h --yes'
says mode_sends_the_mode request '"mode":"bypass"'
says mode_sends_ms request '"for_ms":3600000'
expect mode_stale_on_error 0 -c 'mode db stale-on-error 30m'
expect mode_normal 0 -c 'mode db normal'
says normal_has_no_end request '"args":{"origin":"db","mode":"normal"}'
expect change_in_json 0 --json -c 'breaker reset db'
says json_has_what_was out '"old": "open"'

# A person is asked, and completes names.
if /usr/bin/python3 - "$CTL" "$dir" <<'PY'
import os, pty, select, sys
def run(lines):
    """What a terminal shows; each line is typed when its prompt is there."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update({"TERM": "dumb", "INPUTRC": "/dev/null"})
        os.execv(sys.argv[1], [sys.argv[1], "-s", sys.argv[2],
                               "--no-history"])
    text = b""
    for prompt, line in lines:
        seen = len(text)
        while prompt not in text[seen:]:
            if not select.select([terminal], [], [], 20)[0]:
                sys.exit(f"no {prompt} in {text}")
            text += os.read(terminal, 4096)
        os.write(terminal, line)
    try:
        while True:
            text += os.read(terminal, 4096)
    except OSError:
        pass
    os.waitpid(pid, 0)
    return text
text = run([(b"weir> ", b"breaker trip db\n"),
            (b"[y/N] ", b"n\n"),
            (b"weir> ", b"breaker trip h\t\n"),
            (b"[y/N] ", b"y\n"),
            (b"weir> ", b"quit\n")])
sys.exit(b"nothing was done" not in text or
         b"Refuse all calls of origin held?" not in text or
         b"was     closed" not in text and text.decode())
PY
then
	pass a_person_is_asked_and_completes_names
else
	fail a_person_is_asked_and_completes_names "see the text above"
fi
exit $failed
