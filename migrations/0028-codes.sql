-- Codes for which a browser gets a token: tokens that prove nobody, and are given once.
ALTER TABLE token ADD COLUMN once INTEGER NOT NULL DEFAULT 0 CHECK (once IN (0, 1));

DROP VIEW v_token;
CREATE VIEW v_token AS
SELECT k.name, (SELECT word FROM word WHERE list = 'token_kind' AND n = k.kind) AS kind,
	t.name AS team, a.name AS agent,
	strftime('%Y-%m-%dT%H:%M:%fZ', k.created_at / 1000.0, 'unixepoch') AS created_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', k.expires_at / 1000.0, 'unixepoch') AS expires_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', k.used_at / 1000.0, 'unixepoch') AS used_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', k.revoked_at / 1000.0, 'unixepoch') AS revoked_at
FROM token k LEFT JOIN agent a ON a.id = k.agent LEFT JOIN team t ON t.id = a.team
WHERE k.once = 0;
