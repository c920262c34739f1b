#!/bin/sh
# mcp - `cadre mcp` with raw lines and with the official clients. Every message is checked
# against the official schema files. Needs node and, once, the npm registry.
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
