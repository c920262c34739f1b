#!/bin/sh
# run.sh - every test, one line each; the last line is `N passed, N failed`.
#
#	tests/run.sh                     everything
#	tests/run.sh WORD...             tests whose names contain one of the words
#	tests/run.sh --long=SECONDS W... fuzzers run that long each
#
# What is found is run: lints, tests/unit/test_*.c, tests/op/*.test, the
# programs tests/NAME.c, the stories tests/*/*.sh (but lib/), tests/fuzz/*.c.  Logs are
# kept in build/logs/, and the tail of a failing one is shown.  A story finds
# the command in $CADRE and first in PATH, an empty folder of its own in $TMPDIR
# and $HOME, and leaves nothing running; a test that ends with 77 was skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$(pwd)
logs=$root/build/logs
fuzz_seconds=8
case ${1-} in
--long=*) fuzz_seconds=${1#--long=}; shift ;;
esac
words=$*
passed=0
failed=0
skipped=0

for name in $(env | sed -n 's/^\(CADRE_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
unset MAKELEVEL
# Short, since the paths of Unix sockets end at 107 bytes.
temp=$(mktemp -d /tmp/cadre-check.XXXXXX) || exit 1
beside=
trap '[ -z "$beside" ] || pkill -P "$beside"; rm -rf "$temp"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$logs"
export npm_config_cache="${npm_config_cache:-${HOME:-/root}/.npm}"
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@localhost
export GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@localhost
export ASAN_OPTIONS="${ASAN_OPTIONS:-abort_on_error=0:detect_stack_use_after_return=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}"

wanted() { # NAME: does any of the words ask for it?
	[ -n "$words" ] || return 0
	for word in $words; do
		case $1 in *"$word"*) return 0 ;; esac
	done
	return 1
}

# What still runs with this in its command line some seconds after a test; it is
# told in the test's log, and ended.
still_there() {
	n=0
	while pids=$(pgrep -f -- "$1") && [ $n -lt 50 ]; do
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

# t NAME SECONDS COMMAND...: one test, in an empty home and temporary folder.
t() {
	name=$1 limit=$2
	shift 2
	wanted "$name" || return 0
	log=$logs/$(echo "$name" | tr ' /' '__').log
	own=$(mktemp -d "$temp/XXX") && mkdir -m 700 "$own/run" || exit 1
	began=$(date +%s%3N)
	TMPDIR=$own HOME=$own XDG_RUNTIME_DIR=$own/run XDG_STATE_HOME=$own/state \
		XDG_CONFIG_HOME=$own/config CADRE=$root/build/asan/cadre \
		PATH=$root/build/asan:$PATH \
		timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null
	status=$?
	took=$(($(date +%s%3N) - began))
	left=$(still_there "$own/")
	[ -z "$left" ] || status=99
	rm -rf "$own"
	case $status in
	0) word=ok passed=$((passed + 1)) ;;
	77) word=skip skipped=$((skipped + 1)) ;;
	*) word=FAIL failed=$((failed + 1)) ;;
	esac
	printf '%-4s %-40s %6d ms%s\n' $word "$name" $took \
		"$([ $status != 124 ] || echo "  (over $limit s)")"
	[ $word != FAIL ] || { tail -n 40 "$log" | sed 's/^/     | /'; echo "     $log"; }
}

# t, while others run; one at a time.
t_beside() {
	echo 0 1 0 >"$temp/beside" # until it has ended by itself
	(
		passed=0 failed=0 skipped=0
		t "$@" >"$temp/beside.log"
		echo "$passed $failed $skipped" >"$temp/beside"
	) &
	beside=$!
}

t_join() {
	[ -n "$beside" ] || return 0
	wait "$beside"
	beside=
	cat "$temp/beside.log"
	read -r p f s <"$temp/beside"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# A build is a test as well: it runs once, before the first that needs it.
built=
build() { # VARIANT TARGET...
	variant=$1
	shift
	case $built in *" $variant:$1 "*) return 0 ;; esac
	built="$built $variant:$1 "
	saved=$words words=
	t "build ${variant:-release} $(basename "$1")" 1200 make -k -j"$(nproc)" \
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
	t "$prog" "$seconds" env CADRE="$root/build/$variant/cadre" "build/$variant/tests/$prog" "$@"
}

[ -n "$words" ] || build '' all
for lint in $(list tools/lint/*); do
	t "lint $(basename "$lint")" 300 "$lint"
done

[ "$words" = fuzz ] || [ "$words" = tsan ] || build asan tests
for unit in $(list tests/unit/test_*.c); do
	base=$(basename "$unit" .c)
	t "unit ${base#test_}" 120 "build/asan/tests/unit/$base"
done
[ ! -f tests/run_op.c ] || for transcript in $(list tests/op/*.test); do
	t "op $(basename "$transcript" .test)" 300 build/asan/tests/run_op "$transcript"
done

program sim 300 test 200000
program crash 300 test 20
program crash 100 test 2 4 # few kills; there is something to judge all the same
program power 200 test 6 --fs=ext4
for source in $(list tests/*.c); do
	base=$(basename "$source" .c)
	case $base in
	run_op | sim | crash | power | race) ;;
	*) program "$base" 300 asan ;;
	esac
done

for story in $(list tests/*/*.sh); do
	base=${story#tests/} seconds=300
	case $base in
	lib/*) continue ;; # what stories share
	vm/*) # the guest's program in an image is the release's
		! wanted "${base%.sh}" || build '' all
		! wanted "${base%.sh}" || build test tests
		seconds=600
		;;
	esac
	[ "$base" = vm/vsock-nested.sh ] || t "${base%.sh}" $seconds sh "$story"
done
# Minutes of one core, which these leave idle.
t_beside vm/vsock-nested 600 sh tests/vm/vsock-nested.sh

# Threads: a whole host under load, and the units that start some.  TSan's map does
# not fit the kernel's widest address randomness.
threads=$(grep -lE '(pthread|uv_thread)_create' tests/unit/test_*.c)
if any $(names tsan tests/race.c $threads); then
	build tsan build/tsan/cadre $(for source in tests/race.c $threads; do
		echo "build/tsan/${source%.c}"
	done)
	for source in tests/race.c $threads; do
		base=$(basename "$source" .c)
		t "tsan ${base#test_}" 300 env CADRE="$root/build/tsan/cadre" \
			setarch -R "build/tsan/${source%.c}"
	done
fi

# Found inputs stay in build/corpus; tests/fuzz/NAME/ holds the seeds.
fuzzers=$(list tests/fuzz/*.c)
if [ -n "$fuzzers" ] && any $(names fuzz $fuzzers); then
	build fuzz fuzzers
	for fuzzer in $fuzzers; do
		base=$(basename "$fuzzer" .c)
		mkdir -p "build/corpus/$base"
		t "fuzz $base" $((fuzz_seconds + 120)) "build/fuzz/tests/fuzz/$base" \
			-max_total_time="$fuzz_seconds" -rss_limit_mb=2048 -timeout=10 \
			-artifact_prefix="$logs/$base-" \
			$([ ! -f "tests/fuzz/$base.dict" ] || echo "-dict=tests/fuzz/$base.dict") \
			"build/corpus/$base" $(list "tests/fuzz/$base")
	done
fi

t_join
[ $skipped = 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
