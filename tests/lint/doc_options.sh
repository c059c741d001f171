#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Every option of the configuration has an entry in its page with the default
# of the table, and every option of the command line is in the page and in
# the summary.
set -eu
cd "$(dirname "$0")/../.."
failed=0

report() {
	if [ -z "$2" ]; then
		echo "pass $1"
	else
		echo "fail $1: $(echo "$2" | tr '\n' ' ')"
		failed=1
	fi
}

if [ ! -e server/config.def ]; then
	echo "skip config_options_documented: no table of options"
	exit 0
fi

# name default, "" being "-".
table=$(sed -nE '/^(POOL_|ORIGIN_)?OPTION\(/{
	s/^(POOL_|ORIGIN_)?OPTION\(([a-z_]+),.*"([^"]*)".*/\2 \3/
	s/ $/ -/
	p
}' server/config.def)
[ "$(echo "$table" | wc -l)" -ge 10 ] ||
    { echo "fail config_options_documented: table not understood"; exit 1; }

report config_options_documented "$(echo "$table" |
    while read -r name builtin; do
	# The text of the option's own entry.
	entry=$(awk -v name="$name" '
	    /^\.It Cm / { inside = $3 == name }
	    /^\.El/ { inside = 0 }
	    inside' man/weird.conf.5)
	if [ -z "$entry" ]; then
		echo "$name"
	elif [ "$builtin" != - ] && ! echo "$entry" | grep -qF -- "$builtin"
	then
		echo "$name(default $builtin)"
	fi
done)"

letters=$(sed -nE 's/.*getopt\(argc, argv, "([a-zA-Z:]+)".*/\1/p' \
    server/options.c | tr -d : | fold -w 1)
[ -n "$letters" ] ||
    { echo "fail command_line_documented: getopt not found"; exit 1; }
report command_line_documented "$(for letter in $letters; do
	grep -qE "^\.It Fl $letter( |\$)" man/weird.8 || echo "-$letter(page)"
	grep -qE "^	    \".*-$letter[ \\\\]" server/options.c ||
	    echo "-$letter(summary)"
done)"

report reload_documented "$(sed -nE '/^(POOL_|ORIGIN_)?OPTION\(/{
	s/^(POOL_|ORIGIN_)?OPTION\(([a-z_]+),.*"[^"]*", 1,$/\2/p
}' server/config.def | while read -r name; do
	awk -v name="$name" '
	    /^\.It Cm / { inside = $3 == name }
	    inside && /^\.Em \(reload\)/ { found = 1 }
	    END { exit !found }' man/weird.conf.5 || echo "$name"
done)"
exit $failed
