#!/bin/sh
# openapi - a public validator accepts cadre's OpenAPI 3.1 description of all HTTP routes. A
# client that is generated from this description compiles and works. The test needs node, and
# for its first run the npm registry.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down >/dev/null 2>&1' EXIT
packages openapi typescript
cp "$root"/tests/openapi/*.mjs "$root"/tests/openapi/*.ts "$root/tests/openapi/tsconfig.json" "$place"
cadre up >/dev/null || bad "up"
url=$(cat "$CADRE_HOME/endpoint")
curl -sS -m $((30 * TEST_SCALE)) -o "$place/api.json" "$url/api/openapi.json" || bad "no document"
cd "$place" || exit 1
node validate.mjs api.json || bad "no OpenAPI 3.1"
npx --no-install openapi-typescript api.json -o api.ts --default-non-nullable=false >"$TMPDIR/generated" 2>&1 || bad "no client: $(cat "$TMPDIR/generated")"
npx --no-install tsc -p . >"$TMPDIR/compiled" 2>&1 || bad "it does not compile: $(head -20 "$TMPDIR/compiled")"
node out/first.js "$url" "$(cadre token create --operator)" >"$TMPDIR/ran" 2>&1 || bad "it does not work: $(head -20 "$TMPDIR/ran")"
grep -q 'went well' "$TMPDIR/ran" || bad "it did nothing"
exit $failed
