#!/bin/sh
# permute - tests that all code uses the names of enum values and events, not their numbers. The
# script makes a copy of the tree, and reverses the values of most stored enums in the copy. An
# enum by which rows are sorted keeps its order, and gets one more value in front. In the copy,
# events have other numbers. The script builds the copy, and the copy has to pass the
# transcripts.
#	tests/e2e/permute.sh            all transcripts
#	tests/e2e/permute.sh FILE...    these transcripts
set -eu
cd "$(dirname "$0")/../.."
root=$(pwd)
temp=$(mktemp -d "${TMPDIR:-/tmp}/permute.XXXXXX")
trap 'rm -rf "$temp"' EXIT
trap 'exit 130' INT TERM
git ls-files -z | grep -zv '^docs/' | xargs -0 tar cf - 2>/dev/null | tar xf - -C "$temp"

# If storage/enums names an enum without the mark `ordered`, the enum's values are put in
# reverse order. An enum with this mark keeps its order and gets one more value in front. The
# events of each noun get numbers that are 400 higher and in reverse order.
stored=$(sed -n 's/^[a-z_]*\.[a-z_]* \([a-z_]*\)$/\1/p' storage/enums | sort -u | tr '\n' ' ')
ordered=$(sed -n 's/^[a-z_]*\.[a-z_]* \([a-z_]*\) ordered$/\1/p' storage/enums | sort -u | tr '\n' ' ')
for file in "$temp"/schema/*.op; do
	awk -v stored=" $stored" -v ordered=" $ordered" '
	function flush() { while (n > 0) print line[n--] }
	/^  / && turning { line[++n] = $0; next }
	{ flush(); turning = 0 }
	/^enum / { turning = index(stored, " " $2 " ") > 0 }
	/^events / { split($3, bound, /\.\./); $3 = bound[1] + 400 ".." bound[2] + 400 }
	/^event / { $2 = bound[1] + bound[2] + 400 - $2 }
	{ print }
	/^enum / && index(ordered, " " $2 " ") { print "  spare  # None has it." }
	END { flush() }' "$file" >"$temp/permuted"
	mv "$temp/permuted" "$file"
done
[ $# -gt 0 ] || set -- --coverage tests/op/*.test
# The script compiles only those files of the copy that the program of the transcripts uses. The
# copy uses the generators of this tree.
sources=$(find core guest mcp storage tools/cadre -name '*.c' |
	grep -F "$(grep -o 'libcadre.a([^)]*' build/tests/run_op.map | sort -u | sed 's,.*(,/,; s/o$/c/')")
mkdir "$temp/build"
cp build/opgen build/sqlgen "$temp/build"
cd "$temp"
make -s -j"$(nproc)" B=quick SRC="$(echo $sources)" build/quick/tests/run_op
diff build/sql.gen.c "$root/build/sql.gen.c" >/dev/null && {
	echo "nothing was permuted"
	exit 1
}
build/quick/tests/run_op "$@"
