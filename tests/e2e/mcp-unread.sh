#!/bin/sh
# mcp-unread - a client of `cadre mcp` reads no answers. `cadre mcp` stops reading from this
# client, and the memory of `cadre mcp` does not grow.
set -u
. "$(dirname "$0")/../lib/story.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:quarantine_size_mb=2"

cadre team create red --roles ann --roles bob --json >"$TMPDIR/team"
token=$(/usr/bin/python3 -c 'import json, sys
print([m["token"] for m in json.load(sys.stdin)["members"] if m["name"] == "ann"][0])' <"$TMPDIR/team")
head -c 100000 /dev/zero | tr '\0' x >"$TMPDIR/large"
i=0
while [ $i -lt 12 ]; do
	cadre send bob @"$TMPDIR/large" --team red --as ann >/dev/null || bad "send"
	i=$((i + 1))
done
kib=$(CADRE_TEAM=red CADRE_AGENT=ann CADRE_TOKEN=$token /usr/bin/python3 "$here/peers/mcp_unread.py" "$CADRE") || bad "mcp_unread.py"
[ "$kib" -lt 30000 ] || bad "it has grown by $kib KiB"
echo "grown by $kib KiB"
exit $failed
