# packages - fetches the npm packages that stories need, each package once.
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
status=0
fetch() { (packages "$@") || status=$?; }
fetch mcp ajv
fetch conformance node
fetch inspector @modelcontextprotocol/inspector --ignore-scripts
fetch openapi typescript
exit $status
