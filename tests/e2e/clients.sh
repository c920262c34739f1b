#!/bin/sh
# clients - an agent works with a real client, Codex, whose model is a script. The agent also
# takes turns that cadre starts. This story does not fetch the client. `make clients` fetches
# the client, and also tests three other clients.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${CADRE:=$PWD/build/cadre}"
export CADRE

command -v node >/dev/null || { echo "skipped: node is not installed"; exit 77; }
tests/clients/install --there "$CLIENTS_CACHE" codex || {
	echo "skipped: Codex is not in $CLIENTS_CACHE; make clients fetches it"
	exit 77
}
node tests/clients/run.mjs "$CLIENTS_CACHE" codex || exit 1
exec node tests/clients/turns.mjs "$CLIENTS_CACHE" codex
