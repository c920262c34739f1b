-- Sessions of MCP clients over HTTP: they outlive the host that they were begun with.
CREATE TABLE session (
	name TEXT NOT NULL PRIMARY KEY, -- SHA-256 of its id, in hex
	proof TEXT NOT NULL, -- SHA-256 of the token that it was begun with; "": the Unix socket
	version TEXT NOT NULL,
	client TEXT NOT NULL,
	toolsets TEXT NOT NULL,
	structured INTEGER NOT NULL,
	level INTEGER NOT NULL,
	watches TEXT NOT NULL, -- subscriptions, as JSON
	opened_at INTEGER NOT NULL,
	used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_used ON session(used_at);
CREATE INDEX session_proof ON session(proof, used_at);
