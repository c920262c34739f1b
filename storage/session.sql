-- Sessions of MCP clients over HTTP.

-- name: session_add
INSERT INTO session (name, proof, version, client, toolsets, structured, level, watches,
	opened_at, used_at)
VALUES (:name, :proof, :version, :client, :toolsets, :structured, :level, :watches, :now, :now)
ON CONFLICT DO NOTHING;

-- name: session_drop_old
-- scan ok: along the index, newest first, at most :most sessions
-- Deletes sessions that nobody has used since :before. Also deletes all sessions except the
-- :most + 1 sessions that were used most recently.
DELETE FROM session WHERE used_at < :before OR used_at < (SELECT used_at FROM session
	ORDER BY used_at DESC LIMIT 1 OFFSET :most);

-- name: session_drop_more
-- Deletes all sessions of a token except the :most + 1 sessions that were used most recently.
DELETE FROM session WHERE proof = :proof AND used_at < (SELECT used_at FROM session
	WHERE proof = :proof ORDER BY used_at DESC LIMIT 1 OFFSET :most);

-- name: session_note
UPDATE session SET level = :level, watches = :watches, used_at = :now WHERE name = :name;

-- name: session_by_name
SELECT proof, version, client, toolsets, structured, level, watches FROM session
WHERE name = :name;

-- name: session_end
DELETE FROM session WHERE name = :name;
