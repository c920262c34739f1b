#!/bin/sh
# environment - a test has its own environment. No variable, folder or setting of the machine
# can change the result of a test.
set -u
strange=$(env | sed -n 's/^\([A-Za-z_][A-Za-z_0-9]*\)=.*/\1/p' | grep -vxE 'PATH|HOME|TMPDIR|PWD|OLDPWD|_|SHLVL|XDG_(RUNTIME_DIR|STATE_HOME|CONFIG_HOME)|CADRE|CADRE_LIMITS_ENABLED|LC_ALL|TZ|TEST_SCALE|TURN|FULL|N|npm_config_cache|CLIENTS_CACHE|GIT_[A-Z_0-9]*|(A|UB|T)SAN_OPTIONS')
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
[ -z "$strange" ] || bad "the machine's variables:" $strange
[ "$(umask)" = 0022 ] || bad "umask $(umask)"
[ -z "$(cat)" ] || bad "there is something on stdin"
[ "$(date +%Z)" = UTC ] || bad "the machine's time zone"
[ -z "$(ls -A "$HOME" | grep -vx run)" ] || bad "a home that is not empty: $(ls -A "$HOME")"
[ "$HOME" = "$TMPDIR" ] && [ "$(unset -f cadre; command -v cadre)" = "$CADRE" ] || bad "another home or command"
[ "$TEST_SCALE" -ge 1 ] || bad "no scale: $TEST_SCALE"
trap 'said=yes' PIPE TERM # a signal that was ignored at the start cannot be trapped
for signal in PIPE TERM; do
	said=
	kill -$signal $$
	[ -n "$said" ] || bad "SIG$signal is ignored"
done
exit $failed
