#!/bin/sh
# SPDX-License-Identifier: ISC
#
# weird's options, its check of a configuration, and the starts it refuses.
# Nothing here gets as far as serving.
set -u
BUILD=${BUILD:-build}
WEIRD=$BUILD/weird
failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

pass() {
	echo "pass $1"
}

fail() {
	echo "fail $1: $2"
	failed=1
}

# expect NAME EXIT TEXT ARGUMENT...: weird ends so, and says TEXT.
expect() {
	name=$1 want=$2 text=$3
	shift 3
	timeout 20 "$WEIRD" "$@" >"$dir/out" 2>&1 </dev/null
	got=$?
	if [ $got -ne "$want" ]; then
		fail "$name" "exit $got, not $want: $(head -1 "$dir/out")"
	elif ! grep -qF -- "$text" "$dir/out"; then
		fail "$name" "no '$text' in: $(head -3 "$dir/out")"
	else
		pass "$name"
	fi
}

expect version 0 'weird 0.' -V
expect help 0 'usage: weird' -h
expect unknown_option 2 'usage: weird' -x
expect argument_too_many 2 "'more' is no option" more
expect option_twice 2 '-w is given twice' -w 1 -w 2

# The check names file and line, lists all errors, and changes nothing.
conf=$dir/weird.conf
run=$dir/run
cat >"$conf" <<-'EOF'
	max_cleints = 7
	workers = 0
	ring_size = 48K
	log_level = loud
	admin_listen = localhost:80

	pool a {
		memory = 1K
		users = { no-such-user-on-this-machine }
		extent_size = 3K
	}
	drain_timeout = 10
	workers = 3
EOF
while IFS='|' read -r name text; do
	expect "$name" 1 "$conf:$text" -t -f "$conf" -s "$run"
done <<-'EOF'
	unknown_key|1: there is no option max_cleints: did you mean max_clients?
	out_of_range|2: workers: '0' is outside 1 to 64
	no_power_of_two|3: ring_size: 49152 is no power of two
	no_level|4: log_level: 'loud' is none of
	no_address|5: admin_listen: 'localhost:80' is no address
	too_small|8: pool a: memory: '1K' is outside 4M to 1T
	no_user|9: pool a: users: 'no-such-user-on-this-machine'
	bad_extent|10: pool a: extent_size: 3K is no power of two
	no_unit|12: drain_timeout: '10' is no time
EOF
expect errors_refuse_the_start 1 "$conf:1: " -f "$conf" -s "$run"
expect file_is_missing 1 "$dir/none: No such file" -t -f "$dir/none"
expect file_is_a_directory 1 'Is a directory' -t -f "$dir"

printf 'pool a {\n\tmemory = 8M\n' >"$conf"
expect section_is_open 1 "$conf:2: " -t -f "$conf"
printf 'pool a {}\npool a {}\n' >"$conf"
expect pool_twice 1 "$conf:2: " -t -f "$conf"
printf 'pool a {\n\tmemory = 8M\n\textent_size = 8M\n}\n' >"$conf"
expect pool_without_layout 1 "$conf:3: pool a: memory and extent_size" \
    -t -f "$conf"
printf 'pool a {}\n' >"$conf"
expect memory_for_a_pool_of_the_file 1 '-m: is for the built-in pool' \
    -t -f "$conf" -m 8M
expect path_is_too_long 1 '-s: socket_dir: the path of a socket' -t \
    -s "/$(printf '%0100d' 0)"
printf 'workers = 2\0\n' >"$conf"
expect zero_byte_in_file 1 "$conf: " -t -f "$conf"

printf 'workers = 3\npool web {\n\tmemory = 8M\n}\n' >"$conf"
expect check_prints_the_sum 0 'sum with all clients' -t -f "$conf" -s "$run"
expect check_prints_the_machine 0 'the machine has' -t -f "$conf" -s "$run"
if [ -e "$run" ]; then
	fail check_changes_nothing "$run was made"
else
	pass check_changes_nothing
fi

# What -T prints is a configuration that means the same.
expect print_names_the_line 0 "workers = 3	# $conf:1" -T -f "$conf" \
    -s "$run"
expect print_names_the_option 0 "socket_dir = $run	# -s" -T -f "$conf" \
    -s "$run"
"$WEIRD" -T -f "$conf" -s "$run" >"$dir/first"
"$WEIRD" -T -f "$dir/first" >"$dir/second"
if sed 's/	# .*//' "$dir/first" >"$dir/a" &&
    sed 's/	# .*//' "$dir/second" >"$dir/b" && [ -s "$dir/a" ] &&
    cmp -s "$dir/a" "$dir/b"; then
	pass print_is_a_configuration
else
	fail print_is_a_configuration "$(diff "$dir/a" "$dir/b" | head -3)"
fi

# Starts that are refused.
expect memory_is_not_there 1 'the machine has' -s "$run" -a off -m 1T
expect check_knows_of_memory 1 'the machine has' -t -m 1T
expect parent_is_missing 1 'cannot make the directory' -s "$dir/no/run" \
    -a off -m 4M
mkdir "$dir/open" && chmod 777 "$dir/open"
expect directory_is_open_to_others 1 'others may write' -s "$dir/open" \
    -a off -m 4M
mkdir "$dir/file" && echo mine >"$dir/file/weird.sock"
expect socket_is_a_file 1 'as it is no socket' -s "$dir/file" -a off -m 4M
if [ "$(cat "$dir/file/weird.sock")" = mine ]; then
	pass file_is_left_alone
else
	fail file_is_left_alone "it was changed"
fi
mkdir "$dir/shut" && chmod 500 "$dir/shut"
if [ "$(id -u)" -ne 0 ]; then
	expect directory_is_unwritable 1 'cannot lock' -s "$dir/shut" -a off \
	    -m 4M
	chmod 700 "$dir/shut"
elif setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$WEIRD"; then
	# Root may write everywhere; somebody else tries root's directory.
	chmod 755 "$dir" "$dir/shut"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$WEIRD" \
	    -s "$dir/shut" -a off -m 4M >"$dir/out" 2>&1 </dev/null
	if [ $? -eq 1 ] &&
	    grep -Eq 'cannot (lock|make the directory)' "$dir/out"; then
		pass directory_is_unwritable
	else
		fail directory_is_unwritable "$(head -1 "$dir/out")"
	fi
else
	echo "skip directory_is_unwritable: nobody cannot run $WEIRD"
fi
exit $failed
