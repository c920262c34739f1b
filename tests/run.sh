#!/bin/sh
# run.sh - every test, one line each; the last line is `N passed, N failed`.
#
#	tests/run.sh                     everything
#	tests/run.sh WORD...             tests whose names contain one of the words
#	tests/run.sh --long=SECONDS W... fuzzers run that long each
#
# The tests that match are run: lints, tests/unit/test_*.c, tests/op/*.test, the
# programs tests/NAME.c, the stories tests/*/*.sh (but lib/), tests/fuzz/*.c.  Logs are
# kept in build/logs/, and the tail of a failing one is shown.  A test finds
# the command in $CADRE and first in PATH, an empty folder of its own in $TMPDIR
# and $HOME, nothing else of the caller's environment, and leaves nothing running; its agents call
# as often as they like (CADRE_LIMITS_ENABLED);
# one that ends with 77 was skipped, and so was a case of which a program says so.
# $TEST_SCALE tells how much longer than on a fast machine a test should wait.
set -u
unset CDPATH
cd "$(dirname "$0")/.." || exit 1
exec </dev/null
umask 022
root=$(pwd)
logs=$root/build/logs
fuzz_seconds=8
case ${1-} in
--long=*) fuzz_seconds=${1#--long=}; shift ;;
esac
words=$*

for name in $(env | sed -n 's/^\(CADRE_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
unset MAKELEVEL
# Short, since the paths of Unix sockets end at 107 bytes.
temp=$(mktemp -d /tmp/cadre-check.XXXXXX) || exit 1
lane=
trap 'end_lane; rm -rf "$temp"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$logs"
TEST_SCALE=${TEST_SCALE:-$(sh tests/lib/scale "$temp")}
[ "$TEST_SCALE" = 1 ] || echo "this machine is slow, or busy: tests wait $TEST_SCALE times as long"

wanted() { # NAME: does any of the words ask for it?
	[ -n "$words" ] || return 0
	for word in $words; do
		case $1 in *"$word"*) return 0 ;; esac
	done
	return 1
}

# Processes with this in their command line that still run seconds after a test; each is
# told in the test's log, and ended.
still_there() {
	n=0
	while pids=$(pgrep -f -- "$1") && [ $n -lt $((50 * TEST_SCALE)) ]; do
		n=$((n + 1))
		sleep 0.1
	done
	[ -z "$pids" ] || {
		echo "left running:"
		ps -o pid=,args= -p "$(echo $pids | tr ' ' ',')"
		kill -9 $pids
	} >>"$log" 2>/dev/null
	echo $pids
}

# Variables that programs which fetch packages need, if the machine has them.
fetching="http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE
	SSL_CERT_DIR NODE_EXTRA_CA_CERTS npm_config_registry"

# in_own COMMAND...: runs it with an environment that is the same on every machine.
in_own() {
	case $name in
	e2e/mcp | e2e/conformance | e2e/openapi | vm/*)
		for var in $fetching; do
			eval "[ -z \"\${$var+x}\" ] || set -- \"$var=\$$var\" \"\$@\""
		done
		;;
	esac
	env -i --default-signal ${RENEW:+RENEW="$RENEW"} PATH="$root/build/asan:$PATH" HOME="$own" TMPDIR="$own" \
		XDG_RUNTIME_DIR="$own/run" XDG_STATE_HOME="$own/state" \
		XDG_CONFIG_HOME="$own/config" CADRE="$root/build/asan/cadre" CADRE_LIMITS_ENABLED=false \
		LC_ALL=C.UTF-8 TZ=UTC TEST_SCALE="$TEST_SCALE" ${N:+"N=$N"} \
		npm_config_cache="${npm_config_cache:-${HOME:-$root/build}/.npm}" \
		CLIENTS_CACHE="${CLIENTS_CACHE:-${HOME:-$root/build}/.cache/cadre-clients}" \
		GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@localhost \
		GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@localhost \
		GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_COUNT=1 \
		GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="$root" \
		ASAN_OPTIONS=abort_on_error=0:detect_stack_use_after_return=1 \
		UBSAN_OPTIONS=print_stacktrace=1 \
		TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 "$@"
}

# t NAME SECONDS COMMAND...: one test, in an empty home and temporary folder.
t() {
	name=$1 limit=$(($2 * TEST_SCALE))
	shift 2
	wanted "$name" || return 0
	log=$logs/$(echo "$name" | tr ' /' '__').log
	own=$(mktemp -d "$temp/XXX") && mkdir -m 700 "$own/run" || exit 1
	began=$(date +%s%3N)
	case $name in
	build\ *) "$@" ;; # the caller's environment may speak of the compiler
	*) in_own timeout -k 10 "$limit" "$@" ;;
	esac >"$log" 2>&1
	status=$?
	took=$(($(date +%s%3N) - began))
	left=$(still_there "$own/")
	[ -z "$left" ] || status=99
	rm -rf "$own"
	case $status in
	0) word=ok ;;
	77) word=skip ;;
	*) word=FAIL ;;
	esac
	echo "$word" >>"$temp/words"
	printf '%8d ms  %s\n' $took "$name" >>"$temp/times"
	[ $word = FAIL ] || skipped_of "$log" >>"$temp/skipped"
	{
		printf '%-4s %-40s %6d ms%s\n' $word "$name" $took \
			"$([ $status != 124 ] || echo "  (over $limit s)")"
		[ $word != FAIL ] || { tail -n 40 "$log" | sed 's/^/     | /'; echo "     $log"; }
	} >"$own.report"
	cat "$own.report" # at once, since two may be at it
	rm -f "$own.report"
}

# skipped_of LOG: the cases of it that were skipped, each with the reason; of a test
# that was skipped as a whole its name.
skipped_of() {
	awk -v name="$name" -v whole="$([ $word != skip ] || echo yes)" '
		sub(/^.*skipped: */, "") { reason = $0; next }
		/^\[ RUN/ { listed = 0 }
		/^\[  SKIPPED \].*listed below/ { listed = 1 }
		!listed && /^\[  SKIPPED \] [A-Za-z_0-9]+$/ {
			printf "skip %s %s: %s\n", name, $4, reason ? reason : "no reason given"
			reason = ""
		}
		END { if (whole) printf "skip %s: %s\n", name, reason ? reason : "no reason given" }
	' "$1"
}

# plan NAME SECONDS COMMAND...: a test that a lane is to run.
planned=0
mkdir "$temp/plan"
plan() {
	wanted "$1" || return 0
	planned=$((planned + 1))
	printf '%s\n' "$@" >"$temp/plan/$planned"
}

# run_planned: takes planned tests, each that no other lane took, until none is left.
# No two tests share anything but what was built before.
run_planned() {
	for number in $(seq "$planned"); do
		mkdir "$temp/plan/$number.taken" 2>/dev/null || continue
		set --
		while IFS= read -r word; do set -- "$@" "$word"; done <"$temp/plan/$number"
		t "$@"
	done
}

# With a second core two tests run at a time, each in a lane of its own.
beside() { # COMMAND...
	[ "$(nproc)" -gt 1 ] || { "$@"; return; }
	(trap - EXIT INT TERM; "$@") &
	lane=$!
}
join_lane() {
	[ -z "$lane" ] || wait "$lane"
	lane=
}
end_lane() { # in a hurry
	[ -n "$lane" ] || return 0
	under=$(pgrep -P "$lane")
	kill "$lane" $under 2>/dev/null
	wait "$lane" 2>/dev/null
}

count_of() { grep -c "^$1" "$2" 2>/dev/null; }

# A build is a test as well: it runs once, before the first that needs it.
built=
build() { # VARIANT TARGET...
	variant=$1
	shift
	case $built in *" $variant:$1 "*) return 0 ;; esac
	built="$built $variant:$1 "
	saved=$words words=
	t "build ${variant:-release} $(basename "$1")" 1200 timeout -k 10 1200 make -k -j"$(nproc)" \
		B="$variant" WERROR="$([ "$variant" ] || echo -Werror)" "$@"
	words=$saved
}

any() { # is one of these names wanted?
	for name; do
		! wanted "$name" || return 0
	done
	return 1
}

names() { # PREFIX FILE...: "PREFIX base" for those that are there
	prefix=$1
	shift
	for file; do
		[ ! -e "$file" ] || echo "$prefix $(basename "${file%.*}")"
	done
}

list() { # the files that are there
	for file; do [ ! -e "$file" ] || echo "$file"; done
}

program() { # NAME SECONDS VARIANT ARGUMENT...: tests/NAME.c, if there
	[ -f "tests/$1.c" ] && wanted "$1" || return 0
	build "$3" tests
	prog=$1 seconds=$2 variant=$3
	shift 3
	plan "$prog${*:+ $*}" "$seconds" env CADRE="$root/build/$variant/cadre" "build/$variant/tests/$prog" "$@"
}

# The names of all tests but the lints.
test_names() {
	names unit $(list tests/unit/test_*.c) | sed 's/ test_/ /'
	names op $(list tests/op/*.test)
	names fuzz $(list tests/fuzz/*.c)
	names tsan $(list tests/race.c tests/unit/test_*.c) | sed 's/ test_/ /'
	for source in $(list tests/*.c); do basename "$source" .c; done
	for story in $(list tests/*/*.sh); do echo "$story" | sed 's/^tests.//; s/.sh$//'; done
	echo "bench guard"
}

matches() { # is one of the names on stdin wanted?
	while read -r name; do
		! wanted "$name" || return 0
	done
	return 1
}

# Words that match nothing are refused before anything is built; lints need no build.
lints_only=
if [ -n "$words" ] && ! test_names | matches; then
	lints_only=yes
	names lint $(list tools/lint/*) | matches || {
		echo "no test matches: $words"
		echo "0 passed, 1 failed"
		exit 1
	}
fi

[ -n "$words" ] || build '' all
[ "$words" = fuzz ] || [ "$words" = tsan ] || [ "$lints_only" ] || build asan tests
# VMs share the machine's network, so these run one after the other.
vm_stories() {
	for story in $(list tests/vm/*.sh); do
		base=$(basename "$story" .sh)
		# A VM in a VM takes minutes: for who asks.
		case $base:$words in
		vsock-nested:*vsock* | vsock-nested:*nested*) t vm/vsock-nested 600 sh "$story" ;;
		vsock-nested:*) ;;
		*) t "vm/$base" 600 sh "$story" ;;
		esac
	done
}

vm_names=$(names vm $(list tests/vm/*.sh) | tr ' ' /)
if any $vm_names soak; then
	build '' all # the guest's program in an image is the release's
	build test tests
fi

# The longest first, so that no lane ends long before the other.
for story in $(list tests/*/*.sh); do
	base=${story#tests/}
	case $base in
	lib/* | vm/*) ;;
	*) plan "${base%.sh}" 300 sh "$story" ;;
	esac
done

program sim 300 test 100000
program crash 300 test 20
program crash 100 test 2 4 # few kills; there is something to judge all the same
program power 200 test 6 --fs=ext4
program soak 200 test 30 counts # judges what is counted, no times
for source in $(list tests/*.c); do
	base=$(basename "$source" .c)
	case $base in
	run_op | sim | crash | power | race | soak | guard) ;; # above or below
	*) program "$base" 300 asan ;;
	esac
done

for unit in $(list tests/unit/test_*.c); do
	base=$(basename "$unit" .c)
	plan "unit ${base#test_}" 120 "build/asan/tests/unit/$base"
done
[ ! -f tests/run_op.c ] || for transcript in $(list tests/op/*.test); do
	plan "op $(basename "$transcript" .test)" 300 build/asan/tests/run_op "$transcript"
done
if any "bench guard"; then
	build '' build/tests/guard
	plan "bench guard" 60 tests/guard/run
fi

! wanted "lint docs" || build "" all
for lint in $(list tools/lint/*); do
	plan "lint $(basename "$lint")" 300 "$lint"
done

# Found inputs stay in build/corpus; tests/fuzz/NAME/ holds the seeds.
sources=$(list tests/fuzz/*.c)
if [ -n "$sources" ] && any $(names fuzz $sources); then
	build fuzz fuzzers
	for fuzzer in $sources; do
		base=$(basename "$fuzzer" .c)
		mkdir -p "build/corpus/$base"
		plan "fuzz $base" $((fuzz_seconds + 120)) "build/fuzz/tests/fuzz/$base" \
			-max_total_time="$fuzz_seconds" -rss_limit_mb=2048 -timeout=10 \
			-artifact_prefix="$logs/$base-" \
			$([ ! -f "tests/fuzz/$base.dict" ] || echo "-dict=tests/fuzz/$base.dict") \
			"build/corpus/$base" $(list "tests/fuzz/$base")
	done
fi

# Threads: a whole host under load, and the units that start some.  TSan's map does
# not fit the kernel's widest address randomness.
threads=$(grep -lE '(pthread|uv_thread)_create' tests/unit/test_*.c)
if any $(names tsan tests/race.c $threads); then
	build tsan build/tsan/cadre $(for source in tests/race.c $threads; do
		echo "build/tsan/${source%.c}"
	done)
	for source in tests/race.c $threads; do
		base=$(basename "$source" .c)
		plan "tsan ${base#test_}" 300 env CADRE="$root/build/tsan/cadre" \
			setarch -R "build/tsan/${source%.c}"
	done
fi

second_lane() {
	vm_stories
	run_planned
}
beside second_lane
run_planned
join_lane
touch "$temp/words" "$temp/times" "$temp/skipped"
[ "$(wc -l <"$temp/times")" -lt 2 ] || {
	echo "slowest:"
	sort -rn "$temp/times" | head -n 10
}
[ ! -s "$temp/skipped" ] || {
	echo "$(wc -l <"$temp/skipped") skipped:"
	sed 's/^skip //' "$temp/skipped"
}
failed=$(count_of FAIL "$temp/words")
echo "$(count_of ok "$temp/words") passed, $failed failed"
[ "$failed" = 0 ]
