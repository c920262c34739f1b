-- Callers, and the calls that were made under idempotency keys.

-- name: caller_by_name
-- row: caller
-- text: team_name
-- kept: every call asks
-- The row of an agent by team and name, or the row of the operator's place in the team.
SELECT t.id AS team, t.name AS team_name, t.inbox_capacity, t.state,
	t.stopped_at, t.limits, a.id AS agent,
	a.name, a.role, a.kind, a.generation, a.token, a.active_at,
	a.chain, a.status, a.workspace
FROM team t JOIN agent a ON a.team = t.id
WHERE t.name = :team_name AND t.destroyed_at IS NULL AND a.name = :name AND a.gone = 0;

-- name: caller_by_token
-- row: caller
-- text: team_name
SELECT t.id AS team, t.name AS team_name, t.inbox_capacity, t.state,
	t.stopped_at, t.limits, a.id AS agent,
	a.name, a.role, a.kind, a.generation, a.token, a.active_at,
	a.chain, a.status, a.workspace
FROM team t JOIN agent a ON +a.team = t.id
WHERE t.name = :team_name AND t.destroyed_at IS NULL AND a.token = :token AND a.gone = 0;

-- name: caller_by_former
-- row: caller
-- text: team_name
-- The row of an agent, found by its token and a former name of its team.
SELECT t.id AS team, t.name AS team_name, t.inbox_capacity, t.state,
	t.stopped_at, t.limits, a.id AS agent,
	a.name, a.role, a.kind, a.generation, a.token, a.active_at,
	a.chain, a.status, a.workspace
FROM former_name f JOIN team t ON t.id = f.team JOIN agent a ON +a.team = t.id
WHERE f.name = :team_name AND t.destroyed_at IS NULL AND a.token = :token AND a.gone = 0;

-- name: caller_by_team
-- row: caller
-- text: team_name
SELECT t.id AS team, t.name AS team_name, t.inbox_capacity, t.state,
	t.stopped_at, t.limits, a.id AS agent,
	a.name, a.role, a.kind, a.generation, a.token, a.active_at,
	a.chain, a.status, a.workspace
FROM team t JOIN agent a ON a.team = t.id
WHERE t.id = :team AND t.destroyed_at IS NULL AND a.name = :name AND a.gone = 0;

-- name: team_only
-- The name of the only living team without a team above.  `n` is 2 if there are several.
-- scan ok: two rows of a partial index of these teams
SELECT min(t.name) AS name, count(*) AS n
FROM (SELECT name FROM team WHERE destroyed_at IS NULL AND parent IS NULL
	ORDER BY name LIMIT 2) t;

-- name: teams_with_agent
-- The names of living teams in which an agent has the name.
SELECT t.name AS team
FROM agent a JOIN team t ON t.id = a.team
WHERE a.name = :name AND a.gone = 0 ORDER BY a.team LIMIT :limit;

-- name: team_names
-- The names of the first living teams.
-- scan ok: a partial index of living teams, in its order
SELECT name FROM team WHERE destroyed_at IS NULL ORDER BY name LIMIT :limit;

-- name: caller_by_holder
-- row: caller
-- text: team_name
-- The lead's place that the agent :holder holds in the team :team_name, or in its parent team
-- if :above is not 0. The agent holds the place directly, or through another place.
WITH RECURSIVE place (id) AS (SELECT :holder
	UNION SELECT a.id FROM place p JOIN agent a ON a.holder = p.id
	WHERE a.holder IS NOT NULL AND a.gone = 0)
SELECT t.id AS team, t.name AS team_name, t.inbox_capacity, t.state,
	t.stopped_at, t.limits, a.id AS agent,
	a.name, a.role, a.kind, a.generation, a.token, a.active_at,
	a.chain, a.status, a.workspace
FROM team b JOIN team t ON t.id = CASE :above WHEN 0 THEN b.id ELSE b.parent END
JOIN agent a ON a.team = t.id
WHERE b.name = :team_name AND b.destroyed_at IS NULL AND a.gone = 0
	AND a.id <> :holder AND a.id IN (SELECT id FROM place);

-- name: team_under
-- text: team_name
-- row: caller
-- int: own
-- Finds the living team :team_name at any depth below the caller's team, and the operator's
-- place in the found team. A lead (:leads is not 0) finds every team below. Any other member
-- finds the teams that the member made, and all teams below those teams.
WITH RECURSIVE up (id, parent, created_by) AS (
	SELECT t.id, t.parent, t.created_by FROM team t
	WHERE t.name = :team_name AND t.destroyed_at IS NULL
	UNION ALL SELECT t.id, t.parent, t.created_by FROM up JOIN team t ON t.id = up.parent)
SELECT t.id AS team, t.name AS team_name, t.inbox_capacity, t.state,
	t.stopped_at, t.limits, a.id AS agent,
	a.name, a.role, a.kind, a.generation, a.token, a.active_at,
	a.chain, a.status, a.workspace
FROM team t JOIN agent a ON a.team = t.id
WHERE t.name = :team_name AND t.destroyed_at IS NULL AND a.gone = 0
	AND a.kind = {agent_kind.operator}
	AND EXISTS (SELECT 1 FROM up WHERE up.parent = :own
		AND (:leads <> 0 OR up.created_by = :agent));

-- name: replay_find
-- A key is valid for a day. A row that is older than a day is ignored, even if cleaning has not
-- yet removed the row.
SELECT op, args, made, answer FROM replay
WHERE key = :key AND caller = :caller AND at > :since;

-- name: replay_made
-- Whether the row :made was made by a call of the operation :op under the key :key, from any
-- caller.
SELECT 1 AS so FROM replay
WHERE key = :key AND op = :op AND made = :made AND at > :since LIMIT 1;

-- name: replay_add
-- late
-- If a row already has the key, that row is older than a day. Otherwise replay_find would have
-- found a younger row.
INSERT INTO replay (key, caller, op, args, made, at)
VALUES (:key, :caller, :op, :args, :made, :now)
ON CONFLICT (key, caller) DO UPDATE SET op = excluded.op, args = excluded.args,
	made = excluded.made, at = excluded.at, answer = NULL;

-- name: replay_answer
UPDATE replay SET answer = :answer WHERE key = :key AND caller = :caller AND (:asked < 0 OR args = :asked);

-- name: replay_free
-- Deletes the key of a call that did nothing, so that the key can be used like a new key.
DELETE FROM replay WHERE key = :key AND caller = :caller AND (:asked < 0 OR args = :asked);

-- name: agent_touch
-- late
UPDATE agent SET active_at = :now WHERE id = :agent AND active_at <> :now;

-- name: lease_renew
-- Every call of an owner renews those of the owner's leases that have less than half of their
-- time left.
UPDATE task SET lease_until = :now + lease_ms
WHERE owner = :agent AND lease_until > :now AND lease_until - :now < lease_ms / 2;

-- name: lease_due
-- kept: every call asks
-- The first time at which lease_renew would change a row of an agent. The time is 0 if the
-- agent holds no lease.
SELECT coalesce(min(lease_until - lease_ms / 2), 0) AS at FROM task
WHERE owner = :agent AND lease_until IS NOT NULL;

-- name: lease_ending
-- Whether lease_renew or reservation_extend would change a row. A read runs this statement,
-- since a read itself cannot renew a lease.
SELECT (SELECT count(*) FROM task
		WHERE owner = :agent AND lease_until > :now AND lease_until - :now < lease_ms / 2)
	+ (SELECT count(*) FROM reservation
		WHERE agent = :agent AND lease_until > :now AND lease_until - :now < lease_ms / 2
			AND generation = (SELECT generation FROM agent WHERE id = :agent)) AS n;

-- name: state_keys
-- always
SELECT incarnation, id_a, id_b, id_c FROM state WHERE one = 1;

-- name: event_last
SELECT coalesce(max(seq), 0) AS seq FROM event;

-- name: event_new_id
-- row: new_id
SELECT coalesce(max(seq), 0) + 1 AS id FROM event;

-- name: event_add
-- late
INSERT INTO event (seq, at, kind, team, actor, via, subject, target, detail)
VALUES (:seq, :now, :kind, :team, :actor, :via, :subject, :target, :detail);
