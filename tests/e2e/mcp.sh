#!/bin/sh
# mcp - `cadre mcp` under raw lines and the official clients, every message
# held to the official schema files.  Needs node and, once, the npm registry.
set -eu
cd "$(dirname "$0")/../.."
place=build/npm/mcp
: "${CADRE:=$PWD/build/cadre}"
export CADRE

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	echo "skipped: node and npm are not installed"
	exit 77
fi
mkdir -p "$place"
cp tests/mcp/*.mjs "$place"
if ! cmp -s tests/mcp/package.json "$place/package.json" || [ ! -d "$place/node_modules/ajv" ]; then
	cp tests/mcp/package.json "$place"
	if ! (cd "$place" && npm install --no-audit --no-fund --loglevel=error); then
		rm -f "$place/package.json"
		echo "skipped: npm cannot install the official clients"
		exit 77
	fi
fi
echo "without a host"
node "$place/run.mjs" "$@"
echo "with a host"
HOSTED=1 node "$place/run.mjs" "$@"
