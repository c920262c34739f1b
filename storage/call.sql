-- Who calls, and what was done under which key.

-- name: caller_by_name
-- row: caller
-- text: team_name
-- kept: every call asks
-- An agent by its team and name, or the operator's place in that team.
SELECT t.id AS team, t.name AS team_name, t.inbox_capacity, t.state, a.id AS agent,
	a.name, a.role, a.kind, a.generation, a.token, a.active_at
FROM team t JOIN agent a ON a.team = t.id
WHERE t.name = :team_name AND t.destroyed_at IS NULL AND a.name = :name AND a.gone = 0;

-- name: caller_by_token
-- row: caller
-- text: team_name
SELECT t.id AS team, t.name AS team_name, t.inbox_capacity, t.state, a.id AS agent,
	a.name, a.role, a.kind, a.generation, a.token, a.active_at
FROM team t JOIN agent a ON a.team = t.id
WHERE t.name = :team_name AND t.destroyed_at IS NULL AND a.token = :token AND a.gone = 0;

-- name: caller_by_team
-- row: caller
-- text: team_name
SELECT t.id AS team, t.name AS team_name, t.inbox_capacity, t.state, a.id AS agent,
	a.name, a.role, a.kind, a.generation, a.token, a.active_at
FROM team t JOIN agent a ON a.team = t.id
WHERE t.id = :team AND t.destroyed_at IS NULL AND a.name = :name AND a.gone = 0;

-- name: team_only
-- The one living team, when there is just one.
-- scan ok: a partial index of living teams
SELECT name, count(*) AS n FROM team WHERE destroyed_at IS NULL;

-- name: replay_find
-- An older key than a day is as good as new, whether it is cleaned away or not.
SELECT op, args, made, answer FROM replay
WHERE key = :key AND caller = :caller AND at > :since;

-- name: replay_add
-- One that is there already is too old to be found.
REPLACE INTO replay (key, caller, op, args, made, at)
VALUES (:key, :caller, :op, :args, :made, :now);

-- name: replay_answer
UPDATE replay SET answer = :answer WHERE key = :key AND caller = :caller;

-- name: replay_free
-- Nothing was done under it: it is as good as new.
DELETE FROM replay WHERE key = :key AND caller = :caller;

-- name: agent_touch
UPDATE agent SET active_at = :now WHERE id = :agent AND active_at < :now;

-- name: lease_renew
-- Any call of its owner renews a live lease of which under half is left.
UPDATE task SET lease_until = :now + lease_ms
WHERE owner = :agent AND lease_until > :now AND lease_until - :now < lease_ms / 2;

-- name: lease_any
-- kept: every call asks
-- Whether an agent holds anything that lease_renew might renew.
SELECT EXISTS (SELECT 1 FROM task WHERE owner = :agent AND lease_until IS NOT NULL) AS any;

-- name: lease_ending
-- Whether lease_renew would have work (a reader asks).
SELECT count(*) AS n FROM task
WHERE owner = :agent AND lease_until > :now AND lease_until - :now < lease_ms / 2;

-- name: state_keys
SELECT incarnation, id_a, id_b, id_c FROM state WHERE one = 1;

-- name: event_last
SELECT coalesce(max(seq), 0) AS seq FROM event;

-- name: event_add
INSERT INTO event (at, kind, team, actor, via, subject, target, detail)
VALUES (:now, :kind, :team, :actor, :via, :subject, :target, :detail);
