-- Tokens of clients over HTTP: the text of one is shown when it is made, and never kept.
CREATE TABLE token (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
	kind INTEGER NOT NULL CHECK (kind IN {token_kind.all}),
	agent INTEGER REFERENCES agent(id), -- of that kind
	generation INTEGER NOT NULL DEFAULT 0, -- the agent's
	hash BLOB, -- SHA-256 of the text
	created_at INTEGER NOT NULL,
	expires_at INTEGER,
	used_at INTEGER,
	revoked_at INTEGER
) STRICT;
CREATE UNIQUE INDEX token_living ON token(name) WHERE revoked_at IS NULL;

-- Over HTTP an agent may show its own token alone, which says neither its name nor its team.
CREATE INDEX agent_token ON agent(token) WHERE token IS NOT NULL;
CREATE VIEW v_token AS
SELECT k.name, (SELECT word FROM word WHERE list = 'token_kind' AND n = k.kind) AS kind,
	t.name AS team, a.name AS agent,
	strftime('%Y-%m-%dT%H:%M:%fZ', k.created_at / 1000.0, 'unixepoch') AS created_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', k.expires_at / 1000.0, 'unixepoch') AS expires_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', k.used_at / 1000.0, 'unixepoch') AS used_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', k.revoked_at / 1000.0, 'unixepoch') AS revoked_at
FROM token k LEFT JOIN agent a ON a.id = k.agent LEFT JOIN team t ON t.id = a.team;

DROP VIEW v_event;
CREATE VIEW v_event AS
SELECT e.seq, strftime('%Y-%m-%dT%H:%M:%fZ', e.at / 1000.0, 'unixepoch') AS at,
	t.name AS team, (SELECT word FROM word WHERE list = 'event' AND n = e.kind) AS event,
	CASE e.actor WHEN 0 THEN 'host' WHEN -1 THEN 'operator' ELSE a.name END AS actor,
	e.via AS as_operator,
	CASE WHEN e.kind BETWEEN {events.task} THEN
		(SELECT printf('%03d', k.number) FROM task k WHERE k.id = e.subject)
	WHEN e.kind BETWEEN {events.agent} THEN
		(SELECT x.name FROM agent x WHERE x.id = e.subject)
	WHEN e.kind BETWEEN {events.workspace} THEN
		(SELECT w.name FROM workspace w WHERE w.id = e.subject)
	WHEN e.kind BETWEEN {events.team} THEN t.name
	WHEN e.kind BETWEEN {events.vault} THEN NULL
	WHEN e.kind BETWEEN {events.token} THEN e.detail
	ELSE CAST(e.subject AS TEXT) END AS subject,
	(SELECT x.name FROM agent x WHERE x.id = e.target) AS target, e.detail
FROM event e LEFT JOIN team t ON t.id = e.team LEFT JOIN agent a ON a.id = e.actor;
