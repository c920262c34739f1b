# environment - the environment variables of a test. The caller provides only PATH, TEST_SCALE,
# TURN and FULL. The folder with the test's programs is the first in PATH.
#
# in_environment BIN OWN [NAME=VALUE...] COMMAND...: runs the command with the programs of BIN,
# and with OWN as home and temporary folder. The caller sets the shell variables $root,
# $TEST_SCALE, $TURN and $FULL.
in_environment() {
	bin=$1 own=$2
	shift 2
	mkdir -m 700 "$own/run" || return
	env -i --default-signal PATH="$bin:$PATH" HOME="$own" TMPDIR="$own" CADRE="$bin/cadre" \
		XDG_RUNTIME_DIR="$own/run" XDG_STATE_HOME="$own/state" XDG_CONFIG_HOME="$own/config" \
		CADRE_LIMITS_ENABLED=false LC_ALL=C.UTF-8 TZ=UTC \
		TEST_SCALE="$TEST_SCALE" TURN="$TURN" FULL="${FULL-}" \
		GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@localhost \
		GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@localhost \
		GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_COUNT=1 \
		GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="$root" "$@"
}
