#!/bin/sh
# malformed - the test sends N requests of each class of broken HTTP, and of each class of bad
# calls, to a host's HTTP door. The requests change no row and do not end the host. During the
# requests the host serves other callers. After the requests the host has closed their file
# descriptors and freed their memory.
set -u
. "$(dirname "$0")/../lib/story.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:quarantine_size_mb=2" CADRE_LIMITS_ENABLED=false
trap 'cadre down >/dev/null 2>&1' EXIT
: "${N:=200}"
rows() { /usr/bin/python3 "$here/peers/rows.py" "$CADRE_HOME/state.db"; }
kib() { sed -n 's/^RssAnon:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$pid/status"; }
count_fds() { ls "/proc/$pid/fd" | wc -l; }

cadre up >/dev/null || bad "up"
url=$(cat "$CADRE_HOME/endpoint") || bad "no endpoint"
is 0 . cadre team create shop --roles coder
is 0 . cadre task create "the only one" --team shop
token=$(cadre token create --operator)
pid=$(cut -d' ' -f1 "$CADRE_HOME/host.lock")
curl -sS -o /dev/null -H "Authorization: Bearer $token" "$url/api/teams" || bad "no service"
rows >"$TMPDIR/before"
fds=$(count_fds) size=$(kib)

/usr/bin/python3 "$here/peers/malformed.py" "$url" "$token" "$N" || bad "see above"

rows | diff "$TMPDIR/before" - >"$TMPDIR/changed" || bad "rows have changed: $(head -c 2000 "$TMPDIR/changed")"
[ "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")" = "$pid" ] || bad "the host is another process"
closed() { [ "$(count_fds)" -le "$fds" ]; }
until_done closed
is 0 'the only one' cadre task list --team shop
echo "the host has $(kib) KiB, and had $size"
# The sanitizer's allocator keeps freed memory. Without the host's limit on bodies, the host's
# memory would grow by GiB.
[ "$(kib)" -lt $((size + 60000 + 10 * N)) ] || bad "the host has grown from $size to $(kib) KiB"
exit $failed
