#!/bin/sh
# calls - some clients ask for large answers again and again and never read an answer. At the
# same time other clients have waiting calls. The memory of the host stays bounded, and the host
# still answers a further client.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down >/dev/null 2>&1' EXIT

# Lets the address sanitizer keep only 1 MiB of freed memory.
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
# If the host's memory has grown by 100 MiB or less, the load of the test was too small.
[ "${told%% *}" -gt 100 ] || bad "the host grew by ${told%% *} MiB only: that was no load"
# The bound of 340 MiB allows for 256 MiB of answers, the rows of four reads, and waiting calls.
[ "${told%% *}" -lt 340 ] || bad "the host grew by ${told%% *} MiB"

# When all clients together have too many calls, each client may have only a few calls until the
# total falls.
told=$(timeout 120 /usr/bin/python3 "$here/peers/crowded.py" "$socket")
[ "$told" = "held up then answered" ] || bad "a client beside too many calls: $told"
exit $failed
