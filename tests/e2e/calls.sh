#!/bin/sh
# calls - clients that ask for large answers without an end and read none, and clients whose
# calls wait: the host's memory stays bounded, and others are answered.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down >/dev/null 2>&1' EXIT

# The sanitizer would keep what is freed.
ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1" cadre up --limits.max_waits 100 >/dev/null || bad "up"
cadre team create red --roles '[{"name":"ann"},{"name":"bob"}]' >/dev/null || bad "team create"
head -c 250000 /dev/zero | tr '\0' x >"$TMPDIR/large"
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
	cadre send bob - --team red --from ann <"$TMPDIR/large" >/dev/null || bad "send"
done
pid=$(cut -d' ' -f1 "$CADRE_HOME/host.lock")
socket=$(find "$XDG_RUNTIME_DIR" -name host.sock | head -1)
told=$(/usr/bin/python3 "$here/peers/calls.py" "$socket" "$pid")
case $told in
*' CallResult') ;;
*) bad "another client is told $told" ;;
esac
# The host was busy: its memory came near to its bound.
[ "${told%% *}" -gt 100 ] || bad "the host grew by ${told%% *} MiB only: that was no load"
# 256 MiB of answers, the rows of four reads, and waiting calls.
[ "${told%% *}" -lt 340 ] || bad "the host grew by ${told%% *} MiB"

# When all clients together have too many calls, each may have a few, until the number falls.
told=$(timeout 120 /usr/bin/python3 "$here/peers/crowded.py" "$socket")
[ "$told" = "held up then answered" ] || bad "a client beside too many calls: $told"
exit $failed
