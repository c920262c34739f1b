#!/bin/sh
# run.sh - runs the tests, and prints a line for each test. The last line is `N passed, N
# failed`.
#	tests/run.sh                  runs a check, which has every kind of test.
#	tests/run.sh --long           runs every test at full size.
#	tests/run.sh --coverage       runs the tests of coverage with programs that count executed lines.
#	tests/run.sh [--long] WORD... runs tests whose names contain a word (op/deps for `op deps`).
#
# tests/README.md lists each kind of test, with the size in a check and the full size. Some
# tests do not run in every check, but take turns. $TURN is the number of the check, which grows
# by one after each check that passed. Logs are stored in build/logs/. If a test fails, the end
# of the test's log is shown.
#
# tests/lib/environment.sh sets the environment variables of a test. A test leaves no process
# running. If $FULL is set, a test does all its parts. A test that exits with 77 was skipped. A
# case of a test was skipped if the output of the test's program says so. $TEST_SCALE is the
# factor for a test's time limits, and is 1 on a fast machine.
set -u
unset CDPATH
cd "$(dirname "$0")/.." || exit 1
exec </dev/null
umask 022
root=$(pwd)
logs=$root/build/logs
FULL= counting=
case ${1-} in
--long) FULL=yes; shift ;;
--coverage) FULL=yes counting=yes logs=$logs/coverage; shift ;;
esac
words=$*

for name in $(env | sed -n 's/^\(CADRE_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
unset MAKELEVEL
# The path is short, since the path of a Unix socket has at most 107 bytes.
temp=$(mktemp -d /tmp/cadre-check.XXXXXX) || exit 1
lanes=
end_lanes() { # ends all lanes after an interrupt
	for lane in $lanes; do
		under=$(pgrep -P "$lane")
		kill "$lane" $under 2>/dev/null
		wait "$lane" 2>/dev/null
		for pid in $under; do # this program ends the processes of its test
			for tenth in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
		done
	done
}
trap 'end_lanes; rm -rf "$temp"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$logs" "$temp/plan"
touch "$temp/words" "$temp/times" "$temp/skipped"
TEST_SCALE=${TEST_SCALE:-$(sh tests/lib/scale "$temp")}
[ "$TEST_SCALE" = 1 ] || echo "this machine is slow, or busy: tests wait $TEST_SCALE times as long"

# In a fresh clone the first $TURN comes from the commit's id, so that clones of different
# commits take different turns.
first_turn() { printf %d "0x$(git rev-parse --short=6 HEAD 2>/dev/null || echo 0)"; }
: "${TURN:=$(cat build/turn 2>/dev/null || first_turn)}"
case $TURN in # the shell cannot calculate with 08
*[!0-9]* | '' | 0?* | ??????????*)
	echo "TURN is a number of at most nine digits, not '$TURN'"
	echo "0 passed, 1 failed"
	exit 1
	;;
esac

size() { # IN-A-CHECK AT-FULL-SIZE
	[ "$FULL" ] && echo "$2" || echo "$1"
}

wanted() { # NAME: does one of the words match?  The word op/deps also matches `op deps`.
	[ -n "$words" ] || return 0
	for word in $words; do
		case "$1 ${1%% *}/${1#* }" in *"$word"*) return 0 ;; esac
	done
	return 1
}

# --- running a test --------------------------------------------------------------------

# Variables for programs that fetch packages, if the machine sets them.
fetching="http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE
	SSL_CERT_DIR NODE_EXTRA_CA_CERTS npm_config_registry"

# `make clients` fetches the real clients from npm, 1.1 GB. If the clients are installed, a
# check runs one client.
clients_cache=${CLIENTS_CACHE:-${HOME:-$root/build}/.cache/cadre-clients}

. tests/lib/environment.sh
# in_own VARIANT COMMAND...: runs the command in a test's environment, with the time limit of
# t().
in_own() {
	bin=$root/build${1:+/$1}
	shift
	set -- $within "$@"
	case $name in
	packages | vm/*)
		for var in $fetching; do
			eval "[ -z \"\${$var+x}\" ] || set -- \"$var=\$$var\" \"\$@\""
		done
		;;
	esac
	in_environment "$bin" "$own" ${RENEW:+RENEW="$RENEW"} ${N:+"N=$N"} \
		npm_config_cache="${npm_config_cache:-${HOME:-$root/build}/.npm}" \
		CLIENTS_CACHE="$clients_cache" \
		ASAN_OPTIONS="abort_on_error=0:detect_stack_use_after_return=1:detect_leaks=$leaks:malloc_context_size=6:quarantine_size_mb=16" \
		UBSAN_OPTIONS=print_stacktrace=1 \
		TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 "$@"
}

# t NAME SECONDS VARIANT COMMAND...: runs one test, in an empty home and temporary folder, with
# the programs of build/VARIANT. With the VARIANT `make` the test runs in the caller's
# environment. Only the test programs and one story look for leaked memory. In a story this
# search would double the time of each command.
t() {
	name=$1 limit=$(($2 * TEST_SCALE)) variant=$3
	shift 3
	log=$logs/$(echo "$name" | tr ' /' '__').log
	own=$(mktemp -d "$temp/XXX") || exit 1
	within="$root/build/within $limit $((5 * TEST_SCALE)) $own.cpu"
	case $name in
	e2e/calls) leaks=1 ;;
	*/*) leaks=0 ;;
	*) leaks=1 ;;
	esac
	began=$(date +%s%3N)
	case $variant in
	make) $within "$@" ;;
	*) in_own "${variant#release}" "$@" ;;
	esac >"$log" 2>&1
	status=$?
	took=$(($(date +%s%3N) - began))
	rm -rf "$own"
	case $status in
	0) word=ok ;;
	77) word=skip ;;
	*) word=FAIL ;;
	esac
	echo "$word" >>"$temp/words"
	printf '%8d %8d  %s\n' "$(cat "$own.cpu" || echo 0)" $took "$name" >>"$temp/times"
	[ $word = FAIL ] || skipped_of "$log" >>"$temp/skipped"
	{
		printf '%-4s %-40s %6d ms%s\n' $word "$name" $took \
			"$([ $status != 124 ] || echo "  (over $limit s)")"
		[ $word != FAIL ] || { tail -n 40 "$log" | sed 's/^/     | /'; echo "     $log"; }
	} >"$own.report"
	cat "$own.report" # in one write, since lanes print at the same time
	rm -f "$own.report"
}

# skipped_of LOG: prints the skipped cases in the log, each with its reason. If the whole test
# was skipped, prints the test's name.
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

# --- names of tests --------------------------------------------------------------------

bases() { # FILE...: their names, without folder and ending
	for file; do
		file=${file##*/}
		echo "${file%.*}"
	done
}

units=$(bases tests/unit/test_*.c | sed 's/^test_//')
threaded=$(bases $(grep -lE '(pthread|uv_thread)_create' tests/unit/test_*.c) | sed 's/^test_//')
transcripts=$(bases tests/op/*.test)
fuzzers=$(bases tests/fuzz/*.c | grep -vx replay)
stories=$(printf '%s\n' tests/*/*.sh | sed 's,^tests/,,; s/.sh$//; /^lib/d')
{
	printf 'unit %s\n' $units
	printf 'op %s\n' coverage $transcripts
	printf 'fuzz %s\n' $fuzzers
	printf 'tsan %s\n' race $threaded
	printf '%s\n' $(bases tests/*.c) $stories 'bench guard' ${FULL:+portable 'fuzz long'}
} >"$temp/names"
bases tools/lint/* | sed 's/^/lint /' >"$temp/lints"

of_kind() { # FILE PATTERN: does FILE have a wanted name that matches?
	grep -E "$2" "$1" | {
		while read -r name; do
			! wanted "$name" || exit 0
		done
		exit 1
	}
}
all_words=$words
for words in $all_words; do
	of_kind "$temp/lints" . || of_kind "$temp/names" . || {
		echo "no test has $words in its name"
		echo "0 passed, 1 failed"
		exit 1
	}
done
words=$all_words

# --- stories under AddressSanitizer ---------------------------------------------------

# tests/rooms names the stories and programs of each room. A story runs under AddressSanitizer
# if the story or its room has changed since the last check that passed, or if the story tests
# hostile input. Of the other stories, each story runs under AddressSanitizer in every TURNS-th
# check. The stories that do not run under AddressSanitizer run with the release command. If no
# check has passed yet, all of these stories run. All of them also run after a change of a file
# on which all stories depend. Otherwise each check runs half of these stories, in turn.
TURNS=24
passed=$(cat build/passed 2>/dev/null)
# `tree` is the id of a commit that contains the present files. The next check compares its
# files with this commit.
changed=$([ -z "$passed" ] || {
	git diff --name-only --no-renames "$passed" && git ls-files -o --exclude-standard
} 2>/dev/null) || passed=
tree=$({ git stash create; git rev-parse HEAD; } 2>/dev/null | head -n 1)
watched=$(echo "$changed" | tests/lib/watched tests/rooms -) || exit 1
case $watched in *' all '*) passed= ;; esac

# plan_story NAME COMMAND...: plans a story with the programs of the variant that is due
# (release or asan), or leaves the story to the next check. `nth` is the story's place in the
# rotation. `own_turn` counts the checks in which the story runs. A story runs in every second
# check, and in every TURNS-th check under AddressSanitizer. `own_turn` becomes the $TURN of the
# story, which chooses the parts of the story.
plan_story() {
	name=$1 variant=release
	shift
	own_turn=$(((nth + TURN) / 2 + (nth + TURN) / TURNS))
	case $watched in *" ${name#e2e/} "*) variant=asan ;; esac
	[ -z "$FULL" ] && [ $(((nth + TURN) % TURNS)) != 0 ] || variant=asan
	if [ $variant = release ] && [ "$passed" ] && [ -z "$words$counting" ] && [ $(((nth + TURN) % 2)) = 1 ]; then
		echo "$name" >>"$temp/next"
		return 0
	fi
	plan "$name" 300 $variant env "TURN=$own_turn" $(echo "$*" | sed "s,/VARIANT/,/$variant/,; s,/release/,/,")
}

# --- building --------------------------------------------------------------------

build() { # VARIANT TARGET...: a build is a test as well
	variant=$1
	shift
	t "build $variant $1" 1200 make make -k -j"$(nproc)" B="${variant#release}" \
		WERROR="$([ "$variant" != release ] || echo -Werror)" "$@"
}

mkdir -p build && gcc -O1 -o build/within tests/within/within.c || exit 1
needs_build=$(of_kind "$temp/names" . && echo yes)
if [ "$needs_build" ] || wanted "lint docs"; then
	clean=$([ -d build/obj ] || echo yes)
	build release all
	# The report compares a check's processor time with the processor time of a clean
	# release build.
	[ -z "$clean" ] || awk '{ print $1 }' "$temp/times" >build/cost
fi
if [ "$needs_build" ]; then
	build release tests
	[ "$words" = tsan ] || build $([ "$counting" ] && echo cov || echo asan) tests
	[ "$counting" ] || ! of_kind "$temp/names" ^tsan || build tsan build/tsan/cadre build/tsan/tests/race ${FULL:+WHOLE=1} \
		$(printf 'build/tsan/tests/unit/test_%s ' $threaded)
	[ -z "$FULL" ] || [ "$counting" ] || ! of_kind "$temp/names" ^fuzz || build fuzz fuzzers
	# The fetching of packages does not count in a check's processor time, since the next
	# check does not fetch the packages again.
	! of_kind "$temp/names" '^e2e/(mcp|conformance|inspector|openapi)$' ||
		t packages 600 release sh tests/lib/packages.sh
fi

# --- planning --------------------------------------------------------------------

# plan NAME SECONDS VARIANT COMMAND...: adds a test to the tests that the lanes run.
planned=0
plan() {
	wanted "$1" || return 0
	# Skips the tests for which it is useless or impossible to count lines.
	[ -z "$counting" ] || case $1 in
	lint* | fuzz* | tsan* | bench* | sim* | crash* | power* | soak* | steps | portable | 'op coverage' | e2e/permute | e2e/deb) return 0 ;;
	esac
	planned=$((planned + 1))
	printf '%s\n' "$@" >"$temp/plan/$planned"
	[ -z "$counting" ] ||
		sed -i '3s/.*/cov/; 4,$s,^build/asan/,build/cov/,; 4,$s,^build/tests/,build/cov/tests/,' "$temp/plan/$planned"
}

# run_planned: runs the planned tests with the numbers in the arguments, except tests that
# another lane has taken. Tests share no files but the built programs.
run_planned() { # NUMBER...
	for number; do
		mkdir "$temp/plan/$number.taken" 2>/dev/null || continue
		set --
		while IFS= read -r word; do set -- "$@" "$word"; done <"$temp/plan/$number"
		t "$@"
		: >"$temp/plan/$number.over"
	done
}

beside() { # COMMAND...: runs the command in a lane of its own
	(trap - EXIT INT TERM; "$@") &
	lanes="$lanes $!"
}
join_lanes() {
	wait $lanes
	lanes=
}

# program NAME SECONDS VARIANT ARGUMENT...: plans the test program tests/NAME.c.
program() {
	prog=$1 seconds=$2 variant=$3
	shift 3
	folder=build/$variant
	plan "$prog${*:+ $*}" "$seconds" "$variant" "${folder%/release}/tests/$prog" "$@"
}

# has_turn N OF STORY: whether the story has its turn or has changed. The story is number N of
# OF costly stories. The last lines of the output name the stories that do not run.
has_turn() {
	[ -z "$words$FULL" ] && [ $((TURN % $2)) != "$1" ] || return 0
	case $watched in *" ${3#e2e/} "*) return 0 ;; esac
	echo "$3" >>"$temp/later"
	return 1
}

# VMs share the machine's network, so one lane runs all of them. Since VMs are costly, only the
# story vm/life runs in each check. The other stories of VMs run in turn.
vms=0
for story in $stories; do
	case $story in
	vm/vsock-nested) # a VM in a VM takes minutes
		case "$words " in
		*vsock\ * | *nested*) ;;
		*)
			echo "$story (make check-vsock)" >>"$temp/asked"
			continue
			;;
		esac
		;;
	vm/life) ;;
	vm/*)
		vms=$((vms + 1))
		has_turn $((vms % 11)) 11 "$story" || continue
		;;
	*) continue ;;
	esac
	plan "$story" 600 release sh "tests/$story.sh"
done
n_vm=$planned

# `op coverage` runs all transcripts under AddressSanitizer, and makes no step of the store
# fail. `op NAME` runs one transcript and makes steps of the store fail. Each check uses one of
# the four ways in which a step can fail, and runs every fourth transcript under
# AddressSanitizer.
plan 'op coverage' 300 asan build/asan/tests/run_op --coverage tests/op/*.test
number=$TURN
for transcript in $transcripts; do
	number=$((number + 1))
	folder=build$([ -z "$FULL" ] && [ $((number % 4)) != 0 ] || echo /asan)
	plan "op $transcript" 300 asan $folder/tests/run_op $(size "--way=$((TURN / 4 % 4))" '') "tests/op/$transcript.test"
done

nth=0
for story in $stories; do
	nth=$((nth + 1))
	case $story in
	vm/*) ;;
	e2e/deb) ! has_turn 0 3 "$story" || plan "$story" 300 release sh "tests/$story.sh" ;;
	e2e/permute) ! has_turn 1 3 "$story" || plan "$story" 300 release sh "tests/$story.sh" ;;
	*clients) # 1.1 GB
		if [ "$words" ] || tests/clients/install --there "$clients_cache" codex; then
			plan_story "$story" sh "tests/$story.sh"
		else
			echo "$story (make clients)" >>"$temp/asked"
		fi
		;;
	*) plan_story "$story" sh "tests/$story.sh" ;;
	esac
done

for name in $(bases tests/*.c); do
	nth=$((nth + 1))
	case $name in
	run_op | race | guard) ;; # planned above or below
	sim) program sim $(size 300 600) release $(size 30000 1000000) ;;
	crash)
		program crash 900 release $(size 8 200)
		program crash 100 release 2 4 # few kills, but enough to judge
		;;
	power) program power 900 release $(size 2 50) --fs=ext4 ;;
	soak) program soak 400 release $(size 10 120) counts ;; # judges counts, but no times
	steps) program steps 120 release ;;
	size) ! has_turn 2 3 size || program size 300 $(size release asan) ;;
	*) plan_story "$name" "build/VARIANT/tests/$name" ;;
	esac
done
for unit in $units; do
	plan "unit $unit" 120 asan "build/asan/tests/unit/test_$unit"
done
plan 'bench guard' 60 release tests/guard/run
[ -z "$FULL" ] || plan portable 600 make make portable # installs PostgreSQL if there is none
for lint in $(bases tools/lint/*); do
	plan "lint $lint" 300 release "tools/lint/$lint"
done

# A check runs the seeds and up to 2,000 inputs derived from the seeds. At full size clang's
# libFuzzer searches for inputs and keeps them in build/corpus.
for fuzzer in $fuzzers; do
	dictionary=$(ls "tests/fuzz/$fuzzer.dict" 2>/dev/null)
	seeds=$(ls -d "tests/fuzz/$fuzzer"/* 2>/dev/null)
	plan "fuzz $fuzzer" 120 asan "build/asan/tests/fuzz/$fuzzer" 2000 "$TURN" \
		"${dictionary:--}" "$logs/$fuzzer-input" $seeds
	[ "$FULL" ] || continue
	mkdir -p "build/corpus/$fuzzer"
	plan "fuzz long $fuzzer" $((${FUZZ_SECONDS:-30} + 120)) fuzz "build/fuzz/tests/fuzz/$fuzzer" \
		-max_total_time="${FUZZ_SECONDS:-30}" -rss_limit_mb=2048 -timeout=10 \
		-artifact_prefix="$logs/$fuzzer-" ${dictionary:+"-dict=$dictionary"} \
		"build/corpus/$fuzzer" $(ls -d "tests/fuzz/$fuzzer" 2>/dev/null)
done

# ThreadSanitizer checks a whole host under load, and the unit tests that start threads.
# `setarch -R` turns off address randomness, which can be too wide for TSan's memory map.
plan 'tsan race' 300 tsan setarch -R build/tsan/tests/race
for unit in $threaded; do
	plan "tsan $unit" 300 tsan setarch -R "build/tsan/tests/unit/test_$unit"
done

# The number of lanes is the number of cores plus one, since many tests wait. The longest tests
# of the last check start first, so that all lanes end at about the same time.
longest=$(for number in $(seq $((n_vm + 1)) "$planned"); do
	IFS= read -r name <"$temp/plan/$number"
	echo "$number $(sed -n "s,^ *[0-9]* *\([0-9]*\)  $name\$,\1,p" build/times 2>/dev/null | tail -n 1)"
done | sort -k2,2nr -k1,1n | cut -d' ' -f1)
first_lane() {
	run_planned $(seq "$n_vm")
	run_planned $longest
}
beside first_lane
for core in $(seq "$(nproc)"); do beside run_planned $longest; done
join_lanes
for number in $(seq "$planned"); do # a lane may have died
	[ -e "$temp/plan/$number.over" ] || {
		IFS= read -r name <"$temp/plan/$number"
		echo "FAIL $name: it did not end"
		echo FAIL >>"$temp/words"
	}
done

# At full size, runs all tests again with programs that count lines, to measure the coverage of
# all tests together.
[ -z "$FULL" ] || [ "$counting" ] || ! wanted coverage || t coverage 5400 make tests/coverage/run

# --- the report ------------------------------------------------------------------

count_of() { grep -c "^$1" "$temp/words"; }
failed=$(count_of FAIL)
if [ -z "$words" ]; then
	[ "$FULL$counting" ] || cp "$temp/times" build/times
	echo "slowest (processor, clock):"
	sort -rn "$temp/times" | head -n 10
fi
[ ! -s "$temp/skipped" ] || {
	echo "$(wc -l <"$temp/skipped") skipped:"
	sed 's/^skip //' "$temp/skipped"
}
[ ! -s "$temp/next" ] ||
	echo "the next check has $(wc -l <"$temp/next") whose rooms are as they were:" $(sort "$temp/next") | fold -s -w 100
[ ! -s "$temp/later" ] || echo "in other checks, in turn:" $(sort "$temp/later") | fold -s -w 100
[ -n "$words" ] || [ ! -s "$temp/asked" ] || echo "for those who ask:" $(cat "$temp/asked") | fold -s -w 100
if [ -z "$words$FULL$counting" ] && [ "$failed" = 0 ]; then
	echo "$tree" >build/passed
	echo $((TURN + 1)) >build/turn
fi
[ -n "$words" ] || awk -v cost="$(cat build/cost 2>/dev/null)" -v turn="$TURN" '
	$3 == "build" { builds += $1; next }
	$3 != "packages" { tests += $1 }
	END {
		printf "turn %d; processor: %d s for tests, %d s for builds", turn, tests / 1000, builds / 1000
		if (cost)
			printf "; %.1f times the %d s of a clean release build", (tests + builds) / cost, cost / 1000
		print ""
	}' "$temp/times"
echo "$(count_of ok) passed, $failed failed"
[ "$failed" = 0 ]
