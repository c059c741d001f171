#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Every verb, every option of a verb and every option of weir-ctl stands in
# its page, every example of the help runs into no usage fault, and the
# counters that the README speaks of exist.
set -u
BUILD=${BUILD:-build}
CTL=$BUILD/weir-ctl
PAGE=man/weir-ctl.1

failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# verdict NAME MISSING: fails if anything is missing.
verdict() {
	if [ -z "$2" ]; then
		echo "pass $1"
	else
		echo "fail $1: $(echo "$2" | tr '\n' ' ')"
		failed=1
	fi
}

"$CTL" --json -c help >"$dir/help" || exit 1
grep -o '"verb": "[^"]*"' "$dir/help" | cut -d'"' -f4 >"$dir/verbs"
count=$(wc -l <"$dir/verbs")
if [ "$count" -ge 28 ]; then
	echo "pass help_lists_the_verbs"
else
	echo "fail help_lists_the_verbs: $count"
	failed=1
fi

missing=$(while read -r verb; do
	grep -qE "^\.(It )?Cm $verb( |\$)" $PAGE || echo "$verb"
done <"$dir/verbs")
verdict verbs_are_in_the_page "$missing"

while read -r verb; do
	"$CTL" --json -c "help $verb"
done <"$dir/verbs" >"$dir/each"
missing=$(grep -o -- '--[a-z-]*' "$dir/each" | sort -u |
    while read -r option; do
	grep -qE "Fl Fl ${option#--}( |\$)" $PAGE || echo "$option"
done)
verdict options_of_verbs_are_in_the_page "$missing"

missing=$("$CTL" --help | grep -oE '^  -[a-z]|--[a-z-]+' | sort -u |
    while read -r option; do
	case $option in
	--*) grep -qE "Fl Fl ${option#--}( |\$)" $PAGE ;;
	*) grep -qE "^\.It Fl ${option#-} " $PAGE ;;
	esac || echo "$option"
done)
verdict options_of_weir_ctl_are_in_the_page "$missing"

# Without a daemon an example ends with 4; with a usage fault it ends with 2.
wrong=$(sed -n 's/.*"example": "\([^"]*\)".*/\1/p' "$dir/each" |
    while read -r example; do
	case $example in
	trace*) continue ;;
	esac
	"$CTL" -s "$dir/none" -c "$example" >"$dir/out" 2>&1 </dev/null
	status=$?
	[ $status -eq 0 ] || [ $status -eq 4 ] || echo "$example: $status;"
done)
verdict examples_of_the_help_are_right "$wrong"

# shellcheck disable=SC2016 # the backquotes are the README's
missing=$(sed -n 's/^| \(`.*`\) | .*/\1/p' README.md |
    grep -o '`[a-z]*_[a-z_]*`' | tr -d '`' | while read -r counter; do
	grep -q "^STAT($counter," libshm/stats.def || echo "$counter"
done)
verdict counters_of_the_readme_exist "$missing"
exit $failed
