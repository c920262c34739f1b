#!/bin/sh
# setup-clients - a real client, Codex, reads the files that `setup` wrote, and runs the hooks
# that these files name. The test does not fetch Codex. `make clients` fetches Codex, and runs
# the same test with three other clients.
set -u
cd "$(dirname "$0")/../.." || exit 1
: "${CADRE:=$PWD/build/cadre}"
export CADRE

command -v node >/dev/null || { echo "skipped: node is not installed"; exit 77; }
tests/clients/install --there "$CLIENTS_CACHE" codex || {
	echo "skipped: Codex is not in $CLIENTS_CACHE; make clients fetches it"
	exit 77
}
exec node tests/clients/setup.mjs "$CLIENTS_CACHE" codex
