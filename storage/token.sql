-- Tokens of clients over HTTP.

-- name: token_add
-- The name of a revoked token is free for another token.
INSERT INTO token (id, name, kind, agent, generation, hash, created_at, expires_at, once)
VALUES (:id, :name, :kind, nullif(:agent, 0), :generation, :hash, :now, nullif(:expires_at, 0),
	:once)
ON CONFLICT DO NOTHING;

-- name: token_drop_ended
-- Deletes codes that have ended, and tokens that ended before :before. A code that was
-- exchanged for a token is kept until the code ends. The token that a client got for the code
-- is a row of its own, with its own number. The token's text is made from this number.
-- scan ok: an operator's tokens are few
DELETE FROM token WHERE (once = 1 AND expires_at <= :now) OR expires_at <= :before;

-- name: token_give
-- A code gives only one token. If two clients present the same code, only the first client gets
-- a token.
UPDATE token SET revoked_at = :now WHERE id = :id AND once = 1 AND revoked_at IS NULL;

-- name: token_new_id
SELECT coalesce(max(id), 0) + 1 AS id FROM token;

-- name: token_by_id
-- row: bearer
SELECT id, name, kind, coalesce(agent, 0) AS agent, generation, hash, created_at,
	coalesce(expires_at, 0) AS expires_at, coalesce(used_at, 0) AS used_at, revoked_at, once
FROM token WHERE id = :id;

-- name: token_by_name
SELECT id FROM token WHERE name = :name AND revoked_at IS NULL AND once = 0;

-- name: token_was
-- Counts the tokens that have or had the name :name. If a caller revokes a token a second time,
-- this count shows that the name is not unknown.
-- scan ok: an operator's tokens are few
SELECT count(*) AS n FROM token WHERE name = :name AND once = 0;

-- name: token_revoke
UPDATE token SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL;

-- name: token_note
UPDATE token SET used_at = :now WHERE id = :id;

-- name: token_page
-- text: after agent_name
-- scan ok: an operator's tokens are few
SELECT k.name, k.kind, CASE WHEN k.agent IS NOT NULL THEN t.name || '/' || a.name END AS agent_name,
	k.created_at, k.expires_at, k.used_at, k.revoked_at
FROM token k LEFT JOIN agent a ON a.id = k.agent LEFT JOIN team t ON t.id = a.team
WHERE k.once = 0 AND k.name > :after AND (:every = 1 OR (k.revoked_at IS NULL
	AND (k.expires_at IS NULL OR k.expires_at > :now)
	AND (k.agent IS NULL OR (a.gone = 0 AND a.generation = k.generation))))
ORDER BY k.name, k.id LIMIT :limit;

-- name: caller_by_id
-- row: caller
-- text: team_name
SELECT t.id AS team, t.name AS team_name, t.inbox_capacity, t.state,
	t.stopped_at, t.limits, a.id AS agent,
	a.name, a.role, a.kind, a.generation, a.token, a.active_at,
	a.chain, a.status, a.workspace
FROM agent a JOIN team t ON t.id = a.team
WHERE a.id = :agent AND a.gone = 0 AND t.destroyed_at IS NULL;

-- name: caller_by_hash
-- row: caller
-- text: team_name
-- Finds an agent by the agent's own token, if the caller gives neither the agent's name nor the
-- team.
SELECT t.id AS team, t.name AS team_name, t.inbox_capacity, t.state,
	t.stopped_at, t.limits, a.id AS agent,
	a.name, a.role, a.kind, a.generation, a.token, a.active_at,
	a.chain, a.status, a.workspace
FROM agent a JOIN team t ON t.id = a.team
WHERE a.token = :hash AND a.gone = 0 AND t.destroyed_at IS NULL;

-- name: token_any
-- scan ok: an operator's tokens are few
SELECT count(*) AS n FROM token
WHERE revoked_at IS NULL AND once = 0 AND (expires_at IS NULL OR expires_at > :now);
