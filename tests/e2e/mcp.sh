#!/bin/sh
# mcp - the test talks to `cadre mcp` in raw lines and through the official clients. The test
# checks every message against the official schema files. The test needs node, and for its first
# run the npm registry.
set -u
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
packages mcp ajv
cp "$here"/mcp/*.mjs "$place"
cd "$root" || exit 1
export CADRE
! in_turn 0 2 || node "$place/run.mjs" "$@" || bad "without a host"
! in_turn 1 2 || HOSTED=1 node "$place/run.mjs" "$@" || bad "with a host"
exit $failed
